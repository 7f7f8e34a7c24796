"""An evaluation is the same for any number of processes, and goes on where it was interrupted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lastseen.config import Settings, settings_from_mapping
from lastseen.errors import InvalidValue
from lastseen.evaluation import runner
from lastseen.evaluation.arm_search import Ran
from lastseen.evaluation.arms import Arm
from lastseen.evaluation.cases import Case
from lastseen.evaluation.episode_run import run_arm
from lastseen.evaluation.runner import EPISODES_FILE, TIMING_FILE, Plan, read_records, run

SHORT = settings_from_mapping({"search": {"max_steps": 14}})


def plan(episodes: int = 2, arms: tuple[str, ...] = ("no_context", "oracle"), settings: Settings = SHORT) -> Plan:
    return Plan(seed=3, episodes=episodes, arms=arms, settings=settings)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    run(plan(), out)
    return out


def test_every_episode_of_every_arm_has_a_record(finished: Path) -> None:
    records = read_records(finished / EPISODES_FILE)
    assert [(each["seed"], each["arm"]) for each in records] == [
        (3, "no_context"),
        (3, "oracle"),
        (4, "no_context"),
        (4, "oracle"),
    ]
    assert all(each["steps"] <= 14 for each in records)


def test_what_each_episode_took_is_written_apart_from_its_record(finished: Path) -> None:
    lines = [json.loads(line) for line in (finished / TIMING_FILE).read_text(encoding="utf-8").splitlines()]
    assert [(line["seed"], line["arm"]) for line in lines] == [
        (3, "no_context"),
        (3, "oracle"),
        (4, "no_context"),
        (4, "oracle"),
    ]
    # a look around and one call fit into 14 steps
    assert lines[0]["calls"]["planner"] == 1
    assert {"seconds", "longest_seconds", "prompt_tokens", "output_tokens", "cost_usd"} <= set(lines[0])
    assert lines[0]["wall_seconds"] > 0.0
    assert not any("seconds" in key for record in read_records(finished / EPISODES_FILE) for key in record)


def test_two_processes_write_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    run(plan(), tmp_path, jobs=2)
    assert (tmp_path / EPISODES_FILE).read_bytes() == (finished / EPISODES_FILE).read_bytes()


def test_an_interrupted_run_goes_on_and_ends_the_same(finished: Path, tmp_path: Path) -> None:
    lines = (finished / EPISODES_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    # two results, and a third that was cut off in the middle of a line
    (tmp_path / EPISODES_FILE).write_text("".join(lines[:2]) + lines[2][:40], encoding="utf-8")
    new: list[int] = []
    run(plan(), tmp_path, progress=lambda record: new.append(record["seed"]))
    assert len(new) == 4
    assert (tmp_path / EPISODES_FILE).read_bytes() == (finished / EPISODES_FILE).read_bytes()


def test_nothing_is_run_twice(finished: Path) -> None:
    before = (finished / EPISODES_FILE).read_bytes()
    records = run(plan(), finished)
    assert len(records) == 4
    assert (finished / EPISODES_FILE).read_bytes() == before
    assert len((finished / TIMING_FILE).read_text(encoding="utf-8").splitlines()) == 4


def test_results_of_other_settings_are_not_mixed(finished: Path) -> None:
    with pytest.raises(InvalidValue, match="other settings"):
        run(plan(settings=settings_from_mapping({"search": {"max_steps": 15}})), finished)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / EPISODES_FILE).write_text("not json\n", encoding="utf-8")
    with pytest.raises(InvalidValue, match="not JSON"):
        run(plan(), tmp_path)


def test_a_donor_that_asked_nothing_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[int, list[dict[str, int]]] = {2: [], 4: [{"of": 4}]}
    monkeypatch.setattr(runner, "_with_context", lambda _, seed: Ran({}, told[seed]))
    assert runner._lent(plan(), 3) == [{"of": 4}]


def test_episodes_borrow_of_each_other_in_pairs_whatever_the_plan() -> None:
    for seed in range(6):
        assert runner.donor_of(seed) != seed
        assert runner.donor_of(runner.donor_of(seed)) == seed
    pairs = runner._together([(seed, "lifelong_shuffled") for seed in range(3, 7)])
    assert [[seed for seed, _ in group] for group in pairs] == [[3], [4, 5], [6]]
    alone = runner._together([(seed, arm) for seed in (4, 5) for arm in ("no_context", "context")])
    assert [{seed for seed, _ in group} for group in alone] == [{4}, {5}]


def test_the_arm_that_lends_its_contexts_is_run_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[tuple[int, str]] = []

    def counted(case: Case, arm: Arm, **given: Any) -> Ran:
        made.append((case.seed, arm.name))
        return run_arm(case, arm, **given)

    monkeypatch.setattr(runner, "run_arm", counted)
    runner._with_context.cache_clear()
    # the first of the two pairs: both ask their planner within the 14 steps
    pair = Plan(seed=4, episodes=2, arms=("context", "context_shuffled"), settings=SHORT)
    both = run(pair, tmp_path / "both")
    assert sorted(made) == [(seed, arm) for seed in (4, 5) for arm in ("context", "context_shuffled")]
    alone = run(replace(pair, arms=("context_shuffled",)), tmp_path / "alone")
    assert alone == [each for each in both if each["arm"] == "context_shuffled"]


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"arms": ("clairvoyant",)}])
def test_a_plan_that_cannot_be_run_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        plan(**wrong)  # type: ignore[arg-type]


def test_the_config_holds_every_setting() -> None:
    config = json.loads(json.dumps(plan().config()))
    assert config["settings"]["search.max_steps"] == 14
    assert config["arms"] == ["no_context", "oracle"]


def test_a_scene_is_the_same_from_whatever_directory_its_file_is_read() -> None:
    near, far = (replace(plan(), scene=scene).config()["scene"] for scene in ("graph:a.json", "graph:/data/a.json"))
    assert near == far == "a.json"
    assert plan().config()["scene"] == "generated"
