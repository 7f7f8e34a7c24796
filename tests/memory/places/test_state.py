from __future__ import annotations

import json

import pytest
from hypothesis import given

from lastseen.errors import InvalidValue
from lastseen.memory.places import SpatialMemory
from tests.memory.places.walks import Step, steps


def lead(memory: SpatialMemory, walk: list[Step]) -> SpatialMemory:
    for action, collided, branch, scene in walk:
        memory.step(action, collided=collided, branch=branch)
        if memory.needs_scene_analysis:
            memory.scene_analyzed(scene, ["thing"], "Seen.")
    return memory


@given(steps)
def test_the_same_walk_gives_the_same_graph(walk: list[Step]) -> None:
    assert lead(SpatialMemory(), walk).to_dict() == lead(SpatialMemory(), walk).to_dict()


@given(steps, steps)
def test_a_restored_memory_goes_on_as_if_it_had_never_stopped(before: list[Step], after: list[Step]) -> None:
    whole = lead(SpatialMemory(), [*before, *after])
    state = json.loads(json.dumps(lead(SpatialMemory(), before).to_dict()))
    assert lead(SpatialMemory.from_dict(state), after).to_dict() == whole.to_dict()


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"spatial_memory\.version = 99: is not 1"):
        SpatialMemory.from_dict({"version": 99})
