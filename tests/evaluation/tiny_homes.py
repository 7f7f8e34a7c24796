"""Homes of two rooms in place of the generated ones: an evaluation with earlier visits then takes seconds."""

from __future__ import annotations

from unittest import mock

from lastseen.config import settings_from_mapping
from lastseen.evaluation import cases, runner
from lastseen.evaluation.arm_search import Record
from lastseen.evaluation.runner import Plan, Timing
from lastseen.evaluation.visits import visit_of
from tests.sim.tiny import tiny_home

LENDING = ("context", "context_shuffled", "lifelong", "lifelong_shuffled")
# settings that no other test has: homes are kept by seed and settings
TINY = settings_from_mapping({"search": {"max_steps": 18}, "evaluation": {"image_width": 64, "image_height": 48}})


def in_tiny_homes(plan: Plan, unit: tuple[int, str]) -> tuple[Record, Timing]:
    """One unit of a plan, in a process of any engine."""
    with mock.patch.object(cases, "generate_home", return_value=tiny_home()):
        return runner.run_one(plan, *unit)


def forget() -> None:
    """Drop what units share, so that the next run makes it itself; a forked process would have it for nothing."""
    runner._with_context.cache_clear()
    visit_of.cache_clear()
