from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.bridges.bridge import Bridge, image_box, open_bridge
from lastseen.detection import Box
from lastseen.errors import InvalidValue, MissingExtra
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.memory.rooms import Room
from tests.bridges.walk import seen, show_walk
from tests.sources.room import CAMERA, render, walk

ROOT = Path(__file__).parent.parent.parent


class Recorder(Bridge):
    """A bridge that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.number = -1
        self.drawn: list[tuple[int, str]] = []
        self.gone: list[tuple[int, str]] = []

    def _begin(self, stamp: float) -> None:
        self.number += 1

    def _show_camera(self, frame: Frame, boxes: Sequence[tuple[Box, str]]) -> None:
        pass

    def _show_objects(self, changed: Sequence[Object], gone: Sequence[str]) -> None:
        self.drawn += [(self.number, one.id) for one in changed]
        self.gone += [(self.number, one) for one in gone]

    def _show_rooms(self, rooms: Sequence[Room]) -> None:
        pass

    def _show_path(self, points: NDArray[np.float32]) -> None:
        assert points.shape[1] == 3

    def _show_belief(self, belief: Mapping[str, Any]) -> None:
        pass

    def _finish(self) -> None:
        pass


def test_a_thing_appears_once_and_goes_once() -> None:
    recorder = Recorder()
    gone = show_walk(recorder)
    assert recorder.drawn.count((0, gone)) == 1
    assert recorder.gone == [(3, gone)]


def test_what_did_not_change_is_not_drawn_again() -> None:
    recorder, memory, pose = Recorder(), Memory.open(), walk(1)[0]
    rgb, depth = render(pose)
    frame = Frame(0, 1.0, rgb, depth, pose, CAMERA)
    ahead = pose.transform(np.array([[0.0, 0.0, 2.0]]))[0]
    memory.observe(frame, [seen(1.0, tuple(ahead), pose, "mug")])
    recorder.show(frame, memory)
    recorder.show(frame, memory)
    assert [number for number, _ in recorder.drawn] == [0]


def test_a_box_in_the_image_surrounds_the_thing_in_the_world() -> None:
    pose = walk(1)[0]
    rgb, depth = render(pose)
    frame = Frame(0, 1.0, rgb, depth, pose, CAMERA)
    ahead = pose.transform(np.array([[0.0, 0.0, 2.0]]))[0]
    box = image_box(seen(1.0, tuple(ahead), pose, "mug"), frame)
    assert box is not None
    assert box[0] < CAMERA.cx < box[2]
    assert box[1] < CAMERA.cy < box[3]
    behind = pose.transform(np.array([[0.0, 0.0, -2.0]]))[0]
    assert image_box(seen(1.0, tuple(behind), pose, "mug"), frame) is None


@pytest.mark.parametrize(
    ("option", "target"), [("--rerun", "walk.mcap"), ("--foxglove", "walk.rrd"), ("--rerun", "x")]
)
def test_a_file_of_another_kind_is_refused(option: str, target: str) -> None:
    with pytest.raises(InvalidValue, match=option):
        open_bridge(option, target)


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "walk.rrd"
    file.write_bytes(b"mine")
    with pytest.raises(InvalidValue, match="exists already"):
        open_bridge("--rerun", str(file))
    assert file.read_bytes() == b"mine"


@pytest.mark.parametrize(("option", "name"), [("--rerun", "walk.rrd"), ("--foxglove", "walk.mcap")])
def test_without_its_sdk_the_extra_is_named(
    option: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("rerun", "foxglove"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=option.removeprefix("--")):
        open_bridge(option, str(tmp_path / name))


@pytest.mark.integration
def test_the_files_are_read_by_the_viewers_own_tools() -> None:
    python = Path(os.environ.get("LASTSEEN_VIEWERS_PYTHON", ROOT / ".venv-viewers" / "bin" / "python"))
    if not python.exists():
        pytest.skip("the viewers' SDKs are not here: `make viewers` installs them")
    words = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "-n", "0"]
    checks = [str(path) for path in sorted((ROOT / "tests").rglob("checks_with_viewers.py"))]
    done = subprocess.run(
        [str(python), "-m", "pytest", *words, *checks],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
