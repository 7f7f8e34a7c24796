"""The same question has the same answer through Python, REST, MCP and the command line, live and from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.memory.memory import Memory
from lastseen.memory.object import Answer, Object
from lastseen.server.brief import brief
from lastseen.server.run import Running
from lastseen.server.serializers import iso, object_json
from tests.memory.homes import ROOM, walk
from tests.server.conftest import serving
from tests.server.test_mcp import address, ask

NAMES = [field.name for field in fields(Object) if field.compare]
DATED = 1_800_000_000.0
"""Wall clock (s since 1970) of the first frame; stamps count from 0."""
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("red mug", {}),
    ("mug", {}),
    ("mug", {"near": (1.0, 0.0, 0.8), "radius": 0.5}),
    ("sofa", {"near": (2.0, 2.0, 0.4)}),
    ("yellow mug", {}),
    ("helicopter", {}),
    ("chair", {"since": 3.0}),
    ("chair", {"before": 3.0}),
    ("sofa", {"as_of": 4.0}),
]


def wall(seconds: float) -> str:
    text = iso(datetime.fromtimestamp(DATED + seconds, tz=UTC))
    assert text is not None
    return text


@pytest.fixture(scope="module", params=["live", "file"])
def entries(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, Path]]:
    """A served memory of a dated walk, and its file; ``file`` opens it anew for reading."""
    path = tmp_path_factory.mktemp("same") / "home.lastseen"
    with Memory.open(path, wall_clock=lambda: DATED) as memory:
        walk(memory, 8, ROOM, looks="random")
        memory.flush()
        if request.param == "live":
            with serving(memory) as running:
                yield running, path
    if request.param == "file":
        with Memory.open(path, read_only=True) as memory, serving(memory) as running:
            yield running, path


def get(running: Running, path: str, **params: Any) -> Any:
    answer = requests.get(f"{running.address.base}{path}", params=params, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def run(*words: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    return json.loads(result.stdout)


def told(one: Any) -> dict[str, Any]:
    """The fields that every entry has."""
    return {name: one[name] for name in NAMES}


def same_in_brief(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """An agent is told less of each thing, and its age at the moment of asking."""
    for one, whole in zip(found, expected, strict=True):
        short = {name: value for name, value in brief(whole).items() if name != "age"}
        assert {name: one[name] for name in short} == short
        assert len(json.dumps(one)) < 300


@pytest.mark.parametrize(("text", "limits"), QUESTIONS)
def test_find(entries: tuple[Running, Path], text: str, limits: dict[str, Any]) -> None:
    running, path = entries
    times: dict[str, Any] = {name: limits[name] for name in ("since", "before", "as_of") if name in limits}
    dates: dict[str, Any] = {name: wall(seconds) for name, seconds in times.items()}
    near, radius = limits.get("near"), limits.get("radius")
    asked: dict[str, Any] = {name: datetime.fromisoformat(date) for name, date in dates.items()}
    if near is not None:
        asked |= {"near": near, "radius": radius or 3.0}
    answer: Answer = running.service.memory.find(text, **asked)
    expected: dict[str, Any] = {
        "status": answer.status,
        "reason": answer.reason,
        "results": [object_json(hit) for hit in answer.hits],
    }
    place = {} if near is None else {"near": ",".join(map(str, near))}
    size = {} if radius is None else {"radius": radius}
    words = [word for name, value in {**place, **size}.items() for word in (f"--{name}", value)]
    for given in (dates, times):
        options = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)]
        agent = {} if near is None else {"near": list(near)}
        said = {name: str(value) for name, value in given.items()}
        through = {
            "REST": get(running, "/search/semantic", query=text, **place, **size, **given),
            "MCP": ask(address(running), "find_object", query=text, **agent, **size, **said),
            "CLI": run("find", text, "-m", path, *words, *options),
        }
        for entry, found in through.items():
            assert (found["status"], found["reason"]) == (expected["status"], expected["reason"]), entry
            if entry == "MCP":
                same_in_brief(found["results"], expected["results"])
            else:
                assert [told(one) for one in found["results"]] == expected["results"], entry


def test_list(entries: tuple[Running, Path]) -> None:
    running, path = entries
    expected = [object_json(one) for one in running.service.memory.objects()]
    assert expected[0]["last_seen"] == wall(7.0)
    through = {
        "REST": get(running, "/objects", confirmed_only=True)["objects"],
        "CLI": run("objects", "-m", path),
    }
    for entry, found in through.items():
        assert [told(one) for one in found] == expected, entry
    same_in_brief(ask(address(running), "list_objects")["objects"], expected)


def test_near(entries: tuple[Running, Path]) -> None:
    running, _ = entries
    expected = [object_json(hit) for hit in running.service.memory.find(near=(0, 0, 0.8), radius=1.2, k=20).hits]
    rest = get(running, "/search/spatial", x=0, y=0, z=0.8, radius=1.2)
    agent = ask(address(running), "objects_near", x=0, y=0, z=0.8, radius=1.2)
    assert [told(one) for one in rest["results"]] == expected
    same_in_brief(agent["results"], expected)
    assert [round(one["distance_m"], 2) for one in rest["results"]] == [one["distance_m"] for one in agent["results"]]
    assert (rest["status"], rest["reason"]) == (agent["status"], agent["reason"])


def test_history_and_changes(entries: tuple[Running, Path]) -> None:
    running, path = entries
    memory = running.service.memory
    past = get(running, "/objects/obj-1/history")["history"]
    assert run("history", "obj-1", "-m", path) == past
    assert [(one["kind"], one["time"]) for one in past] == [
        (entry.kind, iso(entry.wall)) for entry in memory.history("obj-1")
    ]
    for since in (None, wall(3.0)):
        given = {} if since is None else {"since": since}
        changes = get(running, "/changes", **given)
        agent = ask(address(running), "what_changed", **given, limit=200)
        assert agent["changes"] == [brief(one) for one in changes["changes"] if one["kind"] != "merged"]
        assert agent["count"] == len(agent["changes"])
        assert run("changes", "-m", path, *([] if since is None else ["--since", since])) == changes["changes"]
        moment = None if since is None else datetime.fromisoformat(since)
        assert len(memory.what_changed(moment)) == changes["count"]


def test_places_and_relations(entries: tuple[Running, Path]) -> None:
    running, _ = entries
    known = get(running, "/places")
    seen_from = {anchor["id"]: anchor["labels"] for anchor in known["anchors"]}
    for place in known["places"]:
        assert set(place["labels"]) == {label for anchor in place["anchors"] for label in seen_from[anchor]}
        inside = get(running, f"/places/{place['id']}")["objects_in"]
        (agent,) = ask(address(running), "whats_in", place=str(place["id"]))["places"]
        assert place["object_ids"] == [one["id"] for one in inside]
        same_in_brief(agent["objects_in"], [told(one) for one in inside])
        assert {one["place_id"] for one in inside} <= {place["id"]}
    relations = ask(address(running), "relations", object_id="obj-2")["relations"]
    assert brief(get(running, "/objects/obj-2")["relations"]) == relations
    assert [one["other_id"] for one in relations] == [
        one.other_id for one in running.service.memory.relations("obj-2")
    ]


def test_a_session_without_a_date_has_memory_time_and_ages_only() -> None:
    with Memory.open(wall_clock=None) as memory:
        walk(memory, 8, ROOM, looks="random")
        with serving(memory) as running:
            sofa, *_ = get(running, "/search/semantic", query="sofa", since="6")["results"]
            assert (sofa["last_seen"], sofa["last_seen_memory_time"], sofa["age"]) == (None, 7.0, 0.0)
            stats = get(running, "/stats")
            assert (stats["now"], stats["now_memory_time"]) == (None, 7.0)
            assert ask(address(running), "find_object", query="sofa", since=wall(1.0))["status"] == "error"
