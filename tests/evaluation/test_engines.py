"""Engines decide where units run and when their results come, never what they are."""

from __future__ import annotations

import importlib.util
import socket
import sys
from pathlib import Path

import pytest

from lastseen.errors import InvalidValue, MissingExtra
from lastseen.evaluation import runner
from lastseen.evaluation.arm_search import Record
from lastseen.evaluation.engines import spread
from lastseen.evaluation.runner import EPISODES_FILE, Plan, read_records, run
from tests.evaluation.tiny_homes import TINY, in_tiny_homes

# two halves of pairs: a worker makes what the other half lends
PLAN = Plan(seed=3, episodes=2, arms=("no_context", "context_shuffled", "lifelong_shuffled"), settings=TINY)


def half(value: float) -> float:
    if value < 0.0:
        raise InvalidValue("value", value, "has no half", remedy="use another")
    return value / 2.0


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_unit_of_every_group_is_done_once(jobs: int) -> None:
    assert sorted(spread(half, [[2.0, 4.0], [6.0]], jobs=jobs)) == [1.0, 2.0, 3.0]


def test_one_process_hands_over_each_result_before_the_next_unit_begins() -> None:
    begun: list[float] = []

    def note(value: float) -> float:
        begun.append(value)
        return value

    results = spread(note, [[1.0, 2.0]])
    assert next(results) == 1.0
    assert begun == [1.0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_unit_raises_comes_through_as_it_is(jobs: int) -> None:
    with pytest.raises(InvalidValue, match=r"value = -1\.0: has no half; use another"):
        list(spread(half, [[-1.0], [-1.0]], jobs=jobs))


@pytest.mark.parametrize("wrong", [{"jobs": 0}, {"engine": "spark"}])
def test_what_cannot_run_is_refused_before_anything_runs(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match=r"jobs|engine"):
        spread(half, [[1.0]], **wrong)  # type: ignore[arg-type]


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'lastseen\[ray\]'"):
        spread(half, [[1.0]], engine="ray")


@pytest.mark.slow
@pytest.mark.timeout(400)  # three starts of Ray take two minutes where other work holds the cores
class TestRay:
    """A real Ray of two workers on this machine, loopback only; each start takes some seconds."""

    @pytest.fixture(autouse=True)
    def _alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # looked for and not imported: the engine tells Ray beforehand what it reads when it is imported
        if importlib.util.find_spec("ray") is None:
            pytest.skip("needs ray")
        monkeypatch.delenv("RAY_ADDRESS", raising=False)

    @pytest.mark.integration
    def test_interrupted_on_ray_and_resumed_on_ray_gives_the_bytes_of_one_process(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import ray

        monkeypatch.setattr(runner, "_unit", in_tiny_homes)

        def interrupt(record: Record) -> None:
            raise KeyboardInterrupt

        alone, spread_out = tmp_path / "alone", tmp_path / "ray"
        run(PLAN, alone)
        with pytest.raises(KeyboardInterrupt):
            run(PLAN, spread_out, jobs=2, engine="ray", progress=interrupt)
        assert not ray.is_initialized()
        assert len(read_records(spread_out / EPISODES_FILE)) == 1
        run(PLAN, spread_out, jobs=2, engine="ray")
        assert (spread_out / EPISODES_FILE).read_bytes() == (alone / EPISODES_FILE).read_bytes()

    def test_a_cluster_that_is_not_there_is_named_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound and deaf: nobody else can answer there
            monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{taken.getsockname()[1]}")
            with pytest.raises(InvalidValue, match=r"RAY_ADDRESS = '127.0.0.1:\d+': does not answer"):
                list(spread(half, [[1.0]], engine="ray"))

    def test_what_a_unit_raises_comes_through_without_the_workers_traceback(self) -> None:
        with pytest.raises(InvalidValue, match=r"^value = -1\.0: has no half; use another$"):
            list(spread(half, [[-1.0]], engine="ray"))
