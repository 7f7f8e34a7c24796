"""Objects, events, history and places as JSON values: one shape each, for REST, WebSocket, MCP and the command line.

A time is wall time (UTC, ISO 8601) and null in a session without a date; memory time stands beside it under a name
that says so. Lengths are metres, rounded to a tenth of a millimetre.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from lastseen.memory.facts import Fact
from lastseen.memory.history import Change, HistoryEntry
from lastseen.memory.memory import Memory
from lastseen.memory.object import Answer, Object
from lastseen.memory.objects import Event, ObjectState
from lastseen.memory.places import Anchor
from lastseen.memory.reply import Reply
from lastseen.memory.session_frames import SessionFrame
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.records import SessionRecord

Json = dict[str, Any]
EVENT_TYPES = {
    "appeared": "object_created",
    "confirmed": "object_confirmed",
    "moved": "object_moved",
    "missing": "object_missing",
    "removed": "object_removed",
    "reappeared": "object_reappeared",
    "merged": "object_merged",
    "corrected": "object_corrected",
}
_MOST_TOLD = 100
"""Objects and changes that an answer in words carries; ``count`` tells how many there are."""


def object_json(one: Object) -> Json:
    """An object under the names of ``lastseen.Object``."""
    return {
        "id": one.id,
        "label": one.label,
        "position": metres(one.position),
        "extent": None if one.extent is None else metres(one.extent),
        "yaw": round(one.yaw, 4),
        "state": one.state,
        "place": one.place,
        "place_id": one.place_id,
        "color": one.color,
        "first_seen": iso(one.first_seen),
        "last_seen": iso(one.last_seen),
        "age": round(one.age, 3),
        "last_seen_memory_time": one.last_seen_memory_time,
        "session": one.session,
        "hits": one.hits,
        "stability": None if one.stability is None else round(one.stability, 4),
        "score": None if one.score is None else round(one.score, 4),
        "kind": one.kind,
        "provenance": one.provenance,
        "alignment": one.alignment,
    }


def rest_object_json(one: Object) -> Json:
    """The same, and beside it the names that clients of rtsm read."""
    found = object_json(one)
    return {
        **found,
        "stale": one.stale,
        "confirmed": one.state != "tentative",
        "label_primary": one.label,
        "label_hint": one.label,
        "xyz_world": found["position"],
        # a client of rtsm calculates with it
        "stability": found["stability"] or 0.0,
        "last_seen_wall_utc": None if one.last_seen is None else one.last_seen.timestamp(),
    }


def answer_json(answer: Answer, serialize: Callable[[Object], Json] = object_json) -> Json:
    """A verdict with its reason and the k best objects, best first; those that do not fit are the closest only."""
    return {
        "status": answer.status,
        "reason": answer.reason,
        "refused": answer.refused,
        "not_understood": list(answer.not_understood),
        "alignment": answer.alignment,
        "results": [{**serialize(hit), "fits": answer.fits(hit)} for hit in answer.hits],
    }


def session_json(clock: Clock, session: SessionRecord, frame: SessionFrame) -> Json:
    """A session with the map it is in, and how that is known."""
    known = asdict(frame)
    names = ("map_id", "state", "reason", "transform", "covariance", "evidence", "pairs", "file")
    return {
        "id": session.id,
        "robot": session.robot,
        **times(clock, {"first": session.first, "last": session.last}),
        **{name: known[name] for name in names},
        "earlier": [{"state": state, "memory_time": time, "reason": reason} for state, time, reason in frame.earlier],
    }


def reply_json(memory: Memory, reply: Reply, serialize: Callable[[Object], Json] = object_json) -> Json:
    """The answer to a question in words, with its evidence."""
    clock = memory.browse.clock
    return {
        **{one.name: getattr(reply, one.name) for one in fields(reply)},
        "objects": [serialize(one) for one in reply.objects[:_MOST_TOLD]],
        "times": [iso(time) for time in reply.times],
        "changes": [change_json(clock, change) for change in reply.changes[-_MOST_TOLD:]],
        "facts": [fact_json(clock, fact) for fact in reply.facts],
        "confidence": None if reply.confidence is None else round(reply.confidence, 4),
    }


def fact_json(clock: Clock, fact: Fact) -> Json:
    """What was told, as ``Memory.facts`` lists it."""
    return {
        **{one.name: getattr(fact, one.name) for one in fields(fact) if one.name != "wall"},
        **when(clock, fact.time),
        "position": None if fact.position is None else metres(fact.position),
        "outline": [metres(corner) for corner in fact.outline],
    }


def listed_object_json(one: Object, state: ObjectState) -> Json:
    """The same with what only working memory knows."""
    return {
        **rest_object_json(one),
        "label_scores": {label: round(score, 4) for label, score in state.label_scores.items()},
        "view_bins": len(state.view_bins),
        "first_seen_memory_time": state.first_seen,
    }


def listed_objects(memory: Memory, states: Sequence[ObjectState]) -> list[Json]:
    """Records of working memory, which hold more than an answer tells."""
    described = memory.browse.described(states)
    return [listed_object_json(one, state) for one, state in zip(described, states, strict=True)]


def events_json(memory: Memory, events: Sequence[Event]) -> list[Json]:
    """What just happened to objects; the position is of now, null where the object is gone."""
    known = {state.id: state for state in memory.browse.states([event.object_id for event in events])}
    found = []
    for event in events:
        state, before = known.get(event.object_id), event.evidence.get("before")
        found.append(
            {
                "type": EVENT_TYPES[str(event.kind)],
                "id": event.object_id,
                "kind": str(event.kind),
                **when(memory.browse.clock, event.stamp),
                "label": event.evidence.get("label", None if state is None else state.label),
                "position": None if state is None else metres(state.xyz_world.tolist()),
                "from_position": metres(before) if isinstance(before, list) else None,
                "evidence": dict(event.evidence),
            }
        )
    return found


def change_json(clock: Clock, change: Change) -> Json:
    """Something that happened to an object, as ``Memory.what_changed`` lists it."""
    return {
        "id": change.object_id,
        "kind": change.kind,
        **when(clock, clock.time((change.session, change.stamp), name="stamp")),
        "label": change.label,
        "position": None if change.position is None else metres(change.position),
        "evidence": dict(change.evidence),
    }


def history_json(clock: Clock, entry: HistoryEntry) -> Json:
    """One entry of an object's history: a position it was known at, or something that happened to it."""
    return {
        "kind": entry.kind,
        **when(clock, clock.time((entry.session, entry.stamp), name="stamp")),
        "label": entry.label,
        "position": None if entry.position is None else metres(entry.position),
        "state": entry.state,
        "evidence": dict(entry.evidence),
    }


