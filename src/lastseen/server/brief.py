"""Answers for agents: the same values as REST gives, without what an agent pays for in tokens and has no use for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lastseen.server.serializers import Json, iso

_USUAL = {"kind": "object", "provenance": "seen", "alignment": "aligned", "state": "confirmed"}
"""What goes without saying of an object."""
_KEPT_EMPTY = frozenset({"results", "objects", "changes", "relations", "places", "history", "objects_in"})
_LEFT_OUT = {
    *("extent", "yaw", "place_id", "first_seen", "session", "hits", "stability", "stamp", "frame_epoch"),
    *("offset", "quaternion_xyzw", "timestamp", "pictures", "cut", "asked", "question", "times", "as_of_memory_time"),
}
"""Of every answer; ``get_object`` has what is left out of an object."""
_DATED = {"last_seen_memory_time": "last_seen", "memory_time": "time", "now_memory_time": "now"}
"""Memory times, which are told only where no date is known."""
_DETAILS = (
    *("status", "reason", "id", "label", "position", "state", "place", "color", "last_seen", "last_seen_memory_time"),
    *("age", "kind", "provenance", "alignment", "snapshots", "label_scores", "relations", "history"),
)
_PLACE = ("id", "type", "storey", "area", "provenance", "objects_in")
MOST_EVIDENCE = 10
"""Objects that a reply names: the sentence counts them all, and the first are what it is about."""
_DECIMALS = 2
"""Of metres and scores: a centimetre is more than a map holds."""


def brief(value: Any, *, now: datetime | None = None) -> Any:
    """A JSON value as an agent gets it; with ``now``, the age of what has a date counts to the moment of asking."""
    if isinstance(value, dict):
        return _brief_dict(value, now)
    if isinstance(value, list):
        return [brief(one, now=now) for one in value]
    return round(value, _DECIMALS) if isinstance(value, float) else value


def brief_reply(reply: Json, *, now: datetime | None = None) -> Json:
    """A reply with the first objects that it rests on, and what changed of these; ``more`` counts the others."""
    objects = reply["objects"]
    kept = {one["id"] for one in objects[:MOST_EVIDENCE]}
    changes = [one for one in reply.get("changes") or [] if one["id"] in kept][-MOST_EVIDENCE:]
    short: Json = brief({**reply, "objects": objects[:MOST_EVIDENCE], "changes": changes}, now=now)
    if not changes:
        short.pop("changes", None)
    return {**short, "more": len(objects) - MOST_EVIDENCE} if len(objects) > MOST_EVIDENCE else short


def brief_details(details: Json, *, now: datetime | None = None) -> Json:
    """One object as in a list, with its size, how often it was seen, what else it was called, its last history."""
    short: Json = brief({name: details[name] for name in _DETAILS}, now=now)
    first_seen = _second("first_seen", details["first_seen"])
    return {**short, "size": brief(details["extent"]), "first_seen": first_seen, "hits": details["hits"]}


def _brief_dict(value: Json, now: datetime | None) -> Json:
    if "outline" in value and "anchors" in value:
        value = {name: value[name] for name in _PLACE if name in value}
    if "evidence" in value:
        value = _change(value)
    short: Json = {}
    for name, one in value.items():
        if name in _LEFT_OUT or one is None or (one == [] and name not in _KEPT_EMPTY):
            continue
        if ("extent" in value and _USUAL.get(name) == one) or (
            name in _DATED and value.get(_DATED[name]) is not None
        ):
            continue
        short[name] = _second(name, brief(one, now=now))
    if now is not None and "age" in short and (seen := value.get("last_seen") or value.get("time")):
        short["age"] = max(0, round((now - datetime.fromisoformat(seen)).total_seconds()))
    return short


def _change(change: Json) -> Json:
    """Where a thing went, instead of the figures by which that was decided."""
    evidence = change["evidence"] or {}
    moved = {to: evidence[of] for of, to in (("before", "from_position"), ("after", "position")) if evidence.get(of)}
    free = {name: evidence[name] for name in ("place_was_free", "absorbed", "text") if name in evidence}
    return {**{name: one for name, one in change.items() if name != "evidence"}, **moved, **free}


def _second(name: str, value: Any) -> Any:
    """A date to the second."""
    if name in ("last_seen", "time", "now", "as_of", "first_seen") and isinstance(value, str):
        return iso(datetime.fromisoformat(value).astimezone(UTC).replace(microsecond=0))
    return value
