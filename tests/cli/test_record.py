from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.cli.main import main
from lastseen.sources import open_source
from tests.sources.room import walk, write_recording


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    code = ended.value.code
    return code if isinstance(code, int) else 0


def test_a_folder_becomes_an_mcap_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_recording(tmp_path / "walk", walk(4))
    out = tmp_path / "walk.mcap"
    assert run("record", str(folder), str(out), "--frames", "3", "--depth", "16UC1", "--set", "pose_delay=0.0") == 0
    assert "3 frames" in capsys.readouterr().out
    with open_source(out) as source:
        assert source.length() == 3
    assert run("record", str(folder), str(out)) == 1
    assert "exists already" in capsys.readouterr().err


def test_an_unknown_option_names_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_recording(tmp_path / "walk", walk(1))
    assert run("record", str(folder), str(tmp_path / "x.mcap"), "--set", "colour_topic=/x") == 1
    assert "color_topic" in capsys.readouterr().err
    assert run("record", str(folder), str(tmp_path / "x.mcap"), "--set", "color_topic") == 1
    assert "name=value" in capsys.readouterr().err


def test_a_program_reads_what_became_of_a_cut_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_recording(tmp_path / "walk", walk(4))
    whole, again = tmp_path / "whole.mcap", tmp_path / "again.mcap"
    assert run("record", str(folder), str(whole), "--color", "jpeg", "--depth", "png") == 0
    data = whole.read_bytes()
    whole.write_bytes(data[: len(data) * 6 // 10])
    capsys.readouterr()
    assert run("record", str(whole), str(again), "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert 1 <= facts["frames"] < 4
    assert facts["cut_off"].startswith(f"the recording was cut off after {facts['frames']} frames (t = 100.")
