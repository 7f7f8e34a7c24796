"""The questions a memory answers, as plain functions: REST, MCP and the command line ask the same ones.

Each takes a memory and what a request says, as text where a request gives text, and returns JSON values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

from lastseen.errors import InvalidValue
from lastseen.memory.memory import Memory
from lastseen.memory.object import Answer, Object, Point, Status
from lastseen.memory.places import normalize_scene_type
from lastseen.memory.reply import Reply
from lastseen.memory.sessions import prefix_of
from lastseen.server.parameters import DEFAULT_RADIUS, checked_point, parse_time
from lastseen.server.robot_track import age_in_words, direction_json
from lastseen.server.serializers import (
    Json,
    answer_json,
    change_json,
    history_json,
    listed_object_json,
    listed_objects,
    object_json,
    places_json,
    rest_object_json,
    session_json,
    times,
)

STATES = ("tentative", "confirmed", "stale", "missing", "removed")
_MOST_NEAR = 10_000
"""Objects that a place is asked for: more than a floor of a building holds."""
_MOST_BY_STATE = 10_000
"""Objects that are sorted by state at once."""
_MOST_IN_PLACE, _MOST_TOLD = 2000, 200
"""Objects of one place that are listed in full, and those that an agent is told of."""
_MOST_NAMED = 3
"""Objects that an agent is given for a name."""
_MARKS = 2000
"""Events that a timeline reads, from the newest back; more could not be told apart on a screen."""
_MARKED = ("moved", "missing", "removed", "reappeared", "corrected", "confirmed")
_MOST_APART = 2000
"""Objects of a session that is kept apart: as many as a page can draw beside a home."""


def ask(memory: Memory, question: str, *, phrase: bool = False) -> Reply:
    """Answer a question in words; with ``phrase``, through the language model that the settings name."""
    model = memory.settings.find.language_model
    if phrase and not model:
        raise InvalidValue("phrase", phrase, "needs a language model", remedy="set find.language_model")
    return memory.ask(question, model=model if phrase else None)


def find(
    memory: Memory,
    text: str,
    *,
    near: Point | None = None,
    radius: float | None = None,
    label: str | None = None,
    since: str | None = None,
    before: str | None = None,
    as_of: str | None = None,
    include_tentative: bool = False,
    include_removed: bool = False,
    robots: str | None = None,
    k: int | None = None,
    threshold: float = 0.0,
) -> Answer:
    """``Memory.find`` by words, with times as text; objects with a score below ``threshold`` are left out."""
    answer = memory.find(
        text,
        near=near,
        radius=DEFAULT_RADIUS if near is not None and radius is None else radius,
        label=label or None,
        since=parse_time("since", since),
        before=parse_time("before", before),
        as_of=parse_time("as_of", as_of),
        include_tentative=include_tentative,
        include_removed=include_removed,
        robots=robots,
        k=k,
    )
    hits = tuple(hit for hit in answer.hits if (hit.score or 0.0) >= threshold)
    if answer.fitting and not any(answer.fits(hit) for hit in hits):
        reason = f"{answer.reason}, but its score is below the threshold {threshold:g}"
        return replace(answer, status="not_found", reason=reason, hits=hits)
    return replace(answer, hits=hits)


def last_seen(memory: Memory, text: str) -> Json:
    """When and where a thing was seen last, also when it is gone or was never confirmed."""
    answer = find(memory, text, include_tentative=True, include_removed=True, k=_MOST_NAMED)
    return {**answer_json(answer), **now_json(memory)}


def find_by_label(memory: Memory, text: str, *, k: int, include_tentative: bool = True) -> Json:
    """Objects by the detector's own labels; an exact label before one that has the words among others."""
    asked = " ".join(text.lower().split())
    if not asked:
        raise InvalidValue("query", text, "must name a label", remedy="for example mug")
    found = memory.browse.labelled(
        lambda label: 1.0 if label == asked else 0.5 if f" {asked} " in f" {label} " else 0.0
    )
    if not include_tentative:
        confirmed = set(memory.browse.positions()[0])
        found = [one for one in found if one[1] in confirmed]
    matched = {object_id: (score, label) for score, object_id, label in found[:k]}
    results = [
        {
            **one,
            "score": round(matched[one["id"]][0], 4),
            "matched_label": matched[one["id"]][1],
            "image_url": image_url(one["id"]),
        }
        for one in listed_objects(memory, memory.browse.states(list(matched)))
    ]
    status = "found" if len(results) == 1 else "ambiguous" if results else "not_found"
    reason = f"{len(results)} labelled like {asked!r}" if results else f"nothing is labelled like {asked!r}"
    return {"status": status, "reason": reason, "results": results}


