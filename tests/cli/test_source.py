"""``lastseen run``, ``record`` and ``doctor``: what becomes of a source."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.cli.source import first_question, report_lines
from lastseen.config import Settings
from lastseen.memory.memory import Memory
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.follow import Summary
from tests.cli.commands import call, lastseen
from tests.encoders.tiny_towers import tiny_clip
from tests.memory.objects.scenes import Room
from tests.perception.tiny_onnx import final_detector
from tests.sources.faults import copy_with_fault
from tests.sources.room import walk, write_recording


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recording(tmp_path_factory.mktemp("run") / "walk", walk(16))


def test_a_recording_becomes_a_memory_file_that_can_be_asked(recording: Path, tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    done = lastseen("run", str(recording), "--memory", str(file), "--min-view-bins", "1", "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["frames"] == 16
    # a cupboard with a box on it and a chest; most frames cut them off below
    assert facts["confirmed"] >= 2
    listed = lastseen("objects", "--memory", str(file), "--json")
    assert listed.returncode == 0, listed.stderr
    assert len(json.loads(listed.stdout)) == facts["confirmed"]
    surfaces = lastseen("objects", "--surfaces", "--memory", str(file), "--json")
    assert len(json.loads(surfaces.stdout)) > 0
    assert facts["anchors"] > 3
    searched = lastseen("search", "mug", "--memory", str(file))
    assert searched.returncode == 0, searched.stderr
    assert searched.stdout.startswith("memory does not know it: ")


def test_what_is_suggested_to_ask_is_found(recording: Path, tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    done = lastseen("run", str(recording), "-m", str(file), "--min-view-bins", "1")
    assert done.returncode == 0, done.stderr
    # nothing has a name here, so only a colour can be asked for
    suggested = done.stdout.strip().splitlines()[-1].strip().removeprefix("lastseen ")
    assert suggested.startswith('find "something '), done.stdout
    asked = lastseen(*shlex.split(suggested), "--json")
    assert json.loads(asked.stdout)["status"] != "not_found", asked.stdout


def test_a_name_is_suggested_before_a_colour_and_never_as_shell_text() -> None:
    room = Room()
    room.put("mug", (2.0, -0.6, 0.8))
    with Memory.open(settings=Settings()) as memory:
        assert first_question(memory) == ""
        for number in range(12):
            memory.observe(*room.see(number, eye=(0.0, 0.1 * number, 1.4), target=(2.0, -0.6, 0.8)))
        assert first_question(memory) == 'find "mug"'
        memory.relabel("obj-1", "$(touch x)")
        assert "$" not in first_question(memory)


def test_the_summary_says_that_things_have_no_names() -> None:
    told = "\n".join(report_lines(Summary(), named=False, min_view_bins=2))
    assert "things have no names" in told
    assert "--detector model.onnx" in told


def test_a_detector_from_a_file_names_things(recording: Path, tmp_path: Path) -> None:
    model = final_detector(tmp_path / "m.onnx", labels=[56], boxes=[[0.3, 0.3, 0.7, 0.7]], scores=[0.99])
    file = tmp_path / "home.lastseen"
    done = lastseen("run", str(recording), "-m", str(file), "--min-view-bins", "1", "--detector", str(model))
    assert done.returncode == 0, done.stderr
    assert "things have no names" not in done.stdout
    listed = json.loads(lastseen("objects", "--memory", str(file), "--json").stdout)
    # beside what it names, things are found by their shape
    assert {one["label"] for one in listed} - {None} == {"chair"}


def test_looks_by_clip_answer_words_without_any_name(recording: Path, tmp_path: Path) -> None:
    folder, file = tiny_clip(tmp_path / "clip"), tmp_path / "home.lastseen"
    run = CliRunner().invoke
    done = run(app, ["run", str(recording), "-m", str(file), "--min-view-bins", "1", "--encoder", f"clip:{folder}"])
    assert done.exit_code == 0, done.output
    assert "things have no names" not in done.output
    asked = ["find", "green mug", "-m", str(file), "--json"]
    seen = run(app, [*asked, "--encoder", f"clip:{folder}"])
    # what a network without training finds alike means nothing: that things are ranked by it does
    assert json.loads(seen.stdout)["results"]
    assert "only names are searched" not in seen.stderr
    blind = run(app, asked, env={"LASTSEEN_MODELS": str(tmp_path)})
    assert json.loads(blind.stdout)["status"] == "not_found"
    assert "only names are searched" in blind.stderr


def test_one_sided_objects_come_with_the_option_that_confirms_them() -> None:
    lines = report_lines(Summary(one_sided=3), named=True, min_view_bins=2)
    assert "3 objects seen from one side only: try --min-view-bins 1" in lines


def test_a_missing_recording_is_one_line() -> None:
    done = lastseen("run", "no-such-folder")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_a_folder_becomes_an_mcap_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_recording(tmp_path / "walk", walk(4))
    out = tmp_path / "walk.mcap"
    assert call("record", str(folder), str(out), "--frames", "3", "--depth", "16UC1", "--set", "pose_delay=0.0") == 0
    assert "3 frames" in capsys.readouterr().out
    with open_source(out) as source:
        assert source.length() == 3
    assert call("record", str(folder), str(out)) == 1
    assert "exists already" in capsys.readouterr().err


def test_an_unknown_option_names_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_recording(tmp_path / "walk", walk(1))
    assert call("record", str(folder), str(tmp_path / "x.mcap"), "--set", "colour_topic=/x") == 1
    assert "color_topic" in capsys.readouterr().err
    assert call("record", str(folder), str(tmp_path / "x.mcap"), "--set", "color_topic") == 1
    assert "name=value" in capsys.readouterr().err


def test_a_program_reads_what_became_of_a_cut_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_recording(tmp_path / "walk", walk(4))
    whole, again = tmp_path / "whole.mcap", tmp_path / "again.mcap"
    assert call("record", str(folder), str(whole), "--color", "jpeg", "--depth", "png") == 0
    data = whole.read_bytes()
    whole.write_bytes(data[: len(data) * 6 // 10])
    capsys.readouterr()
    assert call("record", str(whole), str(again), "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert 1 <= facts["frames"] < 4
    assert facts["cut_off"].startswith(f"the recording was cut off after {facts['frames']} frames (t = 100.")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recording(tmp_path_factory.mktemp("cli") / "clean", walk(12))


def test_clean_data_exits_with_zero_and_prints_the_table(clean: Path) -> None:
    done = lastseen("doctor", str(clean))
    assert done.returncode == 0, done.stderr
    assert "pose direction" in done.stdout


def test_a_fault_exits_with_one_and_the_fix_is_written(clean: Path, tmp_path: Path) -> None:
    copy = copy_with_fault(clean, tmp_path / "copy", "pose inverted")
    done = lastseen("doctor", str(copy), "--fix", str(copy / "source.toml"), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["faults"] == ["pose direction"]
    assert SourceOptions.load(copy / "source.toml").pose_inverted
    assert lastseen("doctor", str(copy), "--json").returncode == 0


def test_a_source_that_is_none_is_one_line() -> None:
    done = lastseen("doctor", "no-such-folder")
    assert done.returncode == 1
    assert done.stderr.startswith("error: source = 'no-such-folder': does not exist")
