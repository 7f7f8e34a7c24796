from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastseen import Memory
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.nodes.store import seed_demo_store
from lastseen.pose2d import Pose2D
from lastseen.runtime.loop import rehearse, said
from lastseen.search.remembered import Remembered, open_remembered
from tests.memory.objects.scenes import frame_at, seen


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A walk from a kitchen into a room, past a sofa."""
    file = tmp_path_factory.mktemp("home") / "home.lastseen"
    with Memory.open(file) as memory:
        for number in range(40):
            eye = (-6.0 + 0.25 * number, 2.5, 1.4)
            stove, sofa = {"stove": (-5.0, 4.0, 0.8)}, {"sofa": (2.0, 2.0, 0.4)}
            items = stove if eye[0] < -1.0 else sofa
            memory.observe(
                frame_at(number, eye=eye, target=(eye[0] + 2.0, 2.5, 1.0)),
                [seen(xyz, eye=eye, stamp=number, labels={label: 0.9}) for label, xyz in items.items()],
            )
    return file


@pytest.fixture
def remembered(home: Path) -> Iterator[Remembered]:
    with open_remembered(home, Settings()) as held:
        yield held


def test_a_nodes_file_gives_its_nodes_and_no_answer(tmp_path: Path) -> None:
    seed_demo_store().save_json(tmp_path / "nodes.json")
    with open_remembered(tmp_path / "nodes.json", Settings()) as held:
        assert len(held.store) == len(seed_demo_store())
        assert held.find is None


def test_the_memory_of_a_robot_that_walked_gives_its_anchors_and_the_ways_between(remembered: Remembered) -> None:
    assert any("kitchen" in node.tags for node in remembered.store.all_nodes())
    assert remembered.ways.reachable_from(0) == set(remembered.store.nodes)


def test_a_search_ends_with_the_answer_of_the_memory(home: Path) -> None:
    result = rehearse("sofa", memory=home)
    assert result.status == "found"
    assert result.answer is not None
    assert result.answer.status == "found"
    assert said(result)[1] == f"memory says found: {result.answer.reason}"


def test_what_memory_does_not_hold_is_not_found_and_said_so(home: Path) -> None:
    result = rehearse("piano", memory=home)
    assert result.answer is not None
    assert (result.status, result.answer.status) == ("not_found", "not_found")


def test_a_paraphrase_is_walked_to_by_what_memory_takes_it_for(home: Path) -> None:
    result = rehearse("couch", memory=home)
    assert result.answer is not None
    assert (result.status, result.answer.status) == ("found", "found")
    node = result.belief["last_seen_node_id"]
    with open_remembered(home, Settings()) as held:
        assert node is not None
        assert "sofa" in held.store.get_node(node).tags
        assert held.store.get_node(node).pose.distance_to(Pose2D(2.0, 2.0, 0.0)) < Settings().search.node_reach


@pytest.mark.parametrize("goal", ["", "!!!"])
def test_a_goal_without_words_is_no_question(goal: str, home: Path) -> None:
    assert rehearse(goal, memory=home, steps=3).status == "not_found"


def test_a_memory_without_walked_places_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    Memory.open(file).close()
    with pytest.raises(InvalidValue, match="no walked places; make it anew with `lastseen run`"):
        rehearse("mug", memory=file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        rehearse("mug", memory=tmp_path / "none.json")