def near(
    memory: Memory,
    point: Point,
    *,
    radius: float,
    offset: int = 0,
    limit: int = 20,
    serialize: Callable[[Object], Json] = object_json,
) -> Json:
    """What stands within a radius of a point, nearest first, each with its ``distance_m``."""
    answer = memory.find(near=checked_point("point", point), radius=radius, k=_MOST_NEAR)
    some = answer.hits[offset : offset + limit]
    results = [{**serialize(hit), "distance_m": round(math.dist(hit.position, point), 4)} for hit in some]
    total = len(answer.hits)
    return {"status": answer.status, "reason": answer.reason, "total": total, "offset": offset, "results": results}


def list_objects(
    memory: Memory,
    *,
    label: str | None = None,
    state: str | None = None,
    include_tentative: bool = False,
    include_removed: bool = False,
    as_of: str | None = None,
    offset: int = 0,
    limit: int = 100,
    full: bool = False,
) -> Json:
    """Objects in the order of their ids, now or as they were known at a time; ``state`` lists those of one state.

    ``full`` adds what only working memory knows, such as the scores of all labels.
    """
    if state is not None and state not in STATES:
        raise InvalidValue("state", state, "is no state", remedy=f"one of {', '.join(STATES)}")
    browse, moment = memory.browse, parse_time("as_of", as_of)
    chosen: dict[str, Any] = {
        "label": label or None,
        "include_tentative": include_tentative or state == "tentative",
        "include_removed": include_removed or state in ("missing", "removed"),
    }
    bounds: dict[str, Any] = {"offset": offset, "limit": limit} if state is None else {"limit": _MOST_BY_STATE}
    page = browse.page(**chosen, **bounds) if moment is None else browse.past(moment, **chosen, **bounds)
    then = None if moment is None else browse.time(moment, name="as_of")
    found = list(zip(memory.browse.described(page.objects, now=then), page.objects, strict=True))
    total = page.total
    if state is not None:
        found = [(one, record) for one, record in found if one.state == state]
        total, found = len(found), found[offset : offset + limit]
    return {
        "status": "found" if total else "not_found",
        "reason": f"{total} remembered" if total else "nothing of that kind is remembered",
        "total": total,
        "offset": offset,
        **now_json(memory),
        **times(browse.clock, {"as_of": then}),
        "objects": [listed_object_json(one, record) if full else object_json(one) for one, record in found],
    }


def object_details(memory: Memory, object_id: str, *, vectors: bool = False) -> Json:
    """Everything about one object, ``vectors`` with its embeddings; an id that is not remembered raises."""
    pictures = memory.browse.pictures(object_id)
    states = memory.browse.states([object_id])
    if not states:
        raise InvalidValue("object_id", object_id, "is not remembered", remedy="list the objects")
    mean, gallery = states[0].emb_mean, states[0].emb_gallery
    embeddings = {
        "emb_mean": None if mean is None else mean.tolist(),
        "emb_gallery": None if gallery is None else gallery.tolist(),
    }
    return {
        **listed_objects(memory, states)[0],
        "detection_rate": round(states[0].detection_rate, 4),
        "snapshots": len(pictures),
        "snapshot_urls": [f"/objects/{object_id}/snapshots/{number}/image" for number in range(len(pictures))],
        "snapshot_memory_times": [picture.time for picture in pictures],
        "relations": relations(memory, object_id),
        **(embeddings if vectors else {}),
    }


