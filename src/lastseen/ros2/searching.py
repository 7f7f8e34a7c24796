"""A search by the node itself: its frames go to the search while it runs, and everything seen into its memory."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lastseen.errors import InvalidValue, LastseenError
from lastseen.ros2.driving import DryRun, Limits, Mover, Stopped
from lastseen.ros2.feeder import Feeder
from lastseen.ros2.publications import object_tree
from lastseen.ros2.robot import robot_of
from lastseen.search.search import Search
from lastseen.server.serializers import object_json
from lastseen.sources.ros.transport import Tree

_log = logging.getLogger(__name__)
Feedback = Callable[[Tree], None]
_PREEMPTED = 60.0
"""Seconds that a search is given to stop the robot and end when another goal comes."""
_FIRST_FRAME = 15.0
"""Seconds that a search waits for the camera."""


class Searching:
    """Runs one search at a time on a feeder's memory."""

    def __init__(self, feeder: Feeder, limits: Limits, *, base_frame: str) -> None:
        self.feeder, self.limits, self.base_frame = feeder, limits, base_frame
        self._one = threading.Lock()
        self._newest = 0

    def run(
        self,
        goal: str,
        open_mover: Callable[[str], Mover] | None,
        *,
        max_steps: int = 0,
        feedback: Feedback = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Tree:
        """Search for a goal; returns the fields of the action's result, whatever happens.

        A search that is running is preempted: the newest goal counts.

        Args:
            goal: What to look for, in words.
            open_mover: Makes what moves the robot, given the world's frame; None for a dry run.
            max_steps: 0 for the setting ``search.max_steps``.
            feedback: Called after every step with the fields of the action's feedback.
            cancelled: Asked all the time: True stops the robot and ends the search.
        """
        self._newest += 1
        mine = self._newest
        if not self._one.acquire(timeout=_PREEMPTED):
            return {"status": "stopped", "reason": "the search before it did not end"}
        try:
            return self._run(goal, open_mover, max_steps, feedback, lambda: cancelled() or mine != self._newest)
        except DryRun as planned:
            return {"status": "dry_run", "reason": str(planned)}
        except LastseenError as error:
            return {"status": "stopped", "reason": str(error)}
        except Exception as error:  # noqa: BLE001
            _log.exception("the search failed")
            return {"status": "stopped", "reason": f"the search failed: {type(error).__name__}: {error}"}
        finally:
            self.feeder.memory.flush()
            self._one.release()

    def end(self) -> None:
        """Stop a search that is running, and wait until it has."""
        self._newest += 1
        if self._one.acquire(timeout=_PREEMPTED):
            self._one.release()

    def _run(
        self,
        goal: str,
        open_mover: Callable[[str], Mover] | None,
        max_steps: int,
        feedback: Feedback,
        cancelled: Callable[[], bool],
    ) -> Tree:
        feeder, memory = self.feeder, self.feeder.memory
        until = time.monotonic() + _FIRST_FRAME
        while not feeder.world and time.monotonic() < until:
            time.sleep(0.1)
        stream, detector = feeder.stream, feeder.detector
        if stream is None or not feeder.world or detector is None:
            raise InvalidValue(
                "search", goal, "needs images and a detector", remedy="see /diagnostics; give --detector"
            )
        settings = memory.settings
        if max_steps:
            settings = replace(settings, search=replace(settings.search, max_steps=max_steps))
        with feeder.frames_for_search() as next_frame:
            robot = robot_of(
                stream,
                next_frame,
                None if open_mover is None else open_mover(feeder.world),
                detector=detector,
                limits=self.limits,
                gate=feeder.gate,
                base_frame=self.base_frame,
                cancelled=cancelled,
            )
            search = Search(goal, robot, memory, settings=settings)
            while search.result is None:
                if cancelled():
                    raise Stopped("stopped: the search was cancelled")
                record = search.step()
                feedback(feedback_tree(search, record))
        result = search.result
        tree: Tree = {
            "status": result.status,
            "reason": result.question or result.reason,
            "steps": result.steps,
            "metres": result.metres,
        }
        if result.status == "found":
            here = search.world.pose.x, search.world.pose.y
            fitting = memory.find(goal, include_tentative=True).fitting
            near = min(fitting, key=lambda hit: (math.dist(here, hit.position[:2]), hit.id), default=None)
            if near is not None:
                tree["object"] = object_tree(object_json(near))
        return tree


def feedback_tree(search: Search, record: dict[str, Any]) -> Tree:
    """Where a search stands after a step: its belief, the candidate it goes for, and how far that is."""
    belief = search.loop.belief
    decision = record["decision"] or {}
    candidates = belief["candidate_nodes"]
    distance = search.world.check.distance
    return {
        "step": search.loop.steps,
        "belief": str(belief["target_status"]),
        "candidate": str(candidates[0]["node_id"]) if candidates else "",
        "why": str(decision.get("why", "")),
        "metres": float(search.world.metres),
        "distance": -1.0 if distance is None else float(distance),
    }
