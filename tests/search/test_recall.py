"""What memory offers to a search: paths along what was walked and over known floor, and objects to look for."""

from __future__ import annotations

import dataclasses
import math

import pytest

from lastseen.config import Settings, settings_from_mapping
from lastseen.memory.memory import Memory
from lastseen.pose2d import Pose2D
from lastseen.search.planning.node_graph import NodePath
from lastseen.search.recall import Recall
from lastseen.search.route import waypoints
from tests.memory.objects.scenes import frame_at, seen
from tests.search.policy.box_world import BoxWorld

HERE = Pose2D(0.0, 0.0, 0.0)


def recall_of(memory: Memory, goal: str = "mug", settings: Settings | None = None) -> Recall:
    return Recall(goal, memory, settings or memory.settings)


@pytest.fixture(scope="module")
def corridor() -> Memory:
    """A walk that goes 3 m east, then 3 m north."""
    return walked_along(Memory.open(wall_clock=None))


def walked_along(memory: Memory, height: float = 0.0) -> Memory:
    """Walk the corridor, or the one that lies above it."""
    for number in range(25):
        x, y = min(3.0, 0.25 * number), max(0.0, 0.25 * number - 3.0)
        target = (x + 2.0, y, 1.0 + height) if y == 0.0 else (x, y + 2.0, 1.0 + height)
        memory.observe(frame_at(number, eye=(x, y, 1.2 + height), target=target), [])
    return memory


def last_node(recall: Recall) -> int:
    return max(recall.graph.nodes)


def test_the_path_to_a_node_begins_along_what_was_walked(corridor: Memory) -> None:
    recall = recall_of(corridor)
    path = recall.paths_from(HERE)[last_node(recall)]
    assert path["angle"] == pytest.approx(0, abs=6)
    assert path["distance"] == pytest.approx(6.0, abs=0.6)


def test_the_path_to_a_node_tells_its_corners_up_to_where_it_is_trusted(corridor: Memory) -> None:
    recall = recall_of(corridor)
    path = recall.paths_from(HERE)[last_node(recall)]["path"]
    assert [round(degrees / 30) * 30 for _, degrees in path] == [0, 90]
    assert sum(metres for metres, _ in path) == pytest.approx(6.0, abs=0.6)
    short = recall_of(corridor, settings=settings_from_mapping({"context": {"max_path": 2.0}}))
    assert short.paths_from(HERE)[last_node(recall)]["path"] == [[2.0, pytest.approx(0, abs=6)]]


def test_angles_are_from_where_the_robot_faces(corridor: Memory) -> None:
    recall = recall_of(corridor)
    assert recall.paths_from(Pose2D(0.0, 0.0, math.pi / 2))[last_node(recall)]["angle"] == pytest.approx(-90, abs=6)


def test_a_checked_path_is_told_as_few_segments_from_here(corridor: Memory) -> None:
    recall = recall_of(corridor)
    path = recall.shortest_path(0, last_node(recall))
    assert path is not None
    first, second = recall.segments_along(path, Pose2D(0.0, 0.0, math.pi / 2))
    assert [round(math.degrees(bearing) / 30) * 30 for _, bearing in (first, second)] == [-90, 0]
    assert recall.segments_along(NodePath((0,), 0.0), Pose2D(-1.0, 0.0, 0.0)) == [pytest.approx((1.0, 0.0))]


def test_the_robot_is_at_the_nearest_node_and_far_from_all_at_none(corridor: Memory) -> None:
    recall = recall_of(corridor)
    node = recall.node_at(Pose2D(0.1, 0.1, 2.0))
    assert node == 0
    assert recall.node_at(Pose2D(9.0, 9.0, 0.0)) is None


def test_nodes_around_a_look_are_looked_at(corridor: Memory) -> None:
    recall = recall_of(corridor)
    recall.looked_around(Pose2D(3.0, 3.0, 0.0))
    nodes = recall.nodes.store.nodes
    near = {node_id for node_id, node in nodes.items() if node.pose.distance_to(Pose2D(3.0, 3.0, 0.0)) <= 1.5}
    assert recall.exhausted() == near
    assert 0 < len(near) < len(nodes)


def test_far_from_every_node_the_nearest_is_entered(corridor: Memory) -> None:
    assert recall_of(corridor).paths_from(Pose2D(-5.0, 0.0, 0.0))[0]["distance"] == pytest.approx(5.0, abs=0.1)


def test_no_path_leads_to_the_floor_above_unless_it_was_walked() -> None:
    memory = walked_along(Memory.open(wall_clock=None))
    below = set(memory.spatial.graph.anchors)
    memory.new_session()
    memory.space.storeys.current = memory.space.storeys.at(2.9)
    walked_along(memory, height=2.9)
    recall = recall_of(memory)
    above = set(recall.graph.nodes) - below
    assert above
    assert set(recall.paths_from(HERE)) == above
    assert recall.node_at(HERE) in above
    assert recall.shortest_path(0, last_node(recall)) is None
    memory.spatial.graph.join(last_node(recall), max(below))
    recall.refresh()
    assert set(recall.paths_from(HERE)) == above | below


