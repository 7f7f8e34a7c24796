from __future__ import annotations

import fcntl
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen import compiled as folder_module
from lastseen.compiled import STATES_KEPT, code_folder, dot, float_to_half, half_to_float
from lastseen.memory.objects import ObjectMemory
from tests.memory.objects.scenes import frame_at, seen, unit

SEEN_ONCE = """
import numpy as np
from tests.memory.objects.scenes import frame_at, seen
from lastseen.memory.objects import ObjectMemory
memory = ObjectMemory()
memory.observe(frame_at(0), [seen([2, 0, 1])])
print(len(memory))
"""


def test_every_half_is_read_as_it_was_written() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16)
    values = halves.view(np.float16).astype(np.float32)
    finite = np.isfinite(values)
    for half, value in zip(halves[finite], values[finite], strict=True):
        assert half_to_float(half) == value
        assert float_to_half(value) == half or value == 0.0


@given(st.floats(-70000.0, 70000.0, width=32))
def test_a_number_becomes_the_nearest_half(value: float) -> None:
    nearest = np.float32(np.clip(value, -65504.0, 65504.0)).astype(np.float16)
    assert half_to_float(float_to_half(np.float32(value))) == nearest


def test_a_scalar_product_is_one_of_many_terms() -> None:
    one, other = np.random.default_rng(0).normal(size=(2, 512)).astype(np.float32)
    assert dot(one, other) == pytest.approx(float(one.astype(np.float64) @ other), abs=1e-4)


@pytest.mark.integration
@pytest.mark.timeout(900)  # it compiles twice; on a busy machine each takes minutes
def test_machine_code_of_the_first_frame_is_kept(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SEEN_ONCE], env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.stdout == "1\n"
    assert done.stderr.startswith("compiling perception")
    assert done.stderr.count("\n") == 1
    kept = sorted(tmp_path.glob("lastseen/compiled/*/*/*"))
    assert any(file.suffix == ".nbc" for file in kept)
    # what a power cut left empty is compiled again, and kept again
    for file in kept:
        file.write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-c", SEEN_ONCE], env=environment, capture_output=True, text=True, check=False, timeout=400
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert any(file.stat().st_size for file in kept)


def test_machine_code_is_kept_only_where_nobody_else_can_put_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = code_folder()
    assert folder is not None
    Path(folder).chmod(0o777)
    assert code_folder() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    assert code_folder() is None


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_parent_that_others_can_write_is_refused(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert code_folder() is not None
    (tmp_path / "cache" / "lastseen").chmod(mode)
    assert code_folder() is None
    assert str(tmp_path / "cache" / "lastseen") in caplog.text
    # with the sticky bit others can write there, but not replace what is ours
    (tmp_path / "cache" / "lastseen").chmod(0o1000 | mode)
    assert code_folder() is not None


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = Path(code_folder() or "")
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert code_folder() is None
    # a cache that is a link itself is the place that it leads to
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "link"))
    assert Path(code_folder() or "").is_relative_to(tmp_path / "real")


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert code_folder() is not None
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert code_folder() is None


def test_code_of_other_sources_is_kept_apart_and_goes_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folders = []
    for number in range(STATES_KEPT + 3):
        monkeypatch.setattr(folder_module, "_STATE", f"state{number}")
        folders.append(Path(code_folder() or ""))
        if number != 1:
            os.utime(folders[-1], (number, number))
    assert len(set(folders)) == len(folders)
    # the second was used today: another checkout may run from it
    assert [folder.exists() for folder in folders] == [False, True] + [True] * (STATES_KEPT + 1)


def test_using_a_folder_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = Path(code_folder() or "")
    os.utime(folder, (1, 1))
    assert code_folder() is not None
    assert folder.stat().st_mtime > 1


def test_sources_that_cannot_be_read_keep_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(folder_module, "_PACKAGE", tmp_path / "archive.zip")
    monkeypatch.setattr(folder_module, "_STATE", folder_module._digest())
    assert code_folder() is None


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", no_home)
    assert code_folder() is None


def test_a_function_that_another_process_compiles_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    looked, entered = threading.Event(), threading.Event()

    def look(_: float) -> None:
        looked.set()

    def compile_too() -> None:
        with folder_module._alone("function"):
            entered.set()

    monkeypatch.setattr(time, "sleep", look)
    with Path(code_folder() or "", "function.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waiting = threading.Thread(target=compile_too)
        waiting.start()
        assert looked.wait(60.0)
        assert not entered.is_set()
    waiting.join()
    assert entered.is_set()


def test_a_process_that_never_ends_compiling_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(folder_module, "LONGEST_COMPILE", 0.0)
    with Path(code_folder() or "", "function.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with folder_module._alone("function"):
            pass


def test_the_garbage_collector_runs_again_after_compiling() -> None:
    assert gc.isenabled()
    with folder_module._without_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_asking_loads_no_compiler() -> None:
    code = "import sys, lastseen.memory.objects; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


RESTORED = """
import pickle, sys
from lastseen.memory.objects import ObjectMemory
memory = ObjectMemory()
memory.restore(pickle.loads(sys.stdin.buffer.read()))
assert memory.states()[0].label == "mug"
assert memory.relations("obj-1")[0].other_id == "obj-2"
assert len(memory.export_rows()) == 2
sys.exit("numba" in sys.modules)
"""


def test_a_restored_memory_answers_without_the_compiler() -> None:
    memory = ObjectMemory()
    for number, eye in enumerate([(0.0, 0.0, 1.0), (4.0, 0.0, 1.0)]):
        pair = [seen([2.0, y, 0.5], eye=eye, embedding=unit(1), labels={"mug": 0.9}) for y in (0.0, 0.4)]
        memory.observe(frame_at(number), pair)
    rows = pickle.dumps(memory.export_rows())
    assert subprocess.run([sys.executable, "-c", RESTORED], input=rows, check=False).returncode == 0


WARMED_UP = """
import sys
from tests.memory.objects.scenes import Room, frame_at, seen, unit
from lastseen.memory.objects import ObjectMemory, warm_up
from lastseen.compiled import Compiled
def compiled():
    return {one.__qualname__: len(one.machine_code.signatures) for one in Compiled._all if one.machine_code}
warm_up()
before = compiled()
room, memory, kinds = Room(), ObjectMemory(), set()
room.put("mug", [2.0, 0.0, 0.8])
for number in range(60):
    if number == 20:
        room.put("mug", [2.0, 0.9, 0.8])
    frame, observations = room.see(number, eye=(0.0, 0.3 * (number % 8) - 1.2, 1.4))
    kinds |= {event.kind.value for event in memory.observe(frame, observations)}
for number, y in enumerate([0.0, 0.0, 0.38, 0.38] + [0.2] * 10):
    size = (0.4, 0.8 if number > 3 else 0.4, 0.4)
    thing = seen([9.0, y, 0.5], eye=((7.0, 11.0)[number % 2], 0.0, 1.0), size=size, embedding=unit(1))
    kinds |= {event.kind.value for event in memory.observe(frame_at(100 + number), [thing])}
assert {"moved", "missing", "merged"} <= kinds, kinds
assert compiled() == before, {name: count for name, count in compiled().items() if before.get(name) != count}
"""


def test_after_warming_up_no_frame_waits_for_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", WARMED_UP], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
