"""What an agent may ask a memory, each answer with its verdict: found, ambiguous or not_found, and why.

These are plain functions over a service, so that they can be asked without any protocol; ``mcp_server`` gives them to
agents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.memory.places import normalize_scene_type
from lastseen.server.moments import FARTHEST, moment_of
from lastseen.server.places import objects_by_place
from lastseen.server.service import Service
from lastseen.server.whereabouts import whereabouts

Answer = dict[str, Any]
Point = tuple[float, float, float]
_STATES = ("tentative", "confirmed", "stale", "missing", "removed")
_LISTED = 200
"""Things of one place that are told; tokens are dear."""
_ARRIVED = 0.8
"""Metres at which a robot stands before a thing."""
_STRAIGHT = 15.0
"""Degrees to either side that people call ahead."""


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The questions over one service."""

    service: Service

    def find_object(
        self,
        query: str,
        *,
        near: Point | None = None,
        radius: float | None = None,
        as_of: str | None = None,
        limit: int = 5,
    ) -> Answer:
        """Where a thing is, by words."""
        if near is not None:
            _check_point(near)
        answer = self.service.memory.find(
            query,
            near=near,
            radius=3.0 if near is not None and radius is None else radius,
            as_of=moment_of("as_of", as_of),
            k=limit,
        )
        return {
            "status": answer.status,
            "reason": answer.reason,
            "robot_pose": self.service.robot_pose(),
            "results": [self._short(hit) for hit in self.service.facts.hits(answer.hits)],
        }

    def list_objects(
        self, *, label: str | None = None, state: str | None = None, offset: int = 0, limit: int = 50
    ) -> Answer:
        """What is remembered, page by page."""
        if state is not None and state not in _STATES:
            raise InvalidValue("state", state, "is no state", remedy=f"one of {', '.join(_STATES)}")
        browse = self.service.memory.browse
        chosen: dict[str, Any] = {
            "label": label,
            "include_tentative": state == "tentative",
            "include_absent": state in ("missing", "removed"),
        }
        if state is None:
            page = browse.page(**chosen, offset=offset, limit=limit)
            total, found = page.total, self.service.facts.objects(page.objects)
        else:
            page = browse.page(**chosen, limit=FARTHEST_PAGE)
            fitting = [one for one in self.service.facts.objects(page.objects) if one["state"] == state]
            total, found = len(fitting), fitting[offset : offset + limit]
        reason = f"{total} remembered" if total else "nothing of that kind is remembered"
        return {
            "status": "found" if total else "not_found",
            "reason": reason,
            "total": total,
            "offset": offset,
            "objects": [self._short(one) for one in found],
        }

    def get_object(self, object_id: str) -> tuple[Answer, bytes | None]:
        """Everything about one object, and its best picture."""
        try:
            pictures = self.service.memory.browse.pictures(object_id)
            relations = self.relations(object_id)["relations"]
        except InvalidValue as error:
            return _unknown(error), None
        (facts,) = self.service.facts.objects(self.service.memory.browse.states([object_id]))
        history = [self.service.facts.entry(entry) for entry in self.service.memory.object(object_id).history()]
        answer = {
            "status": "found",
            "reason": f"{object_id} is remembered as {facts['state']}",
            **facts,
            "relations": relations,
            "history": history[-20:],
        }
        return answer, max(pictures, key=lambda crop: crop.quality).jpeg if pictures else None

    def objects_near(self, x: float, y: float, z: float, *, radius: float = 1.5, limit: int = 20) -> Answer:
        """What stands around a point, nearest first."""
        _check_point((x, y, z))
        answer = self.service.memory.find(near=(x, y, z), radius=radius, k=limit)
        found = []
        for hit in self.service.facts.hits(answer.hits):
            gap = math.dist(hit["xyz_world"], (x, y, z))
            found.append({**self._short(hit), "distance_m": round(gap, 3)})
        return {"status": answer.status, "reason": answer.reason, "results": found}

    def whats_in(self, place: str) -> Answer:
        """The things in a place, named by id or by kind of room."""
        places = whereabouts(self.service.memory)["places"]
        wanted = normalize_scene_type(place)
        chosen = [
            one for one in places if str(one["id"]) == place.strip() or normalize_scene_type(one["type"]) == wanted
        ]
        if not chosen:
            known = ", ".join(dict.fromkeys(f"{one['type']} ({one['id']})" for one in places)) or "none yet"
            return {
                "status": "not_found",
                "reason": f"no place is known as {place!r}; known are {known}",
                "places": [],
            }
        standing, browse, found, count = objects_by_place(self.service), self.service.memory.browse, [], 0
        for one in chosen:
            inside = standing.get(one["id"], [])
            count += len(inside)
            states = browse.states(inside[:_LISTED])
            found.append({**one, "objects_in": [self._short(thing) for thing in self.service.facts.objects(states)]})
        return {"status": "found", "reason": f"{count} things in {len(found)} places", "places": found}

    def what_changed(self, *, since: str | None = None, limit: int = 50) -> Answer:
        """What happened to things, oldest first."""
        found = self.service.memory.what_changed(moment_of("since", since), newest=limit * 10)
        kept = [self.service.facts.change(change) for change in found[-limit:]]
        return {
            "status": "found" if kept else "not_found",
            "reason": f"{len(kept)} changes" + (", older ones left out" if len(found) > len(kept) else ""),
            "now": self.service.memory.browse.now,
            "changes": kept,
        }

    def last_seen(self, query: str) -> Answer:
        """When and where a thing was seen last, also when it is gone or was never sure."""
        answer = self.service.memory.find(query, include_tentative=True, include_removed=True, k=3)
        now = self.service.memory.browse.now
        found = [
            {
                **self._short(hit),
                "seconds_ago": round(now - hit["last_seen"], 3),
                "place_type": hit["place_type"],
            }
            for hit in self.service.facts.hits(answer.hits)
        ]
        return {"status": answer.status, "reason": answer.reason, "now": now, "results": found}

    def relations(self, object_id: str) -> Answer:
        """How a thing stands to those around it."""
        try:
            found = self.service.memory.relations(object_id)
        except InvalidValue as error:
            return {**_unknown(error), "relations": []}
        states = self.service.memory.browse.states([one.other_id for one in found])
        names = {state.id: state.label for state in states}
        relations = [
            {
                "kind": str(one.kind),
                "other_id": one.other_id,
                "other_label": names.get(one.other_id),
                "gap_m": round(one.gap, 3),
            }
            for one in found
        ]
        reason = f"{len(relations)} relations" if relations else "nothing stands near it"
        return {"status": "found", "reason": reason, "relations": relations}

    def go_to_hint(self, query: str) -> Answer:
        """Which way and how far from the robot a thing is; by words, or by an id."""
        if query.strip().startswith("obj-"):
            states = self.service.memory.browse.states([query.strip()]) if _is_id(query.strip()) else []
            if not states:
                return {"status": "not_found", "reason": f"{query.strip()} is not remembered"}
            gone = states[0].state in ("missing", "removed")
            status, reason = "found", f"{query.strip()} is remembered"
            if gone:
                status, reason = "not_found", f"{query.strip()} was remembered, but its place was seen empty"
            targets = [self._short(one) for one in self.service.facts.objects(states)]
        else:
            answer = self.service.memory.find(query, k=3)
            status, reason = answer.status, answer.reason
            targets = [self._short(one) for one in self.service.facts.hits(answer.hits)]
        robot = self.service.robot_pose()
        if robot is None:
            return {"status": status, "reason": f"{reason}; where the robot is, is not known", "results": targets}
        for target in targets:
            target.update(_way(robot, target["xyz_world"]))
        return {"status": status, "reason": f"{reason}; {_age(robot)}", "robot_pose": robot, "results": targets}

    def _short(self, one: dict[str, Any]) -> dict[str, Any]:
        """What an agent needs of an object; tokens are dear."""
        names = ("id", "label_primary", "color", "state", "score", "xyz_world", "extent", "place", "last_seen")
        return {name: one[name] for name in names if one.get(name) is not None}


