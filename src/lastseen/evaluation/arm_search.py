"""One search of one arm, wherever it walks: the only place that builds the search of an evaluation.

Nothing here asks which arm it is but for the words it may read, its stop rule and who chooses the direction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lastseen.config import Settings
from lastseen.evaluation.arms import Arm, Context, FrontierBackend, RandomBackend, editor
from lastseen.evaluation.metrics import hints_of, unique_ratio
from lastseen.evaluation.visits import analyzer_of, memory_settings
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.protocols import Detector, Environment
from lastseen.search.log import RunLog
from lastseen.search.loop import SearchResult
from lastseen.search.policy.protocol import GEOMETRIC
from lastseen.search.search import Search
from lastseen.search.timing import TimingLog
from lastseen.vlm import open_backend
from lastseen.vlm.protocol import Backend
from lastseen.vlm.recorded import for_episode, recorded_backend

_log = logging.getLogger(__name__)
_told: set[str] = set()
"""Models that were warned of, in this process."""
Record = dict[str, Any]
CAUSES = ("not_seen", "not_recognised", "false_stop", "stuck", "out_of_steps")


@dataclass(slots=True)
class Ran:
    """The record of an episode, what it leaves for others (its contexts), and what it took by the clock."""

    record: Record
    contexts: list[Context] = field(default_factory=list)
    timing: Record = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that is over, the contexts it was given before an arm changed them, and what memory knew at first."""

    search: Search
    result: SearchResult
    contexts: list[Context]
    known: Sequence[Object]

    @property
    def steps(self) -> list[Record]:
        """The step records of its log."""
        return [step for step in self.search.log.records if step["type"] == "step"]

    def figures(self) -> Record:
        """What a record says of the search itself: calls, patterns, places and hints."""
        steps, onsets = self.steps, self.search.memory.spatial.progress.onsets
        places = [step["current_place_id"] for step in steps if step["action"] is not None or step["step_id"] == 0]
        window = self.search.settings.patterns.stuck_window
        return {
            "reason": self.result.reason,
            "planner_calls": self.search.loop.calls,
            "ababa": onsets["ababa"],
            "stuck": onsets["stuck"],
            "no_progress": onsets["no_progress"],
            "unique_place_ratio": round(unique_ratio(places, window), 6),
            "hints": hints_of(self.contexts, steps),
        }


def search_arm(
    goal: str,
    robot: Environment,
    arm: Arm,
    *,
    detector: Detector,
    settings: Settings,
    seed: int,
    key: str,
    backend: str = "offline",
    policy: str = GEOMETRIC,
    donor: Sequence[Context] = (),
    memory: Memory | None = None,
    log: RunLog | None = None,
    timing: TimingLog | None = None,
    over: Callable[[], bool] = lambda: False,
) -> Searched:
    """Search once, until the goal is reached, the steps are spent or the world is ``over``; close it afterwards.

    ``donor`` are the contexts for a shuffled arm, ``memory`` is that of an earlier visit. ``key`` names the cassettes
    of this episode where the backend records or replays them. What the clock measured goes to ``timing`` alone.
    """
    contexts: list[Context] = []
    edit = editor(arm, donor)

    def edited(context: Context) -> Context:
        contexts.append(context)
        return edit(context)

    if arm.trust_planner:
        settings = replace(settings, stop=replace(settings.stop, trust_planner=True, confirm_flag=True))
    if memory is None:
        analyzer = analyzer_of(settings, key, seed=seed)
        memory = Memory.open(settings=memory_settings(settings), wall_clock=None, scene_analyzer=analyzer)
    search = Search(
        goal,
        robot,
        memory,
        detector=detector,
        policy=policy,
        planner=_model(arm, settings, for_episode(backend, f"{key}-planner"), seed),
        settings=memory_settings(settings),
        seed=seed,
        use_context=arm.reads_context,
        memory_first=arm.memory != "none",
        edit=edited,
        log=log,
        timing=timing,
        with_images=recorded_backend(backend) != "offline" and arm.chooser == "backend",
    )
    known = search.recall.answer.fitting
    result = search.run(over=over)
    refused = getattr(memory.analyzer, "refused", None)
    if refused is not None:
        # the search got by without names of places, as it should; figures of it would be of another condition
        raise refused
    searched = Searched(search, result, contexts, known)
    _warn_of_fallbacks(key, searched.steps)
    return searched


def _warn_of_fallbacks(key: str, steps: Sequence[Record]) -> None:
    """Say once where a model gave no usable answer in a whole episode: its figures are those of the fallback."""
    calls = [step["meta"] for step in steps if step["planner_called"]]
    backend = calls[0]["backend"] if calls else ""
    if calls and backend not in _told and all(call["fallback"] for call in calls):
        _told.add(backend)
        _log.warning(
            "%s: %s gave no usable answer in %d calls, the figures are those of the fallback: %s",
            *(key, backend, len(calls), calls[-1]["errors"][-1]),
        )


def _model(arm: Arm, settings: Settings, backend: str, seed: int) -> Backend:
    if arm.chooser == "random":
        return RandomBackend(seed=seed)
    if arm.chooser == "frontier":
        return FrontierBackend(seed=seed)
    return open_backend(backend, settings.planner, seed=seed)
