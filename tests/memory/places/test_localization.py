from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastseen.config import Settings
from lastseen.memory.places.graph import PlaceGraph, nearby_anchors
from lastseen.pose2d import Pose2D


def graph_of(*rows: tuple[float, str]) -> PlaceGraph:
    """One anchor per row, at this x in a place of this type."""
    graph = PlaceGraph()
    for step, (x, scene) in enumerate(rows):
        place = graph.add_place(scene, episode=0)
        graph.add_anchor(
            Pose2D(x, 0, 0), place_id=place.place_id, step=step, episode=0, reached_from=step - 1 if step else None
        )
    return graph


def ids(graph: PlaceGraph, anchor_id: int = 0) -> list[int]:
    return [nearby.anchor_id for nearby in nearby_anchors(graph, anchor_id)]


def test_near_and_of_the_same_type() -> None:
    assert ids(graph_of((0, "kitchen"), (1, "Kitchen."), (1, "bedroom"), (2, "kitchen"))) == [1]


def test_the_radius_itself_is_near() -> None:
    assert ids(graph_of((0, "kitchen"), (1.5, "kitchen"), (1.501, "kitchen"))) == [1]


def test_localization_radius() -> None:
    assert Settings().localization.radius == 1.5


def test_the_nearest_comes_first_and_never_the_anchor_itself() -> None:
    assert ids(graph_of((0, "a"), (1, "a"), (-0.5, "a"), (0.5, "a"))) == [2, 3, 1]


@given(st.lists(st.tuples(st.floats(-3, 3), st.sampled_from(["a", "b"])), min_size=1, max_size=12))
def test_hints_never_change_the_graph_and_are_mutual(rows: list[tuple[float, str]]) -> None:
    graph = graph_of(*rows)
    before = graph.to_dict()
    hints = {anchor: ids(graph, anchor) for anchor in graph.anchors}
    assert all(anchor in hints[other] for anchor, others in hints.items() for other in others)
    assert graph.to_dict() == before
