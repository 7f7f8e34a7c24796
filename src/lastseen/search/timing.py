"""What the clock and the meter said: latency, tokens and cost of every model call, apart from the run's log.

Two runs with equal logs may differ here, and only here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from lastseen.config.search import Planner
from lastseen.search.log import JsonLines
from lastseen.search.planning.model_call import Attempt
from lastseen.vlm.protocol import Backend, EncodedImage, Usage, usage_of

CallKind = Literal["planner", "scene"]
_MILLION = 1e6


class TimingLog(JsonLines):
    """One line per call, and one for the episode when it is closed; without a path it only adds up."""

    def __init__(self, path: str | Path | None = None, *, settings: Planner | None = None) -> None:
        super().__init__(path)
        self.settings = settings or Planner()
        self.calls: Counter[str] = Counter()
        self.seconds = self.longest = 0.0
        self.prompt_tokens = 0
        self.output_tokens = 0

    def call(self, step_id: int, kind: CallKind, attempt: Attempt) -> None:
        """Note one call of a model."""
        self.calls[kind] += 1
        self.seconds += attempt.seconds
        self.longest = max(self.longest, attempt.seconds)
        line: dict[str, Any] = {"step_id": step_id, "kind": kind, "seconds": round(attempt.seconds, 6)}
        if attempt.usage is not None:
            self.prompt_tokens += attempt.usage.prompt_tokens
            self.output_tokens += attempt.usage.output_tokens
            line |= {
                "prompt_tokens": attempt.usage.prompt_tokens,
                "output_tokens": attempt.usage.output_tokens,
                "cost_usd": self._cost(attempt.usage.prompt_tokens, attempt.usage.output_tokens),
            }
        self.append(line)

    def episode(self) -> dict[str, Any]:
        """The sums so far."""
        return {
            "kind": "episode",
            "calls": dict(sorted(self.calls.items())),
            "seconds": round(self.seconds, 6),
            "longest_seconds": round(self.longest, 6),
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self._cost(self.prompt_tokens, self.output_tokens),
        }

    def close(self) -> None:
        """Write the sums and close the file; may be called twice."""
        if self._file is not None:
            self.append(self.episode())
        super().close()

    def _cost(self, prompt_tokens: int, output_tokens: int) -> float:
        dollars = prompt_tokens * self.settings.input_price + output_tokens * self.settings.output_price
        return round(dollars / _MILLION, 8)


class MeteredBackend:
    """A backend whose calls are written to a timing log; ``step_id`` tells the step at which each is made."""

    def __init__(
        self,
        inner: Backend,
        timing: TimingLog,
        *,
        kind: CallKind,
        step_id: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.inner, self.timing, self.kind = inner, timing, kind
        # that of the model that is metered: logs are the same with and without a meter
        self.name = inner.name
        self._step_id, self._clock = step_id, clock

    @property
    def last_usage(self) -> Usage | None:
        """What the model said of its last call."""
        return usage_of(self.inner)

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """The inner model's answer; a call that fails is timed too."""
        began = self._clock()
        try:
            return self.inner.complete(prompt, images, schema)
        finally:
            self.timing.call(self._step_id(), self.kind, Attempt(self._clock() - began, usage_of(self.inner)))
