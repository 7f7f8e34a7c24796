"""Cameras through stand-ins for their SDKs: images become records, a camera that goes away is opened again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import MissingExtra, SourceError
from lastseen.sources import SourceOptions, open_source
from lastseen.sources import camera as cameras
from lastseen.sources.camera import CameraSource, OakSource, RealSenseSource, Record3DSource
from lastseen.sources.record import RawRecord
from tests.sources import fake_cameras
from tests.sources.fake_cameras import Visits

KINDS: list[tuple[type[CameraSource], Callable[[pytest.MonkeyPatch, Visits], None]]] = [
    (RealSenseSource, fake_cameras.realsense),
    (OakSource, fake_cameras.oak),
    (Record3DSource, fake_cameras.record3d),
]
LOSSLESS = SourceOptions(backpressure="lossless", end_after=30.0)


def taken(source: CameraSource, count: int) -> list[RawRecord]:
    """The first records of a camera, which is closed then."""
    found = []
    with source:
        for record in source.records():
            found.append(record)
            if len(found) == count:
                break
    return found


@pytest.mark.parametrize(("kind", "install"), KINDS)
def test_images_become_records(
    kind: type[CameraSource], install: Callable[[pytest.MonkeyPatch, Visits], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Visits(3))
    records = taken(kind("", LOSSLESS), 3)
    assert np.median([record.depth.astype(float) / record.raw_per_metre for record in records]) == pytest.approx(1.5)
    assert records[0].intrinsics.fx == 60.0
    assert records[0].rgb.shape == (fake_cameras.HEIGHT, fake_cameras.WIDTH, 3)
    assert [record.stamp for record in records] == sorted(record.stamp for record in records)


@pytest.mark.parametrize(("kind", "install"), KINDS[:2])
def test_a_camera_that_goes_away_is_opened_again(
    kind: type[CameraSource], install: Callable[[pytest.MonkeyPatch, Visits], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cameras, "RETRY", 0.0)
    install(monkeypatch, Visits(2, 2))
    source = kind("", LOSSLESS)
    assert [int(record.rgb[0, 0, 0]) for record in taken(source, 4)] == [1, 2, 3, 4]
    assert source.intake.skipped["camera away"] >= 1


@pytest.mark.parametrize(("kind", "install"), KINDS)
def test_no_camera_is_one_line_with_a_remedy(
    kind: type[CameraSource], install: Callable[[pytest.MonkeyPatch, Visits], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Visits())
    with pytest.raises(SourceError, match=r"cannot be opened .*; plug") as caught:
        taken(kind("", LOSSLESS), 1)
    assert "\n" not in str(caught.value)


def test_a_slow_reader_drops_the_oldest_images_and_counts_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_cameras.realsense(monkeypatch, Visits(10))
    (tmp_path / "x.bag").touch()
    source = RealSenseSource(str(tmp_path / "x.bag"), SourceOptions(queue_frames=2))
    source.start()
    assert source._thread is not None
    # the recording ends before anything is read: two images are left of ten
    source._thread.join()
    assert [int(record.rgb[0, 0, 0]) for record in source.records()] == [9, 10]
    assert source.intake.dropped == 8


def test_cameras_without_a_localizer_take_poses_from_the_images(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cameras.realsense(monkeypatch, Visits(1))
    fake_cameras.oak(monkeypatch, Visits(1))
    fake_cameras.record3d(monkeypatch, Visits(1))
    poses = [open_source(f"{scheme}://").options.poses for scheme in ("realsense", "oak", "record3d")]
    assert poses == ["odometry", "odometry", "recorded"]


@pytest.mark.parametrize(("kind", "module"), [(RealSenseSource, "pyrealsense2"), (OakSource, "depthai")])
def test_a_missing_sdk_names_its_extra(
    kind: type[CameraSource], module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"lastseen\[{kind.scheme}\]"):
        kind("")


def test_record3d_says_who_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "record3d", None)
    with pytest.raises(SourceError, match="pip install record3d"):
        Record3DSource("")