def test_without_nodes_there_are_no_paths() -> None:
    recall = recall_of(Memory.open(wall_clock=None))
    assert recall.paths_from(HERE) == {}
    assert recall.node_at(HERE) is None
    assert recall.shortest_path(0, 1) is None


def test_nodes_of_this_walk_are_its_own_and_not_worth_a_visit() -> None:
    memory = Memory.open(wall_clock=None)
    recall = recall_of(memory)
    for number in range(8):
        memory.observe(frame_at(number, eye=(0.25 * number, 0.0, 1.2), target=(9.0, 0.0, 1.0)), [])
    recall.refresh()
    assert set(recall.own_nodes()) == set(recall.graph.nodes) == recall.exhausted() != set()


def room_with(*things: tuple[str, float, float]) -> Memory:
    """An open floor that was looked over from its middle, and things each seen from about 1.2 m before it."""
    room, memory = BoxWorld(), Memory.open(wall_clock=None)
    poses = [Pose2D(0.0, 0.0, math.radians(30.0 * turn)) for turn in range(12)]
    sights: list[tuple[Pose2D, int | None]] = [(pose, None) for pose in poses]
    for number, (_, x, y) in enumerate(things):
        away, bearing = math.hypot(x, y) - 1.2, math.atan2(y, x)
        for side in (-0.4, -0.2, 0.0, 0.2, 0.4):
            spot = Pose2D(away * math.cos(bearing), away * math.sin(bearing), bearing).compose(Pose2D(0.0, side, 0.0))
            sights.append((Pose2D(spot.x, spot.y, math.atan2(y - spot.y, x - spot.x)), number))
    for number, (pose, index) in enumerate(sights):
        room.pose = pose
        frame = dataclasses.replace(room.look(), id=number, stamp=0.5 * number)
        observations = []
        if index is not None:
            label, x, y = things[index]
            eye = (pose.x, pose.y, 0.88)
            observations = [seen((x, y, 0.8), eye=eye, stamp=frame.stamp, labels={label: 0.9})]
        memory.observe(frame, observations)
    return memory


def test_the_nearest_thing_of_the_kind_is_told_first_with_the_path_to_it() -> None:
    memory = room_with(("mug", 0.0, -3.0), ("mug", 2.0, 0.0), ("bed", 1.0, 2.0))
    near, far = recall_of(memory).remembered(HERE)
    assert near.object.position[:2] == pytest.approx((2.0, 0.0), abs=0.1)
    assert far.object.position[:2] == pytest.approx((0.0, -3.0), abs=0.1)
    assert near.spot.metres == pytest.approx(2.0, abs=0.4)
    assert math.degrees(far.spot.heading) == pytest.approx(-90.0, abs=15.0)
    assert recall_of(memory, "sofa").remembered(HERE) == []


def test_a_thing_that_was_looked_for_is_not_told_again_and_neither_are_its_nodes() -> None:
    recall = recall_of(room_with(("mug", 2.5, 0.0), ("mug", -3.0, 0.0)))
    assert len(recall.remembered(HERE)) == 2
    recall.looked_around(Pose2D(1.4, 0.9, 0.0))
    (left,) = recall.remembered(HERE)
    assert left.object.position[0] == pytest.approx(-3.0, abs=0.1)
    by_the_first = {node_id for node_id, node in recall.graph.nodes.items() if node.pose.x > 1.0}
    assert by_the_first <= recall.exhausted()


def test_a_thing_that_no_try_brings_nearer_is_given_up() -> None:
    recall = recall_of(room_with(("mug", 2.5, 0.0)))
    for _ in range(3):
        (offer,) = recall.remembered(HERE)
        recall.chose(offer.spot.heading)
    assert recall.remembered(HERE) == []


def test_off_the_known_floor_nothing_is_told() -> None:
    assert recall_of(room_with(("mug", 2.5, 0.0))).remembered(Pose2D(500.0, 0.0, 0.0)) == []


def test_a_look_from_where_it_was_never_seen_says_nothing_of_a_thing() -> None:
    recall = recall_of(room_with(("mug", 2.5, 0.0)))
    recall.looked_around(Pose2D(3.6, 0.0, 0.0))
    assert len(recall.remembered(HERE)) == 1


def test_what_is_first_seen_on_this_walk_is_not_memorys_to_offer() -> None:
    memory = room_with(("bed", 2.5, 0.0))
    recall = recall_of(memory, "mug")
    for number, side in enumerate((-0.5, 0.0, 0.5, -0.3, 0.3)):
        frame = frame_at(100 + number, stamp=100.0 + number, eye=(0.0, side, 1.2), target=(2.0, 1.0, 0.8))
        memory.observe(frame, [seen((2.0, 1.0, 0.8), eye=(0.0, side, 1.2), labels={"mug": 0.9})])
    assert memory.find("mug").hits
    assert recall.remembered(HERE) == []


