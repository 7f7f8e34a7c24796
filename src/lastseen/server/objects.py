"""``/objects``: what is remembered, its pictures and its past."""

from __future__ import annotations

import base64
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from lastseen.errors import InvalidValue
from lastseen.server.answers import refusal, reply
from lastseen.server.moments import Limit, MomentText, ObjectId, Offset, moment_of
from lastseen.server.service import Service

_SNAPSHOTS_AT_ONCE = 50
"""Objects per page when pictures are asked for: about 1 MB."""
Label = Annotated[str | None, Query(max_length=200, description="Only objects most likely called so.")]


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["objects"])
    facts = service.facts

    @router.get("/objects")
    def objects(
        *,
        confirmed_only: bool = False,
        label: Label = None,
        include_absent: bool = False,
        include_snapshot: bool = False,
        as_of: MomentText = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> Response:
        """Objects in the order of their ids, now or as they were known at a time."""
        if include_snapshot and limit > _SNAPSHOTS_AT_ONCE:
            raise refusal(422, f"limit: at most {_SNAPSHOTS_AT_ONCE} objects with include_snapshot")
        chosen: dict[str, Any] = {
            "label": label or None,
            "include_tentative": not confirmed_only,
            "include_absent": include_absent,
        }
        memory, moment = service.memory, moment_of("as_of", as_of)
        if moment is None:
            page = memory.browse.page(**chosen, offset=offset, limit=limit)
        else:
            page = memory.browse.past(moment, **chosen, offset=offset, limit=limit)
        found = facts.objects(page.objects)
        if include_snapshot:
            for one in found:
                one["snapshot_b64"] = snapshot(service, one["id"])
        return reply(
            {
                "total": page.total,
                "offset": offset,
                "limit": limit,
                "count": len(found),
                "now": memory.browse.now,
                "as_of": None if moment is None else memory.browse.time(moment, name="as_of"),
                "objects": found,
            }
        )

    @router.get("/objects/{object_id}")
    def one_object(object_id: ObjectId) -> Response:
        """Everything about one object."""
        return reply(object_facts(service, object_id))

    @router.get("/objects/{object_id}/image", response_class=Response)
    def image(object_id: ObjectId) -> Response:
        """The best picture."""
        pictures = known(service, object_id)
        if not pictures:
            raise refusal(404, f"{object_id} has no picture")
        return _jpeg(max(pictures, key=lambda crop: crop.quality).jpeg)

    @router.get("/objects/{object_id}/snapshots/{number}/image", response_class=Response)
    def snapshot_image(object_id: ObjectId, number: Annotated[int, Path(ge=0, le=10_000)]) -> Response:
        """One of the pictures, newest first."""
        pictures = known(service, object_id)
        if number >= len(pictures):
            raise refusal(404, f"{object_id} has {len(pictures)} pictures, counted from 0")
        return _jpeg(pictures[number].jpeg)

    @router.get("/objects/{object_id}/history")
    def history(object_id: ObjectId) -> Response:
        """Where it was and what happened to it, oldest first."""
        known(service, object_id)
        entries = [facts.entry(entry) for entry in service.memory.object(object_id).history()]
        return reply({"id": object_id, "count": len(entries), "history": entries})

    return router


def known(service: Service, object_id: str) -> list[Any]:
    """The pictures of an object, newest first; 404 for an id that is not remembered."""
    try:
        return service.memory.browse.pictures(object_id)
    except InvalidValue as error:
        raise refusal(404, str(error)) from None


def object_facts(service: Service, object_id: str) -> dict[str, Any]:
    """One object with its pictures' addresses and how it stands to others."""
    pictures = known(service, object_id)
    states = service.memory.browse.states([object_id])
    if not states:
        raise refusal(404, f"{object_id} is not remembered")
    relations = service.memory.relations(object_id)
    names = {state.id: state.label for state in service.memory.browse.states([one.other_id for one in relations])}
    return {
        **service.facts.objects(states)[0],
        "detection_rate": round(states[0].detection_rate, 4),
        "snapshots": len(pictures),
        "snapshot_urls": [f"/objects/{object_id}/snapshots/{number}/image" for number in range(len(pictures))],
        "relations": [
            {
                "kind": str(one.kind),
                "other_id": one.other_id,
                "other_label": names.get(one.other_id),
                "gap": round(one.gap, 4),
            }
            for one in relations
        ],
    }


def snapshot(service: Service, object_id: str) -> str | None:
    """The best picture as base64; None where there is none."""
    pictures = service.memory.browse.pictures(object_id)
    if not pictures:
        return None
    return base64.b64encode(max(pictures, key=lambda crop: crop.quality).jpeg).decode("ascii")


def _jpeg(body: bytes) -> Response:
    return Response(body, media_type="image/jpeg", headers={"cache-control": "private, max-age=5"})
