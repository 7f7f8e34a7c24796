"""The REST routes that read: objects, search, places, the robot and what happened."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.errors import InvalidValue
from lastseen.memory.object import Object
from lastseen.server import map_schemas, queries, schemas
from lastseen.server.parameters import TIME_PATTERN, parse_point
from lastseen.server.queries import image_url
from lastseen.server.responses import READ_ERRORS, errors, json_response
from lastseen.server.schemas import Coordinate, ObjectId, Radius, Robots, Threshold, TopK, Words
from lastseen.server.serializers import Json, answer_json, fact_json, reply_json, rest_object_json
from lastseen.server.service import Service

_T = TypeVar("_T")
_SNAPSHOTS_AT_ONCE = 50
"""Objects per page when pictures are asked for: about 1 MB."""
_NUMBER = r"-?[0-9]{1,7}(\.[0-9]{1,12})?"
TimeText = Annotated[
    str | None,
    Query(
        max_length=64,
        pattern=TIME_PATTERN,
        description="ISO 8601 with its zone, memory time (12.5), or a session's stamp (2:12.5).",
        examples=["2026-01-31T08:00:00Z"],
    ),
]
Offset = Annotated[int, Query(ge=0, le=10_000_000)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Label = Annotated[str | None, Query(max_length=200, description="Only objects most likely called so.")]
Near = Annotated[
    str | None,
    Query(
        max_length=100,
        pattern=rf"^({_NUMBER},{_NUMBER},{_NUMBER})?$",
        description="x,y,z in metres; with it, radius is 3 unless given.",
        examples=["1,2,0"],
    ),
]


def binary(kind: str) -> dict[int | str, dict[str, Any]]:
    """A response of bytes, for the OpenAPI page."""
    return {200: {"content": {kind: {"schema": {"type": "string", "format": "binary"}}}}}


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter()
    for part in (_objects, _search, _places):
        router.include_router(part(service))
    return router


def known(question: Callable[[], _T]) -> _T:
    """Ask about an object; 404 for an id that is not remembered."""
    try:
        return question()
    except InvalidValue as error:
        raise HTTPException(404, str(error)) from None


def _hit_json(one: Object) -> Json:
    return {**rest_object_json(one), "image_url": image_url(one.id)}


def _objects(service: Service) -> APIRouter:
    router = APIRouter(responses=READ_ERRORS, tags=["objects"])

    @router.get("/objects", response_model=schemas.ObjectPage)
    def objects(
        *,
        confirmed_only: bool = False,
        label: Label = None,
        include_removed: bool = False,
        include_snapshot: bool = False,
        as_of: TimeText = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> Response:
        """Objects in the order of their ids, now or as they were known at a time."""
        if include_snapshot and limit > _SNAPSHOTS_AT_ONCE:
            raise HTTPException(422, f"limit: at most {_SNAPSHOTS_AT_ONCE} objects with include_snapshot")
        found = queries.list_objects(
            service.memory,
            label=label,
            include_tentative=not confirmed_only,
            include_removed=include_removed,
            as_of=as_of,
            offset=offset,
            limit=limit,
            full=True,
        )
        if include_snapshot:
            _add_pictures(service, found["objects"])
        return json_response({**found, "limit": limit, "count": len(found["objects"])})

    @router.get("/objects/{object_id}", response_model=schemas.ObjectDetails, responses=errors(404))
    def one_object(object_id: ObjectId, *, include_vectors: bool = False) -> Response:
        """Everything about one object; ``include_vectors`` adds its embeddings."""
        return json_response(
            known(lambda: queries.object_details(service.memory, object_id, vectors=include_vectors))
        )

    @router.get(
        "/objects/{object_id}/image",
        response_class=Response,
        responses={**binary("image/jpeg"), **errors(404)},
    )
    def image(object_id: ObjectId) -> Response:
        """The best picture."""
        picture = known(lambda: queries.best_picture(service.memory, object_id))
        if picture is None:
            raise HTTPException(404, f"{object_id} has no picture")
        return _jpeg(picture)

    @router.get(
        "/objects/{object_id}/snapshots/{number}/image",
        response_class=Response,
        responses={**binary("image/jpeg"), **errors(404)},
    )
    def snapshot_image(object_id: ObjectId, number: Annotated[int, Path(ge=0, le=10_000)]) -> Response:
        """One of the pictures, newest first."""
        pictures = known(lambda: service.memory.browse.pictures(object_id))
        if number >= len(pictures):
            raise HTTPException(404, f"{object_id} has {len(pictures)} pictures, counted from 0")
        return _jpeg(pictures[number].jpeg)

    @router.get("/objects/{object_id}/history", response_model=schemas.History, responses=errors(404))
    def history(object_id: ObjectId) -> Response:
        """Where it was and what happened to it, oldest first."""
        entries = known(lambda: queries.history(service.memory, object_id))
        return json_response({"id": object_id, "count": len(entries), "history": entries})

    return router


def _add_pictures(service: Service, objects: list[Json]) -> None:
    for one in objects:
        picture = queries.best_picture(service.memory, one["id"])
        one["snapshot_b64"] = None if picture is None else base64.b64encode(picture).decode("ascii")


def _search(service: Service) -> APIRouter:
    router = APIRouter(responses=READ_ERRORS, tags=["search"])

    @router.get("/search/semantic", response_model=schemas.SearchAnswer)
    def semantic(
        query: Words,
        *,
        top_k: TopK = 5,
        threshold: Threshold = 0.0,
        near: Near = None,
        radius: Radius | None = None,
        label: Label = None,
        since: TimeText = None,
        before: TimeText = None,
        as_of: TimeText = None,
        include_tentative: bool = False,
        include_removed: bool = False,
        include_snapshot: bool = False,
        robots: Robots = None,
    ) -> Response:
        """Find by meaning; a weak match is no match. ``since`` and ``before`` bound the last sighting."""
        if include_snapshot and (top_k > _SNAPSHOTS_AT_ONCE or robots is not None):
            raise HTTPException(422, f"include_snapshot: at most {_SNAPSHOTS_AT_ONCE} objects of this robot")
        answer = queries.find(
            service.memory,
            query,
            near=parse_point("near", near),
            radius=radius,
            label=label,
            since=since,
            before=before,
            as_of=as_of,
            include_tentative=include_tentative,
            include_removed=include_removed,
            robots=robots,
            k=top_k,
            threshold=threshold,
        )
        found = answer_json(answer, _hit_json)
        if include_snapshot:
            _add_pictures(service, found["results"])
        return json_response({"query": query, "robot_pose": service.robot_pose(), **found})

    @router.get("/search/label", response_model=schemas.LabelAnswer)
    def by_label(query: Words, *, top_k: TopK = 5, include_proto: bool = True) -> Response:
        """Find by the detector's own labels, tentative objects included; an exact label before a part of one."""
        found = queries.find_by_label(service.memory, query, k=top_k, include_tentative=include_proto)
        return json_response({"query": query, "robot_pose": service.robot_pose(), **found})

    @router.get("/ask", response_model=schemas.Reply, responses=errors(409))
    def ask(
        question: Annotated[
            str, Query(max_length=500, description="In words.", examples=["how many chairs are in the kitchen?"])
        ],
        *,
        phrase: Annotated[
            bool, Query(description="Let find.language_model word the question and the answer.")
        ] = False,
    ) -> Response:
        """Answer a question in words, with the evidence: where, when, how many, what is in, what changed ..."""
        if phrase and not service.memory.settings.find.language_model:
            # the request is as the schema wants it: what is missing is a setting of this server
            raise HTTPException(409, "phrase: this server has no language model; set find.language_model")
        return json_response(
            reply_json(service.memory, queries.ask(service.memory, question, phrase=phrase), rest_object_json)
        )

    @router.get("/facts", response_model=schemas.Facts)
    def facts() -> Response:
        """What this memory was told, in that order."""
        clock = service.memory.browse.clock
        return json_response({"facts": [fact_json(clock, fact) for fact in service.memory.facts()]})

    @router.get("/search/spatial", response_model=schemas.NearAnswer)
    def spatial(
        x: Coordinate,
        y: Coordinate,
        z: Coordinate,
        *,
        radius: Radius | None = None,
        radius_m: Annotated[Radius | None, Query(description="Another name of radius.")] = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> Response:
        """What stands within a radius (1 m unless given), nearest first."""
        reach = radius or radius_m or 1.0
        found = queries.near(service.memory, (x, y, z), radius=reach, offset=offset, limit=limit, serialize=_hit_json)
        return json_response(
            {
                **found,
                "center": [x, y, z],
                "radius_m": reach,
                "robot_pose": service.robot_pose(),
                "limit": limit,
                "count": len(found["results"]),
            }
        )

    return router


def _places(service: Service) -> APIRouter:
    router = APIRouter(responses=READ_ERRORS, tags=["places"])

    @router.get("/places", response_model=map_schemas.Places)
    def places() -> Response:
        """Every place with the objects that stand in it, and every anchor."""
        return json_response(queries.places(service.memory))

    @router.get("/places/{place_id}", response_model=map_schemas.PlaceDetails, responses=errors(404))
    def one_place(place_id: Annotated[int, Path(ge=0, le=2**53)]) -> Response:
        """One place and the objects in it."""
        place = queries.place_details(service.memory, place_id)
        if place is None:
            raise HTTPException(404, f"place {place_id} is not known")
        return json_response(place)

    @router.get("/robot", response_model=map_schemas.Robot)
    def robot() -> Response:
        """The newest pose and camera, and the path of this run."""
        track = service.robot
        return json_response(
            {
                "robot_pose": service.robot_pose(),
                "camera": track.camera,
                "path": track.path(),
                "clearance": track.clearance,
            }
        )

    @router.get("/timeline", response_model=map_schemas.Timeline)
    def timeline() -> Response:
        """The sessions and the marks of what happened in them."""
        return json_response(queries.timeline(service.memory))

    @router.get("/sessions", response_model=map_schemas.SessionFrames)
    def sessions() -> Response:
        """Every session, the map it is in and how that is known; see docs/alignment.md."""
        return json_response(queries.sessions(service.memory))

    @router.get(
        "/sessions/{session}/objects",
        response_model=map_schemas.SessionObjects,
        tags=["places"],
        responses=errors(404),
    )
    def session_objects(session: Annotated[int, Path(ge=1, le=1_000_000)]) -> Response:
        """What a session that is kept apart remembers, in its own map; 404 for one that is not kept apart."""
        return json_response(known(lambda: queries.session_objects(service.memory, session)))

    @router.get("/changes", response_model=schemas.Changes)
    def changes(since: TimeText = None, limit: Limit = 200) -> Response:
        """What happened to objects, oldest first; the newest when there are more than the limit."""
        return json_response(queries.changes(service.memory, since=since, limit=limit))

    @router.get("/pointcloud", response_class=Response, responses=binary("application/octet-stream"))
    def pointcloud(decimation: Annotated[int, Query(ge=1, le=64)] = 1) -> Response:
        """The whole point cloud, in the layout of docs/server.md."""
        return Response(service.points.whole(decimation=decimation), media_type="application/octet-stream")

    return router


def _jpeg(body: bytes) -> Response:
    return Response(body, media_type="image/jpeg", headers={"cache-control": "private, max-age=5"})
