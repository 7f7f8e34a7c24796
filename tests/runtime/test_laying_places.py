"""Places and anchors from frames with poses, as a recording or a live camera brings them."""

from __future__ import annotations

import numpy as np
import pytest

from lastseen.frame import Frame
from lastseen.memory.places import SpatialMemory
from lastseen.observation import Observation
from lastseen.planning.scene import SceneAnalyzer
from lastseen.pose2d import Pose2D
from lastseen.runtime.laying_places import PlaceLayer
from lastseen.vlm.offline import OfflineBackend
from tests.memory.objects.scenes import frame_at

KITCHEN, BEDROOM = ("stove", "refrigerator", "sink"), ("bed", "wardrobe", "pillow")


def frame(number: int, x: float) -> Frame:
    return frame_at(number, stamp=0.1 * number, eye=(x, 0.0, 1.2), target=(x + 2.0, 0.0, 1.0))


def saw(*labels: str) -> list[Observation]:
    return [
        Observation(np.zeros(3), np.full(3, 0.1), np.array([1.0, 0.0, 0.0]), 0.0, labels={label: 0.9})
        for label in labels
    ]


def walked(spatial: SpatialMemory, *, start: int = 0, rooms: bool = True) -> SpatialMemory:
    """Twenty metres: eight through a kitchen, the rest through a bedroom; a frame every 12.5 centimetres."""
    layer = PlaceLayer(spatial, SceneAnalyzer(OfflineBackend()))
    for number in range(start, start + 160):
        x = 0.125 * (number - start)
        layer.see(frame(number, x), saw(*(KITCHEN if x < 8.0 else BEDROOM)) if rooms else ())
    return spatial


def test_anchors_lie_on_the_way_with_their_world_poses() -> None:
    anchors = list(walked(SpatialMemory()).graph.anchors.values())
    assert anchors[0].world_pose is not None
    assert anchors[0].world_pose.distance_to(Pose2D(0.0, 0.0, 0.0)) < 1e-6
    assert anchors[-1].world_pose is not None
    assert anchors[-1].world_pose.x == pytest.approx(19.8, abs=0.5)
    assert all(anchors[k].anchor_id in anchors[k + 1].neighbors for k in range(len(anchors) - 1))


def test_places_are_named_by_what_was_seen_there() -> None:
    spatial = walked(SpatialMemory())
    assert [place.place_type for place in spatial.graph.places.values()] == ["kitchen", "bedroom"]
    assert "stove" in spatial.graph.anchors[1].labels
    assert "bed" in list(spatial.graph.anchors.values())[-1].labels


def test_without_names_a_place_is_unknown_and_can_be_walked_to_all_the_same() -> None:
    spatial = walked(SpatialMemory(), rooms=False)
    assert [place.place_type for place in spatial.graph.places.values()] == ["unknown"]
    assert len(spatial.graph.anchors) > 10


def test_a_memory_that_was_walked_before_gets_a_new_episode_and_no_edge_between() -> None:
    spatial = walked(SpatialMemory())
    before = len(spatial.graph.anchors)
    walked(spatial, start=200)
    assert spatial.episode == 1
    assert all(other >= before for other in spatial.graph.anchors[before].neighbors)


def test_equal_streams_give_equal_places() -> None:
    assert walked(SpatialMemory()).to_dict() == walked(SpatialMemory()).to_dict()
