"""Many robots on one real Milvus: backfill, an outbox that never dies, times, forgetting, and every way to ask."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.memory.homes import ROOM, Item, walk
from tests.memory.store.milvus_server import MilvusServer
from tests.memory.store.namespace import Namespace
from tests.memory.store.test_milvus import address, robot, sent
from tests.server.conftest import serving
from tests.server.test_mcp import ask
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.errors import IndexUnreachable, InvalidValue
from lastseen.memory.memory import Memory
from lastseen.memory.store import milvus
from lastseen.memory.store.milvus import CERTIFICATE, PASSWORD, TOKEN, MilvusAddress, MilvusIndex
from lastseen.server.service import Service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
integration = pytest.mark.integration


def run(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def held(index: str) -> list[str]:
    """The keys of a collection."""
    asked = MilvusIndex(index, timeout=60.0)
    try:
        return asked.keys()
    finally:
        asked.close()


def drop(index: str) -> None:
    from pymilvus import MilvusClient

    where = MilvusAddress.parse(index)
    client = MilvusClient(uri=f"http://{where.host}:{where.port}")
    client.drop_collection(where.collection)
    client.close()


@contextmanager
def fleet(index: str, folder: Path, **of: tuple[Item, ...]) -> Iterator[list[Memory]]:
    """Memories of robots by name, each of which saw some things, all told to the index."""
    memories = []
    for name, items in of.items():
        memory = Memory.open(folder / name, settings=robot(name), index=index)
        memories.append(walk(memory, items=items, looks="random"))
    try:
        for memory in memories:
            memory.flush()
            sent(memory)
        yield memories
    finally:
        for memory in memories:
            memory.close()


@integration
def test_a_file_that_gets_its_index_later_sends_everything(server: MilvusServer, tmp_path: Path) -> None:
    file, index = tmp_path / "home.lastseen", address(server, "backfill")
    with walk(Memory.open(file, settings=robot("ann")), looks="random") as memory:
        expected = sorted(f"ann/{state.id}" for state in memory.states())
    with Memory.open(file, settings=robot("ann"), index=index) as memory:
        sent(memory)
        assert held(index) == expected
    # once only: the next run has nothing to send
    with Memory.open(file, settings=robot("ann"), index=index) as memory:
        assert memory.store.journal.queued() == []
    # another name is another robot
    with Memory.open(file, settings=robot("eve"), index=index) as memory:
        sent(memory)
    assert len(held(index)) == 2 * len(expected)


@integration
def test_reindex_sends_everything_again(
    server: MilvusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, index = tmp_path / "home.lastseen", address(server, "again")
    monkeypatch.setenv("LASTSEEN__STORE__ROBOT", "ann")
    with walk(Memory.open(file, settings=robot("ann"), index=index), looks="random") as memory:
        memory.flush()
        sent(memory)
    before = held(index)
    drop(index)
    run("reindex", "--memory", file, "--index", index)
    assert held(index) == before


@integration
def test_a_collection_of_another_shape_is_shown_and_waited_out(server: MilvusServer, tmp_path: Path) -> None:
    file, index = tmp_path / "home.lastseen", address(server, "other_shape")
    wrong = MilvusIndex(index, 8, encoder="another", timeout=60.0)
    assert len(wrong) == 0
    wrong.close()
    with walk(Memory.open(file, settings=robot("ann"), index=index), looks="random") as memory:
        memory.flush()
        assert memory.shared.outbox is not None
        assert not memory.shared.outbox.settle(3.0)
        error = memory.shared.outbox.last_error or ""
        assert "holds embeddings of another with 8 numbers" in error
        assert "name another collection" in error
        assert memory.stats()["shared_index"]["error"] == error
        assert any(error in reason for reason in Service(memory).health())
        # another process reads it from the file
        assert error in " ".join(run("stats", "--memory", file).split())
        drop(index)
        sent(memory, 90.0)
        assert memory.shared.outbox.last_error is None
        assert memory.stats()["shared_index"] == {"address": index, "queued": 0, "error": None}
    assert "all changes sent" in run("stats", "--memory", file)


@integration
def test_one_robots_forget_leaves_the_rows_of_another(server: MilvusServer, tmp_path: Path) -> None:
    index = address(server, "forgetting")
    with fleet(index, tmp_path, ann=ROOM, bob=ROOM) as (ann, bob):
        assert [state.id for state in ann.states()] == [state.id for state in bob.states()]
        assert ann.forget("obj-2").not_yet == ()
        keys = held(index)
        assert "ann/obj-2" not in keys
        assert "bob/obj-2" in keys
        assert len(keys) == 2 * len(ROOM) - 1
        ann.merge("obj-1", "obj-3")
        ann.flush()
        sent(ann)
        assert "ann/obj-3" not in held(index)


@integration
def test_age_is_of_the_wall_clock_whatever_the_robots_clocks_say(server: MilvusServer, tmp_path: Path) -> None:
    index, noon = address(server, "clocks"), datetime(2026, 5, 1, 12, tzinfo=UTC)
    # one robot counts from zero, the other from a million; the second saw its things two days later
    days = {"ann": (0, noon), "bob": (1_000_000, noon + timedelta(days=2))}
    for name, (start, wall) in days.items():
        with Memory.open(tmp_path / name, settings=robot(name), index=index, wall_clock=wall.timestamp) as memory:
            walk(memory, looks="random", start=start)
            memory.flush()
            sent(memory)
    now = noon + timedelta(days=2, minutes=1)
    with Memory.open(index=index, settings=robot("asker"), wall_clock=now.timestamp) as memory:
        found = {hit.id: hit for hit in memory.find(robots="all", k=50).hits}
        assert {key.split("/")[0] for key in found} == {"ann", "bob"}
        assert {hit.state for key, hit in found.items() if key.startswith("ann/")} == {"stale"}
        assert {hit.state for key, hit in found.items() if key.startswith("bob/")} == {"confirmed"}
        assert {round(hit.age / 86400) for hit in found.values()} == {0, 2}
        fresh = memory.find(robots="all", include_stale=False, k=50).hits
        assert {hit.id.split("/")[0] for hit in fresh} == {"bob"}
        middle = noon + timedelta(days=1)
        assert {hit.id[:3] for hit in memory.find(robots="all", before=middle, k=50).hits} == {"ann"}
        assert {hit.id[:3] for hit in memory.find("mug", robots="all", since=middle, k=50).hits} == {"bob"}


@integration
def test_place_label_time_and_vector_are_answered_without_text(server: MilvusServer, tmp_path: Path) -> None:
    index = address(server, "without_text")
    with fleet(index, tmp_path, ann=ROOM[:3], bob=ROOM[2:]) as (ann, _):
        mug = ROOM[0]
        near = ann.find(robots="all", near=mug.xyz, radius=0.3)
        assert [hit.label for hit in near.hits] == [mug.label]
        assert {hit.id.split("/")[0] for hit in ann.find(robots="all", label="BOWL").hits} == {"ann", "bob"}
        look = ann.object("obj-1").emb_mean
        assert ann.find(embedding=look, robots="all").hits[0].id == "ann/obj-1"
        assert ann.find(robots="bob", label="mug").status == "not_found"
        with pytest.raises(InvalidValue, match="as_of"):
            ann.find("mug", robots="all", as_of=0.0)


@integration
def test_every_way_to_ask_gives_the_same_answer(
    server: MilvusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = address(server, "ways")
    monkeypatch.setenv("LASTSEEN__STORE__ROBOT", "ann")
    with fleet(index, tmp_path, ann=ROOM[:2], bob=ROOM[2:]) as (ann, _):
        expected = [hit.id for hit in ann.find("sofa", robots="all").hits]
        assert expected[0].startswith("bob/")
        with serving(ann) as running:
            url = f"{running.address.base}/search/semantic?query=sofa&robots=all"
            headers = {"Authorization": f"Bearer {running.address.token}"} if running.address.token else {}
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
                body = json.loads(answer.read())
            told = ask(f"{running.address.base}/mcp", "find_object", query="sofa", robots="all")
            assert [hit["id"] for hit in told["results"]] == expected
            assert (
                ask(f"{running.address.base}/mcp", "find_object", query="sofa", robots="ann")["status"] == "not_found"
            )
        assert [hit["id"] for hit in body["results"]] == expected
    # without a memory file, for all robots, for this one, and for another by its name
    missing = tmp_path / "none.lastseen"
    told = json.loads(run("find", "sofa", "--index", index, "--robots", "all", "--memory", missing, "--json"))
    assert [hit["id"] for hit in told["hits" if "hits" in told else "results"]] == expected
    assert not missing.exists()
    assert json.loads(run("find", "mug", "--index", index, "--memory", missing, "--json"))["status"] != "not_found"


@integration
def test_large_collections_are_read_in_pages_and_by_label(
    server: MilvusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = address(server, "pages")
    with fleet(index, tmp_path, ann=ROOM, bob=ROOM) as (ann, _):
        expected = ann.find("mug", robots="all", k=50)
        monkeypatch.setattr(milvus, "_PAGE", 3)
        assert len(held(index)) == 2 * len(ROOM)
        monkeypatch.setattr("lastseen.memory.shared_index._FEW", 1)
        # ages go on between two questions: they are of the wall clock
        again = ann.find("mug", robots="all", k=50)
        assert [(hit.id, hit.score) for hit in again.hits[:4]] == [(hit.id, hit.score) for hit in expected.hits[:4]]
        assert MilvusIndex(index).distinct("label", where='robot == "ann"') == sorted({item.label for item in ROOM})


def test_an_error_of_any_kind_is_kept_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lastseen.memory.store.outbox import Outbox

    left = [3]
    told: list[str] = []

    def send(_: Outbox, records: list[object]) -> None:
        if left[0]:
            left[0] -= 1
            raise RuntimeError(f"nobody thought of this {left[0]}")
        told.extend(str(record) for record in records)

    monkeypatch.setattr(Outbox, "_send", send)
    monkeypatch.setattr("lastseen.memory.store.outbox._FIRST_WAIT", 0.01)
    with walk(Memory.open(tmp_path / "home", index="milvus://127.0.0.1:9/x")) as memory:
        memory.flush()
        sent(memory)
        assert len(told) == len(ROOM)
        outbox = memory.shared.outbox
        assert outbox is not None
        # the note of the error goes just after the last entry
        until = time.monotonic() + 30.0
        while outbox.last_error is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert outbox.last_error is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("milvus://host:19530/home", MilvusAddress("host", 19530, "home")),
        ("milvus://ann@host:19530/home", MilvusAddress("host", 19530, "home", user="ann")),
        ("milvus+tls://host:443/base/home", MilvusAddress("host", 443, "home", "base", tls=True)),
    ],
)
def test_an_address_names_user_database_and_tls(text: str, expected: MilvusAddress) -> None:
    assert MilvusAddress.parse(text) == expected
    assert str(expected) == text


def test_secrets_come_from_the_environment_and_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("milvus://ann:hunter2@host:1/home", "milvus://ann:hunter2@host/x/y/z"):
        with pytest.raises(InvalidValue) as caught:
            MilvusAddress.parse(text)
        assert "hunter2" not in str(caught.value)
        assert "hunter2" not in repr(caught.value.__dict__)
    monkeypatch.setenv(PASSWORD, "hunter2")
    monkeypatch.setenv(CERTIFICATE, "/ca.pem")
    options = MilvusAddress.parse("milvus+tls://ann@host:1/base/home").client_options()
    wanted = {"uri": "https://host:1", "db_name": "base", "user": "ann", "password": "hunter2"}
    assert options == {**wanted, "server_pem_path": "/ca.pem"}
    monkeypatch.setenv(TOKEN, "hunter3")
    assert MilvusAddress.parse("milvus://ann@host:1/home").client_options()["token"] == "hunter3"
    assert milvus._without_secrets("denied: hunter3 and hunter2") == "denied: ... and ..."
    with pytest.raises(IndexUnreachable) as unreachable:
        len(MilvusIndex("milvus://ann@127.0.0.1:9/home", 4, timeout=1.0))
    assert "hunter" not in str(unreachable.value)


@integration
def test_tls_user_password_token_and_database_reach_a_real_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("milvus", reason="pip install milvus==2.3.5 for the server's binary")
    openssl, namespace = shutil.which("openssl"), Namespace.make()
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    host = "127.0.0.1" if namespace is None else namespace.address
    pem, key = tmp_path / "server.pem", tmp_path / "server.key"
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={host} -addext subjectAltName=IP:{host}"
    subprocess.run([openssl, *words.split(), "-keyout", key, "-out", pem], check=True, capture_output=True)
    options = {"authorization_enabled": "true", "tls_mode": 1, "server_pem_path": pem, "server_key_path": key}
    running = MilvusServer(tmp_path / "milvus", namespace, options=options)
    index = f"milvus+tls://root@{running.address}/default/home"
    monkeypatch.setenv(CERTIFICATE, str(pem))
    try:
        running.start(limit=300.0)
        monkeypatch.setenv(PASSWORD, "wrong-hunter2")
        with pytest.raises(IndexUnreachable) as denied:
            len(MilvusIndex(index, 4, timeout=20.0))
        assert "hunter2" not in str(denied.value)
        monkeypatch.setenv(PASSWORD, "Milvus")
        with walk(Memory.open(tmp_path / "home", settings=robot("ann"), index=index), looks="random") as memory:
            memory.flush()
            sent(memory, 120.0)
            expected = len(memory.states())
        assert b"hunter2" not in (tmp_path / "home").read_bytes()
        monkeypatch.delenv(PASSWORD)
        monkeypatch.setenv(TOKEN, "root:Milvus")
        assert len(MilvusIndex(index.replace("root@", ""), timeout=20.0)) == expected
        with pytest.raises(IndexUnreachable):
            len(MilvusIndex(index.replace("/default/", "/nowhere/"), 4, timeout=20.0))
    finally:
        running.kill()
        if namespace is not None:
            namespace.close()


@integration
def test_the_page_about_milvus_runs_as_written(server: MilvusServer, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "milvus.md").read_text(encoding="utf-8").replace("localhost:19530", server.address)
    commands = [line for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    output = {}
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        output[command] = done.stdout
    assert len(commands) >= 6
    asked = next(told for command, told in output.items() if "--robots all" in command)
    assert {"ann/obj-", "bob/obj-"} <= {word for word in ("ann/obj-", "bob/obj-") if word in asked}


def test_a_robots_name_must_be_one(tmp_path: Path) -> None:
    for name in ("", "all", "x" * 300):
        with pytest.raises(InvalidValue, match="cannot name a robot"):
            Memory.open(tmp_path / "home", settings=robot(name), index="milvus://127.0.0.1:9/x")
    assert os.listdir(tmp_path) in ([], ["home"])