FARTHEST_PAGE = 10_000
"""Objects that are sorted by state at once."""


def _age(robot: dict[str, Any]) -> str:
    """How old the pose is that the way starts from: an agent must not steer by where the robot was yesterday."""
    age = robot["age"]
    if age is None:
        return "when the robot stood there is not known"
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if age >= 2 * size:
            return f"the robot stood there {age / size:.0f} {name} ago"
    return f"the robot stood there {age:.0f} s ago"


def _way(robot: dict[str, Any], target: list[float]) -> dict[str, Any]:
    """Distance on the floor, angle from the robot's heading (positive to the left), and both in words."""
    pose = Pose3D.from_quaternion(robot["xyz"], robot["quaternion_xyzw"])
    ahead = pose.rotation @ [0.0, 0.0, 1.0]
    dx, dy = target[0] - robot["xyz"][0], target[1] - robot["xyz"][1]
    distance = math.hypot(dx, dy)
    turn = math.degrees(math.atan2(dy, dx) - math.atan2(float(ahead[1]), float(ahead[0])))
    angle = (turn + 180.0) % 360.0 - 180.0
    if distance <= _ARRIVED:
        words = "right here"
    elif abs(angle) <= _STRAIGHT:
        words = f"{distance:.1f} m straight ahead"
    else:
        words = f"{distance:.1f} m away, {abs(angle):.0f} degrees to the {'left' if angle > 0 else 'right'}"
    return {"distance_m": round(distance, 3), "turn_degrees": round(angle, 1), "direction": words}


def _check_point(point: Point) -> None:
    if not all(math.isfinite(value) and abs(value) <= FARTHEST for value in point):
        raise InvalidValue("point", point, "is no place", remedy="give x, y, z in metres")


def _is_id(text: str) -> bool:
    return text.removeprefix("obj-").isdecimal() and text.isascii() and len(text) < 24


def _unknown(error: InvalidValue) -> Answer:
    return {"status": "not_found", "reason": str(error)}
