from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lastseen.cli.main import main

SMALL = {"LASTSEEN__CAMERA__WIDTH": "48", "LASTSEEN__CAMERA__HEIGHT": "36"}
MINUTES = "0.4"
WORDS = ["sim", "record", "--seed", "3", "--rooms", "4", "--minutes", MINUTES]


@pytest.fixture(autouse=True)
def _small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setenv(name, value)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    code = ended.value.code
    return code if isinstance(code, int) else 0


def test_it_writes_a_recording_and_refuses_to_overwrite_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(*WORDS, "--minutes", "0.05", str(out)) == 0
    assert "house-3" in capsys.readouterr().out
    assert (out / "truth.json").is_file()
    assert run(*WORDS, "--minutes", "0.05", str(out)) == 1
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
    assert run("sim", "record", *words, str(tmp_path / "out")) == 1
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
    assert run(*words, str(out)) == 0
    assert (out / "rgb.txt").read_text().count("rgb/") == 360
