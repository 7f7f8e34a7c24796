from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from lastseen.memory.memory import Memory
from lastseen.ros2.calls import MAX_REQUEST, answer_request, response_tree
from lastseen.ros2.calls import call as answered
from lastseen.ros2.memory_node import MemoryNode
from lastseen.sources.ros.messages import to_cdr
from tests.ros2.graph import FakeTransport, memory_with


@pytest.fixture
def memory() -> Iterator[Memory]:
    with memory_with(("mug", (1.0, 0.0, 0.8)), ("chair", (0.0, 1.5, 0.4))) as opened:
        yield opened


def test_find_answers_as_the_memory_does(memory: Memory) -> None:
    answer = answered(memory, "find", {"text": "mug"})
    assert answer["ok"]
    assert answer["status"] == memory.find("mug").status == "found"
    tree = response_tree("find", answer)
    assert tree["objects"][0]["label"] == "mug"
    assert tree["objects"][0]["last_seen"]["sec"] == 1_000_007
    assert tree["objects"][0]["yaw"] == memory.find("mug").hits[0].yaw


def test_find_near_a_point_leaves_out_what_is_farther(memory: Memory) -> None:
    near = {"x": 0.0, "y": 1.5, "z": 0.4}
    assert answered(memory, "find", {"text": "mug", "near": near, "radius": 0.5})["status"] == "not_found"
    assert answered(memory, "find", {"text": "mug", "near": near, "radius": 0.0})["status"] == "found"


def test_last_seen_takes_words_or_an_id(memory: Memory) -> None:
    by_words = answered(memory, "last_seen", {"text": "the mug"})
    by_id = answered(memory, "last_seen", {"text": by_words["object"]["id"]})
    assert by_words["object"]["id"] == by_id["object"]["id"]
    assert response_tree("last_seen", by_id)["object"]["position"]["x"] == pytest.approx(1.0, abs=0.01)


def test_ask_tell_what_changed_and_forget_go_through(memory: Memory) -> None:
    call = partial(answered, memory)
    assert response_tree("ask", call("ask", {"question": "how many chairs are there?"}))["count"] == 1
    told = response_tree("tell", call("tell", {"text": "there is a kettle", "position": {"x": 1, "y": 1, "z": 1}}))
    assert told["fact_id"]
    kinds = [one["kind"] for one in response_tree("what_changed", call("what_changed", {}))["events"]]
    assert "confirmed" in kinds
    since = {"sec": 2_000_000, "nanosec": 0}
    assert call("what_changed", {"since": since})["events"] == []
    gone = response_tree("forget", call("forget", {"id": told["fact_id"]}))
    assert told["fact_id"] in gone["forgotten"]


@pytest.mark.parametrize(
    ("call", "request_", "words"),
    [
        ("fly", {}, "call = 'fly': is not known"),
        ("find", {}, "text"),
        ("find", {"text": 5}, "must be text"),
        ("find", {"text": "mug", "k": -1}, "whole number"),
        ("find", {"text": "mug", "radius": float("nan")}, "must be a number"),
        ("find", {"text": "mug", "near": {"x": 1}, "radius": 1.0}, "finite x, y and z"),
        ("find", {"text": "mug", "colour": "red"}, "is no field of find"),
        ("forget", {"id": ""}, "is empty"),
        ("forget", {"id": "obj-999"}, "obj-999"),
        ("tell", {"text": "xyzzy"}, "is not understood"),
        ("what_changed", {"since": "yesterday or so"}, "is no time"),
        ("what_changed", {"since": {"sec": []}}, "is no time"),
        ("what_changed", {"since": 1e300}, "is no time"),
        ("what_changed", {"since": []}, "is no time"),
        ("find", {"text": "mug", "radius": 10**400}, "must be a number"),
        ("find", {"text": "mug", "near": {"x": 10**400, "y": 0, "z": 0}, "radius": 1}, "finite x, y and z"),
        ("find", {"text": "mug", "\ud800": 1}, "request = {'\\ud800': 1}: is no field of find"),
    ],
)
def test_nonsense_is_one_line_that_names_the_field(memory: Memory, call: str, request_: Any, words: str) -> None:
    answer = answered(memory, call, request_)
    assert not answer["ok"]
    assert words in answer["error"]
    assert "\n" not in answer["error"]
    assert response_tree(call, answer) == {"ok": False, "error": answer["error"]}


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "5", "[" * 5000, '"' + "a" * MAX_REQUEST + '"'])
def test_a_request_that_is_no_json_object_is_answered(memory: Memory, text: str) -> None:
    answer = json.loads(answer_request(text, partial(answered, memory)))
    assert not answer["ok"]
    assert answer["error"].startswith("request = ")


def test_a_response_carries_the_id_of_its_request(memory: Memory) -> None:
    text = answer_request('{"id": "a7", "call": "find", "text": "mug"}', partial(answered, memory))
    answer = json.loads(text)
    assert (answer["id"], answer["call"], answer["status"]) == ("a7", "find", "found")


@pytest.mark.parametrize(
    "head", ['"id": NaN', '"id": 1e999', '"id": [1]', '"call": []', '"call": {"a": 1e999}', '"call": 1']
)
def test_a_head_that_cannot_come_back_is_refused(memory: Memory, head: str) -> None:
    text = '{"call": "find", "text": "mug", ' + head + "}"
    node = MemoryNode(transport := FakeTransport())
    node.memory = memory
    node._on_request(to_cdr("std_msgs/msg/String", {"data": text}))
    response = transport.sent[-1].tree["data"]
    assert "NaN" not in response.split('"error"')[0]
    assert "Infinity" not in response
    assert json.loads(response)["ok"] is False


def test_a_huge_number_of_events_is_as_many_as_there_are(memory: Memory) -> None:
    assert answered(memory, "what_changed", {"newest": 10**30})["events"]


def test_an_object_is_forgotten_by_the_json_topic(memory: Memory) -> None:
    gone = json.loads(answer_request('{"id": 3, "call": "forget", "object_id": "obj-1"}', partial(answered, memory)))
    assert (gone["id"], gone["forgotten"]) == (3, ["obj-1"])


def test_random_requests_never_break_a_call(memory: Memory, soak: int) -> None:
    rng = np.random.default_rng(3)
    values: list[Any] = [
        "mug",
        "",
        "\x00",
        -1,
        0,
        2**40,
        1e308,
        True,
        None,
        [],
        {},
        {"x": 1, "y": 2, "z": 3},
        {"sec": -5},
    ]
    names = [
        "text",
        "k",
        "near",
        "radius",
        "question",
        "since",
        "newest",
        "has_position",
        "position",
        "id",
        "include_removed",
    ]
    node = MemoryNode(FakeTransport())
    node.memory = memory
    for _ in range(100 * soak):
        call = str(rng.choice(["find", "ask", "last_seen", "what_changed", "tell", "forget", "x"]))
        picked = rng.choice(names, int(rng.integers(0, 4)), replace=False)
        request = {str(name): values[int(rng.integers(len(values)))] for name in picked}
        answer = node.call(call, request)
        assert isinstance(answer["ok"], bool)
        assert " failed: " not in answer["error"], (call, request, answer)
        assert json.dumps(answer)
        response_tree(call, answer)
