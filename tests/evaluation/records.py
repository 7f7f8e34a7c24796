"""Records of episodes as a run writes them, made by hand."""

from __future__ import annotations

from lastseen.evaluation.arm_search import Record


def record(arm: str, seed: int, *, spl: float = 0.5, success: bool = True, **changes: object) -> Record:
    """One record; a failure has SPL 0 and a cause."""
    made: Record = {
        "arm": arm,
        "seed": seed,
        "episode": f"house-{seed}",
        "home": f"house-{seed}",
        "goal": "bed",
        "geodesic": 4.0,
        "success": success,
        "cause": None if success else "not_seen",
        "reason": "",
        "spl": spl if success else 0.0,
        "soft_spl": 0.5,
        "steps": 100 if success else 500,
        "travelled": 8.0,
        "planner_calls": 4,
        "collisions": 0,
        "ababa": 0,
        "stuck": 1,
        "no_progress": 1,
        "unique_place_ratio": 0.2,
        "revisited_m2": 1.5,
        "goal_views": 3,
        "goal_seen_before": None,
        "path": [[0.0, 0.0], [1.0, 0.5], [2.0, 2.0]],
    }
    return made | changes
