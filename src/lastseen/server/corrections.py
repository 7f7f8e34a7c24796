"""What people put right by hand: names, doubles, things that are none; each can be undone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from lastseen.errors import InvalidValue
from lastseen.memory.objects import Event
from lastseen.server.answers import refusal, reply
from lastseen.server.moments import ObjectId
from lastseen.server.objects import known
from lastseen.server.service import Service


class Strict(BaseModel):
    """A body without room for what is not understood."""

    model_config = ConfigDict(extra="forbid")


class Relabel(Strict):
    """A new name."""

    label: Annotated[str, Field(min_length=1, max_length=200, examples=["cup"])]


class Merge(Strict):
    """The object that goes on as the one in the path."""

    lose: Annotated[str, Field(max_length=64, examples=["obj-9"])]


class Nothing(Strict):
    """An empty body; it still has to be JSON."""


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["corrections"])

    def done(events: tuple[Event, ...]) -> Response:
        service.tell(events)
        return reply({"events": service.facts.events(events)})

    @router.post("/objects/{object_id}/relabel")
    def relabel(object_id: ObjectId, body: Relabel) -> Response:
        """Name an object by hand; later sightings do not change the name."""
        known(service, object_id)
        return done(service.memory.relabel(object_id, body.label))

    @router.post("/objects/{object_id}/delete")
    def delete(object_id: ObjectId, body: Annotated[Nothing, Body()]) -> Response:  # noqa: ARG001
        """Drop an object that is none."""
        known(service, object_id)
        return done(service.memory.delete(object_id))

    @router.post("/objects/{object_id}/merge")
    def merge(object_id: ObjectId, body: Merge) -> Response:
        """Say that two objects are one; the id in the path stays."""
        known(service, object_id)
        known(service, body.lose)
        return done(service.memory.merge(object_id, body.lose))

    @router.post("/corrections/undo")
    def undo(body: Annotated[Nothing, Body()]) -> Response:  # noqa: ARG001
        """Take back the last correction of this run."""
        try:
            return done(service.memory.undo())
        except InvalidValue as error:
            raise refusal(409, str(error)) from None

    return router
