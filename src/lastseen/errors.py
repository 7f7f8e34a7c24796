"""Every error lastseen raises, so that one ``except LastseenError`` is enough.

    LastseenError
    ├── InvalidValue            a value from outside is wrong: field, value, problem, remedy
    │   ├── SettingsError       a settings file or environment variable
    │   ├── StampError          a time stamp that goes backwards within one session
    │   ├── PlanError           a model's answer that is not what it was asked for
    │   ├── SourceError         a recording or stream that cannot be read as it is
    │   └── IndexMismatch       vectors of two encoders would be mixed
    ├── JournalError            a memory file cannot be used
    │   ├── JournalMissing      there is no such file
    │   ├── JournalForeign      another program's file, or one from a newer version
    │   ├── JournalDamaged      the file is not whole
    │   ├── JournalIncomplete   its WAL, which holds what was written last, is not beside it
    │   ├── JournalLocked       another process is writing it
    │   ├── JournalChanged      it was replaced, or written by another process, while it was open
    │   ├── JournalReadOnly     it was opened for reading
    │   └── StorageFull         the disk is full; nothing acknowledged is lost
    ├── IndexUnreachable        a shared index does not answer; upserts wait for it
    ├── HomeRefused             no house meets the constraints within the attempts allowed
    ├── MissingExtra            an optional dependency is not installed
    ├── DownloadError           a model's files could not be fetched
    └── BackendError            a vision-language model gave no answer

Messages are one line and say what to do next; a command prints them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class LastseenError(Exception):
    """Base of every error that lastseen raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip back from a worker process: the default would call the class with the message alone."""
        return _rebuilt, (type(self), self.args, self.__dict__)


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


class SettingsError(InvalidValue):
    """A settings file or environment variable holds an unknown key or an unfit value."""


class StampError(InvalidValue):
    """A frame is older than the one before it in the same session."""


class PlanError(InvalidValue):
    """A model's answer breaks the format it was asked for; ``reason`` is a short word to count it by."""

    def __init__(self, field: str, value: object, problem: str, *, remedy: str, reason: str = "unfit") -> None:
        super().__init__(field, value, problem, remedy=remedy)
        self.reason = reason


class SourceError(InvalidValue):
    """A recording or a camera stream cannot be read as it is; one bad frame is skipped, a bad recording refused."""


class IndexMismatch(InvalidValue):
    """A memory was made with one encoder and is used with another."""


class JournalError(LastseenError):
    """A memory file cannot be used."""

    def __init__(self, path: object, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class JournalMissing(JournalError):
    """There is no memory file where one was to be read."""


class JournalForeign(JournalError):
    """The file belongs to another program or to a newer version; it is left as it is."""

    def __init__(self, path: object, problem: str) -> None:
        super().__init__(path, f"{problem}; nothing was changed")


class JournalDamaged(JournalError):
    """The file is not whole; it is left as it is."""

    def __init__(self, path: object, problem: str) -> None:
        remedy = "; nothing was changed, restore it from a copy or take what is whole with `lastseen salvage`"
        super().__init__(path, f"the file is damaged ({problem}){remedy}")


class JournalIncomplete(JournalError):
    """The file was copied, moved or mounted without its WAL, which holds what was written last."""

    def __init__(self, path: object, wal: str) -> None:
        problem = f"the file is incomplete: {wal}, which holds what was written last, is not beside it"
        remedy = "bring both together, or copy with `lastseen backup`; `lastseen salvage` takes what is there"
        super().__init__(path, f"{problem}; {remedy}")


class JournalLocked(JournalError):
    """Another process is writing the file."""

    def __init__(self, path: object, holder: str) -> None:
        remedy = "close it first, or open this one for reading"
        super().__init__(path, f"process {holder} is writing this memory; {remedy}")


class JournalChanged(JournalError):
    """The file was replaced or written by another process since it was opened; it is left as it is."""


class JournalReadOnly(JournalError):
    """The memory was opened for reading and cannot be written."""


class StorageFull(JournalError):
    """The disk is full: reads go on, what was acknowledged is safe, and the next flush tries again."""

    def __init__(self, path: object) -> None:
        super().__init__(path, "the disk is full; everything acknowledged is safe, free some space and flush again")


class IndexUnreachable(LastseenError):
    """A shared index does not answer; what is to be told to it waits in the journal."""

    def __init__(self, address: str, problem: str) -> None:
        super().__init__(f"the index at {address} does not answer ({problem})")
        self.address = address
        self.problem = problem


class HomeRefused(LastseenError):
    """No house met its constraints within the attempts allowed; the message gives the last reason."""


class MissingExtra(LastseenError, ImportError):
    """A feature needs a package that the core does not install; ``extra`` may name several, with commas."""

    def __init__(self, feature: str, *, extra: str) -> None:
        command = f"pip install 'lastseen[{extra}]' (in a checkout: '.[{extra}]')"
        needed, them = ("extras", "them") if "," in extra else ("extra", "it")
        super().__init__(f"{feature} needs the {needed} '{extra}'; install {them} with: {command}")
        self.feature = feature
        self.extra = extra


@contextmanager
def needs_extra(feature: str, *, extra: str) -> Iterator[None]:
    """Let imports within it that find no package raise ``MissingExtra``."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(feature, extra=extra) from error


class DownloadError(LastseenError):
    """A model's files could not be fetched, or are not what they should be; what was received is kept."""

    def __init__(self, model: str, problem: str, *, remedy: str) -> None:
        super().__init__(f"model {model}: {problem}; {remedy}")
        self.model = model
        self.problem = problem
        self.remedy = remedy


class BackendError(LastseenError):
    """A vision-language model gave no answer; whoever asked falls back, so it seldom reaches a user.

    ``transient`` tells what may pass by itself (a timeout, a busy server), ``lasting`` what every question will meet
    until somebody mends it (a wrong key, endpoint or model name, no permission).
    """

    def __init__(
        self, backend: str, problem: str, *, remedy: str, transient: bool = False, lasting: bool = False
    ) -> None:
        super().__init__(f"{backend} {problem}; {remedy}")
        self.backend = backend
        self.problem = problem
        self.remedy = remedy
        self.transient = transient
        self.lasting = lasting


def shorten(value: object, *, limit: int = 80) -> str:
    """Write a value on one line: arrays by type and shape, text cut and without control characters."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and len(shape) > 0 and (len(shape) > 1 or shape[0] > 8):
        return f"{dtype} array of shape {shape}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    try:
        text = repr(value).replace("\n", " ")
    except RecursionError:
        return f"a {type(value).__name__} nested too deeply to show"
    except ValueError:
        # Python writes no integer of more than some thousand digits
        return f"{type(value).__name__} too long to show"
    # the middle goes: a path says most at its end, a message at its start
    return text if len(text) <= limit else f"{text[: limit // 2 - 1]}…{text[-limit // 2 :]}"


def _rebuilt(kind: type[LastseenError], args: tuple[object, ...], state: dict[str, object]) -> LastseenError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error
