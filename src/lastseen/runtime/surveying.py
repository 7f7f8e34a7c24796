"""What a robot notes on its walk, and what of it the planner is told: edges, sightings, and the map of an old visit.

It joins the coarse map of the present walk with the known one of an earlier visit; only its words reach a planner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lastseen.body import body_points
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.policy.explored import ExploredMap, Spot
from lastseen.policy.goal_pixel import detection_mask
from lastseen.pose2d import Pose2D
from lastseen.runtime.known_map import KnownMap


class Survey:
    """The map of one search for one target; ``known`` is that of an earlier visit."""

    def __init__(self, target: str, settings: Settings, *, known: KnownMap | None = None) -> None:
        self.target, self.known = target, known
        self.explored = ExploredMap(settings.explored, policy=settings.policy, motion=settings.dead_reckoning)
        self._told_at: int | None = None
        self._told: dict[str, Any] = {}

    def see(self, frame: Frame, detections: Sequence[Detection]) -> None:
        """Put a view on the map: what is floor, and about where which thing stands."""
        points = body_points(frame)
        self.explored.see(points)
        for detection in detections:
            if detection.label is None:
                continue
            spots = points[detection_mask(detection, frame)][:, :2]
            spots = spots[np.isfinite(spots[:, 0])]
            if len(spots):
                x, y = (float(value) for value in np.median(spots, axis=0))
                self.explored.saw(detection.label, detection.score * detection.labels[detection.label], x=x, y=y)

    def remembers(self) -> bool:
        """Whether an earlier visit saw the target where the robot can go."""
        return self.known is not None and bool(self.known.remembered(self.target, self._here(self.known)))

    def chose(self, heading: float) -> None:
        """A direction was taken, radians from where the robot faces; counts against what it leads to."""
        self.explored.chose(heading)
        if self.known is not None:
            self.known.chose(heading)

    def told(self, step_id: int, *, all_around: bool = True) -> dict[str, Any]:
        """What the planner may read, after a look ``all_around`` or before one; asked again, it says the same."""
        if self._told_at != step_id:
            self._told_at = step_id
            if all_around:
                self.explored.looked_around()
                if self.known is not None:
                    self.known.looked_around(self._here(self.known))
            edges, sightings = self.explored.survey(self.target)
            self._told = {
                "unexplored": [_edge(each) for each in edges],
                "sightings": [_sighting(each) for each in sightings],
            }
        return {**self._told, **({} if self.known is None else self._remembered(self.known))}

    def _remembered(self, known: KnownMap) -> dict[str, Any]:
        here = self._here(known)
        return {
            "here": here,
            "ways": known.ways_from(here),
            "looked_at": known.looked_at(self.target),
            "remembered": [_toward(each) for each in known.remembered(self.target, here)],
        }

    def _here(self, known: KnownMap) -> Pose2D:
        return known.here(self.explored.pose)


def _edge(spot: Spot) -> dict[str, Any]:
    return {**_toward(spot), "width": spot.size, "labels": [list(label) for label in spot.labels]}


def _sighting(spot: Spot) -> dict[str, Any]:
    return {**_toward(spot), "views": round(spot.size)}


def _toward(spot: Spot) -> dict[str, Any]:
    return {"angle": math.degrees(spot.heading), "distance": spot.way, "stretches": spot.stretches}