def test_what_was_seen_from_one_side_only_is_offered_where_nothing_confirmed_fits() -> None:
    memory = room_with(("bed", 2.5, 0.0))
    for number in range(5):
        eye = (0.1 * number, 0.5, 1.2)
        frame = frame_at(100 + number, stamp=50.0 + number, eye=eye, target=(2.0, 1.0, 0.8))
        memory.observe(frame, [seen((2.0, 1.0, 0.8), eye=eye, stamp=frame.stamp, labels={"mug": 0.9})])
    assert not memory.find("mug").hits
    (offer,) = recall_of(memory, "mug").remembered(HERE)
    assert offer.object.state == "tentative"


def empty_views(recall: Recall, pose: Pose2D, count: int, *, seen_ids: tuple[str, ...] = ()) -> None:
    room = BoxWorld(pose=pose)
    for _ in range(count):
        recall.see(room.look(), seen_ids)


def test_a_spot_that_is_seen_empty_from_as_near_as_before_is_given_up_on_the_way() -> None:
    recall = recall_of(room_with(("mug", 2.5, 0.0)))
    (offer,) = recall.remembered(HERE)
    recall.chose(offer.spot.heading)
    gone = []
    for _ in range(3):
        empty_views(recall, Pose2D(1.5, 0.0, 0.0), 1)
        gone.append(recall.gone_ahead)
    assert gone == [False, False, True]
    assert recall.remembered(HERE) == []


@pytest.mark.parametrize(
    ("pose", "there"),
    [
        pytest.param(Pose2D(0.0, 0.0, 0.0), False, id="farther off than it was ever seen from"),
        pytest.param(Pose2D(1.5, 0.0, math.pi), False, id="behind the robot"),
        pytest.param(Pose2D(1.5, 0.0, 0.0), True, id="still there"),
    ],
)
def test_other_views_say_nothing_against_a_remembered_thing(pose: Pose2D, *, there: bool) -> None:
    recall = recall_of(room_with(("mug", 2.5, 0.0)))
    empty_views(recall, pose, 9, seen_ids=(recall.known[0].id,) if there else ())
    assert len(recall.remembered(HERE)) == 1


def test_a_spot_that_something_hides_is_not_seen_empty() -> None:
    recall = recall_of(room_with(("mug", 2.5, 0.0)))
    room = BoxWorld(boxes=[((2.2, -0.5, 0.0), (2.3, 0.5, 1.5))], pose=Pose2D(1.5, 0.0, 0.0))
    for _ in range(9):
        recall.see(room.look(), ())
    assert len(recall.remembered(HERE)) == 1


def test_of_goals_in_view_and_remembered_the_nearest_is_approached() -> None:
    memory = room_with(("mug", 0.0, -3.0), ("mug", 2.0, 0.0))
    recall = recall_of(memory)
    far = [one for one in memory.states() if one.xyz_world[1] < -2.0]
    spot = recall.approach(far, HERE)
    assert spot is not None
    assert (spot.x, spot.y) == pytest.approx((2.0, 0.0), abs=0.1)


def test_the_nearest_goal_straight_ahead_is_walked_to_by_sight() -> None:
    memory = room_with(("mug", 0.0, -3.0), ("mug", 2.0, 0.0))
    near = [one for one in memory.states() if one.xyz_world[0] > 1.0]
    assert recall_of(memory).approach(near, Pose2D(0.8, 0.0, 0.0)) is None


def test_off_the_known_floor_a_goal_is_walked_to_by_sight() -> None:
    memory = room_with(("mug", 2.0, 0.0))
    assert recall_of(memory).approach(memory.states(), Pose2D(500.0, 0.0, 0.0)) is None


def test_what_blocked_the_way_to_a_goal_is_gone_round() -> None:
    memory, stuck = room_with(("mug", 2.0, 0.0)), Pose2D(0.6, 0.0, 0.0)
    bumps = [Pose2D(0.6, 0.2 * side, 0.0) for side in range(-3, 4)]
    spot = recall_of(memory).way_round(memory.states(), stuck, bumps)
    assert spot is not None
    corners = waypoints(stuck, spot.segments)
    assert math.dist((corners[-1].x, corners[-1].y), (2.0, 0.0)) <= 1.0
    assert max(abs(corner.y) for corner in corners) > 0.7
    assert spot.metres > 1.2


def test_the_way_round_ends_where_what_is_known_ends() -> None:
    memory, stuck = room_with(("mug", 2.0, 0.0)), Pose2D(0.6, 0.0, 0.0)
    wall = [Pose2D(0.6, 0.2 * side, 0.0) for side in range(-60, 20)]
    spot = recall_of(memory).way_round(memory.states(), stuck, wall)
    assert spot is not None
    end = waypoints(stuck, spot.segments)[-1]
    cell = memory.floor.cell_of(end.x, end.y)
    assert cell is not None
    assert memory.floor.free[cell]
    assert sum(metres for metres, _ in spot.segments) < spot.metres


def test_there_is_no_way_round_off_the_known_floor() -> None:
    memory = room_with(("mug", 2.0, 0.0))
    assert recall_of(memory).way_round(memory.states(), Pose2D(500.0, 0.0, 0.0), []) is None
