"""The tools of rtsm's MCP server under their own names, over our questions (docs/coming-from-rtsm.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from lastseen.errors import InvalidValue
from lastseen.memory.object import Answer
from lastseen.server import queries
from lastseen.server.parameters import FARTHEST
from lastseen.server.serializers import Json, answer_json, rest_object_json
from lastseen.server.service import Service

Ask = Callable[[Callable[[Service], Json]], Awaitable[Json]]
_Words = Annotated[str, Field(max_length=500)]
_Coordinate = Annotated[float, Field(ge=-FARTHEST, le=FARTHEST, allow_inf_nan=False)]
_Radius = Annotated[float, Field(gt=0.0, le=FARTHEST, allow_inf_nan=False, description="Metres")]
_TopK = Annotated[int, Field(ge=1, le=100)]
_LISTED = 500
"""Objects that ``rtsm.list_objects`` gives at most; ``total`` says how many there are."""
_AROUND = 100
"""Objects around a point at most."""


def add_rtsm_tools(server: MCPServer[Any], ask: Ask) -> None:
    """Add the six tools that agents written for rtsm call; ``ask`` runs a question off the event loop."""

    @server.tool(name="rtsm.semantic_query")
    async def semantic_query(
        query: _Words, top_k: _TopK = 5, threshold: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    ) -> dict[str, Any]:
        """find_object under rtsm's name. Results that do not answer the question have fits: false."""
        return await ask(lambda service: _found(service, query, k=top_k, threshold=threshold))

    @server.tool(name="rtsm.spatial_query")
    async def spatial_query(
        x: _Coordinate, y: _Coordinate, z: _Coordinate, radius_m: _Radius = 1.0
    ) -> dict[str, Any]:
        """objects_near under rtsm's name."""
        return await ask(lambda service: _around(service, (x, y, z), radius_m))

    @server.tool(name="rtsm.relational_query")
    async def relational_query(query: _Words, radius_m: _Radius = 1.0) -> dict[str, Any]:
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

    @server.tool(name="rtsm.list_objects")
    async def list_objects() -> dict[str, Any]:
        """list_objects under rtsm's name, tentative ones included."""

        def question(service: Service) -> Json:
            found = queries.list_objects(service.memory, include_tentative=True, limit=_LISTED, full=True)
            return {**found, "count": len(found["objects"])}

        return await ask(question)

    @server.tool(name="rtsm.get_object")
    async def get_object(
        object_id: Annotated[str, Field(max_length=64)],
        include_vectors: bool = False,
    ) -> dict[str, Any]:
        """get_object under rtsm's name, without pictures."""

        def question(service: Service) -> Json:
            try:
                return queries.object_details(service.memory, object_id, vectors=include_vectors)
            except InvalidValue:
                return {"error": "not_found", "id": object_id}

        return await ask(question)

    @server.tool(name="rtsm.status")
    async def status() -> dict[str, Any]:
        """Health and counts."""

        def question(service: Service) -> Json:
            wrong = service.health()
            health = {"status": "degraded", "reasons": wrong} if wrong else {"status": "ok"}
            return {"health": health, "stats": service.stats()}

        return await ask(question)


def _found(service: Service, query: str, *, k: int, threshold: float) -> Json:
    answer: Answer = queries.find(service.memory, query, k=k, threshold=threshold)
    return {"query": query, "robot_pose": service.robot_pose(), **answer_json(answer, rest_object_json)}


def _around(service: Service, point: tuple[float, float, float], radius: float) -> Json:
    found = queries.near(service.memory, point, radius=radius, limit=_AROUND, serialize=rest_object_json)
    return {**found, "center": list(point), "radius_m": radius, "robot_pose": service.robot_pose()}
