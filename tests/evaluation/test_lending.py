"""Arms that borrow a context or a memory of another episode give the same records however the episodes are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.evaluation import runner
from lastseen.evaluation.runner import EPISODES_FILE, Plan, read_records, run
from tests.evaluation.tiny_homes import LENDING, TINY, forget, in_tiny_homes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]  # eight walks through small homes
# a pair that lends to each other, and half of a pair whose other half is not in the plan
PLAN = Plan(seed=4, episodes=3, arms=LENDING, settings=TINY)


@pytest.fixture(autouse=True)
def _tiny_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_unit", in_tiny_homes)
    forget()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_unit", in_tiny_homes)
        forget()
        out = tmp_path_factory.mktemp("alone")
        run(PLAN, out)
    return out


def test_every_arm_that_borrows_has_a_record_of_its_own(alone: Path) -> None:
    records = read_records(alone / EPISODES_FILE)
    assert [(each["seed"], each["arm"]) for each in records] == [(s, arm) for s in (4, 5, 6) for arm in LENDING]
    walked = {each["arm"]: each["path"] for each in records if each["seed"] == 5}
    assert walked["lifelong"] != walked["context"]
    assert not any("moves_noticed" in each for each in records)
    assert {each["goal_seen_before"] for each in records if each["arm"] == "lifelong"} == {True}


def test_two_processes_write_the_same_bytes(alone: Path, tmp_path: Path) -> None:
    run(PLAN, tmp_path, jobs=2)
    assert (tmp_path / EPISODES_FILE).read_bytes() == (alone / EPISODES_FILE).read_bytes()


def test_a_run_that_lost_one_of_a_pair_ends_the_same(alone: Path, tmp_path: Path) -> None:
    lines = (alone / EPISODES_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / EPISODES_FILE).write_text("".join(lines[:5] + lines[8:]), encoding="utf-8")
    run(PLAN, tmp_path)
    assert (tmp_path / EPISODES_FILE).read_bytes() == (alone / EPISODES_FILE).read_bytes()


def test_an_episode_alone_is_the_same_as_among_others(alone: Path, tmp_path: Path) -> None:
    # what was lent before must leave no trace on what is lent: the shared map of a visit is read by several arms
    records = read_records(alone / EPISODES_FILE)
    only = run(Plan(seed=5, episodes=1, arms=("lifelong_shuffled",), settings=TINY), tmp_path)
    assert only == [each for each in records if (each["seed"], each["arm"]) == (5, "lifelong_shuffled")]
