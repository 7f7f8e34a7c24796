"""Response models of where things are and when: places, anchors, the robot, sessions and the timeline."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from lastseen.finite import FARTHEST
from lastseen.memory.alignment.transform import FrameTransform
from lastseen.memory.rooms import floor_plan
from lastseen.server.schemas import Clearance, ListedObject, MemoryTime, Object, RobotPose, StrictBody, Wall


class Place(BaseModel):
    """A room; ``center`` and the corners of ``outline`` are (x, y) in the world, ``area`` is in square metres.

    ``type`` is its name, "unknown" where too little was seen, and ``confidence`` how sure that is. ``next_to`` are
    the rooms behind its doors. ``objects`` are labels seen from its anchors, ``object_ids`` what stands in it.
    """

    id: int
    type: str
    confidence: float
    description: str
    labels: list[str] = Field(description="what was seen from its anchors, also into other rooms", examples=[["mug"]])
    anchors: list[int]
    storey: int
    area: float
    center: list[float]
    outline: list[list[float]]
    next_to: list[int]
    provenance: str = Field(description="told where its name was told, else seen", examples=["seen"])
    object_ids: list[str] = Field(description="the confirmed objects that stand in it", examples=[["obj-7"]])


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


class FloorPlan(BaseModel):
    """Walls and doors of one storey; ``height`` is that of its floor in the world, in metres."""

    storey: int
    height: float
    walls: list[floor_plan.Wall]
    doors: list[floor_plan.Door]


class Places(BaseModel):
    """Every place and anchor."""

    current_place: int | None
    current_anchor: int | None
    places: list[Place]
    anchors: list[Anchor]
    plans: list[FloorPlan]


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


class EarlierState(BaseModel):
    """What was known of a session's map before."""

    state: str
    memory_time: MemoryTime
    reason: str


class SessionFrame(Session):
    """A session with the map it is in."""

    map_id: str | None = Field(description="What its source calls its map.")
    state: str = Field(description="first, stated, unverified, verified, quarantined or aligned")
    reason: str
    transform: FrameTransform | None = Field(description="From the session's map to the memory's.")
    covariance: list[list[float]] | None = Field(description="Of yaw, x, y and z.")
    evidence: float | None = Field(description="Nats.")
    pairs: list[list[str]] = Field(description="Ids of things met again: the session's, the memory's.")
    file: str | None = Field(description="The memory file of a session that was kept apart, beside this one's.")
    earlier: list[EarlierState]


class SessionFrames(BaseModel):
    """Every session and the map it is in."""

    frame: FrameTransform = Field(description="From the map of the running session's poses to the memory's.")
    sessions: list[SessionFrame]


class SessionObjects(BaseModel):
    """The objects of a session that is kept apart; positions are in its own map, ids begin with ``session-N/``."""

    session: int
    objects: list[Object]


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
