"""What only clients and agents of rtsm ask for (docs/coming-from-rtsm.md): a few routes, and its MCP tools."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.errors import InvalidValue
from lastseen.memory.store.salvage import backup
from lastseen.server import queries
from lastseen.server.responses import READ_ERRORS, WRITE_ERRORS, errors, json_response
from lastseen.server.rest import known
from lastseen.server.schemas import Coordinate, ObjectId, Radius, StrictBody, Threshold, TopK, Words
from lastseen.server.security import Access
from lastseen.server.serializers import Json, answer_json, rest_object_json
from lastseen.server.service import Service

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.types import ToolAnnotations

Ask = Callable[[Callable[[Service], Json]], Awaitable[Json]]
_LISTED = 500
"""Objects that ``rtsm.list_objects`` gives at most; ``total`` says how many there are."""
_AROUND = 100
"""Objects around a point at most."""
_MOST_BACKUPS = 1000
"""Numbers tried for a backup's name; whoever has that many should put some away."""


class Snapshot(BaseModel):
    """One picture of an object, newest first."""

    index: int
    data: str = Field(description="A data URI of a JPEG.")
    size_bytes: int


class Snapshots(BaseModel):
    """All pictures of an object; with ``index`` only ``total`` and that one ``snapshot``."""

    id: str
    count: int | None = None
    snapshots: list[Snapshot] | None = None
    index: int | None = None
    total: int | None = None
    snapshot: str | None = Field(default=None, description="A data URI of a JPEG.")


class ResetBody(StrictBody):
    """What rtsm's clients may send; the backup is written in any case."""

    discard: bool = False


class Reset(BaseModel):
    """What a reset did, and the file that still has it."""

    status: str
    reset_time_utc: float = Field(description="Seconds since 1970 (UTC).")
    cleared: dict[str, int]
    backup: str = Field(description="The name of the copy, beside the memory file.")


def routes(service: Service, access: Access) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["rtsm"])
    resetting = threading.Lock()

    @router.get(
        "/objects/{object_id}/snapshots",
        response_model=Snapshots,
        responses={**READ_ERRORS, **errors(404)},
    )
    def snapshots(object_id: ObjectId, index: Annotated[int | None, Query(ge=0, le=10_000)] = None) -> Response:
        """The pictures of an object as data URIs, newest first."""
        uris = [_data_uri(one.jpeg) for one in known(lambda: service.memory.browse.pictures(object_id))]
        if index is not None:
            if index >= len(uris):
                raise HTTPException(404, f"{object_id} has {len(uris)} pictures, counted from 0")
            return json_response({"id": object_id, "index": index, "total": len(uris), "snapshot": uris[index][0]})
        found = [{"index": at, "data": uri, "size_bytes": size} for at, (uri, size) in enumerate(uris)]
        return json_response({"id": object_id, "count": len(found), "snapshots": found})

    @router.post("/reset", response_model=Reset, responses={**WRITE_ERRORS, **errors(403)})
    def reset(body: ResetBody) -> Response:  # noqa: ARG001
        """Forget every object, after a backup; only with a token and ``--allow-reset``."""
        if not service.allow_reset or access.token is None:
            raise HTTPException(403, "reset: is not allowed; start the server with a token and --allow-reset")
        memory = service.memory
        if memory.path is None or memory.read_only:
            raise HTTPException(409, "reset: this memory has no file of its own to back up; start it anew instead")
        with resetting:
            service.flush()
            copy = _free_name(memory.path)
            size = backup(memory.path, copy)
            # every object was seen before the time that comes next
            forgotten = memory.forget(before=memory.browse.now + 1.0)
        return json_response(
            {
                "status": "ok",
                "reset_time_utc": time.time(),
                "cleared": {"objects": len(forgotten), "backup_bytes": size},
                "backup": copy.name,
            }
        )

    return router


def _data_uri(jpeg: bytes) -> tuple[str, int]:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}", len(jpeg)


def _free_name(path: Path) -> Path:
    """A name beside a memory file that no file has: home.reset-1.lastseen."""
    for number in range(1, _MOST_BACKUPS + 1):
        copy = path.with_name(f"{path.stem}.reset-{number}{path.suffix}")
        if not copy.exists():
            return copy
    raise HTTPException(409, f"reset: {path.name} has {_MOST_BACKUPS} backups already; put some away")


def add_rtsm_tools(server: MCPServer[Any], ask: Ask, reading: ToolAnnotations) -> None:
    """Add the six tools that agents written for rtsm call; ``ask`` runs a question off the event loop."""

    @server.tool(name="rtsm.semantic_query", annotations=reading)
    async def semantic_query(query: Words, top_k: TopK = 5, threshold: Threshold = 0.0) -> dict[str, Any]:
        """find_object under rtsm's name. Results that do not answer the question have fits: false."""
        return await ask(lambda service: _found(service, query, k=top_k, threshold=threshold))

    @server.tool(name="rtsm.spatial_query", annotations=reading)
    async def spatial_query(x: Coordinate, y: Coordinate, z: Coordinate, radius_m: Radius = 1.0) -> dict[str, Any]:
        """objects_near under rtsm's name."""
        return await ask(lambda service: _around(service, (x, y, z), radius_m))

    @server.tool(name="rtsm.relational_query", annotations=reading)
    async def relational_query(query: Words, radius_m: Radius = 1.0) -> dict[str, Any]:
        """What stands around a thing that is named."""

        def question(service: Service) -> Json:
            found = _found(service, query, k=1, threshold=0.0)
            reference = next((one for one in found["results"] if one["fits"]), None)
            if reference is None:
                return {"error": "not_found", "message": found["reason"]}
            x, y, z = reference["xyz_world"]
            around = _around(service, (x, y, z), radius_m)["results"]
            return {"reference": reference, "nearby": [one for one in around if one["id"] != reference["id"]]}

        return await ask(question)

    @server.tool(name="rtsm.list_objects", annotations=reading)
    async def list_objects() -> dict[str, Any]:
        """list_objects under rtsm's name, tentative ones included."""

        def question(service: Service) -> Json:
            found = queries.list_objects(service.memory, include_tentative=True, limit=_LISTED, full=True)
            return {**found, "count": len(found["objects"])}

        return await ask(question)

    @server.tool(name="rtsm.get_object", annotations=reading)
    async def get_object(object_id: ObjectId, include_vectors: bool = False) -> dict[str, Any]:
        """get_object under rtsm's name, without pictures."""

        def question(service: Service) -> Json:
            try:
                return queries.object_details(service.memory, object_id, vectors=include_vectors)
            except InvalidValue:
                return {"error": "not_found", "id": object_id}

        return await ask(question)

    @server.tool(name="rtsm.status", annotations=reading)
    async def status() -> dict[str, Any]:
        """Health and counts."""

        def question(service: Service) -> Json:
            wrong = service.health()
            health = {"status": "degraded", "reasons": wrong} if wrong else {"status": "ok"}
            return {"health": health, "stats": service.stats()}

        return await ask(question)


def _found(service: Service, query: str, *, k: int, threshold: float) -> Json:
    answer = queries.find(service.memory, query, k=k, threshold=threshold)
    return {"query": query, "robot_pose": service.robot_pose(), **answer_json(answer, rest_object_json)}


def _around(service: Service, point: tuple[float, float, float], radius: float) -> Json:
    found = queries.near(service.memory, point, radius=radius, limit=_AROUND, serialize=rest_object_json)
    return {**found, "center": list(point), "radius_m": radius, "robot_pose": service.robot_pose()}
