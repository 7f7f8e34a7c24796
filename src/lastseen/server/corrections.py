"""What people put right by hand: labels, duplicates, objects that are none; each correction can be undone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Body
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.errors import InvalidValue, JournalReadOnly
from lastseen.memory.facts import Fact
from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event
from lastseen.server import schemas
from lastseen.server.responses import WRITE_ERRORS, json_response
from lastseen.server.rest import known
from lastseen.server.schemas import Empty, ObjectId, StrictBody
from lastseen.server.serializers import events_json, fact_json
from lastseen.server.service import Service, compile_once

_T = TypeVar("_T")


class Relabel(StrictBody):
    """A new name."""

    label: Annotated[str, Field(min_length=1, max_length=200, examples=["cup"])]


class Merge(StrictBody):
    """The object that goes on as the one in the path."""

    lose: Annotated[str, Field(max_length=64, examples=["obj-9"])]


class Undo(StrictBody):
    """Which correction to take back: the newest, or none if it is not this one."""

    correction: Annotated[int | None, Field(ge=1, le=2**53, description="As the correction was answered")] = None


class Tell(StrictBody):
    """What the memory is told."""

    text: Annotated[str, Field(min_length=1, max_length=500, examples=["keys live on the hook"])]
    position: Annotated[schemas.Vector | None, Field(description="Where a thing is, or a room lies.")] = None
    extent: Annotated[schemas.Vector | None, Field(description="Size of a thing in metres.")] = None
    outline: Annotated[
        list[Annotated[list[float], Field(min_length=2, max_length=2)]] | None,
        Field(min_length=3, max_length=200, description="Corners x, y of a room or region."),
    ] = None


class Corrected(BaseModel):
    """What a correction did, and the number to undo it by."""

    events: list[schemas.Event]
    correction: int


class Told(Corrected):
    """What was told, as it is kept."""

    fact: schemas.Fact


class Undone(BaseModel):
    """What an undo did."""

    events: list[schemas.Event]


class _Numbers:
    """Numbers the corrections of this run, as memory keeps them to be undone: the newest is undone first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._made = 0
        self._standing: list[int] = []

    def make(self, change: Callable[[], _T]) -> tuple[_T, int]:
        """Correct something; returns what happened and the correction's number."""
        with self.lock:
            self._made += 1
            self._standing.append(self._made)
            try:
                return change(), self._made
            except (InvalidValue, JournalReadOnly):
                # a full disk is reported after the change was made: that one stands
                self._standing.pop()
                raise

    def undo(self, memory: Memory, correction: int | None) -> tuple[Event, ...]:
        """Undo the newest correction; refused where another one was asked for."""
        with self.lock:
            newest = self._standing[-1] if self._standing else None
            if correction is not None and correction != newest:
                problem = "is not the newest correction"
                raise InvalidValue("correction", correction, problem, remedy="look what was corrected since")
            try:
                return memory.undo()
            finally:
                # one whose object is gone is refused, and no longer kept to be undone
                del self._standing[-1:]


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["corrections"], responses=WRITE_ERRORS)
    numbers = _Numbers()

    def prepare() -> None:
        # a memory that takes no correction needs no compiler to refuse it
        if not service.memory.read_only:
            compile_once()

    def corrected(change: Callable[[], tuple[Event, ...]]) -> Response:
        prepare()
        events, number = numbers.make(change)
        service.publish(events)
        return json_response({"events": events_json(service.memory, events), "correction": number})

    def check(object_id: str) -> None:
        known(lambda: service.memory.browse.pictures(object_id))

    @router.post("/objects/{object_id}/relabel", response_model=Corrected)
    def relabel(object_id: ObjectId, body: Relabel) -> Response:
        """Name an object by hand; later sightings do not change the name."""
        check(object_id)
        return corrected(lambda: service.memory.relabel(object_id, body.label))

    @router.post("/objects/{object_id}/delete", response_model=Corrected)
    def delete(object_id: ObjectId, body: Annotated[Empty, Body()]) -> Response:  # noqa: ARG001
        """Drop an object that is none."""
        check(object_id)
        return corrected(lambda: service.memory.delete(object_id))

    @router.post("/objects/{object_id}/merge", response_model=Corrected)
    def merge(object_id: ObjectId, body: Merge) -> Response:
        """Say that two objects are one; the id in the path stays."""
        check(object_id)
        check(body.lose)
        return corrected(lambda: service.memory.merge(object_id, body.lose))

    @router.post("/tell", response_model=Told)
    def tell(body: Tell) -> Response:
        """Tell the memory what it has not seen: an object, a room or region, a home of a thing, a note."""
        prepare()
        heard: list[Event] = []
        end = service.memory.subscribe(heard.append)
        try:
            fact, number = numbers.make(lambda: _told(service.memory, body))
        finally:
            end()
        # frames that came in meanwhile have published theirs
        events = tuple(event for event in heard if event.evidence.get("how") == "tell")
        service.publish(events)
        told = fact_json(service.memory.browse.clock, fact)
        return json_response({"fact": told, "events": events_json(service.memory, events), "correction": number})

    @router.post("/corrections/undo", response_model=Undone)
    def undo(body: Undo) -> Response:
        """Take back the last correction of this run; with a number, only if it is that one."""
        prepare()
        try:
            events = numbers.undo(service.memory, body.correction)
        except InvalidValue as error:
            raise HTTPException(409, str(error)) from None
        service.publish(events)
        return json_response({"events": events_json(service.memory, events)})

    return router


def _told(memory: Memory, body: Tell) -> Fact:
    position = None if body.position is None else (body.position[0], body.position[1], body.position[2])
    extent = None if body.extent is None else (body.extent[0], body.extent[1], body.extent[2])
    return memory.tell(body.text, position=position, extent=extent, outline=body.outline)
