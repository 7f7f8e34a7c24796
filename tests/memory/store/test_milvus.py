"""Milvus, the real server: the contract of every index, the outbox, several robots, and a server that dies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.memory.homes import ROOM, walk
from tests.memory.store import test_index as contract
from tests.memory.store.brute import BruteForceIndex, VectorIndex
from tests.memory.store.milvus_server import MilvusServer

from lastseen.config import Settings
from lastseen.config.memory import Store
from lastseen.errors import IndexMismatch, IndexUnreachable, InvalidValue
from lastseen.memory.memory import Memory
from lastseen.memory.store.milvus import MilvusAddress, MilvusIndex

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def address(server: MilvusServer, collection: str) -> str:
    return f"milvus://{server.address}/{collection}"


@pytest.mark.parametrize(
    "behaviour",
    [
        contract.test_an_empty_index_finds_nothing,
        contract.test_a_vector_finds_itself_first,
        contract.test_an_upsert_replaces,
        contract.test_a_removed_key_is_gone_and_the_others_stay,
        contract.test_equal_scores_are_ordered_by_key,
        contract.test_a_subset_is_searched_alone,
        contract.test_a_query_of_another_length_is_refused,
    ],
)
@pytest.mark.integration
def test_it_keeps_the_contract(server: MilvusServer, behaviour: Callable[[VectorIndex], None]) -> None:
    index = MilvusIndex(address(server, f"c_{behaviour.__name__}"), contract.DIM, timeout=60.0)
    assert isinstance(index, VectorIndex)
    behaviour(index)
    index.close()


@pytest.mark.integration
def test_it_agrees_with_brute_force(server: MilvusServer, soak: int) -> None:
    index, oracle = MilvusIndex(address(server, "congruence"), 32, timeout=60.0), BruteForceIndex(32)
    rng = np.random.default_rng(0)
    for turn in range(4 * soak):
        keys = [f"o{number}" for number in rng.choice(400, 120, replace=False).tolist()]
        rows = contract.unit(120, seed=turn, dim=32)
        gone = [f"o{number}" for number in rng.choice(400, 20, replace=False).tolist()]
        for one in (index, oracle):
            one.upsert(keys, rows)
            one.remove(gone)
        assert index.keys() == oracle.keys()
        for query in contract.unit(5, seed=1000 + turn, dim=32):
            assert contract.close(index.search(query, k=10), oracle.search(query, k=10))
            assert contract.close(index.search(query, k=5, among=keys), oracle.search(query, k=5, among=keys))
    index.close()


@pytest.mark.integration
def test_vectors_of_another_encoder_are_refused(server: MilvusServer) -> None:
    first = MilvusIndex(address(server, "encoders"), 8, encoder="one", timeout=60.0)
    assert len(first) == 0
    with pytest.raises(IndexMismatch, match="lastseen reindex"):
        len(MilvusIndex(address(server, "encoders"), 8, encoder="two", timeout=60.0))
    first.close()


def robot(name: str) -> Settings:
    return Settings(store=Store(robot=name))


def sent(memory: Memory, seconds: float = 60.0) -> None:
    assert memory.shared.outbox is not None
    assert memory.shared.outbox.settle(seconds)


def test_robots_find_what_the_others_saw(server: MilvusServer, tmp_path: Path) -> None:
    index = address(server, "fleet")
    one = walk(Memory.open(tmp_path / "a", settings=robot("ann"), index=index), items=ROOM[:2])
    other = walk(Memory.open(tmp_path / "b", settings=robot("bob"), index=index), items=ROOM[2:])
    for memory in (one, other):
        memory.flush()
        sent(memory)
    assert one.find("sofa").status == "not_found"
    answer = one.find("sofa", robots="all")
    assert answer.status == "found"
    assert answer.hits[0].id.startswith("bob/obj-")
    assert one.find("white bowl", robots="bob").status == "found"
    assert one.find("sofa", robots="ann").status == "not_found"
    look = other.object(other.find("bowl").hits[0].id).emb_mean
    assert look is not None
    near = one.find(embedding=look, robots="all", near=(0.0, 1.0, 0.8), radius=0.5)
    assert [hit.label for hit in near.hits] == ["bowl"]
    other.forget(other.find("sofa").hits[0].id)
    sent(other)
    assert one.find("sofa", robots="all").status == "not_found"
    one.close()
    other.close()


@pytest.mark.integration
def test_a_server_that_dies_loses_nothing_and_blocks_nobody(server: MilvusServer, tmp_path: Path) -> None:
    index = address(server, "dying")
    memory = walk(Memory.open(tmp_path / "a", settings=robot("ann"), index=index), items=ROOM[:2])
    memory.flush()
    sent(memory)
    server.kill()
    walk(memory, 6, ROOM, start=6)
    memory.flush()
    assert memory.store.journal.queued()
    answer = memory.find("sofa", robots="all")
    assert answer.status == "found"
    assert "the shared index is away" in answer.reason
    memory.close()
    again = Memory.open(tmp_path / "a", settings=robot("ann"), index=index)
    assert again.store.journal.queued()
    assert again.shared.outbox is not None
    for _ in range(3):
        # a server killed in mid-write may come up healthy and never load its collections: its own fault, not ours
        server.kill()
        server.start()
        if again.shared.outbox.settle(150.0):
            break
    assert not again.store.journal.queued()
    held = MilvusIndex(index, 72, encoder="look-v1", timeout=60.0)
    assert held.keys() == sorted(f"ann/{state.id}" for state in again.objects())
    held.close()
    again.close()


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(IndexUnreachable, match="does not answer"):
        len(MilvusIndex("milvus://127.0.0.1:9/nothing", 4, timeout=1.0))


@pytest.mark.parametrize("text", ["milvus://host/c", "milvus://host:1/", "http://host:1/c", "milvus://h:1/c d"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="milvus://host:19530/collection"):
        MilvusAddress.parse(text)


def test_asking_all_robots_needs_a_shared_index() -> None:
    with pytest.raises(InvalidValue, match="needs a shared index"):
        walk(Memory.open()).find("mug", robots="all")