def relations(memory: Memory, object_id: str) -> list[Json]:
    """How an object stands to those around it; an id that is not remembered raises."""
    found = memory.relations(object_id)
    labels = {state.id: state.label for state in memory.browse.states([one.other_id for one in found])}
    return [
        {
            "kind": str(one.kind),
            "other_id": one.other_id,
            "other_label": labels.get(one.other_id),
            "gap_m": round(one.gap, 4),
        }
        for one in found
    ]


def history(memory: Memory, object_id: str) -> list[Json]:
    """Where an object was and what happened to it, oldest first; an id that is not remembered raises."""
    return [history_json(memory.browse.clock, entry) for entry in memory.history(object_id)]


def changes(memory: Memory, *, since: str | None = None, limit: int | None = None) -> Json:
    """What happened to objects, oldest first; the newest when there are more than the limit."""
    # what happened to tentative objects is left out, so more events than asked for are read
    found = memory.what_changed(parse_time("since", since), newest=None if limit is None else limit * 10)
    kept = found if limit is None else found[-limit:]
    more = len(found) > len(kept)
    return {
        "status": "found" if kept else "not_found",
        "reason": changes_in_words(len(kept), more=more),
        "count": len(kept),
        "more": more,
        **now_json(memory),
        "changes": [change_json(memory.browse.clock, change) for change in kept],
    }


def changes_in_words(number: int, *, more: bool) -> str:
    """How many changes an answer has."""
    return counted(number, "change") + (", older ones left out" if more else "")


def timeline(memory: Memory) -> Json:
    """The sessions, and marks of what happened in them."""
    clock, sessions = memory.browse.clock, memory.sessions()
    changes = [change for change in memory.what_changed(newest=_MARKS) if change.kind in _MARKED]
    marks = [change_json(clock, change) for change in changes]
    ends = {"first": sessions[0].first if sessions else None, "last": sessions[-1].last if sessions else None}
    return {
        **times(clock, {**ends, "now": clock.now}),
        "sessions": [
            {"id": one.id, "robot": one.robot, **times(clock, {"first": one.first, "last": one.last})}
            for one in sessions
        ],
        "marks": [{name: mark[name] for name in ("time", "memory_time", "kind", "id", "label")} for mark in marks],
    }


def sessions(memory: Memory) -> Json:
    """Every session with the map it is in; ``frame`` leads from the running one's map to the memory's."""
    clock, frame = memory.browse.clock, memory.frame
    found = [
        session_json(clock, session, frame)
        for session, frame in zip(memory.sessions(), memory.session_frames(), strict=True)
    ]
    return {"frame": asdict(frame), "sessions": found}


def session_objects(memory: Memory, session: int) -> Json:
    """What a session that is kept apart remembers, in a map of its own; ids begin with ``session-N/``."""
    frames = {frame.session: frame for frame in memory.session_frames()}
    frame = frames.get(session)
    if frame is None or frame.state != "quarantined":
        problem = "is not there" if frame is None else "is in the memory's map: its objects are among the memory's"
        raise InvalidValue("session", session, problem, remedy="/sessions lists those that are kept apart")
    with ExitStack() as opened:
        if session == len(frames) and memory.current is not memory:
            apart = memory.current
        else:
            file = None if memory.path is None or frame.file is None else memory.path.with_name(frame.file)
            if file is None or not file.is_file():
                name = frame.file or "of its own"
                raise InvalidValue("session", session, f"has no file {name}", remedy="put it beside the memory again")
            apart = opened.enter_context(Memory.open(file, settings=memory.settings, read_only=True))
        found = [rest_object_json(one) for one in apart.objects()[:_MOST_APART]]
        later = memory.browse.clock.sessions[session - 1].first - (apart.sessions()[0].first if found else 0.0)
    for one in found:
        one["id"] = f"{prefix_of(session)}{one['id']}"
        one["last_seen_memory_time"] += later
        one["place"] = one["place_id"] = None
    return {"session": session, "objects": found}


