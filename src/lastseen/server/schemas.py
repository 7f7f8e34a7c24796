"""What requests may say and what responses hold: the types behind ``/openapi.json``.

Responses are written by the serializers and not validated again; tests check them against these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from lastseen.finite import FARTHEST

Words = Annotated[str, Field(max_length=500, description="What to look for, in words.", examples=["red mug"])]
ObjectId = Annotated[str, Field(max_length=64, description="For example obj-7.", examples=["obj-7"])]
Coordinate = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False, description="Metres.")]
Radius = Annotated[float, Field(gt=0.0, le=FARTHEST, allow_inf_nan=False, description="Metres.")]
TopK = Annotated[int, Field(ge=1, le=100)]
Threshold = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Robots = Annotated[
    str | None, Field(max_length=200, description="Ask the index that robots share: all, or a robot's name.")
]
"""What REST and MCP take alike."""

Wall = Annotated[str | None, Field(description="UTC, ISO 8601; null in a session without a date.")]
MemoryTime = Annotated[float, Field(description="Seconds on memory's own clock, which runs through all sessions.")]
Vector = Annotated[list[float], Field(min_length=3, max_length=3, description="x, y, z in metres, z up.")]
State = Literal["tentative", "confirmed", "stale", "missing", "removed"]
Status = Literal["found", "ambiguous", "not_found"]


class StrictBody(BaseModel):
    """A body without room for what is not understood."""

    model_config = ConfigDict(extra="forbid")


class Empty(StrictBody):
    """An empty body; it still has to be JSON."""


class Object(BaseModel):
    """One remembered object, under the names of ``lastseen.Object``; the last seven are those of rtsm."""

    id: str
    label: str | None
    position: Vector
    extent: Vector | None
    yaw: float = Field(description="Radians about z by which its box is turned from the world's x.")
    state: State
    place: str | None = Field(description="The kind of place it stands in, for example kitchen.")
    place_id: int | None
    color: str | None
    first_seen: Wall
    last_seen: Wall
    age: float = Field(description="Seconds from its last sighting to the newest frame.")
    last_seen_memory_time: MemoryTime
    session: int | None
    hits: int | None
    stability: float
    score: float | None = Field(description="How well it answers the question, 0 to 1.")
    kind: str = Field(examples=["object", "surface"])
    provenance: str = Field(description="seen, told (and not yet seen) or restored", examples=["seen"])
    alignment: str = Field(
        description="Whether its position is in the newest session's map: aligned, unverified or unknown.",
        examples=["aligned"],
    )
    stale: bool
    confirmed: bool
    label_primary: str | None
    label_hint: str | None
    xyz_world: Vector
    last_seen_wall_utc: float | None = Field(description="Seconds since 1970 (UTC).")


class ListedObject(Object):
    """The same with what working memory knows of it."""

    label_scores: dict[str, float]
    view_bins: int
    first_seen_memory_time: MemoryTime
    snapshot_b64: str | None = Field(default=None, description="JPEG; only with include_snapshot.")


class Hit(Object):
    """An object that answers a question."""

    image_url: str


class RankedHit(Hit):
    """One of the k best objects for a question."""

    fits: bool = Field(description="False for the closest that do not answer the question.")
    snapshot_b64: str | None = Field(default=None, description="JPEG; only with include_snapshot.")


class LabelHit(ListedObject):
    """An object found by a label."""

    image_url: str
    matched_label: str


class NearObject(Hit):
    """An object near a point."""

    distance_m: float


class Relation(BaseModel):
    """How an object stands to another one."""

    kind: str = Field(examples=["on"])
    other_id: str
    other_label: str | None
    gap_m: float


class ObjectDetails(ListedObject):
    """Everything about one object."""

    detection_rate: float
    snapshots: int
    snapshot_urls: list[str]
    snapshot_memory_times: list[float] = Field(description="when each was taken, newest first", examples=[[204.5]])
    relations: list[Relation]
    emb_mean: list[float] | None = Field(default=None, description="Only with include_vectors.")
    emb_gallery: list[list[float]] | None = Field(default=None, description="Only with include_vectors.")


class ObjectPage(BaseModel):
    """Some of the objects, in the order of their ids."""

    status: Status
    reason: str
    total: int
    offset: int
    limit: int
    count: int
    now: Wall
    now_memory_time: MemoryTime
    as_of: Wall
    as_of_memory_time: MemoryTime | None
    objects: list[ListedObject]


class When(BaseModel):
    """A time in every way it can be told; ``stamp`` is the frame's in that session."""

    time: Wall
    memory_time: MemoryTime
    session: int
    stamp: float


