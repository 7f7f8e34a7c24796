"""The same questions for agents that speak the Model Context Protocol, over stdio or at ``/mcp``."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool

from lastseen import __version__
from lastseen.errors import InvalidValue, LastseenError
from lastseen.memory.object import Point
from lastseen.server import queries
from lastseen.server.brief import brief, brief_details, brief_reply
from lastseen.server.responses import json_text, problem_of
from lastseen.server.rtsm import add_rtsm_tools
from lastseen.server.schemas import Coordinate, ObjectId, Radius, Robots, Words
from lastseen.server.serializers import Json, answer_json, fact_json, reply_json
from lastseen.server.service import Service, compile_once

_T = TypeVar("_T")
_HISTORY = 10
"""Entries of an object's history that an agent gets: tokens are dear."""

INSTRUCTIONS = (
    "A robot's memory of a home: what it saw, where and when. Positions are metres in the world (z up). Times are "
    "UTC; age is the seconds from the last sighting to now. Every answer has a status: found, ambiguous (several "
    "fit: ask which) or not_found, with a reason. Trust not_found: do not guess a place. An object is confirmed, "
    "seen and in the robot's map where no state, provenance or alignment says otherwise."
)
Place = Annotated[list[Coordinate] | None, Field(min_length=3, max_length=3, description="x, y, z")]
When = Annotated[
    str | None,
    Field(
        max_length=64,
        description="A date with its zone (2026-01-31T08:00Z), or memory time (12.5) where none is known",
    ),
]
Count = Annotated[int, Field(ge=1, le=200)]


READING = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""Of tools that only ask the memory: an agent may call them without asking anybody."""
TELLING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
"""Of the tool that adds to the memory; what was told can be taken back."""


class _Server(MCPServer[Any]):
    """Tells an agent in one line what is wrong about its arguments."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by name."""
        try:
            answer = await super().call_tool(name, arguments, context)
            if isinstance(answer, CallToolResult) and answer.structured_content is not None:
                # the same once more for clients that read text only, without the blanks of a page
                answer.content = [TextContent(type="text", text=json_text(answer.structured_content))]
            return answer
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name}: {problem_of(error.__cause__.errors())}") from error.__cause__
            raise


