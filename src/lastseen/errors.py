"""Every error lastseen raises, so that one ``except LastseenError`` is enough.

    LastseenError
    ├── InvalidValue            a value from outside is wrong: field, value, problem, remedy
    │   ├── SettingsError       a settings file or environment variable
    │   ├── StampError          a time stamp that goes backwards within one session
    │   └── PlanError           a model's answer that is not what it was asked for
    ├── HomeRefused             no house meets the constraints within the attempts allowed
    │   └── SourceError         a recording or stream that cannot be read as it is
    ├── MissingExtra            an optional dependency is not installed
    ├── BackendError            a vision-language model gave no answer
    └── NotBuiltYet             the facade names it, this version does not do it

Messages are one line and say what to do next; a command prints them as they are.
"""

from __future__ import annotations

from typing import ClassVar


class LastseenError(Exception):
    """Base of every error that lastseen raises on purpose."""

    exit_code: ClassVar[int] = 1


class InvalidValue(LastseenError, ValueError):
    """A value from outside does not fit; the message names the field, the value and the remedy.

    >>> raise InvalidValue("intrinsics.fx", -1.0, "must be positive", remedy="give the focal length in pixels")
    Traceback (most recent call last):
    lastseen.errors.InvalidValue: intrinsics.fx = -1.0: must be positive; give the focal length in pixels
    """

    def __init__(self, field: str, value: object, problem: str, *, remedy: str) -> None:
        super().__init__(f"{field} = {shorten(value)}: {problem}; {remedy}")
        self.field = field
        self.value = value
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip back from a worker process: keyword-only arguments defeat the default."""
        return _rebuild, (type(self), self.field, self.value, self.problem, self.remedy)


class SettingsError(InvalidValue):
    """A settings file or environment variable holds an unknown key or an unfit value."""


class StampError(InvalidValue):
    """A frame is older than the one before it in the same session."""


class PlanError(InvalidValue):
    """A model's answer breaks the format it was asked for; ``reason`` is a short word to count it by."""

    def __init__(self, field: str, value: object, problem: str, *, remedy: str, reason: str = "unfit") -> None:
        super().__init__(field, value, problem, remedy=remedy)
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_plan_error, (self.field, self.value, self.problem, self.remedy, self.reason)


class HomeRefused(LastseenError):
    """No house met its constraints within the attempts allowed; the message gives the last reason."""
class SourceError(InvalidValue):
    """A recording or a camera stream cannot be read as it is; one bad frame is skipped, a bad recording refused."""


class MissingExtra(LastseenError, ImportError):
    """A feature needs a package that the core does not install."""

    def __init__(self, feature: str, *, extra: str) -> None:
        super().__init__(f"{feature} needs the extra '{extra}'; install it with: pip install 'lastseen[{extra}]'")
        self.feature = feature
        self.extra = extra

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_missing, (self.feature, self.extra)


class BackendError(LastseenError):
    """A vision-language model gave no answer; whoever asked falls back, so it seldom reaches a user.

    ``transient`` tells what may pass by itself (a timeout, a busy server) from what will not (a wrong key).
    """

    def __init__(self, backend: str, problem: str, *, remedy: str, transient: bool = False) -> None:
        super().__init__(f"{backend} {problem}; {remedy}")
        self.backend = backend
        self.problem = problem
        self.remedy = remedy
        self.transient = transient

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_backend, (self.backend, self.problem, self.remedy, self.transient)


class NotBuiltYet(LastseenError, NotImplementedError):
    """The facade promises it and this version cannot do it yet."""


def shorten(value: object, *, limit: int = 80) -> str:
    """Write a value on one line: arrays by type and shape, text cut and without control characters."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and len(shape) > 0 and (len(shape) > 1 or shape[0] > 8):
        return f"{dtype} array of shape {shape}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    text = repr(value).replace("\n", " ")
    # the middle goes: a path says most at its end, a message at its start
    return text if len(text) <= limit else f"{text[: limit // 2 - 1]}…{text[-limit // 2 :]}"


def _rebuild(kind: type[InvalidValue], field: str, value: object, problem: str, remedy: str) -> InvalidValue:
    return kind(field, value, problem, remedy=remedy)


def _rebuild_missing(feature: str, extra: str) -> MissingExtra:
    return MissingExtra(feature, extra=extra)


def _rebuild_backend(backend: str, problem: str, remedy: str, transient: bool) -> BackendError:
    return BackendError(backend, problem, remedy=remedy, transient=transient)


def _rebuild_plan_error(field: str, value: object, problem: str, remedy: str, reason: str) -> PlanError:
    return PlanError(field, value, problem, remedy=remedy, reason=reason)
