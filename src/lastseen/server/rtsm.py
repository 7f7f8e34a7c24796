"""Routes that only clients of rtsm ask for (docs/coming-from-rtsm.md); what both have is in ``rest.py``."""

from __future__ import annotations

import base64
import threading
import time
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.memory.store.journal.salvage import backup
from lastseen.server import queries
from lastseen.server.responses import READ_ERRORS, WRITE_ERRORS, errors, json_response
from lastseen.server.rest import ObjectId, known
from lastseen.server.schemas import StrictBody
from lastseen.server.security import Access
from lastseen.server.service import Service

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
    cleared: dict[str, Any]
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
        uris = [_data_uri(one.jpeg) for one in known(lambda: queries.pictures(service.memory, object_id))]
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
