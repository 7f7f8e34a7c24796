"""What a node answers: find, ask, last_seen, what_changed, tell and forget, as plain values in and out.

The services and the JSON topic pass here, so both take and give the same; nonsense is one line that names the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from lastseen.errors import InvalidValue, LastseenError
from lastseen.finite import is_finite
from lastseen.memory.memory import Memory
from lastseen.memory.store.clock import Moment
from lastseen.ros2.publications import event_tree, object_tree
from lastseen.server.parameters import parse_time
from lastseen.server.serializers import answer_json, change_json, fact_json, object_json, reply_json
from lastseen.sources.ros.transport import Tree

REQUESTS, RESPONSES = "~/request", "~/response"
"""Topics of std_msgs/String: a request as JSON, and the response to it with the same ``id``."""
MAX_REQUEST = 65_536
"""Characters of a request: a question is a sentence."""
MAX_OBJECTS = 1000
"""Objects or events that a response holds at most: some MB of JSON."""
_MAX_EVENTS = 10**6
"""Events that are looked at, where so many are asked for."""

_ID = re.compile(r"obj-\d+")
_KINDS = {str: "text", int: "a whole number from 0", float: "a number", bool: "true or false", dict: "x, y and z"}
_TIME = object
"""A time comes as text, as seconds or as a message."""


def call(memory: Memory, name: str, request: Mapping[str, Any]) -> Tree:
    """Answer a call; ``ok`` is false and ``error`` one line where it cannot be answered."""
    try:
        checked(name, request, FIELDS)
        return {"ok": True, "error": "", **_CALLS[name][0](memory, request)}
    except LastseenError as error:
        return {"ok": False, "error": str(error)}


def _find(memory: Memory, request: Mapping[str, Any]) -> Tree:
    radius = float(request.get("radius") or 0.0)
    near = _point("near", request["near"]) if radius and "near" in request else None
    answer = memory.find(
        request["text"],
        k=min(request.get("k") or 0, MAX_OBJECTS) or None,
        near=near,
        radius=radius if near is not None else None,
        include_tentative=request.get("include_tentative", False),
        include_removed=request.get("include_removed", False),
    )
    return answer_json(answer)


def _ask(memory: Memory, request: Mapping[str, Any]) -> Tree:
    return reply_json(memory, memory.ask(request["question"]))


def _last_seen(memory: Memory, request: Mapping[str, Any]) -> Tree:
    """The newest sighting of what fits, also of what is gone since."""
    text = request["text"].strip()
    if _ID.fullmatch(text):
        one = memory.object(text)
        return {"status": "found", "reason": f"remembered as {one.id}", "object": object_json(one)}
    answer = memory.find(text, include_removed=True)
    newest = max(answer.fitting, key=lambda hit: (hit.last_seen_memory_time, hit.id), default=None)
    found = None if newest is None else object_json(newest)
    return {"status": answer.status, "reason": answer.reason, "object": found}


def _what_changed(memory: Memory, request: Mapping[str, Any]) -> Tree:
    newest = request.get("newest")
    changes = memory.what_changed(
        _time("since", request.get("since")), newest=None if not newest else min(newest, _MAX_EVENTS)
    )
    return {"events": [change_json(memory.browse.clock, one) for one in changes[-MAX_OBJECTS:]]}


def _tell(memory: Memory, request: Mapping[str, Any]) -> Tree:
    given = request.get("has_position", "position" in request)
    position = _point("position", request.get("position", {})) if given else None
    return fact_json(memory.browse.clock, memory.tell(request["text"], position=position))


def _forget(memory: Memory, request: Mapping[str, Any]) -> Tree:
    if not request["id"]:
        raise InvalidValue("id", "", "is empty", remedy="give the id of an object or a fact")
    gone = memory.forget(request["id"])
    return {"forgotten": list(gone), "not_yet": list(gone.not_yet)}


_CALLS: dict[str, tuple[Callable[[Memory, Mapping[str, Any]], Tree], dict[str, type]]] = {
    "find": (
        _find,
        {"text": str, "k": int, "near": dict, "radius": float, "include_tentative": bool, "include_removed": bool},
    ),
    "ask": (_ask, {"question": str}),
    "last_seen": (_last_seen, {"text": str}),
    "what_changed": (_what_changed, {"since": _TIME, "newest": int}),
    "tell": (_tell, {"text": str, "has_position": bool, "position": dict}),
    "forget": (_forget, {"id": str}),
}
"""What answers each call, and its fields with their types; the first one is required, unless it is a time."""
FIELDS = {name: fields for name, (_, fields) in _CALLS.items()}


def checked(name: str, request: Mapping[str, Any], calls: Mapping[str, Mapping[str, type]]) -> None:
    """Refuse a call that is not known, and fields that are not known or of another type."""
    if name not in calls:
        raise InvalidValue("call", name, "is not known", remedy=f"use one of {', '.join(calls)}")
    fields = calls[name]
    required = next((key for key, kind in list(fields.items())[:1] if kind is not _TIME), None)
    if required is not None and required not in request:
        raise InvalidValue(required, None, f"is missing in {name}", remedy=f"it has {', '.join(fields)}")
    for key, value in request.items():
        if key not in fields:
            raise InvalidValue(
                "request", {key: value}, f"is no field of {name}", remedy=f"it has {', '.join(fields)}"
            )
        kind = fields[key]
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if (
            (not fits and kind is not float)
            or (kind is int and value < 0)
            or (kind is float and not is_finite(value))
        ):
            raise InvalidValue(
                key, value, f"must be {_KINDS.get(kind, 'a time')}", remedy=f"see {name} in docs/ros2.md"
            )


def answer_request(text: str, answer: Callable[[str, Mapping[str, Any]], Tree]) -> str:
    """The response to a request of the JSON topic; ``id`` and ``call`` come back, to tell whose it is."""
    try:
        head, request = parsed_request(text)
    except InvalidValue as error:
        return json.dumps({"id": None, "call": None, "ok": False, "error": str(error)})
    return json.dumps({**head, **answer(head["call"], request)})


def parsed_request(text: str) -> tuple[Tree, Tree]:
    """The head of a request as JSON, which comes back with its answer (``id``, ``call``), and the other fields.

    ``forget`` has an ``id`` of its own, the one of what to forget; ``object_id`` gives it here.
    """
    remedy = 'write {"id": 1, "call": "find", "text": "red mug"}'
    if len(text) > MAX_REQUEST:
        raise InvalidValue("request", text, f"has more than {MAX_REQUEST} characters", remedy=remedy)
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidValue("request", text, "is not JSON", remedy=remedy) from None
    if not isinstance(request, dict):
        raise InvalidValue("request", text, "is no JSON object", remedy=remedy)
    head = {"id": request.pop("id", None), "call": request.pop("call", None)}
    if not (head["id"] is None or isinstance(head["id"], str) or is_finite(head["id"])):
        raise InvalidValue("id", head["id"], "must be text or a number", remedy=remedy)
    if not isinstance(head["call"], str):
        raise InvalidValue("call", head["call"], "is not known", remedy=remedy)
    if head["call"] == "forget" and "object_id" in request:
        request["id"] = request.pop("object_id")
    return head, request


def response_tree(name: str, answer: Mapping[str, Any]) -> Tree:
    """The answer to a call as the fields of its service's response."""
    tree: Tree = {"ok": answer["ok"], "error": answer["error"]}
    if not answer["ok"]:
        return tree
    if name in {"find", "last_seen"}:
        tree |= {"status": answer["status"], "reason": answer["reason"]}
    if name == "find":
        tree["objects"] = [object_tree(one) for one in answer["results"]]
    elif name == "last_seen" and answer["object"] is not None:
        tree["object"] = object_tree(answer["object"])
    elif name == "ask":
        tree |= {key: answer[key] for key in ("status", "kind", "sentence")}
        tree |= {"count": -1 if answer["count"] is None else answer["count"]}
        tree["objects"] = [object_tree(one) for one in answer["objects"]]
    elif name == "what_changed":
        tree["events"] = [event_tree(one) for one in answer["events"]]
    elif name == "tell":
        tree |= {"fact_id": answer["id"], "kind": answer["kind"], "object_id": answer["object_id"] or ""}
    elif name == "forget":
        tree |= {"forgotten": answer["forgotten"], "not_yet": answer["not_yet"]}
    return tree


def _point(name: str, value: Mapping[str, Any]) -> tuple[float, float, float]:
    numbers = [value.get(axis) for axis in "xyz"]
    if not all(is_finite(one) for one in numbers):
        raise InvalidValue(name, value, "must have finite x, y and z", remedy='write {"x": 1.0, "y": 2.0, "z": 0.0}')
    x, y, z = (float(one) for one in numbers if one is not None)
    return x, y, z


def _time(name: str, value: object) -> Moment | None:
    """A time: text as everywhere, seconds since 1970, or a message's Time; None or zero for none."""
    if isinstance(value, str):
        return parse_time(name, value)
    try:
        if isinstance(value, Mapping):
            value = float(value.get("sec", 0)) + float(value.get("nanosec", 0)) / 1e9
        if value is None or value == 0:
            return None
        return datetime.fromtimestamp(value, tz=UTC)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError, OSError):
        raise InvalidValue(name, value, "is no time", remedy="ISO 8601, or seconds since 1970") from None
