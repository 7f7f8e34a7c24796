"""Places and anchors from frames with poses, as a recording or a live camera brings them."""

from __future__ import annotations

import pytest

from lastseen.frame import Frame
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.tracker import PlaceTracker
from lastseen.pose2d import Pose2D
from lastseen.vlm.room_rules import RoomRules
from tests.memory.objects.scenes import frame_at

KITCHEN, BEDROOM = ("stove", "refrigerator", "sink"), ("bed", "wardrobe", "pillow")


def frame(number: int, x: float) -> Frame:
    return frame_at(number, stamp=0.1 * number, eye=(x, 0.0, 1.2), target=(x + 2.0, 0.0, 1.0))


def saw(*labels: str) -> list[tuple[str, float]]:
    return [(label, 0.9) for label in labels]


def walked(spatial: SpatialMemory, *, start: int = 0, rooms: bool = True) -> SpatialMemory:
    """Twenty metres: eight through a kitchen, the rest through a bedroom; a frame every 12.5 centimetres."""
    tracker = PlaceTracker(spatial, RoomRules())
    for number in range(start, start + 160):
        x = 0.125 * (number - start)
        tracker.observe(frame(number, x), saw(*(KITCHEN if x < 8.0 else BEDROOM)) if rooms else ())
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


def test_the_same_walk_again_comes_by_the_same_anchors_and_places() -> None:
    spatial = walked(SpatialMemory())
    places, anchors = list(spatial.graph.places), list(spatial.graph.anchors)
    again = walked(SpatialMemory.from_dict(spatial.to_dict()), start=200)
    assert again.episode == 0
    assert list(again.graph.places) == places
    assert list(again.graph.anchors) == anchors
    assert again.current_place is not None
    assert again.current_place.place_type == "bedroom"


def test_a_walk_that_leaves_the_known_way_adds_anchors_in_the_same_frame() -> None:
    spatial = walked(SpatialMemory())
    before = len(spatial.graph.anchors)
    tracker = PlaceTracker(spatial, RoomRules())
    for number in range(40):
        y = 0.125 * number
        tracker.observe(
            frame_at(300 + number, stamp=30.0 + number, eye=(2.0, y, 1.2), target=(2.0, y + 2.0, 1.0)), saw(*KITCHEN)
        )
    new = [one for one in spatial.graph.anchors.values() if one.anchor_id >= before]
    assert new
    assert len(spatial.graph.places) == 2
    for anchor in new:
        assert anchor.world_pose is not None
        assert anchor.pose.x == pytest.approx(anchor.world_pose.x, abs=1e-6)
        assert anchor.pose.y == pytest.approx(anchor.world_pose.y, abs=1e-6)
    # the way from the known part to the new one is an edge
    assert min(new[0].neighbors) < before


def test_anchors_without_poses_in_a_map_begin_another_episode() -> None:
    spatial = SpatialMemory()
    spatial.scene_analyzed("kitchen")
    walked(spatial)
    assert spatial.episode == 1


def test_equal_streams_give_equal_places() -> None:
    assert walked(SpatialMemory()).to_dict() == walked(SpatialMemory()).to_dict()
