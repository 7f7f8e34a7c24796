"""The navigation context as lines of text, and how it is brought within its budget.

One line is one fact and starts with the word that says which, so that a person, a model and a program can each
find theirs. Everything that came from outside stands in quotes.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from lastseen.search.planning.prompt import quote, say_angle, say_path, say_where

Context = dict[str, Any]

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
        lines.append(_progress(context["progress"]))
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


def _progress(facts: dict[str, Any]) -> str:
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
