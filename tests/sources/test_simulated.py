from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.errors import InvalidValue, SourceError
from lastseen.frame import Frame
from lastseen.sources import open_source
from lastseen.sources.base import RecordSource
from lastseen.sources.ros.writing import record as write_mcap
from lastseen.sources.simulated import SimSource

ADDRESS = "sim://7?minutes=0.1&rooms=4"


@pytest.fixture(scope="module")
def settings() -> Settings:
    small = Settings()
    return replace(small, camera=replace(small.camera, width=96, height=72))


@pytest.fixture(scope="module")
def source(settings: Settings) -> SimSource:
    opened = open_source(ADDRESS, settings=settings)
    assert isinstance(opened, SimSource)
    return opened


def test_a_walk_is_as_long_as_it_says_and_the_same_each_time(source: SimSource) -> None:
    first, second = list(source.frames()), list(source.frames())
    assert len(first) == source.length()
    for one, other in zip(first, second, strict=True):
        assert one.stamp == other.stamp
        assert (one.rgb == other.rgb).all()
        assert np.array_equal(one.depth, other.depth, equal_nan=True)


def test_its_detector_names_what_is_in_the_frame(source: SimSource) -> None:
    detector = source.detector()
    found = [one for frame in source.frames() for one in detector.detect(frame)]
    assert any(one.label for one in found)
    assert all(one.mask is not None and one.mask.shape == (72, 96) for one in found)


def test_detections_turn_with_the_image(settings: Settings) -> None:
    def pixels(source: RecordSource, frame: Frame) -> int:
        detector = source.detector()
        assert detector is not None
        return sum(int(one.mask.sum()) for one in detector.detect(frame) if one.mask is not None)

    upright = open_source(ADDRESS, settings=settings)
    turned = open_source(ADDRESS, changes=["image_rotation=90"], settings=settings)
    for frame, other in islice(zip(upright.frames(), turned.frames(), strict=True), 4):
        assert (np.rot90(frame.rgb, -1) == other.rgb).all()
        assert pixels(upright, frame) == pixels(turned, other)


def test_a_sample_is_the_walk_at_those_frames(source: SimSource) -> None:
    whole = list(source.records())
    some = list(source.records(wanted={2, 5}.__contains__))
    assert [one.stamp for one in some] == [whole[2].stamp, whole[5].stamp]
    assert (some[1].rgb == whole[5].rgb).all()


def test_an_old_frame_has_no_detections_any_more(source: SimSource) -> None:
    detector = source.detector()
    frames = list(source.frames())
    with pytest.raises(SourceError, match="recent frame"):
        detector.detect(frames[0])


def test_a_walk_can_be_recorded_with_its_detections(source: SimSource, tmp_path: Path) -> None:
    write_mcap(source, tmp_path / "walk.mcap", max_frames=4)
    detector = source.detector()
    with open_source(tmp_path / "walk.mcap") as again:
        recorded = again.detector()
        assert recorded is not None
        for frame, copy in islice(zip(source.frames(), again.frames(), strict=False), 4):
            assert np.array_equal(frame.depth, copy.depth, equal_nan=True)
            said, kept = detector.detect(frame), recorded.detect(copy)
            assert [(one.box, one.score, dict(one.labels)) for one in said] == [
                (one.box, one.score, dict(one.labels)) for one in kept
            ]


@pytest.mark.parametrize(
    "address", ["sim://home", "sim://", "sim://7?minutes=long", "sim://7?speed=3", "sim://7?minutes=-1"]
)
def test_a_wrong_address_is_one_clear_error(address: str) -> None:
    with pytest.raises(InvalidValue, match=r"seed|minutes|speed"):
        open_source(address)
