"""The navigation context: what the planner is told of memory, as data and as text; see docs/places.md.

The text is written from the data and from nothing else, so what a log keeps is what the model read. Both are
deterministic and within a budget: the least useful goes first, and the text says what went. One line is one fact and
starts with the word that says which, so that a person, a model and a program can each find theirs. Everything that
came from outside stands in quotes.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lastseen.config import Settings
from lastseen.memory.places import Place, SpatialMemory
from lastseen.memory.places.graph import PlaceGraph
from lastseen.memory.places.place import MAX_DESCRIPTION
from lastseen.memory.rooms.room import UNKNOWN, Room
from lastseen.pose2d import Pose2D
from lastseen.search.paths import rounded_path
from lastseen.search.planning.decision import Situation, Surroundings
from lastseen.search.planning.history import DiscoveredContextQueue
from lastseen.search.planning.prompt import (
    MAX_LABELS,
    MAX_TEXT,
    clean,
    quote,
    say_angle,
    say_path,
    say_where,
    where,
    whole_degrees,
)

if TYPE_CHECKING:
    from lastseen.search.explored import Spot

Context = dict[str, Any]

_VISITED_RADIUS = 5.0
"""Metres: about one room and its neighbours: where going again finds nothing new."""

_SECTOR = 30


def build_context(
    spatial: SpatialMemory,
    queue: DiscoveredContextQueue,
    situation: Situation | None = None,
    *,
    tried: Sequence[Mapping[str, Any]] = (),
    asked_here: int = 0,
    settings: Settings | None = None,
) -> Context:
    """All that docs/places.md lists, within the budget, ready for ``render`` and for JSON.

    Without a ``situation`` it tells of places and anchors alone. ``tried`` are the directions taken from near here,
    ``asked_here`` is how often the planner was asked at this very spot before.
    """
    around = Surroundings() if situation is None else situation.around
    here = around.here or spatial.pose
    settings = settings or spatial.settings
    place, anchor = spatial.current_place, spatial.current_anchor
    just_walked = set(spatial.path[-settings.context.recent_anchors :])
    context: Context = {
        "localization": {
            "step": spatial.step_id,
            "pose": _pose(spatial.pose),
            "current_place_id": spatial.current_place_id,
            "place_type": None if place is None else clean(place.place_type, limit=MAX_TEXT),
            "current_anchor_id": spatial.current_anchor_id,
        },
        "avoid_hint": spatial.progress.avoid_hint(),
        "progress": _progress(spatial, tried, steps_here=around.steps_here, asked_here=asked_here),
        "belief": _belief(situation, here),
        "discovered_context": queue.to_list(),
        "tried": [{**each, "goal_scene_type": clean(str(each["goal_scene_type"]), limit=MAX_TEXT)} for each in tried],
        "sightings": [{**_toward(each, settings), "views": round(each.size)} for each in around.sightings],
        "remembered": [{**_toward(each.spot, settings), "room": each.object.place} for each in around.remembered],
        "unexplored": [
            {
                **_toward(each, settings),
                "width": round(each.size, 1),
                "labels": [[clean(label, limit=MAX_TEXT), round(score, 2)] for label, score in each.labels],
            }
            for each in around.unexplored
        ],
        "rooms": _rooms(around.rooms, here, most=settings.context.recent_places),
        "places": _places(spatial, settings),
        "visited": _visited(spatial, _VISITED_RADIUS),
        "nearby": [
            {
                "anchor_id": near.anchor_id,
                "place_id": near.place_id,
                "distance": round(anchor.pose.distance_to(near.pose), 2),
            }
            for near in spatial.nearby()
            if anchor is not None and near.anchor_id not in just_walked
        ],
        "neighbors": []
        if anchor is None
        else [
            {"anchor_id": other, **where(spatial.pose, spatial.graph.anchor(other).pose)}
            for other in sorted(anchor.neighbors, reverse=True)
        ],
        "path": [
            {"anchor_id": each, **where(spatial.pose, spatial.graph.anchor(each).pose)}
            for each in spatial.path[-settings.context.recent_anchors :]
        ],
    }
    return within_budget(context, max_characters=settings.context.max_characters)


def _pose(pose: Pose2D) -> dict[str, float]:
    # adding 0.0 turns a negative zero into a plain one
    return {"x": round(pose.x, 2) + 0.0, "y": round(pose.y, 2) + 0.0, "yaw": whole_degrees(pose.yaw)}


def _progress(
    spatial: SpatialMemory, tried: Sequence[Mapping[str, Any]], *, steps_here: int | None, asked_here: int
) -> dict[str, Any]:
    """What the last steps led to: facts beside the patterns, of which STUCK holds at nearly every call.

    A walk that came back to where the planner was asked before made no progress either, however far it went: that is
    what tells whether anything new follows.
    """
    poses = spatial.progress.policy_poses
    return {
        "steps_here": steps_here,
        "net_metres": round(poses[0].distance_to(poses[-1]), 1) if poses else 0.0,
        "walked_steps": max(0, len(poses) - 1),
        "tried": [each["angle"] for each in tried],
        "asked_here": asked_here,
        "no_progress": spatial.progress.no_progress or asked_here > 0,
    }


def _toward(spot: Spot, settings: Settings) -> dict[str, Any]:
    """Where the path to a spot begins, how long it is, and its segments."""
    path = rounded_path(spot.segments, longest=settings.context.max_path)
    return {"angle": round(spot.angle), "distance": round(spot.metres, 1), "path": path}


def _belief(situation: Situation | None, here: Pose2D) -> dict[str, Any]:
    if situation is None:
        return {"target_status": None, "candidates": [], "constraints": []}
    belief, nodes = situation.belief, {node.node_id: node for node in situation.nodes}
    # a node that was tried gets no second visit, whoever went there
    exhausted = {*situation.around.exhausted, *situation.tried}
    candidates: list[dict[str, Any]] = []
    for candidate in belief["candidate_nodes"]:
        if candidate["node_id"] in exhausted:
            continue
        entry: dict[str, Any] = {"node_id": candidate["node_id"], "score": round(candidate["score"], 2)}
        node = nodes.get(candidate["node_id"])
        if node is not None:
            entry |= situation.around.paths.get(candidate["node_id"]) or where(here, node.pose)
            entry["tags"] = [clean(tag, limit=MAX_TEXT) for tag in node.tags[:MAX_LABELS]]
        candidates.append(entry)
    return {
        "target_status": belief["target_status"],
        "candidates": candidates,
        "constraints": [clean(each, limit=MAX_TEXT) for each in belief["active_constraints"]],
    }


def _rooms(rooms: Sequence[Room], here: Pose2D, *, most: int) -> list[dict[str, Any]]:
    """The nearest rooms that have a name, where their middles are and how much floor of each was seen."""
    named = [
        {
            "room_id": room.id,
            "name": clean(room.name, limit=MAX_TEXT),
            "confidence": round(room.confidence, 2),
            "area": round(room.area, 1),
            **where(here, Pose2D(*room.center, 0.0)),
        }
        for room in rooms
        if room.name != UNKNOWN
    ]
    return sorted(named, key=lambda entry: (entry["distance"], entry["room_id"]))[:most]


def _places(spatial: SpatialMemory, settings: Settings) -> list[dict[str, Any]]:
    """The current place first, then the others from the latest visit back."""
    recent = list(reversed(spatial.recent_places))[: settings.context.recent_places]
    places: list[dict[str, Any]] = []
    for place_id in recent:
        place = spatial.graph.place(place_id)
        if not place.anchors and place_id != spatial.current_place_id:
            # files of before may hold such places: there is no path to one
            continue
        entry: dict[str, Any] = {
            "place_id": place_id,
            "place_type": clean(place.place_type, limit=MAX_TEXT),
            "here": place_id == spatial.current_place_id,
            "objects": [clean(name, limit=MAX_TEXT) for name in sorted(place.objects_list)[:MAX_LABELS]],
            "description": clean(place.semantic_description, limit=MAX_DESCRIPTION),
            "anchors": len(place.anchors),
        }
        if not entry["here"]:
            entry |= where(spatial.pose, _nearest_anchor(spatial.graph, place, spatial.pose))
        places.append(entry)
    return places


def _nearest_anchor(graph: PlaceGraph, place: Place, pose: Pose2D) -> Pose2D:
    poses = [graph.anchor(anchor).pose for anchor in place.anchors]
    return min(poses, key=pose.distance_to)


def _visited(spatial: SpatialMemory, radius: float) -> list[dict[str, Any]]:
    """How much of the way lies in each direction: 30 degree sectors with anchors in them, the nearest first."""
    sectors: dict[int, list[float]] = {}
    for anchor_id in spatial.path:
        pose = spatial.graph.anchor(anchor_id).pose
        distance = spatial.pose.distance_to(pose)
        if 0.0 < distance <= radius:
            turned = math.degrees(spatial.pose.bearing_to(pose))
            sector = whole_degrees(math.radians(round(turned / _SECTOR) * _SECTOR))
            sectors.setdefault(sector, []).append(distance)
    rows = [
        {"angle": sector, "anchors": len(distances), "distance": round(min(distances), 2)}
        for sector, distances in sectors.items()
    ]
    return sorted(rows, key=lambda row: (row["distance"], row["angle"]))


_NO_LIMIT = 10_000

_DROP_ORDER: tuple[tuple[str, int], ...] = (
    ("path", 0),
    ("neighbors", -1),
    ("nearby", -1),
    ("constraints", -1),
    ("places", -1),
    ("rooms", -1),
    ("tried", 0),
    ("visited", -1),
    ("unexplored", -1),
    ("candidates", -1),
    ("remembered", -1),
    ("sightings", -1),
    ("discovered_context", 0),
)
"""Which list gives up an entry first, and from which end: the oldest, the farthest or the lowest score."""


def within_budget(context: Context, *, max_characters: int) -> Context:
    """A copy whose text is no longer than allowed; ``dropped`` counts what was left out, by kind."""
    kept = copy.deepcopy(context)
    dropped: dict[str, int] = {}
    kept["dropped"] = dropped
    for name, end in _DROP_ORDER:
        entries = _entries(kept, name)
        while entries and len(render(kept)) > max_characters:
            entries.pop(end)
            dropped[name] = dropped.get(name, 0) + 1
    return kept


def render(context: Context) -> str:
    """The context as text, one fact a line."""
    lines = [_here(context["localization"])]
    if context["avoid_hint"]:
        lines.append(f"avoid: {context['avoid_hint']}")
    if context["progress"] is not None:
        lines.append(_say_progress(context["progress"]))
    belief = context["belief"]
    if belief["target_status"]:
        lines.append(f"memory: {belief['target_status']}")
    lines += [_candidate(entry) for entry in belief["candidates"]]
    lines += [f"constraint: {_quoted(text)}" for text in belief["constraints"]]
    lines += [_discovered(entry) for entry in context["discovered_context"]]
    lines += [_tried(entry) for entry in context["tried"]]
    lines += [
        f"target seen {say_angle(entry['angle'])}: {entry['distance']:.1f} m of path, in {entry['views']} views"
        f"{say_path(entry['path'])}"
        for entry in context["sightings"]
    ]
    lines += [
        f"target remembered {say_angle(entry['angle'])}: {entry['distance']:.1f} m of path{_in_room(entry['room'])}"
        f"{say_path(entry['path'])}"
        for entry in context["remembered"]
    ]
    lines += [_unexplored(entry) for entry in context["unexplored"]]
    lines += [_room(entry) for entry in context["rooms"]]
    lines += [_place(entry) for entry in context["places"]]
    lines += [
        f"visited {say_angle(entry['angle'])}: {entry['anchors']} anchors, nearest {entry['distance']:.1f} m"
        for entry in context["visited"]
    ]
    lines += [
        f"maybe same spot: anchor {entry['anchor_id']} of place {entry['place_id']}, {entry['distance']:.1f} m off"
        for entry in context["nearby"]
    ]
    if context["neighbors"]:
        lines.append(f"neighbours: {_anchors(context['neighbors'])}")
    if context["path"]:
        lines.append(f"path: {_anchors(context['path'])}")
    if context.get("dropped"):
        left_out = ", ".join(f"{count} {name}" for name, count in sorted(context["dropped"].items()))
        lines.append(f"left out for brevity: {left_out}")
    return "\n".join(lines)


def _entries(context: Context, name: str) -> list[Any]:
    inside = context["belief"] if name in ("candidates", "constraints") else context
    return inside[name]


def _here(localization: dict[str, Any]) -> str:
    pose = localization["pose"]
    place = localization["current_place_id"]
    where = "no place yet" if place is None else f"place {place} {_quoted(localization['place_type'])}"
    anchor = localization["current_anchor_id"]
    return (
        f"here: step {localization['step']}, x {pose['x']:.2f} y {pose['y']:.2f} facing {say_angle(pose['yaw'])}, "
        f"{where}{'' if anchor is None else f', anchor {anchor}'}"
    )


def _say_progress(facts: dict[str, Any]) -> str:
    stay = "" if facts["steps_here"] is None else f"{facts['steps_here']} steps in this place, "
    tried = ", ".join(say_angle(angle) for angle in facts["tried"])
    again = f", asked at this spot {facts['asked_here']} times before" if facts["asked_here"] else ""
    pattern = ", pattern:NO_PROGRESS" if facts["no_progress"] else ""
    return (
        f"progress: {stay}{facts['net_metres']:.1f} m net over the last {facts['walked_steps']} walked steps"
        f"{f', tried from here: {tried}' if tried else ''}{again}{pattern}"
    )


def _room(entry: dict[str, Any]) -> str:
    known = f"{_quoted(entry['name'])} ({entry['confidence']:.2f}), {entry['area']:.0f} m2 seen"
    return f"room {entry['room_id']}: {known}, {say_where(entry)}"


def _candidate(entry: dict[str, Any]) -> str:
    known = f", {say_where(entry)}, {_words(entry['tags'])}" if "distance" in entry else ", place unknown"
    return f"candidate node {entry['node_id']}: score {entry['score']:.2f}{known}{say_path(entry.get('path', ()))}"


def _discovered(entry: dict[str, Any]) -> str:
    hint = f", {entry['avoid_hint']}" if "avoid_hint" in entry else ""
    seen = "goal seen" if entry["goal_flag"] else "goal not seen"
    return (
        f"discovered {entry['idx']}: {seen}, went for {_quoted(entry['goal_scene_type'])}, "
        f"{_quoted(entry['why'])}{hint}"
    )


def _tried(entry: dict[str, Any]) -> str:
    outcome = "blocked" if entry["blocked"] else "goal not found"
    return (
        f"tried {say_angle(entry['angle'])}: for {_quoted(entry['goal_scene_type'])}, "
        f"moved {entry['moved']:.1f} m, {outcome}"
    )


def _unexplored(entry: dict[str, Any]) -> str:
    near = ", ".join(f"{_quoted(label)} {score:.2f}" for label, score in entry["labels"])
    return (
        f"unexplored {say_angle(entry['angle'])}: {entry['distance']:.1f} m of path, {entry['width']:.1f} m wide"
        f"{say_path(entry['path'])}{f'; near {near}' if near else ''}"
    )


def _in_room(room: str | None) -> str:
    """In which room something is, where that is known (docs/rooms.md)."""
    return "" if room in (None, "unknown") else f", in {_quoted(str(room))}"


def _place(entry: dict[str, Any]) -> str:
    spot = "here" if entry["here"] else say_where(entry)
    parts = [f"place {entry['place_id']}: {_quoted(entry['place_type'])}, {spot}"]
    if entry["objects"]:
        parts.append(f"objects {_words(entry['objects'])}")
    if entry["description"]:
        parts.append(_quoted(entry["description"]))
    return "; ".join(parts)


def _anchors(entries: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{entry['anchor_id']} ({say_where(entry)})" for entry in entries)


def _words(words: Sequence[str]) -> str:
    return ", ".join(_quoted(word) for word in words) or "nothing named"


def _quoted(text: str) -> str:
    return quote(text, limit=_NO_LIMIT)
