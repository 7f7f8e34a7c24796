"""What users see of a memory: an object, and the answer to a question.

One set of names in Python, on the command line, over REST and MCP.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from lastseen.errors import InvalidValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lastseen.memory.objects import ObjectState

Point = tuple[float, float, float]
Status = Literal["found", "ambiguous", "not_found"]
AlignmentStatus = Literal["aligned", "unverified", "unknown"]
NOT_FROM_HERE = "That is remembered, but where it is from here is not known yet."
SURE_NAME = 0.5
"""Mean confidence from which a label is a name: a detector's score is about the share of times that it is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """One remembered object; positions are metres in the world frame, z up.

    ``extent`` is the size of an upright box around it, whose first side is turned by ``yaw`` radians about z from the
    world's x.

    ``state`` is tentative (not yet confirmed), confirmed, stale (not seen for long), missing (its place was seen
    empty) or removed (seen empty again later). ``place`` is the room it stands in ("kitchen", or "unknown" where too
    little tells), ``place_id`` which one (``Memory.rooms``); None where no floor was seen near. ``last_seen`` and
    ``first_seen`` are wall time (UTC), None in a session without a date; ``age`` is the seconds from its last
    sighting to the newest frame of the memory, and ``last_seen_memory_time`` that sighting on memory's own clock.
    ``score`` tells how well it answers a question, 0 to 1, None where none was asked. The fields that
    docs/object-memory.md lists are there under its names too. ``kind`` is object, or surface for floor, walls, table
    tops and the like. ``provenance`` is seen, told (not yet seen; ``last_seen`` is when it was told), or restored
    (brought back by an undo and not seen since). ``alignment`` tells whether its position is in the map that the
    newest session is in: aligned, unverified (so it is taken, and nothing has shown it yet), or unknown (it is
    remembered, but where that is from here is not known yet); see docs/alignment.md.
    """

    id: str
    label: str | None
    position: Point
    extent: Point | None
    state: str
    place: str | None
    place_id: int | None
    color: str | None
    first_seen: datetime | None
    last_seen: datetime | None
    age: float
    last_seen_memory_time: float
    session: int | None
    hits: int | None = None
    stability: float | None = None
    score: float | None = None
    kind: str = "object"
    provenance: str = "seen"
    alignment: AlignmentStatus = "aligned"
    yaw: float = 0.0
    record: ObjectState | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str | None:
        """Its label, with "maybe" before one that detectors were mostly not sure of; None where it has no label."""
        scores = {} if self.record is None else self.record.label_scores
        if self.label is None or self.provenance != "seen" or scores.get(self.label, 1.0) >= SURE_NAME:
            return self.label
        return f"maybe {self.label}"

    @property
    def stale(self) -> bool:
        """Whether it was not seen for long, though nothing says that it is gone."""
        return self.state == "stale"

    @property
    def confirmed(self) -> bool:
        """Whether it was seen often enough, alike enough and from enough sides to be believed."""
        return self.state != "tentative"

    @property
    def xyz_world(self) -> NDArray[np.float64]:
        """Position in the world frame, metres."""
        return self._record("xyz_world").xyz_world

    @property
    def emb_mean(self) -> NDArray[np.float32] | None:
        """Running mean of the image embeddings; None where it has none."""
        return self._record("emb_mean").emb_mean

    @property
    def emb_gallery(self) -> NDArray[np.float16] | None:
        """A few embeddings of different views, one a row; None where it has none."""
        return self._record("emb_gallery").emb_gallery

    @property
    def view_bins(self) -> frozenset[tuple[int, int]]:
        """Directions it was seen from, as (azimuth, elevation) bins."""
        return self._record("view_bins").view_bins

    @property
    def label_scores(self) -> dict[str, float]:
        """Moving averages of the confidence of each label, best first."""
        return self._record("label_scores").label_scores

    @property
    def image_crops(self) -> tuple[bytes, ...]:
        """Its pictures as JPEG, where ``Memory.object`` read it."""
        return self._record("image_crops").image_crops

    def _record(self, name: str) -> ObjectState:
        if self.record is None:
            raise InvalidValue(name, self.id, "is not held by this memory", remedy="ask the robot that saw it")
        return self.record


@dataclass(frozen=True, slots=True)
class Answer:
    """What memory says to a question: a verdict with its reason, and the k best objects, best first (ties by id).

    Weak evidence is ``not_found``; several that fit equally well and stand apart are ``ambiguous``. ``accept`` is
    the score that was enough to fit: ``fitting`` are the hits that reach it, the others are the closest that do not.
    ``refused`` names the part of the question that does not hold (thing, colour, anchor, anchor colour, relation,
    place, place not known, number, time), and ``not_understood`` the parts that could not be compared.
    ``alignment`` is that of the best hit. ``total`` counts all that fit as well as the best, listed or not.
    """

    status: Status
    reason: str
    hits: tuple[Object, ...] = ()
    accept: float = 0.0
    refused: str | None = None
    not_understood: tuple[str, ...] = ()
    alignment: AlignmentStatus = "aligned"
    total: int = 0

    @property
    def fitting(self) -> tuple[Object, ...]:
        """The hits that answer the question; none where the verdict is ``not_found``."""
        return () if self.status == "not_found" else tuple(hit for hit in self.hits if self.fits(hit))

    @property
    def closest(self) -> tuple[Object, ...]:
        """The hits that do not answer it: closest, but not it."""
        return self.hits if self.status == "not_found" else tuple(hit for hit in self.hits if not self.fits(hit))

    def fits(self, hit: Object) -> bool:
        """Whether a hit's score is enough to answer the question."""
        return self.status != "not_found" and (hit.score or 0.0) >= self.accept

    def with_alignment(self, known: AlignmentStatus) -> Answer:
        """The same, where it says whether its positions are in the map that the newest session is in."""
        if known == "aligned":
            return self
        hits = tuple(replace(hit, alignment=known) for hit in self.hits)
        reason = f"{self.reason} ({NOT_FROM_HERE})" if known == "unknown" and hits else self.reason
        return replace(self, hits=hits, reason=reason, alignment=known)

    def followed_by(self, remembered: Answer) -> Answer:
        """What a session in quarantine sees, then what was remembered before it and cannot be placed from here."""
        remembered = remembered.with_alignment("unknown")
        if self.status == "not_found":
            return remembered if remembered.status != "not_found" else self
        if remembered.status == "not_found":
            return self
        more = remembered.fitting
        reason = f"{self.reason}; {len(more)} more remembered from before, where from here is not known yet"
        return replace(self, reason=reason, hits=(*self.hits, *more))


def id_order(object_id: str) -> tuple[int, str]:
    """The order of ids that people expect: obj-9 before obj-10."""
    return len(object_id), object_id