class HistoryEntry(When):
    """A position an object was known at (kind ``known``), or something that happened to it."""

    kind: str
    label: str | None
    position: Vector | None
    state: State | None
    evidence: dict[str, Any]


class History(BaseModel):
    """The history of an object, oldest first."""

    id: str
    count: int
    history: list[HistoryEntry]


class Change(When):
    """Something that happened to an object."""

    id: str
    kind: str
    label: str | None
    position: Vector | None
    evidence: dict[str, Any]


class Changes(BaseModel):
    """What happened to objects, oldest first; ``more`` says that older ones were left out."""

    status: Status
    reason: str
    count: int
    more: bool
    now: Wall
    now_memory_time: MemoryTime
    changes: list[Change]


class Fact(When):
    """What was told; ``text`` is its own words."""

    id: str
    kind: str = Field(description="object, contents, room, region, home, note or restored", examples=["home"])
    text: str
    provenance: str = Field(description="told or restored", examples=["told"])
    name: str | None
    relation: str | None
    object_id: str | None
    container_id: str | None
    position: Vector | None
    outline: list[list[float]]
    room_id: int | None


class Facts(BaseModel):
    """All that was told, in that order."""

    facts: list[Fact]


class Event(Change):
    """The same, as it happens."""

    type: str = Field(examples=["object_moved"])
    from_position: Vector | None


class RobotPose(BaseModel):
    """The camera's pose in the newest frame; poses of two epochs must not be compared."""

    xyz: Vector
    quaternion_xyzw: Annotated[list[float], Field(min_length=4, max_length=4)]
    timestamp: MemoryTime
    frame_epoch: int
    time: Wall
    memory_time: MemoryTime
    age: float | None = Field(description="Seconds of the day since then; null in a session without a date.")


class Clearance(BaseModel):
    """How far the way ahead is free; 0 where that cannot be measured."""

    clearance_m: float
    valid_frac: float
    timestamp: MemoryTime


class SearchAnswer(BaseModel):
    """A verdict with its reason; the k best objects, best first."""

    query: str
    status: Status
    reason: str
    refused: str | None = Field(default=None, description="The part of the question that does not hold.")
    not_understood: list[str] = Field(default=[], description="Parts that could not be compared.")
    alignment: str = Field(
        default="aligned", description="Whether positions are in the newest session's map: or unverified, unknown."
    )
    robot_pose: RobotPose | None
    results: list[RankedHit]


class Reply(BaseModel):
    """The answer to a question in words: its kind, one plain sentence, and the evidence for it."""

    question: str
    kind: str = Field(examples=["how many"])
    status: str = Field(description="answered or not_remembered", examples=["answered"])
    sentence: str
    objects: list[Object]
    count: int | None
    yes: bool | None
    times: list[str]
    places: list[str]
    changes: list[Change]
    facts: list[Fact] = Field(description="What was told and not seen, where the sentence rests on it.")
    pictures: list[str] = Field(description="Ids of objects that have a picture: /objects/ID/image.")
    confidence: float | None
    refused: str | None
    not_understood: list[str]
    phrased: str | None = Field(description="How a language model says it, where one was asked for and kept to it.")
    cut: int = Field(description="Sentences of the model that rest on nothing in the answer.")
    asked: list[str] = Field(description="What the model made of a question that was not understood.")
    model: str | None
    model_error: str | None


class LabelAnswer(SearchAnswer):
    """The same by the detector's labels."""

    results: list[LabelHit]  # type: ignore[assignment]


class NearAnswer(BaseModel):
    """What stands around a point, nearest first."""

    status: Status
    reason: str
    center: Vector
    radius_m: float
    robot_pose: RobotPose | None
    total: int
    offset: int
    limit: int
    count: int
    results: list[NearObject]
