"""The command as people start it: a process of its own, ended by signals, killed under load."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from typer.testing import CliRunner
from websockets.sync.client import connect

from lastseen.cli.main import app
from lastseen.cli.serve import _what
from lastseen.memory.memory import Memory
from lastseen.server.run import Running
from tests.memory.homes import walk as see_room
from tests.perception.tiny_onnx import final_detector
from tests.sources.room import walk, write_recording


@contextmanager
def started(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``lastseen serve`` on a free port, and the address of its page."""
    command = [sys.executable, "-m", "lastseen.cli.main", "serve", *arguments, "--port", "0"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            seen: list[str] = []
            for line in process.stdout:
                seen.append(line)
                found = re.match(r"page: (http://\S+)", line)
                if found:
                    break
            else:
                raise AssertionError("".join(seen))
            yield process, found[1]
        finally:
            if process.poll() is None:
                process.kill()


def send(base: str, number: int, *, timeout: float = 100) -> requests.Response:
    body = {
        "stamp": number * 0.01,
        "frame_id": number,
        "pose": {"xyz": [0, 0, 1], "quaternion_xyzw": [0, 0, 0, 1]},
        "observations": [{"xyz_world": [number, 0, 1], "labels": {f"thing {number}": 0.9}}],
    }
    return requests.post(f"{base}/ingest/observations", json=body, timeout=timeout)


@pytest.mark.slow
def test_what_was_acknowledged_survives_being_killed_under_load(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    acknowledged: list[int] = []
    with started(str(path)) as (process, page):
        base = page.removesuffix("/viewer/")
        over = threading.Event()

        def ask() -> None:
            while not over.is_set():
                try:
                    requests.get(f"{base}/search/semantic", params={"query": "thing"}, timeout=60)
                except requests.RequestException:
                    return

        def ingest() -> None:
            for number in range(10_000):
                try:
                    if send(base, number).ok:
                        acknowledged.append(number)
                except requests.RequestException:
                    return

        threads = [threading.Thread(target=ask) for _ in range(3)] + [threading.Thread(target=ingest)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 60 and threads[-1].is_alive():
            threads[-1].join(0.02)
        process.send_signal(signal.SIGKILL)
        over.set()
        for thread in threads:
            thread.join()
    assert len(acknowledged) >= 60
    with Memory.open(path) as memory:
        kept = {state.label for state in memory.objects(include_tentative=True)}
    assert {f"thing {number}" for number in acknowledged} <= kept


@pytest.mark.integration
@pytest.mark.timeout(600)  # it compiles; on a busy machine that takes minutes
def test_pages_are_answered_while_the_first_frame_waits_for_the_compiler(tmp_path: Path) -> None:
    path, cache = tmp_path / "home.lastseen", tmp_path / "cache"
    cache.mkdir()
    with Memory.open(path) as memory:
        see_room(memory, 6, looks="random")
    with started(str(path), XDG_CACHE_HOME=str(cache), NUMBA_CACHE_DIR=str(cache)) as (_, page):
        base = page.removesuffix("/viewer/")
        taken: list[int] = []
        robot = threading.Thread(target=lambda: taken.append(send(base, 10_000, timeout=500).status_code))
        robot.start()
        robot.join(1.0)
        if taken:
            pytest.skip("there was nothing to compile, or it took no time")
        meanwhile = 0
        for asked in ("/stats", "/healthz", "/objects", "/objects/obj-1", "/search/semantic?query=mug", "/viewer/"):
            assert requests.get(base + asked, timeout=100).ok
            meanwhile += robot.is_alive()
        robot.join()
        assert taken == [200]
        assert meanwhile >= 3


@pytest.mark.slow
def test_a_signal_ends_it_and_everything_is_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with started(str(path), LASTSEEN_TOKEN="a-token-of-my-own") as (process, page):
        assert page.endswith("/viewer/")  # the user knows the token; a log must not
        base = page.partition("/viewer/")[0]
        assert requests.get(f"{base}/stats", timeout=60).status_code == 401
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0, rest
    assert "everything is on disk" in rest
    assert path.exists()


@pytest.mark.parametrize(("made", "told"), [(False, "home (new, empty memory)"), (True, "home")])
def test_a_file_that_is_made_is_told_as_new(made: bool, told: str) -> None:
    assert _what(Path("home"), is_new=not made, read_only=False) == told
    assert _what(None, is_new=False, read_only=False) == "a memory that ends with this process"


@pytest.mark.slow
@pytest.mark.integration
def test_ctrl_c_lets_deaf_watchers_go_without_noise(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with started(str(path)) as (process, page), contextlib.ExitStack() as stack:
        assert process.stdout is not None
        base = page.removesuffix("/viewer/")
        send(base, 1)
        address = base.replace("http", "ws") + "/ws"
        for _ in range(3):
            # subscribed to everything, and never read
            watcher = stack.enter_context(connect(address, max_queue=1, close_timeout=0.1))
            watcher.send('{"type": "subscribe", "topics": ["objects", "robot", "stats"]}')
        refused = requests.get(f"{base}/mcp", headers={"accept": "text/event-stream"}, timeout=60, stream=True)
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)  # impatience must not cut the writing short
        rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0, rest
    told = [line for line in rest.splitlines() if not line.startswith("API:")]
    assert told == ["stopped; everything is on disk"], rest


def test_a_second_signal_waits_until_the_memory_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closing = Memory.close

    def interrupted(memory: Memory) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
        closing(memory)

    monkeypatch.setattr(Memory, "close", interrupted)
    monkeypatch.setattr(Running, "serve", lambda _: None)
    before = signal.getsignal(signal.SIGTERM)
    result = CliRunner().invoke(app, ["serve", str(tmp_path / "home.lastseen"), "--port", "0"])
    assert result.exit_code == 0, result.output
    assert "everything is on disk" in result.output
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_ends_the_opening_of_a_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opening(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Memory, "open", opening)
    result = CliRunner().invoke(app, ["serve", str(tmp_path / "home.lastseen"), "--port", "0"])
    assert result.exit_code != 0
    assert "serves" not in result.output


def test_a_start_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new.lastseen"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for arguments in (
            ["--port", str(taken.getsockname()[1])],
            ["--host", "256.1.1.1"],
            ["--port", "0", "--source", "nowhere"],
            ["--port", "0", "--encoder", "nonsense"],
            ["--port", "0", "--source", "sim://1", "--encoder", "nonsense"],
            ["--port", "0", "--source", "sim://1", "--detector", "nonsense"],
        ):
            assert CliRunner().invoke(app, ["serve", str(path), *arguments]).exit_code != 0
    monkeypatch.setenv("LASTSEEN_TOKEN", "short")
    result = CliRunner().invoke(app, ["serve", str(path), "--port", "0"])
    assert "16 or more" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_followed_source_is_looked_at_as_a_run_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = write_recording(tmp_path / "walk", walk(16))
    model = final_detector(tmp_path / "m.onnx", labels=[56], boxes=[[0.3, 0.3, 0.7, 0.7]], scores=[0.99])
    labels: set[str | None] = set()

    def until_the_source_ends(running: Running) -> None:
        service = running.service
        while service.source.state in ("waiting", "preparing", "running"):
            time.sleep(0.01)
        assert service.source.state == "ended", service.source.error
        labels.update(state.label for state in service.memory.objects())

    monkeypatch.setattr(Running, "serve", until_the_source_ends)
    words = ["serve", "--port", "0", "--source", str(recording), "--detector", str(model), "--min-view-bins", "1"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    # what the detector does not name may be remembered beside it
    assert "chair" in labels


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["serve", "--demo", "--source", "x"], "does not go with --source"),
        (["serve", "--demo", "--phone"], "is another source"),
        (["serve", "--read-only", "--no-memory"], "needs a file"),
        (["serve", "--read-only"], "home.lastseen: does not exist"),
        (["serve", "--detector", "m.onnx"], "add --source"),
        (["serve", "--set", "world_up=y"], "add --source"),
        (["serve", "--source", "x", "--labels", "names.txt"], "needs --detector"),
        (["serve", "--host", "256.1.1.1"], "cannot be bound"),
        (["mcp", "nowhere.lastseen"], "nowhere.lastseen"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(arguments: list[str], problem: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0
    assert problem in str(result.exception)


def test_a_phone_is_shown_where_to_go_before_anything_is_served(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("segno")
    monkeypatch.setattr(Running, "serve", lambda _: None)
    words = ["serve", str(tmp_path / "home.lastseen"), "--port", "0", "--source", "phone://127.0.0.1:0"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "phone: http://127.0.0.1:" in result.output
    assert "#token=" in result.output
    assert "adb reverse" in result.output
