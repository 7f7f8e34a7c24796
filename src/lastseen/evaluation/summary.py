"""Means with intervals per arm, paired differences between arms, and causes of failure: summary.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lastseen.evaluation.arm_search import CAUSES, Record
from lastseen.evaluation.arms import ARMS
from lastseen.evaluation.metrics import bootstrap, hint_figures, paired_difference

SUMMARY_FILE = "summary.json"


class Figure(NamedTuple):
    """The field of a record that is averaged, and title and digits of its column in the report.

    ``paired`` ones are those that two arms are compared by: what they find, and how much they go in circles.
    ``again`` ones are taken over the episodes whose goal the earlier visit saw.
    """

    field: str
    title: str
    digits: int
    paired: bool = False
    again: bool = False


FIGURES = {
    "sr": Figure("success", "SR", 2, paired=True),
    "spl": Figure("spl", "SPL", 3, paired=True),
    "soft_spl": Figure("soft_spl", "SoftSPL", 3),
    "steps": Figure("steps", "steps", 0),
    "steps_seen": Figure("steps", "steps, goal seen before", 0, again=True),
    "planner_calls": Figure("planner_calls", "planner calls", 1),
    "ababa": Figure("ababa", "ABABA", 2, paired=True),
    "stuck": Figure("stuck", "STUCK", 2, paired=True),
    "no_progress": Figure("no_progress", "no progress", 2, paired=True),
    "unique_place_ratio": Figure("unique_place_ratio", "unique places", 2, paired=True),
    "revisited_m2": Figure("revisited_m2", "revisited m²", 1, paired=True),
}
PAIRED = {name: figure for name, figure in FIGURES.items() if figure.paired}
PAIRS: tuple[tuple[str, str], ...] = (
    ("context", "no_context"),
    ("context", "frontier"),
    ("lifelong", "no_context"),
    ("lifelong", "context"),
)
PAIRS += tuple(("context", arm.name) for arm in ARMS.values() if arm.ablation)
PLACEBOS = (("context", "context_shuffled"), ("lifelong", "lifelong_shuffled"))


def summarize(records: Iterable[Record], config: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of an evaluation; an arm or pair that was not run is left out."""
    by_arm: dict[str, dict[int, Record]] = {}
    for record in records:
        by_arm.setdefault(record["arm"], {})[record["seed"]] = record
    seen_before = _seen_before(by_arm)
    return {
        "config": dict(config),
        "verdict": verdict(by_arm),
        "arms": {name: _figures(list(by_arm[name].values()), seen_before) for name in ARMS if name in by_arm},
        "paired": {
            f"{a}_minus_{b}": _paired(by_arm[a], by_arm[b])
            for a, b in (*PAIRS, *PLACEBOS)
            if a in by_arm and b in by_arm
        },
        "hints": {name: hint_figures(by_arm[name].values()) for name in ARMS if name in by_arm},
        "causes": {name: _causes(by_arm[name].values()) for name in ARMS if name in by_arm},
    }


def verdict(by_arm: Mapping[str, Mapping[int, Record]]) -> list[str]:
    """What the table must say first: void where a placebo does as well, whether context loses to frontier, gains."""
    said: list[str] = []
    for real, placebo in PLACEBOS:
        if real in by_arm and placebo in by_arm and "no_context" in by_arm:
            gain = _mean_difference(by_arm[real], by_arm["no_context"])
            sham = _mean_difference(by_arm[placebo], by_arm["no_context"])
            if gain > 0.0 and sham >= gain:
                said.append(f"VOID: {placebo} gains {sham:+.3f} SPL over no_context, {real} only {gain:+.3f}")
    pairs = (("context", "frontier"), *PAIRS)
    said += [_compared(a, b, by_arm) for a, b in dict.fromkeys(pairs) if a in by_arm and b in by_arm]
    again = sorted(_seen_before(by_arm) & set(by_arm.get("no_context", {})))
    if again:
        steps, without = (sum(by_arm[arm][seed]["steps"] for seed in again) for arm in ("lifelong", "no_context"))
        said.append(f"lifelong takes {steps / without:.2f} of no_context's steps to goals seen before ({len(again)})")
    return said


def _compared(a: str, b: str, by_arm: Mapping[str, Mapping[int, Record]]) -> str:
    """Which of two arms is better in SPL, where the interval tells them apart; behind is said in any case."""
    found = _paired(by_arm[a], by_arm[b])["spl"]
    span = f"SPL {found['mean']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f})"
    if found["low"] > 0.0:
        return f"{a} beats {b}: {span}"
    if found["high"] < 0.0:
        return f"{a} loses to {b}: {span}"
    return f"{a} is {'behind' if found['mean'] < 0.0 else 'not told apart from'} {b}: {span}"


def _seen_before(by_arm: Mapping[str, Mapping[int, Record]]) -> set[int]:
    """The episodes whose goal the earlier visit saw."""
    return {seed for seed, record in by_arm.get("lifelong", {}).items() if record["goal_seen_before"]}


def write_summary(out: Path, summary: Mapping[str, Any]) -> Path:
    """Write summary.json into the directory of an evaluation."""
    file = out / SUMMARY_FILE
    file.write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return file


def _figures(records: Sequence[Record], seen_before: set[int]) -> dict[str, Any]:
    figures: dict[str, Any] = {"episodes": len(records)}
    for name, figure in FIGURES.items():
        rows = [record for record in records if not figure.again or record["seed"] in seen_before]
        figures[name] = bootstrap([float(row[figure.field]) for row in rows]).as_dict() if rows else None
    return figures


def _paired(a: Mapping[int, Record], b: Mapping[int, Record]) -> dict[str, Any]:
    seeds = sorted(set(a) & set(b))
    return {
        name: paired_difference(
            [float(a[seed][figure.field]) for seed in seeds], [float(b[seed][figure.field]) for seed in seeds]
        ).as_dict()
        for name, figure in PAIRED.items()
    }


def _mean_difference(a: Mapping[int, Record], b: Mapping[int, Record]) -> float:
    seeds = sorted(set(a) & set(b))
    return sum(a[seed]["spl"] - b[seed]["spl"] for seed in seeds) / len(seeds) if seeds else 0.0


def _causes(records: Iterable[Record]) -> dict[str, int]:
    counts = Counter(record["cause"] for record in records if record["cause"] is not None)
    return {cause: counts[cause] for cause in CAUSES}