def places_json(memory: Memory) -> Json:
    """Every room, every anchor with the room it stands in, and where the robot is among them."""
    spatial = memory.spatial
    with memory.browse.lock:
        rooms = memory.rooms()
        anchors = [spatial.graph.anchors[key] for key in sorted(spatial.graph.anchors)]
        posed = [anchor for anchor in anchors if anchor.world_pose is not None]
        heights, storey_of = [one.height for one in memory.space.storeys], memory.space.storey_of_anchor
        spots = [
            (anchor.world_pose.x, anchor.world_pose.y, heights[storey_of.get(anchor.anchor_id, 0)])
            for anchor in posed
            if anchor.world_pose is not None
        ]
        room_of = {anchor.anchor_id: room for anchor, room in zip(posed, memory.room_at(spots), strict=True)}
        described = {anchor.place_id: spatial.graph.place(anchor.place_id) for anchor in anchors}
        current = spatial.current_anchor_id
        written = [anchor.to_dict() for anchor in anchors]
        plans = memory.floor_plans()
    inside: dict[int, list[Anchor]] = {}
    for anchor in posed:
        if (room := room_of[anchor.anchor_id]) is not None:
            inside.setdefault(room.id, []).append(anchor)
    kept = ("pose", "world_pose", "neighbors", "step", "episode", "labels")
    here = None if current is None else room_of.get(current)
    return {
        "current_place": None if here is None else here.id,
        "current_anchor": current,
        "places": [
            {
                "id": room.id,
                "type": room.name,
                "confidence": room.confidence,
                "description": described[within[-1].place_id].semantic_description if within else "",
                "labels": sorted({label for anchor in within for label in anchor.labels}),
                "anchors": [anchor.anchor_id for anchor in within],
                "storey": room.storey,
                "area": room.area,
                "center": metres(room.center),
                "outline": [metres(corner) for corner in room.outline],
                "next_to": list(room.next_to),
                "provenance": room.provenance,
            }
            for room in rooms
            for within in [inside.get(room.id, [])]
        ],
        "anchors": [
            {
                "id": anchor["anchor_id"],
                "place_id": None if (room := room_of.get(anchor["anchor_id"])) is None else room.id,
                **{name: anchor[name] for name in kept},
            }
            for anchor in written
        ],
        "plans": [{**asdict(plan), "height": round(float(heights[plan.storey]), 3)} for plan in plans],
    }


def when(clock: Clock, time: float) -> Json:
    """A memory time in every way it can be told."""
    session = clock.session_at(time)
    return {
        "time": iso(clock.wall(time)),
        "memory_time": time,
        "session": 1 if session is None else session.id,
        "stamp": time if session is None else session.stamp(time),
    }


def times(clock: Clock, named: Mapping[str, float | None]) -> Json:
    """Memory times by name: each as wall time under its name, and as it is under ``NAME_memory_time``."""
    found: Json = {}
    for name, time in named.items():
        found[name] = None if time is None else iso(clock.wall(time))
        found[f"{name}_memory_time"] = time
    return found


def iso(time: datetime | None) -> str | None:
    """Wall time as text: UTC, ISO 8601, to the microsecond."""
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def metres(values: Iterable[float]) -> list[float]:
    """Coordinates or sizes as they are written."""
    return [round(float(value), 4) for value in values]