def places(memory: Memory) -> Json:
    """Every room with the ids of the confirmed objects that stand in it, and every anchor."""
    found, inside = places_json(memory), _ids_by_place(memory)
    for place in found["places"]:
        place["object_ids"] = inside.get(place["id"], [])
    return found


def place_details(memory: Memory, place_id: int) -> Json | None:
    """One place with the objects in it; None where it is not known."""
    place: Json | None = next((place for place in places(memory)["places"] if place["id"] == place_id), None)
    if place is None:
        return None
    states = memory.browse.states(place["object_ids"][:_MOST_IN_PLACE])
    return {**place, "objects_in": listed_objects(memory, states)}


def whats_in(memory: Memory, name: str) -> Json:
    """The confirmed objects in places, named by id or by kind; at most 200 of each place."""
    known = places(memory)["places"]
    wanted = normalize_scene_type(name)
    chosen = [one for one in known if str(one["id"]) == name.strip() or normalize_scene_type(one["type"]) == wanted]
    if not chosen:
        names = ", ".join(dict.fromkeys(f"{one['type']} ({one['id']})" for one in known)) or "none yet"
        return {"status": "not_found", "reason": f"no place is known as {name!r}; known are {names}", "places": []}
    count = sum(len(one["object_ids"]) for one in chosen)
    for one in chosen:
        inside = memory.browse.described(memory.browse.states(one["object_ids"][:_MOST_TOLD]))
        one["objects_in"] = [object_json(thing) for thing in inside]
    reason = f"{counted(count, 'thing')} in {counted(len(chosen), 'place')}"
    return {"status": "found", "reason": reason, "places": chosen}


def go_to_hint(memory: Memory, text: str, robot_pose: Json | None) -> Json:
    """Which way and how far from the robot a thing is, by words or by an id."""
    asked = text.strip()
    if asked.startswith("obj-"):
        found = memory.browse.described(memory.browse.states([asked])) if _is_id(asked) else []
        status: Status = "found"
        reason = f"{asked} is remembered"
        if not found:
            return {"status": "not_found", "reason": f"{asked} is not remembered"}
        if found[0].state in ("missing", "removed"):
            status, reason = "not_found", f"{asked} was remembered, but its place was seen empty"
        results = [object_json(one) for one in found]
    else:
        answer = find(memory, text, k=_MOST_NAMED)
        status, reason, results = answer.status, answer.reason, [object_json(hit) for hit in answer.fitting]
    if robot_pose is None:
        return {"status": status, "reason": f"{reason}; where the robot is, is not known", "results": results}
    for one in results:
        one.update(direction_json(robot_pose, one["position"]))
    reason = f"{reason}; the robot stood there {age_in_words(robot_pose['age'])}"
    above = [one["id"] for one in results if not memory.space.storeys.is_here(one["position"][2])]
    if above:
        reason = f"{reason}; {', '.join(above)} on another storey: no path is known to it"
    return {"status": status, "reason": reason, "robot_pose": robot_pose, "results": results}


def best_picture(memory: Memory, object_id: str) -> bytes | None:
    """The best picture of an object as JPEG; None where there is none."""
    found = memory.browse.pictures(object_id)
    return max(found, key=lambda crop: crop.quality).jpeg if found else None


def now_json(memory: Memory) -> Json:
    """The time of the newest frame."""
    return times(memory.browse.clock, {"now": memory.browse.now})


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def image_url(object_id: str) -> str:
    """Where the best picture of an object is served."""
    return f"/objects/{object_id}/image"


def _ids_by_place(memory: Memory) -> dict[int, list[str]]:
    ids, positions = memory.browse.positions()
    found: dict[int, list[str]] = {}
    for object_id, room in zip(ids, memory.room_at(positions, ids), strict=True):
        if room is not None:
            found.setdefault(room.id, []).append(object_id)
    return found


def _is_id(text: str) -> bool:
    return text.removeprefix("obj-").isdecimal() and text.isascii() and len(text) < 24
