"""In which map each session's poses are: its state, the transform to this memory's map, and how that is known.

One row a session in the journal. A state that changes keeps the ones before it, so that an alignment can be revised
and undone with its reason; see docs/alignment.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.memory.alignment.transform import FrameTransform
from lastseen.memory.store.journal import Journal
from lastseen.memory.store.journal.opening import decoding

FrameState = Literal["first", "stated", "unverified", "verified", "quarantined", "aligned"]
TRUSTED = ("first", "stated", "verified", "aligned")
"""States in which a session's map is known to be this memory's, or how it lies in it."""
Covariance = tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFrame:
    """In which map a session is.

    ``state`` is first (the memory began with it), stated (its source gave the ``map_id`` of an earlier session),
    unverified (taken for the same map, and nothing has shown yet that it is), verified (things were met again where
    they were), quarantined (another map, so far as is known; its things are in ``file``) or aligned (by
    ``transform``, from the session's map to the memory's, with the ``covariance`` of yaw, x, y and z). ``time`` is
    the memory time at which that was found, ``pairs`` are ids met again, the session's and the memory's; ``before``
    is the file as it was before it was aligned, ``earlier`` are the states before this one with time and reason.
    """

    session: int
    state: FrameState
    time: float = 0.0
    reason: str = ""
    map_id: str | None = None
    transform: FrameTransform | None = None
    covariance: Covariance | None = None
    evidence: float | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    file: str | None = None
    before: str | None = None
    earlier: tuple[tuple[str, float, str], ...] = field(default=())

    def becomes(self, state: FrameState, *, time: float, reason: str, **changes: Any) -> SessionFrame:
        """The same session in another state, which remembers this one."""
        earlier = (*self.earlier, (self.state, self.time, self.reason))
        return replace(self, state=state, time=time, reason=reason, earlier=earlier, **changes)


class SessionFrames:
    """The frames of a memory's sessions, read from its journal."""

    def __init__(self, journal: Journal) -> None:
        self._changed: dict[int, str] = {}
        with decoding(journal.path, "the frames of its sessions"):
            self._frames = {number: _read(number, body) for number, body in journal.bodies("frames").items()}

    def of(self, session: int) -> SessionFrame:
        """The frame of a session; files of before this was kept know none, and nobody checked it."""
        known = self._frames.get(session)
        return known or SessionFrame(session=session, state="first" if session == 1 else "unverified")

    def put(self, frame: SessionFrame) -> None:
        """Keep the frame of a session; it waits for the next commit."""
        self._frames[frame.session] = frame
        values = {
            name: value for name, value in asdict(frame).items() if name != "session" and value not in (None, ())
        }
        self._changed[frame.session] = json.dumps(values, ensure_ascii=False)

    def in_map(self, map_id: str) -> SessionFrame | None:
        """The newest session whose source stated this map and whose place in the memory is known."""
        known = [one for one in self._frames.values() if one.map_id == map_id and one.state in TRUSTED]
        return max(known, key=lambda one: one.session, default=None)

    def names_maps(self) -> bool:
        """Whether a source ever stated its map."""
        return any(one.map_id is not None for one in self._frames.values())

    def drain_changed(self) -> dict[int, str]:
        """Bodies that the journal has yet to learn, by session."""
        changed, self._changed = self._changed, {}
        return changed


def covariance_of(deviations: Sequence[float]) -> Covariance:
    """The covariance of yaw, x, y and z from their standard deviations; one that is none raises."""
    values = np.asarray(deviations, dtype=np.float64)
    if values.shape != (4,) or not np.isfinite(values).all() or (values < 0.0).any():
        raise InvalidValue(
            "deviations", deviations, "is no covariance", remedy="give four finite numbers from 0: yaw, x, y, z"
        )
    return checked_covariance(np.diag(values**2).tolist())


def checked_covariance(rows: Sequence[Sequence[float]]) -> Covariance:
    """A covariance of yaw, x, y and z; one that is not symmetric or has a negative variance raises."""
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise InvalidValue("covariance", rows, "is no covariance", remedy="give 4 x 4 symmetric numbers")
    if float(np.linalg.eigvalsh(matrix).min()) < -1e-9:
        raise InvalidValue("covariance", rows, "has a negative variance", remedy="give a positive one")
    one, two, three, four = (tuple(float(value) for value in row) for row in matrix)
    return (one, two, three, four)  # type: ignore[return-value]


def _read(session: int, body: str) -> SessionFrame:
    values = json.loads(body)
    if values["state"] not in (*TRUSTED, "unverified", "quarantined"):
        raise ValueError(f"session {session} is {values['state']!r}")
    if "transform" in values:
        transform = FrameTransform(**values["transform"])
        if not all(math.isfinite(value) for value in asdict(transform).values()):
            raise ValueError(f"session {session} has a transform that is none")
        values["transform"] = transform
    if "covariance" in values:
        values["covariance"] = checked_covariance(values["covariance"])
    for name in ("pairs", "earlier"):
        if name in values:
            values[name] = tuple(tuple(each) for each in values[name])
    return SessionFrame(session=session, **values)
