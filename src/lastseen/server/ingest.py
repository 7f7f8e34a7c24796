"""``/ingest``: frames and observations from robots that have no other source; acknowledged when they are on disk."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import anyio.to_thread
import numpy as np
from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.detection import Detection
from lastseen.errors import InvalidValue, StampError
from lastseen.finite import FARTHEST, LATEST
from lastseen.frame import Frame, metric_depth
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.images import read_color, read_depth
from lastseen.memory.objects import Event
from lastseen.observation import Observation
from lastseen.perception.pipeline import Perception
from lastseen.server import schemas
from lastseen.server.map_schemas import Camera
from lastseen.server.responses import WRITE_ERRORS, json_response, problem_of
from lastseen.server.schemas import Empty, StrictBody
from lastseen.server.serializers import events_json, iso
from lastseen.server.service import Service, compile_once

_MAX_OBSERVATIONS = 512
"""Per frame: far more than a detector finds in one image."""
_MAX_EMBEDDING = 4096
"""Numbers: more than the encoders of today give."""
_MAX_PIXELS = 16_000_000
"""Of a picture: one may be small as a file and huge when unpacked."""
_MAX_FIELDS = 50_000
"""Names in a body: twice what the largest one allowed has; without it a body of names alone would take minutes."""

_Body = TypeVar("_Body", bound=BaseModel)
Number = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False)]
Triple = Annotated[list[Number], Field(min_length=3, max_length=3)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Labels = Annotated[dict[Annotated[str, Field(min_length=1, max_length=200)], Share], Field(max_length=32)]
Stamp = Annotated[float, Field(ge=-LATEST, le=LATEST, allow_inf_nan=False, description="Seconds on one clock.")]
FrameId = Annotated[int, Field(ge=0, le=2**53)]
Picture = Annotated[str, Field(max_length=16_000_000, description="base64")]


class PoseBody(StrictBody):
    """T_world_camera."""

    xyz: Triple
    quaternion_xyzw: Annotated[list[Number], Field(min_length=4, max_length=4)]


class ObservationBody(StrictBody):
    """One thing seen."""

    xyz_world: Triple
    extent: Triple = Field(default=[0.1, 0.1, 0.1])
    yaw: Number = Field(default=0.0, description="Radians about z by which the box is turned from the world's x.")
    labels: Labels = Field(default={})
    embedding: Annotated[list[Number], Field(min_length=1, max_length=_MAX_EMBEDDING, fail_fast=True)] | None = None
    view_direction: Triple | None = None
    quality: Share = 1.0
    crop_b64: Picture | None = None


class ObservationsBody(StrictBody):
    """One frame's observations, made elsewhere."""

    stamp: Stamp
    frame_id: FrameId
    pose: PoseBody
    observations: Annotated[list[ObservationBody], Field(max_length=_MAX_OBSERVATIONS, fail_fast=True)]


class DetectionBody(StrictBody):
    """One detection in the colour image."""

    box: Annotated[list[Number], Field(min_length=4, max_length=4)]
    score: Share = 1.0
    labels: Labels = Field(default={})


class FrameBody(StrictBody):
    """One RGB-D frame, with detections where somebody made some."""

    stamp: Stamp
    frame_id: FrameId
    pose: PoseBody
    intrinsics: Camera
    depth_scale: Annotated[float, Field(gt=0.0, le=1e6, allow_inf_nan=False)] = 1000.0
    rgb_b64: Picture
    depth_b64: Picture
    detections: Annotated[list[DetectionBody], Field(max_length=_MAX_OBSERVATIONS, fail_fast=True)] | None = None


class Ingested(BaseModel):
    """An acknowledged frame; ``refused`` is the reason where the frame was not processed."""

    frame_id: int
    time: schemas.Wall
    memory_time: schemas.MemoryTime
    observations: int
    durable: bool
    refused: str | None = None
    events: list[schemas.Event]


class SessionBody(Empty):
    """A session that begins."""

    map_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="What its poses' map is called; see docs/alignment.md.",
    )


