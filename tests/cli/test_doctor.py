from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lastseen.sources import SourceOptions
from tests.sources.faults import copy_with_fault
from tests.sources.room import walk, write_recording


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recording(tmp_path_factory.mktemp("cli") / "clean", walk(12))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lastseen.cli.main", "doctor", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def test_clean_data_exits_with_zero_and_prints_the_table(clean: Path) -> None:
    done = run(str(clean))
    assert done.returncode == 0, done.stderr
    assert "pose direction" in done.stdout


def test_a_fault_exits_with_one_and_the_fix_is_written(clean: Path, tmp_path: Path) -> None:
    copy = copy_with_fault(clean, tmp_path / "copy", "pose inverted")
    done = run(str(copy), "--fix", str(copy / "source.toml"), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["faults"] == ["pose direction"]
    assert SourceOptions.load(copy / "source.toml").pose_inverted
    assert run(str(copy), "--json").returncode == 0


def test_a_source_that_is_none_is_one_line() -> None:
    done = run("no-such-folder")
    assert done.returncode == 1
    assert done.stderr.startswith("error: source = 'no-such-folder': does not exist")
