from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.commands import call

SMALL = {"LASTSEEN__CAMERA__WIDTH": "48", "LASTSEEN__CAMERA__HEIGHT": "36"}
MINUTES = "0.4"
WORDS = ["sim", "record", "--seed", "3", "--rooms", "4", "--minutes", MINUTES]


@pytest.fixture(autouse=True)
def _small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setenv(name, value)


def test_it_writes_a_recording_and_refuses_to_overwrite_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call(*WORDS, "--minutes", "0.05", str(out)) == 0
    assert "house-3" in capsys.readouterr().out
    assert (out / "truth.json").is_file()
    assert call(*WORDS, "--minutes", "0.05", str(out)) == 1
    assert "finished" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--level", "awful"], "perfect, good, typical, bad"),
        (["--minutes", "0"], "minutes"),
        (["--npz", "none.npz", "--rooms", "4"], "do not go together"),
    ],
)
def test_wrong_options_give_one_clear_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("sim", "record", *words, str(tmp_path / "out")) == 1
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.integration
def test_ctrl_c_leaves_a_recording_that_goes_on(tmp_path: Path) -> None:
    # long enough that it is still walking when the signal comes, however loaded the machine is
    words = ["3" if word == MINUTES else word for word in WORDS]
    out = tmp_path / "out"
    command = [sys.executable, "-m", "lastseen.cli.main", *words, str(out)]
    process = subprocess.Popen(
        command,
        env={**os.environ, **SMALL},
        stderr=subprocess.PIPE,
        text=True,
        # a shell that starts the tests in the background lets its children ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    poses = out / "groundtruth.txt"
    deadline = time.monotonic() + 60.0
    while not (poses.is_file() and poses.read_text().count("\n") > 4) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (out / "truth.json").exists()
    assert call(*words, str(out)) == 0
    assert (out / "rgb.txt").read_text().count("rgb/") == 360


def test_sim_map_draws_a_house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "house.png"
    assert call("sim", "map", "--seed", "7", "--rooms", "4", "--scale", "30", out) == 0
    assert "house-7, 4 rooms" in capsys.readouterr().out
    with Image.open(out) as image:
        assert image.format == "PNG"


def test_sim_map_draws_a_scene_graph(tmp_path: Path, shared_data: Path) -> None:
    scene = shared_data / "virtualhome_graphs" / "TestScene2.json.gz"
    assert call("sim", "map", "--graph", scene, "--scale", "20", tmp_path / "scene.png") == 0


@pytest.mark.parametrize(
    "words", [("--rooms", "0"), ("--seed", "-3"), ("--graph", "nowhere.json"), ("--graph", "x.json", "--rooms", "4")]
)
def test_sim_map_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert call("sim", "map", *words, tmp_path / "house.png") == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "house.png").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("embreex", reason="needs the extra sim")
    (tmp_path / "mine.txt").write_text("mine")
    assert call("demo", "--out", tmp_path) == 1
    assert "is not an empty folder; name a new one" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_a_demo_without_its_extra_takes_no_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lastseen.cli.sim.find_spec", lambda name: None)
    assert call("demo", "--out", tmp_path / "story") == 1
    told = capsys.readouterr()
    assert "lastseen[sim]" in " ".join((told.out + told.err).split())
    assert not (tmp_path / "story").exists()