class SessionBegun(BaseModel):
    """The stamps of the next frame may start anew."""

    begun: bool


class _GivenDetections:
    """A detector that says what came with the frame."""

    def __init__(self, found: Sequence[Detection]) -> None:
        self.found = list(found)

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:  # noqa: ARG002
        return list(self.found)


class Ingest:
    """Takes frames of one robot, one at a time, in the order they come."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.perception = Perception(service.settings, encoder=service.image_encoder)
        self._lock = threading.Lock()
        self._last_stamp: float | None = None

    def observations(self, raw: bytes) -> Response:
        """Take observations that were made elsewhere."""
        body = _parsed(ObservationsBody, raw)
        self._writable()
        pose = Pose3D.from_quaternion(body.pose.xyz, body.pose.quaternion_xyzw)
        frame = Frame.without_camera(body.frame_id, body.stamp, pose)
        observations = [self._observation(seen, frame) for seen in body.observations]
        with self._lock:
            self._check_stamp(frame.stamp)
            compile_once()
            events = self.service.memory.observe(frame, observations)
            self._last_stamp = frame.stamp
            time = self.service.memory.browse.now
        self.service.flush()
        self.service.robot.add(frame, time=time)
        self.service.publish(events)
        return self._acknowledged(body.frame_id, time, len(observations), events)

    def frame(self, raw: bytes) -> Response:
        """Take a frame and find what is in it."""
        body = _parsed(FrameBody, raw)
        self._writable()
        frame = self._frame(body)
        store = self.service.memory.store
        held = store.image_encoder
        if held not in (None, self.perception.encoder.name):
            raise HTTPException(
                409, f"this memory's embeddings are of {held}; send observations with its embeddings instead"
            )
        with self._lock:
            self._check_stamp(frame.stamp)
            # the first embedding names the encoder of all
            store.image_encoder = store.image_encoder or self.perception.encoder.name
            found = None if body.detections is None else [_detection(one) for one in body.detections]
            self.perception.detector = None if found is None else _GivenDetections(found)
            perceived = self.perception.perceive(frame)
            events = self.service.observe(frame, perceived, durable=True)
            if perceived.refusal is None:
                self._last_stamp = frame.stamp
            time = self.service.memory.browse.now
        refused = None if perceived.refusal is None else perceived.refusal.value
        return self._acknowledged(body.frame_id, time, len(perceived.observations), events, refused=refused)

    def new_session(self, map_id: str | None) -> None:
        """Let the next frame's stamp start anew, in a map of this name where one is given."""
        with self._lock:
            self.service.memory.new_session(map_id=map_id)
            self.perception.box_yaw = None
            self._last_stamp = None

    def _acknowledged(
        self, frame_id: int, time: float, count: int, events: Sequence[Event], *, refused: str | None = None
    ) -> Response:
        memory = self.service.memory
        return json_response(
            {
                "frame_id": frame_id,
                "time": iso(memory.browse.clock.wall(time)),
                "memory_time": time,
                "observations": count,
                "durable": memory.path is not None,
                "refused": refused,
                "events": events_json(memory, events),
            }
        )

    def _check_stamp(self, stamp: float) -> None:
        limit, last = self.service.settings.server.max_leap, self._last_stamp
        if last is not None and stamp - last > limit:
            raise StampError(
                "stamp",
                stamp,
                f"leaps {stamp - last:g} s ahead of the last frame ({last:g}), more than server.max_leap = {limit:g}",
                remedy="give seconds, or begin a session with POST /ingest/session",
            )

    def _writable(self) -> None:
        if self.service.memory.read_only:
            raise HTTPException(409, "this memory was opened for reading")
        if self.service.stopping:
            raise HTTPException(503, "the server is shutting down")

    def _frame(self, body: FrameBody) -> Frame:
        rgb = read_color(_bytes("rgb_b64", body.rgb_b64), name="rgb_b64", max_pixels=_MAX_PIXELS)
        raw = read_depth(_bytes("depth_b64", body.depth_b64), name="depth_b64", max_pixels=_MAX_PIXELS)
        camera = Intrinsics(**body.intrinsics.model_dump())
        depth_camera = None
        if raw.shape != (camera.height, camera.width):
            depth_camera = camera.resized(raw.shape[1], raw.shape[0])
        pose = Pose3D.from_quaternion(body.pose.xyz, body.pose.quaternion_xyzw)
        depth = metric_depth(raw, scale=body.depth_scale)
        return Frame(body.frame_id, body.stamp, rgb, depth, pose, camera, depth_camera)

    def _observation(self, seen: ObservationBody, frame: Frame) -> Observation:
        crop = None
        if seen.crop_b64 is not None:
            crop = _bytes("crop_b64", seen.crop_b64)
            # what is stored is shown in browsers: it must be the picture it says it is
            read_color(crop, name="crop_b64", max_pixels=_MAX_PIXELS)
            if not crop.startswith(b"\xff\xd8\xff"):
                raise HTTPException(422, "crop_b64: must be a JPEG")
        position = np.array(seen.xyz_world)
        direction = seen.view_direction
        if direction is None:
            toward = frame.T_world_camera.translation - position
            direction = toward.tolist() if np.linalg.norm(toward) > 1e-6 else [0.0, 0.0, 1.0]
        return Observation(
            position=position,
            extent=np.array(seen.extent),
            yaw=seen.yaw,
            view_direction=np.array(direction),
            stamp=frame.stamp,
            labels=seen.labels,
            embedding=None if seen.embedding is None else np.array(seen.embedding, dtype=np.float32),
            quality=seen.quality,
            crop=crop,
        )


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["ingest"], prefix="/ingest", responses=WRITE_ERRORS)
    ingest = Ingest(service)
    # a robot has a thread of its own and does not wait for those who ask
    thread = anyio.CapacityLimiter(1)

    @router.post("/observations", response_model=Ingested, openapi_extra=_described(ObservationsBody))
    async def observations(request: Request) -> Response:
        """Take what was seen in one frame; the answer comes when it is on disk."""
        return await anyio.to_thread.run_sync(ingest.observations, await request.body(), limiter=thread)

    @router.post("/frames", response_model=Ingested, openapi_extra=_described(FrameBody))
    async def frames(request: Request) -> Response:
        """Take one RGB-D frame; the answer comes when it is on disk."""
        return await anyio.to_thread.run_sync(ingest.frame, await request.body(), limiter=thread)

    @router.post("/session", response_model=SessionBegun)
    async def session(body: Annotated[SessionBody, Body()]) -> Response:
        """Begin a session: the stamps of the next frame may start anew."""
        await anyio.to_thread.run_sync(ingest.new_session, body.map_id, limiter=thread)
        return json_response({"begun": True})

    return router


def _parsed(model: type[_Body], raw: bytes) -> _Body:
    """Check a body off the event loop, which a large one would hold up; its time and its errors are bounded."""
    if raw.count(b":") > _MAX_FIELDS:
        raise HTTPException(413, f"the body has more than {_MAX_FIELDS} fields")
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        if found[0]["type"] == "json_invalid":
            raise HTTPException(400, f"the body is not JSON: {found[0]['msg'].partition(': ')[2]}") from None
        raise HTTPException(422, problem_of(found)) from None


def _described(model: type[BaseModel]) -> dict[str, Any]:
    """The body of a route that reads it itself, for the OpenAPI page; shared parts are written out in place."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def inlined(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return inlined(parts[value["$ref"].rpartition("/")[2]])
            return {key: inlined(item) for key, item in value.items()}
        return [inlined(item) for item in value] if isinstance(value, list) else value

    return {"requestBody": {"required": True, "content": {"application/json": {"schema": inlined(schema)}}}}


def _bytes(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue(name, text, "is not base64", remedy="encode the file's bytes") from None


def _detection(found: DetectionBody) -> Detection:
    left, top, right, bottom = found.box
    return Detection((left, top, right, bottom), found.score, found.labels)
