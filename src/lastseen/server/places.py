"""``/places``, ``/robot``, ``/timeline``, ``/changes``: where the robot has been, and when what happened."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from lastseen.server.answers import refusal, reply
from lastseen.server.moments import Limit, MomentText, moment_of
from lastseen.server.service import Service
from lastseen.server.whereabouts import whereabouts

_MARKS = 2000
"""Events that a timeline looks at, from the newest back; more could not be told apart on a screen."""
_MARKED = ("moved", "missing", "removed", "reappeared", "corrected", "confirmed")
_LISTED = 2000
"""Objects of one place that are told in full."""
_BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {}}, "description": "the layout is in docs/server.md"}
}


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["places"])
    facts = service.facts

    @router.get("/places")
    def places() -> Response:
        """Every place with the objects that stand in it, and every anchor."""
        found = whereabouts(service.memory)
        standing = objects_by_place(service)
        for place in found["places"]:
            place["object_ids"] = standing.get(place["id"], [])
        return reply(found)

    @router.get("/places/{place_id}")
    def one_place(place_id: Annotated[int, Path(ge=0, le=2**53)]) -> Response:
        """One place and the objects in it."""
        place = place_facts(service, place_id)
        if place is None:
            raise refusal(404, f"place {place_id} is not known")
        return reply(place)

    @router.get("/robot")
    def robot() -> Response:
        """The newest pose and camera, and the path of this run."""
        track = service.robot
        return reply(
            {
                "robot_pose": service.robot_pose(),
                "camera": track.camera,
                "path": track.path(),
                "clearance": track.clearance,
            }
        )

    @router.get("/timeline")
    def timeline() -> Response:
        """The sessions and the marks of what happened in them."""
        memory = service.memory
        browse, sessions = memory.browse, memory.sessions()
        return reply(
            {
                "first": sessions[0].first if sessions else None,
                "last": sessions[-1].last if sessions else None,
                "now": browse.now,
                "sessions": [
                    {
                        "id": session.id,
                        "robot": session.robot,
                        "first": session.first,
                        "last": session.last,
                        "first_wall_utc": browse.wall(session.first),
                        "last_wall_utc": browse.wall(session.last),
                    }
                    for session in sessions
                ],
                "marks": [
                    {
                        "time": browse.time((change.session, change.stamp), name="stamp"),
                        "kind": change.kind,
                        "id": change.object_id,
                        "label": change.label,
                    }
                    for change in memory.what_changed(newest=_MARKS)
                    if change.kind in _MARKED
                ],
            }
        )

    @router.get("/changes")
    def changes(since: MomentText = None, limit: Limit = 200) -> Response:
        """What happened to objects, oldest first; the newest when there are more than the limit."""
        # what befell mere protos is left out, so more events than asked for are looked at
        found = service.memory.what_changed(moment_of("since", since), newest=limit * 10)
        kept = found[-limit:]
        return reply(
            {
                "count": len(kept),
                "more": len(found) > len(kept),
                "changes": [facts.change(change) for change in kept],
            }
        )

    @router.get("/pointcloud", response_class=Response, responses=_BINARY)
    def pointcloud(decimation: Annotated[int, Query(ge=1, le=64)] = 1) -> Response:
        """The whole point cloud."""
        return Response(service.points.whole(decimation=decimation), media_type="application/octet-stream")

    return router


def objects_by_place(service: Service) -> dict[int, list[str]]:
    """The ids of the confirmed objects by the place they stand in."""
    ids, positions = service.memory.browse.positions()
    found: dict[int, list[str]] = {}
    for object_id, place in zip(ids, service.memory.places_at(positions), strict=True):
        if place is not None:
            found.setdefault(place, []).append(object_id)
    return found


def place_facts(service: Service, place_id: int) -> dict[str, Any] | None:
    """One place with the objects in it; None where it is not known."""
    place: dict[str, Any] | None = next(
        (place for place in whereabouts(service.memory)["places"] if place["id"] == place_id), None
    )
    if place is None:
        return None
    inside = objects_by_place(service).get(place_id, [])
    states = service.memory.browse.states(inside[:_LISTED])
    return {**place, "object_ids": inside, "objects_in": service.facts.objects(states)}
