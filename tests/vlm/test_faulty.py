from __future__ import annotations

import json

import pytest

from lastseen.config import Settings
from lastseen.config.search import Planner
from lastseen.errors import InvalidValue
from lastseen.search.planning.plan import PLAN_SCHEMA, plan_client
from lastseen.vlm import open_backend, protocol, register_backend
from lastseen.vlm.mock import MockBackend
from tests.vlm.faulty import FAULTS, Fault, FaultyBackend


def spoilt(fault: Fault, **options: float) -> FaultyBackend:
    return FaultyBackend(MockBackend(), faults=[fault], rate=1.0, sleep=lambda _: None, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("garbage", "not_json"),
        ("half_json", "not_json"),
        ("wrong_types", "wrong_type"),
        ("out_of_range", "out_of_range"),
        ("refusal", "not_json"),
        ("empty", "backend"),
        ("down", "backend"),
    ],
)
def test_each_fault_gives_no_answer_for_its_own_reason(fault: Fault, reason: str) -> None:
    planner = plan_client(spoilt(fault))
    assert all(planner.ask("find the mug").answer is None for _ in range(10))
    assert reason in planner.given_up


def test_a_delay_is_only_slow() -> None:
    waited: list[float] = []
    backend = FaultyBackend(MockBackend(), faults=["delay"], rate=1.0, delay=3.0, sleep=waited.append)
    assert plan_client(backend).ask("find the mug").answer is not None
    assert waited == [3.0]


def test_a_delay_beyond_the_limit_is_no_answer() -> None:
    backend = FaultyBackend(MockBackend(), faults=["delay"], rate=1.0, delay=0.5)
    planner = plan_client(backend, Settings(planner=Planner(time_limit=0.1)))
    assert planner.ask("find the mug").answer is None
    assert dict(planner.given_up) == {"time_limit": 1}


def test_the_seed_decides_what_is_spoilt() -> None:
    def run(seed: int) -> list[str]:
        backend = FaultyBackend(MockBackend(), faults=["garbage", "half_json"], rate=0.5, seed=seed)
        return [backend.complete("a", schema=PLAN_SCHEMA) for _ in range(20)]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_no_rate_spoils_nothing() -> None:
    backend = FaultyBackend(MockBackend(), rate=0.0)
    assert [json.loads(backend.complete("a", schema=PLAN_SCHEMA))["goal_flag"] for _ in range(5)] == [False] * 5
    assert not backend.injected


@pytest.fixture
def by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register it as users register backends of their own."""
    monkeypatch.setattr(protocol, "_BACKENDS", dict(protocol._BACKENDS))
    register_backend("faulty", "tests.vlm.faulty:from_settings")


@pytest.mark.usefixtures("by_name")
def test_it_opens_by_name_around_any_model() -> None:
    assert open_backend("faulty").name == "faulty:offline"
    assert open_backend("faulty:garbage,down:mock:valid").name == "faulty:mock:valid"


@pytest.mark.usefixtures("by_name")
def test_an_unknown_fault_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidValue, match=FAULTS[0]):
        open_backend("faulty:typo")