def create_mcp(current: Callable[[], Service]) -> MCPServer[Any]:
    """An MCP server; ``current`` gives the service at the time of each question."""
    server = _Server("lastseen", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")

    async def run(question: Callable[[Service], _T]) -> _T | Json:
        """Ask off the event loop; an error is an answer with a reason, not a broken call."""

        def answer() -> _T:
            service = current()
            with service.in_flight.question():
                return question(service)

        try:
            return await run_in_threadpool(answer)
        except LastseenError as error:
            return {"status": "error", "reason": str(error)}

    async def ask_in_full(question: Callable[[Service], Json]) -> Json:
        # through JSON once: no NaN and no tuple reaches a client
        return json.loads(json_text(await run(question)))

    async def ask(question: Callable[[Service], Json], *, as_of: str | None = None) -> Json:
        now = None if as_of else datetime.now(tz=UTC)
        return brief(await ask_in_full(question), now=now)

    @server.tool(annotations=READING)
    async def find_object(
        query: Words,
        *,
        near: Place = None,
        radius: Radius | None = None,
        since: When = None,
        before: When = None,
        as_of: When = None,
        robots: Robots = None,
        limit: Count = 5,
    ) -> dict[str, Any]:
        """Find where a thing is, by words.

        since and before bound its last sighting; as_of answers from what was known at an earlier time.
        """

        def question(service: Service) -> Json:
            answer = queries.find(
                service.memory,
                query,
                near=_point(near),
                radius=radius,
                since=since,
                before=before,
                as_of=as_of,
                robots=robots,
                k=limit,
            )
            return answer_json(answer)

        return await ask(question, as_of=as_of)

    @server.tool(name="ask", annotations=READING)
    async def ask_memory(
        question: Annotated[str, Field(max_length=500, description="For example: how many chairs are in the hall?")],
        *,
        phrase: Annotated[bool, Field(description="Let the server's language model phrase it.")] = False,
    ) -> dict[str, Any]:
        """Answer a question: where, when, since when, how often, how many, what is in or on something, what changed.

        The sentence says nothing that the objects, places and changes beside it do not show; of many objects the
        first ten are given, and more counts the others.
        """
        reply = await ask_in_full(
            lambda service: reply_json(service.memory, queries.ask(service.memory, question, phrase=phrase))
        )
        return brief_reply(reply, now=datetime.now(tz=UTC))

    @server.tool(name="tell", annotations=TELLING)
    async def tell_memory(
        text: Annotated[
            str,
            Field(max_length=500, description="There is a kettle on the stove; keys live on the hook; note: ..."),
        ],
        position: Place = None,
    ) -> dict[str, Any]:
        """Tell the memory what it has not seen: where a thing is or belongs, the name of a room, a note."""

        def told(service: Service) -> Json:
            compile_once()
            fact = service.memory.tell(text, position=_point(position))
            return {"status": "told", "fact": fact_json(service.memory.browse.clock, fact)}

        return await ask(told)

    @server.tool(annotations=READING)
    async def list_objects(
        label: Annotated[str | None, Field(max_length=200)] = None,
        state: Annotated[
            str | None, Field(max_length=20, description="tentative, confirmed, stale, missing or removed")
        ] = None,
        offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
        limit: Count = 50,
    ) -> dict[str, Any]:
        """List what is remembered; confirmed things unless a state is named."""
        return await ask(
            lambda service: queries.list_objects(service.memory, label=label, state=state, offset=offset, limit=limit)
        )

    @server.tool(structured_output=False, annotations=READING)
    async def get_object(object_id: ObjectId) -> list[Any]:
        """Everything about one object, its last history and its best picture."""

        def question(service: Service) -> tuple[Json, bytes | None]:
            memory = service.memory
            try:
                details = queries.object_details(memory, object_id)
                past = queries.history(memory, object_id)[-_HISTORY:]
                picture = queries.best_picture(memory, object_id)
            except InvalidValue as error:
                return {"status": "not_found", "reason": str(error)}, None
            reason = f"{object_id} is remembered as {details['state']}"
            found = json.loads(json_text({"status": "found", "reason": reason, **details, "history": past}))
            return brief_details(found, now=datetime.now(tz=UTC)), picture

        answer = await run(question)
        found, picture = answer if isinstance(answer, tuple) else (answer, None)
        shown: list[Any] = [json_text(found)]
        if picture is not None:
            shown.append(Image(data=picture, format="jpeg"))
        return shown

    @server.tool(annotations=READING)
    async def objects_near(
        x: Coordinate, y: Coordinate, z: Coordinate, radius: Radius = 1.5, limit: Count = 20
    ) -> dict[str, Any]:
        """List what stands around a point, nearest first."""
        return await ask(lambda service: queries.near(service.memory, (x, y, z), radius=radius, limit=limit))

    @server.tool(annotations=READING)
    async def whats_in(
        place: Annotated[str, Field(min_length=1, max_length=100, description="A place's id or kind: kitchen")],
    ) -> dict[str, Any]:
        """List the things in a place."""
        return await ask(lambda service: queries.whats_in(service.memory, place))

    @server.tool(annotations=READING)
    async def what_changed(since: When = None, limit: Count = 50) -> dict[str, Any]:
        """Tell what appeared, moved, went missing or came back, oldest first."""

        def question(service: Service) -> Json:
            answer = queries.changes(service.memory, since=since, limit=limit)
            # that two sightings turned out to be one thing is no change of the home
            kept = [one for one in answer["changes"] if one["kind"] != "merged"]
            reason = queries.changes_in_words(len(kept), more=answer["more"])
            return {**answer, "count": len(kept), "reason": reason, "changes": kept}

        return await ask(question)

    @server.tool(annotations=READING)
    async def last_seen(query: Words) -> dict[str, Any]:
        """Tell when and where a thing was seen last, even if it is gone now."""
        return await ask(lambda service: queries.last_seen(service.memory, query))

    @server.tool(annotations=READING)
    async def relations(object_id: ObjectId) -> dict[str, Any]:
        """Tell how a thing stands to those around it: in, on, under, next to."""

        def question(service: Service) -> Json:
            try:
                found = queries.relations(service.memory, object_id)
            except InvalidValue as error:
                return {"status": "not_found", "reason": str(error), "relations": []}
            reason = queries.counted(len(found), "relation") if found else "nothing stands near it"
            return {"status": "found", "reason": reason, "relations": found}

        return await ask(question)

    @server.tool(annotations=READING)
    async def go_to_hint(query: Words) -> dict[str, Any]:
        """Tell which way and how far from the robot a thing is; by words or by an id."""
        return await ask(lambda service: queries.go_to_hint(service.memory, query, service.robot_pose()))

    add_rtsm_tools(server, ask_in_full, READING)
    return server


def _point(place: list[float] | None) -> Point | None:
    return None if place is None else (place[0], place[1], place[2])
