from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.memory.objects import machine_code
from lastseen.memory.objects.compiled import dot, float_to_half, half_to_float
from lastseen.memory.objects.machine_code import own_folder

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


@pytest.mark.slow
def test_machine_code_of_the_first_frame_is_kept(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SEEN_ONCE], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    kept = sorted(tmp_path.glob("lastseen/compiled/*/*/*"))
    assert any(file.suffix == ".nbc" for file in kept)
    # what a power cut left empty is compiled again, and kept again
    for file in kept:
        file.write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-c", SEEN_ONCE], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert any(file.stat().st_size for file in kept)


def test_machine_code_is_kept_only_where_nobody_else_can_put_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = own_folder()
    assert folder is not None
    Path(folder).chmod(0o777)
    assert own_folder() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    assert own_folder() is None


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(machine_code, "_cache_home", lambda _: None)
    assert own_folder() is None


def test_asking_loads_no_compiler() -> None:
    code = "import sys, lastseen.memory.objects; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
