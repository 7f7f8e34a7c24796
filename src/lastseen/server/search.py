"""``/search``: where is it? The answer may be that it is not known, and why."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from lastseen.server.answers import refusal, reply
from lastseen.server.moments import Limit, Metres, MomentText, Offset, Radius, moment_of, point_of
from lastseen.server.service import Service

_AT_MOST = 10_000
"""Hits that a place is asked for: more than a floor of a building holds."""
Words = Annotated[str, Query(max_length=500, description="What to look for, in words.", examples=["red mug"])]
TopK = Annotated[int, Query(ge=1, le=100)]
Score = Annotated[float, Query(ge=0.0, le=1.0, allow_inf_nan=False)]


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["search"], prefix="/search")
    facts = service.facts

    @router.get("/semantic")
    def semantic(
        query: Words,
        *,
        top_k: TopK = 5,
        threshold: Score = 0.0,
        near: Annotated[str | None, Query(max_length=100, description="x,y,z in metres", examples=["1,2,0"])] = None,
        radius: Radius | None = None,
        label: Annotated[str | None, Query(max_length=200)] = None,
        as_of: MomentText = None,
        include_tentative: bool = False,
        include_removed: bool = False,
    ) -> Response:
        """Find by meaning; a weak match is no match."""
        place = point_of("near", near)
        answer = service.memory.find(
            query,
            near=place,
            radius=3.0 if place is not None and radius is None else radius,
            label=label or None,
            as_of=moment_of("as_of", as_of),
            include_tentative=include_tentative,
            include_removed=include_removed,
            k=top_k,
        )
        hits = [hit for hit in answer.hits if (hit.score or 0.0) >= threshold]
        status, reason = answer.status, answer.reason
        if answer.hits and not hits:
            status, reason = "not_found", f"{reason}, but its score is below the threshold {threshold:g}"
        return reply(
            {
                "query": query,
                "status": status,
                "reason": reason,
                "robot_pose": service.robot_pose(),
                "results": facts.hits(hits),
            }
        )

    @router.get("/label")
    def by_label(query: Words, *, top_k: TopK = 5) -> Response:
        """Find by the detector's own labels, tentative objects included; an exact label before a part of one."""
        asked = " ".join(query.lower().split())
        if not asked:
            raise refusal(422, "query: must name a label")
        memory = service.memory
        found = memory.browse.labelled(
            lambda label: 1.0 if label == asked else 0.5 if asked in label.split() else 0.0
        )[:top_k]
        states = memory.browse.states([object_id for _, object_id, _ in found])
        matched = {object_id: (score, label) for score, object_id, label in found}
        results = []
        for one in facts.objects(states):
            score, label = matched[one["id"]]
            results.append(
                {**one, "score": round(score, 4), "matched_label": label, "image_url": f"/objects/{one['id']}/image"}
            )
        status = "found" if len(results) == 1 else "ambiguous" if results else "not_found"
        reason = f"{len(results)} labelled like {asked!r}" if results else f"nothing is labelled like {asked!r}"
        return reply(
            {
                "query": query,
                "status": status,
                "reason": reason,
                "robot_pose": service.robot_pose(),
                "results": results,
            }
        )

    @router.get("/spatial")
    def spatial(
        x: Metres,
        y: Metres,
        z: Metres,
        *,
        radius: Radius | None = None,
        radius_m: Annotated[Radius | None, Query(description="Another name of radius.")] = None,
        offset: Offset = 0,
        limit: Limit = 100,
    ) -> Response:
        """What stands within a radius, nearest first."""
        reach = radius or radius_m or 1.0
        answer = service.memory.find(near=(x, y, z), radius=reach, k=_AT_MOST)
        results = facts.hits(answer.hits[offset : offset + limit])
        for one in results:
            del one["score"]
            gap = sum((a - b) ** 2 for a, b in zip(one["xyz_world"], (x, y, z), strict=True)) ** 0.5
            one["distance_m"] = round(gap, 4)
        return reply(
            {
                "center": [x, y, z],
                "radius_m": reach,
                "robot_pose": service.robot_pose(),
                "total": len(answer.hits),
                "offset": offset,
                "limit": limit,
                "count": len(results),
                "results": results,
            }
        )

    return router
