from __future__ import annotations

import dataclasses

import pytest

from lastseen.config import Settings, describe
from lastseen.config.section import section_key

DOCUMENTED = {
    "association.radius": 0.3,
    "promotion.min_hits": 2,
    "promotion.min_stability": 0.5,
    "promotion.min_view_bins": 2,
    "store.upsert_period": 5.0,
    "store.index": "faiss",
    "retrieval.k": 5,
    "retrieval.score_threshold": 0.3,
    "dead_reckoning.forward_step": 0.25,
    "dead_reckoning.turn_angle": 30.0,
    "dead_reckoning.trust_collisions": False,
    "places.update_period": 20,
    "places.dwell": 3,
    "places.anchor_forward_steps": 2,
    "localization.radius": 1.5,
    "patterns.stuck_window": 10,
    "discovered_context.max_records": 5,
    "planner.model": "gemini-2.5-flash-lite",
    "planner.retries": 1,
    "planner.recall_on_pattern": False,
    "views.azimuth_bins": 12,
    "views.elevation_bins": 3,
    "lifecycle.gallery_size": 4,
    "lifecycle.remove_after": 60.0,
}


@pytest.mark.parametrize(("name", "value"), DOCUMENTED.items())
def test_the_documented_default_holds(name: str, value: object) -> None:
    assert {row.name: row.value for row in describe(Settings())}[name] == value


@pytest.mark.parametrize("row", list(describe(Settings())), ids=lambda row: row.name)
def test_every_setting_says_why(row: object) -> None:
    assert len(getattr(row, "why", "")) > 10


def test_each_section_is_named_after_its_class() -> None:
    sections = {field.name: field.default_factory for field in dataclasses.fields(Settings)}
    assert list(sections) == [section_key(kind) for kind in sections.values()]  # type: ignore[arg-type]
