"""The same questions for agents that speak the Model Context Protocol, over stdio or at ``/mcp``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool

from lastseen import __version__
from lastseen.errors import LastseenError
from lastseen.server.agent_tools import AgentTools
from lastseen.server.answers import problem_of, text_of
from lastseen.server.service import Service

INSTRUCTIONS = (
    "A robot's memory of a home: what it saw, where and when. Positions are metres in the world (z up), times are "
    "seconds of memory time. Every answer has a status: found, ambiguous (several fit: ask which) or not_found, with "
    "a reason. Trust not_found: do not guess a place."
)
Words = Annotated[str, Field(min_length=1, max_length=500, description="What to look for, for example: red mug")]
Id = Annotated[str, Field(max_length=64, description="An id such as obj-7")]
Coordinate = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Radius = Annotated[float, Field(gt=0.0, le=1e6, allow_inf_nan=False, description="Metres")]
When = Annotated[
    str | None,
    Field(max_length=64, description="Memory time (12.5), a session's stamp (2:12.5) or a date with its zone"),
]
Count = Annotated[int, Field(ge=1, le=200)]


class _Asked(MCPServer[Any]):
    """Tells an agent in one line what is wrong about its arguments."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by name."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(f"{name}: {problem_of(error.__cause__.errors())}") from error.__cause__
            raise


def create_mcp(current: Callable[[], Service]) -> MCPServer[Any]:
    """An MCP server; ``current`` gives the service at the moment of each question."""
    server = _Asked("lastseen", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")

    async def ask(question: Callable[[AgentTools], Any]) -> Any:
        """Ask off the event loop; an error is an answer with a reason, not a broken call."""

        def answer() -> Any:
            service = current()
            with service.in_flight.question():
                return question(AgentTools(service))

        try:
            return await run_in_threadpool(answer)
        except LastseenError as error:
            return {"status": "error", "reason": str(error)}

    async def told(question: Callable[[AgentTools], Any]) -> dict[str, Any]:
        # through JSON once: no NaN and no tuple reaches a client
        answer: dict[str, Any] = json.loads(text_of(await ask(question)))
        return answer

    @server.tool()
    async def find_object(
        query: Words,
        near: Annotated[list[Coordinate] | None, Field(min_length=3, max_length=3, description="x, y, z")] = None,
        radius: Radius | None = None,
        as_of: When = None,
        limit: Count = 5,
    ) -> dict[str, Any]:
        """Find where a thing is, by words; as_of asks what was known at an earlier time."""
        place = None if near is None else (near[0], near[1], near[2])
        return await told(lambda tools: tools.find_object(query, near=place, radius=radius, as_of=as_of, limit=limit))

    @server.tool()
    async def list_objects(
        label: Annotated[str | None, Field(max_length=200)] = None,
        state: Annotated[
            str | None, Field(max_length=20, description="tentative, confirmed, stale, missing or removed")
        ] = None,
        offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0,
        limit: Count = 50,
    ) -> dict[str, Any]:
        """List what is remembered; confirmed things unless a state is named."""
        return await told(lambda tools: tools.list_objects(label=label, state=state, offset=offset, limit=limit))

    @server.tool(structured_output=False)
    async def get_object(object_id: Id) -> list[Any]:
        """Everything about one object, its last history and its best picture."""
        answer = await ask(lambda tools: tools.get_object(object_id))
        facts, picture = answer if isinstance(answer, tuple) else (answer, None)
        shown: list[Any] = [text_of(facts)]
        if picture is not None:
            shown.append(Image(data=picture, format="jpeg"))
        return shown

    @server.tool()
    async def objects_near(
        x: Coordinate, y: Coordinate, z: Coordinate, radius: Radius = 1.5, limit: Count = 20
    ) -> dict[str, Any]:
        """List what stands around a point, nearest first."""
        return await told(lambda tools: tools.objects_near(x, y, z, radius=radius, limit=limit))

    @server.tool()
    async def whats_in(
        place: Annotated[str, Field(min_length=1, max_length=100, description="A place's id or kind: kitchen")],
    ) -> dict[str, Any]:
        """List the things in a place."""
        return await told(lambda tools: tools.whats_in(place))

    @server.tool()
    async def what_changed(since: When = None, limit: Count = 50) -> dict[str, Any]:
        """Tell what appeared, moved, went missing or came back, oldest first."""
        return await told(lambda tools: tools.what_changed(since=since, limit=limit))

    @server.tool()
    async def last_seen(query: Words) -> dict[str, Any]:
        """Tell when and where a thing was seen last, even if it is gone now."""
        return await told(lambda tools: tools.last_seen(query))

    @server.tool()
    async def relations(object_id: Id) -> dict[str, Any]:
        """Tell how a thing stands to those around it: in, on, under, next to."""
        return await told(lambda tools: tools.relations(object_id))

    @server.tool()
    async def go_to_hint(query: Words) -> dict[str, Any]:
        """Tell which way and how far from the robot a thing is; by words or by an id."""
        return await told(lambda tools: tools.go_to_hint(query))

    return server
