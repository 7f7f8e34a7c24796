"""``/camera`` and ``/keyframes``: the newest image with the objects in it, and pictures of what was seen before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.detection import Box
from lastseen.memory.memory import Memory
from lastseen.memory.space.keyframes import Keyframe, box_in, picture_of
from lastseen.server import schemas
from lastseen.server.parameters import parse_time
from lastseen.server.responses import READ_ERRORS, errors, json_response
from lastseen.server.rest import TimeText, binary
from lastseen.server.serializers import Json, when
from lastseen.server.service import LiveView, Service

_FARTHEST = 5.0
"""Metres of depth that are black: what is nearer is brighter."""
_MOST = 200
"""Keyframes of one answer."""
ViewNumber = Annotated[
    int | None,
    Query(ge=0, le=2**53, description="The view that /camera told of: its boxes fit this image. The newest without."),
]


class InPicture(BaseModel):
    """An object in a picture; ``box`` is left, top, right, bottom in its pixels."""

    id: str
    label: str | None
    state: str
    box: Annotated[list[float], Field(min_length=4, max_length=4)]


class Picture(schemas.When):
    """A picture with the objects in it; ``number`` is null for the newest image, which is not kept."""

    number: int | None
    live: bool
    width: int
    height: int
    people: str = Field(description="blanked, or kept: nobody looked for people, and the user opted in.")
    image_url: str
    depth_url: str | None
    objects: list[InPicture]


class Pictures(BaseModel):
    """Keyframes, newest first."""

    total: int
    keyframes: list[Picture]


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["camera"], responses=READ_ERRORS)

    def view_of(number: int | None) -> LiveView:
        view = service.view_of(number)
        if view is None or not view.frame.has_camera:
            raise HTTPException(404, "no image has come since this server started")
        return view

    @router.get("/camera", response_model=Picture | None)
    def camera(at: TimeText = None) -> Response:
        """The newest image; with ``at``, or where none has come, the keyframe of then or the last before it.

        Null where no picture was kept: docs/viewer.md says when some are.
        """
        moment = parse_time("at", at)
        view = service.tell_view() if moment is None else None
        if view is not None and view.frame.has_camera:
            return json_response(_live_json(service.memory, view))
        time = service.memory.browse.now if moment is None else service.memory.browse.time(moment, name="at")
        found = [one for one in service.memory.keyframes() if one.time <= time]
        return json_response(_keyframe_json(service.memory, found[-1]) if found else None)

    @router.get("/camera/image", response_class=Response, responses={**binary("image/jpeg"), **errors(404)})
    def image(view: ViewNumber = None) -> Response:
        """The newest image as JPEG, with people blanked where a detector that knows them looked."""
        shown = view_of(view)
        return _not_kept(picture_of(shown.frame, shown.people)[0], "image/jpeg")

    @router.get("/camera/depth", response_class=Response, responses={**binary("image/png"), **errors(404)})
    def depth(view: ViewNumber = None) -> Response:
        """The newest depth as a grey PNG: near is bright, 5 m and beyond black."""
        from lastseen.images import encoded

        values = np.nan_to_num(view_of(view).frame.depth, nan=_FARTHEST)
        grey = 255.0 * (1.0 - np.clip(values / _FARTHEST, 0.0, 1.0))
        return _not_kept(encoded(grey.astype(np.uint8), "PNG"), "image/png")

    @router.get("/keyframes", response_model=Pictures)
    def keyframes(
        object_id: Annotated[
            str | None, Query(max_length=64, description="Only those that show this object.")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=_MOST)] = 50,
    ) -> Response:
        """Pictures of what was seen, newest first."""
        found = [one for one in service.memory.keyframes() if object_id is None or object_id in one.seen]
        chosen = found[: -limit - 1 : -1]
        return json_response(
            {"total": len(found), "keyframes": [_keyframe_json(service.memory, one) for one in chosen]}
        )

    @router.get(
        "/keyframes/{number}/image", response_class=Response, responses={**binary("image/jpeg"), **errors(404)}
    )
    def keyframe_image(number: Annotated[int, Path(ge=0, le=2**53)]) -> Response:
        """The picture of a keyframe."""
        found = next((one for one in service.memory.keyframes() if one.number == number), None)
        if found is None:
            raise HTTPException(404, f"keyframe {number} is not kept")
        return Response(found.jpeg, media_type="image/jpeg", headers={"cache-control": "private, max-age=60"})

    return router


def _not_kept(body: bytes, kind: str) -> Response:
    return Response(body, media_type=kind, headers={"cache-control": "no-store"})


def _keyframe_json(memory: Memory, one: Keyframe) -> Json:
    return {
        "number": one.number,
        "live": False,
        **when(memory.browse.clock, one.time),
        "width": one.camera.width,
        "height": one.camera.height,
        "people": one.people,
        "image_url": f"/keyframes/{one.number}/image",
        "depth_url": None,
        "objects": _objects_json(memory, one.seen),
    }


def _live_json(memory: Memory, view: LiveView) -> Json:
    camera = view.frame.intrinsics
    states = memory.browse.states(sorted({key for key in view.ids if key is not None}))
    placed = {state.id: box_in(view.frame, state.xyz_world, state.extent, state.yaw) for state in states}
    boxes = {key: box for key, box in placed.items() if box is not None}
    return {
        "number": None,
        "live": True,
        **when(memory.browse.clock, view.time),
        "width": camera.width,
        "height": camera.height,
        "people": "kept" if view.people is None else "blanked",
        "image_url": f"/camera/image?view={view.number}",
        "depth_url": f"/camera/depth?view={view.number}",
        "objects": _objects_json(memory, boxes),
    }


def _objects_json(memory: Memory, boxes: Mapping[str, Box]) -> list[Json]:
    """Those of the objects that are still remembered, under the names they have now."""
    known = {state.id: state for state in memory.browse.states(sorted(boxes))}
    return [
        {
            "id": key,
            "label": known[key].label,
            "state": known[key].state,
            "box": [round(float(value), 1) for value in box],
        }
        for key, box in sorted(boxes.items())
        if key in known
    ]
