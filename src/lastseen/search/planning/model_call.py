"""One question to a model: strict reading of its answer, one retry that says what was wrong, a time limit.

Planner and scene analyzer share it. What a model says or fails to say gives a parsed answer or None, and a record of
every attempt. Only a model that refuses the very first question for good (a wrong key, endpoint or name) is an error:
whoever falls back then would never know.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from lastseen.config import Settings
from lastseen.errors import BackendError, LastseenError, PlanError
from lastseen.search.planning import strict_json
from lastseen.search.planning.prompt import clean
from lastseen.vlm.protocol import Backend, EncodedImage, Usage, usage_of

Answer = TypeVar("Answer")

TIME_LIMIT = "time_limit"
BACKEND = "backend"
_MAX_ERROR = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt gave nothing: a word to count by, and a line to read."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one call cost; wall-clock figures, for timing.jsonl only."""

    seconds: float
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class ModelAnswer(Generic[Answer]):
    """The answer, or None after the last attempt failed."""

    answer: Answer | None
    failures: tuple[Failure, ...]
    attempts: tuple[Attempt, ...]

    @property
    def retries(self) -> int:
        """How often the question was asked again."""
        return max(0, len(self.attempts) - 1)


class ModelClient(Generic[Answer]):
    """One kind of question to one backend, with retry, time limit and a count of what went wrong; see docs/places.md.

    ``parse`` reads an answer or raises ``PlanError``; ``schema`` is its form. ``failures`` counts every unfit answer
    by reason, ``given_up`` the last reason of each question without an answer, ``ignored_keys`` the keys of fit
    answers that the schema does not ask for. ``refused`` is the last refusal that every question will meet until
    somebody mends it.
    """

    def __init__(
        self,
        backend: Backend,
        settings: Settings | None = None,
        *,
        parse: Callable[[str], Answer],
        schema: Mapping[str, Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.backend, self.settings = backend, settings or Settings()
        self.calls = 0
        self.failures: Counter[str] = Counter()
        self.given_up: Counter[str] = Counter()
        self.ignored_keys: Counter[str] = Counter()
        self.refused: BackendError | None = None
        self._parse, self._schema, self._clock = parse, schema, clock

    def ask(self, prompt: str, images: Sequence[EncodedImage] = ()) -> ModelAnswer[Answer]:
        """Ask, and once more for each of the configured retries, within the time limit.

        Raises ``BackendError`` where the model refuses the first question for good; later ones get no answer.
        """
        asked = self.try_to_ask(prompt, images)
        if self.refused is not None and self.calls == 1:
            raise self.refused
        return asked

    def try_to_ask(self, prompt: str, images: Sequence[EncodedImage] = ()) -> ModelAnswer[Answer]:
        """The same, and never raises for what the model says or fails to say."""
        self.calls += 1
        asked = self._ask(prompt, images)
        self.failures.update(failure.reason for failure in asked.failures)
        if asked.answer is None:
            self.given_up[asked.failures[-1].reason] += 1
        return asked

    def _ask(self, prompt: str, images: Sequence[EncodedImage]) -> ModelAnswer[Answer]:
        failures: list[Failure] = []
        attempts: list[Attempt] = []
        limit = self.settings.planner.time_limit
        deadline = self._clock() + limit
        asked = prompt
        for _ in range(1 + self.settings.planner.retries):
            began = self._clock()
            if began >= deadline:
                failures.append(Failure(TIME_LIMIT, f"no answer within {limit:g} s"))
                break
            outcome = _complete(self.backend, asked, images, self._schema, timeout=deadline - began)
            attempts.append(Attempt(self._clock() - began, usage_of(self.backend)))
            if outcome is None:
                failures.append(Failure(TIME_LIMIT, f"no answer within {limit:g} s"))
                break
            if isinstance(outcome, LastseenError):
                failures.append(Failure(BACKEND, clean(str(outcome), limit=_MAX_ERROR)))
                if isinstance(outcome, BackendError) and outcome.lasting:
                    self.refused = outcome
                    break
                continue
            try:
                answer = self._parse(outcome)
            except PlanError as error:
                message = clean(str(error), limit=_MAX_ERROR)
                failures.append(Failure(error.reason, message))
                asked = f"{prompt}\n\n{refusal(message)}"
                continue
            self.ignored_keys.update(strict_json.unknown_keys(outcome, self._schema))
            return ModelAnswer(answer, tuple(failures), tuple(attempts))
        return ModelAnswer(None, tuple(failures), tuple(attempts))


def refusal(message: str) -> str:
    """What the model is told before its second try."""
    return f"YOUR LAST ANSWER WAS REFUSED: {message}. Answer again, with the JSON object of the format only."


def _complete(
    backend: Backend,
    prompt: str,
    images: Sequence[EncodedImage],
    schema: Mapping[str, Any] | None,
    *,
    timeout: float,
) -> str | LastseenError | None:
    """The answer, the backend's error, or None when time ran out.

    The call runs in a thread of its own, because nothing else ends the wait for a server that holds the line; a
    late answer is thrown away.
    """
    done: queue.SimpleQueue[object] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put(backend.complete(prompt, images, schema))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread and judged there
            done.put(error)

    threading.Thread(target=run, daemon=True, name="vlm-call").start()
    try:
        outcome = done.get(timeout=timeout)
    except queue.Empty:
        return None
    if isinstance(outcome, str | LastseenError):
        return outcome
    if isinstance(outcome, BaseException):
        raise outcome
    # a backend of someone else's may break its own promise; what is not text is refused like any other answer
    return PlanError("answer", outcome, "is not text", remedy="fix the backend", reason="not_json")
