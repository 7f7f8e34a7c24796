from __future__ import annotations

import pytest

from lastseen.protocols import Scene, SceneAnalyzer
from lastseen.vlm.room_rules import RoomRules
from tests.test_frame import make_frame


def named(*labels: str) -> Scene | None:
    answer = RoomRules().submit(make_frame(), [(label, 0.9) for label in labels])
    assert answer.done()
    return answer.result()


def test_it_is_a_scene_analyzer() -> None:
    assert isinstance(RoomRules(), SceneAnalyzer)


@pytest.mark.parametrize(
    ("labels", "scene"),
    [
        (("stove", "sink"), Scene("kitchen", ("sink", "stove"), "A kitchen with sink, stove.")),
        (("thing",), Scene("unknown", ("thing",), "A place with thing.")),
        ((), Scene("unknown", (), "")),
    ],
)
def test_a_room_is_named_by_what_is_seen_and_unknown_otherwise(labels: tuple[str, ...], scene: Scene) -> None:
    assert named(*labels) == scene
