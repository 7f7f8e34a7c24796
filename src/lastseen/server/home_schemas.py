"""The types behind ``/openapi.json`` of places, the robot, time, and how the server does."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from lastseen.server.parameters import FARTHEST
from lastseen.server.schemas import Clearance, ListedObject, MemoryTime, RobotPose, StrictBody, Wall


class Place(BaseModel):
    """A room; ``center`` and the corners of ``outline`` are (x, y) in the world, ``area`` is in square metres.

    ``type`` is its name, "unknown" where too little was seen, and ``confidence`` how sure that is. ``next_to`` are
    the rooms behind its doors. ``objects`` are labels seen from its anchors, ``object_ids`` what stands in it.
    """

    id: int
    type: str
    confidence: float
    description: str
    objects: list[str]
    anchors: list[int]
    storey: int
    area: float
    center: list[float]
    outline: list[list[float]]
    next_to: list[int]
    provenance: str = Field(description="told where its name was told, else seen", examples=["seen"])
    object_ids: list[str]


class PlaceDetails(Place):
    """A place with the objects that stand in it."""

    objects_in: list[ListedObject]


class Anchor(BaseModel):
    """A spot on the robot's path: (x, y, yaw) by dead reckoning within its episode, and in the world if known."""

    id: int
    place_id: int | None
    pose: list[float]
    world_pose: list[float] | None
    neighbors: list[int]
    step: int
    episode: int
    labels: list[str]


class Places(BaseModel):
    """Every place and anchor."""

    current_place: int | None
    current_anchor: int | None
    places: list[Place]
    anchors: list[Anchor]


class Camera(StrictBody):
    """Intrinsics in pixels."""

    fx: Annotated[float, Field(gt=0.0, le=1e5, allow_inf_nan=False)]
    fy: Annotated[float, Field(gt=0.0, le=1e5, allow_inf_nan=False)]
    cx: Annotated[float, Field(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False)]
    cy: Annotated[float, Field(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False)]
    width: Annotated[int, Field(ge=8, le=8192)]
    height: Annotated[int, Field(ge=8, le=8192)]


class Robot(BaseModel):
    """The newest pose and camera, and the path of this run as [memory time, x, y, z]."""

    robot_pose: RobotPose | None
    camera: Camera | None
    path: list[list[float]]
    clearance: Clearance | None


class Session(BaseModel):
    """One run of one robot."""

    id: int
    robot: str
    first: Wall
    first_memory_time: MemoryTime
    last: Wall
    last_memory_time: MemoryTime


class Mark(BaseModel):
    """Something worth a mark on a timeline."""

    time: Wall
    memory_time: MemoryTime
    kind: str
    id: str
    label: str | None


class Timeline(BaseModel):
    """What a slider needs."""

    first: Wall
    first_memory_time: MemoryTime | None
    last: Wall
    last_memory_time: MemoryTime | None
    now: Wall
    now_memory_time: MemoryTime
    sessions: list[Session]
    marks: list[Mark]


class ServerState(BaseModel):
    """How the server itself does."""

    version: str
    mode: Literal["file", "source", "demo"]
    source: Literal["none", "waiting", "running", "following", "ended", "failed"]
    source_error: str | None
    frames: int
    frame_rate: float
    read_only: bool
    clients: int
    uptime: float
    points: int


class Stats(BaseModel):
    """The figures that people and agents poll."""

    objects: int
    confirmed: int
    tentative: int
    stale: int
    missing: int
    removed: int
    surfaces: int = Field(description="Floor, walls, table tops: confirmed, and not counted as objects.")
    avg_hits: float
    upserts_total: int
    sessions: int
    now: Wall
    now_memory_time: MemoryTime
    stale_after: float = Field(description="Seconds after which an unseen object is stale.")
    robot_pose: RobotPose | None
    forward_clearance: Clearance | None
    server: ServerState


class SharedIndex(BaseModel):
    """The index that several robots share, as this memory reaches it."""

    address: str
    queued: int = Field(description="Changes that wait to be sent.")
    error: str | None = Field(description="Why they wait; they are tried again.")


class DetailedStats(Stats):
    """The same, and bytes on disk and in RAM."""

    counts: dict[str, int]
    disk: dict[str, int]
    ram: dict[str, int]
    encoder: str
    image_encoder: str | None
    shared_index: SharedIndex | None
    waiting: int = Field(description="Changes not yet on disk.")
    events: int = Field(description="Events published since the start.")


class Health(BaseModel):
    """Whether all is well; degraded still answers."""

    status: Literal["ok", "degraded"]
    reasons: list[str] | None = Field(default=None, description="Only for those who show the token.")


class Ready(BaseModel):
    """Requests are wanted."""

    status: Literal["ready"]
