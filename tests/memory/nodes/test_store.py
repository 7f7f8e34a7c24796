from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.memory.nodes import MemoryNode, Pose2D, SemanticMemoryStore, seed_demo_store

HERE = Pose2D(1.0, 2.0, 0.5)


def test_ids_count_on_from_the_highest() -> None:
    store = SemanticMemoryStore()
    assert store.add_node(HERE, None, [], "a") == 1
    assert store.add_node(HERE, None, [], "b", node_id=7) == 7
    assert store.add_node(HERE, None, [], "c") == 8


def test_a_taken_id_is_refused_and_nothing_changes() -> None:
    store = seed_demo_store()
    before, version = store.all_nodes(), store.version
    with pytest.raises(InvalidValue, match="node_id = 3: is taken"):
        store.add_node(HERE, None, [], "again", node_id=3)
    assert (store.all_nodes(), store.version) == (before, version)


@pytest.mark.parametrize("node_id", [-1, True, 1.5, "1"])
def test_an_id_that_is_no_count_is_refused(node_id: Any) -> None:
    with pytest.raises(InvalidValue, match="node_id"):
        SemanticMemoryStore().add_node(HERE, None, [], "a", node_id=node_id)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"embedding": [float("nan")]}, "embedding"),
        ({"embedding": [1e101]}, "embedding"),
        ({"embedding": ["1"]}, "embedding"),
        ({"embedding": [True]}, "embedding"),
        ({"tags": "mug"}, "tags"),
        ({"tags": [3]}, "tags"),
        ({"summary": None}, "summary"),
        ({"pose": (1, 2, 3)}, "pose"),
    ],
)
def test_unfit_fields_are_refused_by_name(fields: dict[str, Any], problem: str) -> None:
    good: dict[str, Any] = {"pose": HERE, "embedding": None, "tags": [], "summary": ""}
    store = SemanticMemoryStore()
    with pytest.raises(InvalidValue, match=f"node 1: {problem}"):
        store.add_node(**(good | fields))
    assert len(store) == 0


def test_nodes_come_in_order_of_their_ids() -> None:
    store = SemanticMemoryStore()
    for node_id in (5, 1, 3):
        store.add_node(HERE, None, [], "", node_id=node_id)
    assert [node.node_id for node in store.all_nodes()] == [1, 3, 5]


def test_what_a_caller_holds_is_a_copy() -> None:
    store, tags, vector = SemanticMemoryStore(), ["mug"], [1.0]
    node_id = store.add_node(HERE, vector, tags, "kitchen")
    tags.append("x")
    vector.append(2.0)
    got = store.get_node(node_id)
    got.tags.append("y")
    assert got.embedding is not None
    got.embedding.append(3.0)
    assert store.get_node(node_id) == MemoryNode(node_id, HERE, [1.0], ["mug"], "kitchen")


def test_an_unknown_id_is_refused() -> None:
    store = SemanticMemoryStore()
    with pytest.raises(InvalidValue, match="node_id = 4: is not in the store"):
        store.get_node(4)
    with pytest.raises(InvalidValue, match="is not in the store"):
        store.replace_node(MemoryNode(4, HERE, None, [], ""))
    assert 4 not in store


def test_the_version_grows_with_every_change() -> None:
    store = SemanticMemoryStore()
    store.add_node(HERE, None, [], "a")
    first = store.version
    store.replace_node(MemoryNode(1, HERE, None, ["mug"], "a"))
    assert store.version > first


node_lists = st.lists(
    st.tuples(
        st.floats(-1e6, 1e6),
        st.none() | st.lists(st.floats(-1e3, 1e3), max_size=4),
        st.lists(st.text(max_size=9), max_size=3),
        st.text(max_size=20),
    ),
    max_size=6,
)


@given(node_lists)
def test_a_saved_store_loads_as_it_was(tmp_path_factory: pytest.TempPathFactory, nodes: list[Any]) -> None:
    path = tmp_path_factory.mktemp("nodes") / "nodes.json"
    store = SemanticMemoryStore()
    for x, embedding, tags, summary in nodes:
        store.add_node(Pose2D(x, 0.0, 0.0), embedding, tags, summary)
    store.save_json(path)
    again = SemanticMemoryStore.load_json(path)
    assert again.all_nodes() == store.all_nodes()
    bytes_before = path.read_bytes()
    again.save_json(path)
    assert path.read_bytes() == bytes_before


def test_saving_replaces_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text("old")
    seed_demo_store().save_json(path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["nodes.json"]
    assert len(SemanticMemoryStore.load_json(path)) == 5


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", r"is not a lastseen\.nodes file"),
        ('{"format": "lastseen.nodes", "version": 2, "nodes": []}', "version = 2"),
        ('{"format": "lastseen.nodes", "version": 1}', "nodes = None"),
        ('{"format": "lastseen.nodes", "version": 1, "nodes": [3]}', r"nodes\[0\]"),
        ('{"format": "lastseen.nodes", "version": 1, "nodes": [{}]}', r"nodes\[0\]"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(text)
    with pytest.raises(InvalidValue, match=problem) as caught:
        SemanticMemoryStore.load_json(path)
    assert "nodes.json" in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"cannot be read \(No such file"):
        SemanticMemoryStore.load_json(tmp_path / "none.json")


@pytest.mark.parametrize(
    "damage",
    [
        {"node_id": None},
        {"node_id": [1]},
        {"pose": {"x": "1", "y": 0, "yaw": 0}},
        {"pose": None},
        {"embedding": [float("nan")]},
        {"tags": "mug"},
        {"tags": None},
        {"summary": 4},
    ],
)
def test_a_broken_node_is_named(tmp_path: Path, damage: dict[str, Any]) -> None:
    path = tmp_path / "nodes.json"
    seed_demo_store().save_json(path)
    document = json.loads(path.read_text())
    document["nodes"][2] |= damage
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidValue, match=r"nodes\[2\]"):
        SemanticMemoryStore.load_json(path)


def test_two_nodes_of_one_id_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    seed_demo_store().save_json(path)
    document = json.loads(path.read_text())
    document["nodes"][4]["node_id"] = 1
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidValue, match=r"nodes\[4\].*is taken"):
        SemanticMemoryStore.load_json(path)


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"nodes file = .*cannot be written \(No such file"):
        SemanticMemoryStore().save_json(tmp_path / "none" / "nodes.json")
