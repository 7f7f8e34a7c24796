"""A backend that passes prompts on and spoils some of the answers, in the paths real models' answers are spoilt."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue
from lastseen.vlm.protocol import Backend, EncodedImage, open_backend

Fault = Literal["delay", "garbage", "half_json", "wrong_types", "out_of_range", "refusal", "empty", "down"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

DEFAULT_RATE = 0.3
DEFAULT_DELAY = 0.2

_GARBAGE = ("Sure! Go left.", "```json\n{}\n```", "<html>502</html>", "\x00\x01", "[]", "null", "NaN")
_REFUSAL = "I'm sorry, but I can't help with navigating inside a private home."


class FaultyBackend:
    """Spoils each answer with probability ``rate`` by one of ``faults``, chosen by the seed."""

    def __init__(
        self,
        inner: Backend,
        *,
        faults: Sequence[Fault] = FAULTS,
        rate: float = DEFAULT_RATE,
        delay: float = DEFAULT_DELAY,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        unknown = sorted(set(faults) - set(FAULTS))
        if unknown or not faults:
            raise InvalidValue("faults", unknown, "are not known", remedy=f"choose from {', '.join(FAULTS)}")
        self.inner = inner
        self.injected: Counter[str] = Counter()
        self._faults = tuple(faults)
        self._rate = rate
        self._delay = delay
        self._random = random.Random(seed)
        self._sleep = sleep

    @property
    def name(self) -> str:
        """For example ``faulty:offline``."""
        return f"faulty:{self.inner.name}"

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """The inner model's answer, whole or spoilt."""
        if self._random.random() >= self._rate:
            return self.inner.complete(prompt, images, schema)
        fault = self._random.choice(self._faults)
        self.injected[fault] += 1
        if fault == "down":
            raise BackendError(self.name, "is down", remedy="this is what it was asked to be", transient=True)
        if fault == "empty":
            raise BackendError(self.name, "gave an empty answer", remedy="this is what it was asked to be")
        if fault == "garbage":
            return self._random.choice(_GARBAGE)
        if fault == "refusal":
            return _REFUSAL
        answer = self.inner.complete(prompt, images, schema)
        if fault == "delay":
            self._sleep(self._delay)
            return answer
        if fault == "half_json":
            return answer[: self._random.randrange(1, max(2, len(answer)))]
        return self._spoil(answer, fault)

    def _spoil(self, answer: str, fault: Fault) -> str:
        try:
            values = json.loads(answer)
        except ValueError:
            return answer
        if not isinstance(values, dict) or not values:
            return answer
        numbers = [key for key, value in values.items() if isinstance(value, float) and key != "confidence"]
        if fault == "out_of_range" and numbers:
            values[numbers[0]] = self._random.choice([180.5, -1e6, 1e300])
        else:
            key = self._random.choice(sorted(values))
            values[key] = self._random.choice([None, "thirty", [[]], 7])
        return json.dumps(values)


def from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``faulty``, ``faulty:FAULT,FAULT`` or ``faulty:FAULT,FAULT:BACKEND`` (else the offline one)."""
    faults, _, inner = argument.partition(":")
    names: Any = tuple(faults.split(",")) if faults else FAULTS
    return FaultyBackend(open_backend(inner or "offline", settings, seed=seed), faults=names, seed=seed)
