"""The real MCP client, over both transports."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from lastseen.memory.memory import Memory
from lastseen.server.run import Running
from tests.memory.homes import ROOM, walk
from tests.server.conftest import serving
from tests.server.test_ingest import sightings
from tests.server.test_security import TOKEN

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

TOOLS = {
    "ask",
    "find_object",
    "get_object",
    "go_to_hint",
    "last_seen",
    "list_objects",
    "objects_near",
    "relations",
    "rtsm.get_object",
    "rtsm.list_objects",
    "rtsm.relational_query",
    "rtsm.semantic_query",
    "rtsm.spatial_query",
    "rtsm.status",
    "tell",
    "what_changed",
    "whats_in",
}


def with_client(target: Any, use: Callable[[Any], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with mcp.Client(target) as client:
            return await use(client)

    return asyncio.run(run())


def ask(target: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of one tool."""

    async def use(client: Any) -> Any:
        return await client.call_tool(tool, arguments)

    result = with_client(target, use)
    assert not result.is_error, result
    answer: dict[str, Any] = result.structured_content
    return answer


def address(running: Running) -> str:
    return f"{running.address.base}/mcp"


def test_an_agent_is_told_what_it_may_ask(home: Running) -> None:
    async def use(client: Any) -> Any:
        return await client.list_tools()

    tools = with_client(address(home), use).tools
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.description for tool in tools)
    assert {tool.name for tool in tools if not tool.annotations.read_only_hint} == {"tell"}


def test_a_thing_is_found_or_refused(home: Running) -> None:
    found = ask(address(home), "find_object", query="red mug")
    assert found["status"] == "found"
    assert found["results"][0]["position"] == pytest.approx([0.0, 0.0, 0.8], abs=0.05)
    assert ask(address(home), "find_object", query="mug")["status"] == "ambiguous"
    refused = ask(address(home), "find_object", query="helicopter")
    assert refused["status"] == "not_found"
    assert refused["reason"]
    assert refused["results"] == []


def test_an_object_comes_with_its_picture(home: Running) -> None:
    async def use(client: Any) -> Any:
        return await client.call_tool("get_object", {"object_id": "obj-2"})

    text, picture = with_client(address(home), use).content
    assert json.loads(text.text)["status"] == "found"
    assert picture.mime_type == "image/jpeg"
    assert base64.b64decode(picture.data).startswith(b"\xff\xd8")


def test_what_is_not_remembered_is_said_so(home: Running) -> None:
    assert ask(address(home), "relations", object_id="obj-99")["status"] == "not_found"
    assert ask(address(home), "whats_in", place="cellar")["status"] == "not_found"
    assert ask(address(home), "go_to_hint", query="obj-99")["status"] == "not_found"
    assert ask(address(home), "what_changed", since="yesterday")["status"] == "error"
    assert ask(address(home), "list_objects", state="asleep")["status"] == "error"


def test_lists_and_neighbours(home: Running) -> None:
    assert ask(address(home), "list_objects", label="mug")["total"] == 2
    assert ask(address(home), "list_objects", state="confirmed", limit=2)["total"] == 5
    near = ask(address(home), "objects_near", x=0, y=0, z=0.8, radius=0.5)
    assert [one["label"] for one in near["results"]] == ["mug"]
    assert ask(address(home), "last_seen", query="sofa")["results"][0]["age"] >= 0.0
    assert ask(address(home), "what_changed")["changes"]


def test_a_robot_is_told_which_way_to_go(home: Running) -> None:
    # a camera at the origin that looks along +x: the sofa at (2, 2) is half left
    sightings(home, stamp=500.0, quaternion=[-0.5, 0.5, -0.5, 0.5])
    (hint,) = ask(address(home), "go_to_hint", query="sofa")["results"]
    assert hint["distance_m"] == pytest.approx(8**0.5, abs=0.1)
    assert hint["turn_degrees"] == pytest.approx(45.0, abs=3.0)
    assert "left" in hint["direction"]


def test_arguments_that_do_not_fit_are_named_in_one_line(home: Running) -> None:
    async def use(client: Any) -> Any:
        return await client.call_tool("objects_near", {"x": "far", "y": 0, "z": 0})

    result = with_client(address(home), use)
    assert result.is_error
    (text,) = [part.text for part in result.content]
    assert text.startswith("objects_near: x: input should be a valid number")
    assert "\n" not in text
    assert "pydantic" not in text


def test_a_restarted_server_still_knows_where_the_robot_stood(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        walk(memory, 6, looks="random")
    with Memory.open(path) as memory, serving(memory) as running:
        hint = ask(address(running), "go_to_hint", query="sofa")
    assert hint["results"][0]["direction"]
    assert hint["robot_pose"]["age"] < 60.0
    assert "robot stood" in hint["reason"]


def test_a_token_guards_agents_too() -> None:
    async def use(client: Any) -> Any:
        return await client.list_tools()

    with (
        Memory.open() as memory,
        serving(memory, token=TOKEN) as running,
        pytest.raises(BaseExceptionGroup),
    ):
        with_client(address(running), use)


def test_a_file_is_asked_over_stdio_and_read_again_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        walk(memory, 6, ROOM[:2], looks="random")
        memory.flush()
        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "lastseen.cli.main", "mcp", str(path)], env=dict(_environment())
        )

        async def use(client: Any) -> None:
            first = await client.call_tool("find_object", {"query": "blue mug"})
            assert first.structured_content["status"] == "found"
            missing = await client.call_tool("find_object", {"query": "sofa"})
            assert missing.structured_content["status"] == "not_found"
            walk(memory, 6, ROOM, looks="random", start=6)
            memory.flush()
            found = await client.call_tool("find_object", {"query": "sofa"})
            assert found.structured_content["status"] == "found"

        with_client(server, use)


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_agents_written_for_rtsm_find_its_tools_with_its_fields(home: Running) -> None:
    at = address(home)
    found = ask(at, "rtsm.semantic_query", query="sofa", top_k=3)
    assert found["query"] == "sofa"
    best = found["results"][0]
    assert (best["label_hint"], best["confirmed"], best["fits"]) == ("sofa", True, True)
    x, y, z = best["xyz_world"]
    around = ask(at, "rtsm.spatial_query", x=x, y=y, z=z, radius_m=0.5)
    assert [one["id"] for one in around["results"]] == [best["id"]]
    assert around["radius_m"] == 0.5
    related = ask(at, "rtsm.relational_query", query="red mug", radius_m=1.2)
    assert related["reference"]["id"] not in {one["id"] for one in related["nearby"]}
    assert {one["label_primary"] for one in related["nearby"]} == {"mug", "bowl"}
    assert ask(at, "rtsm.relational_query", query="helicopter")["error"] == "not_found"
    assert ask(at, "rtsm.list_objects")["count"] == len(ROOM)
    assert len(ask(at, "rtsm.get_object", object_id="obj-1", include_vectors=True)["emb_mean"]) == 16
    assert ask(at, "rtsm.get_object", object_id="obj-99") == {"error": "not_found", "id": "obj-99"}
    assert ask(at, "rtsm.status")["stats"]["objects"] == len(ROOM)


def test_answers_are_short(home: Running) -> None:
    found = ask(address(home), "find_object", query="red mug")["results"]
    listed = ask(address(home), "list_objects")["objects"]
    asked = ask(address(home), "ask", question="where is the sofa?")["objects"]
    for one in [*found, *listed, *asked]:
        assert {"id", "label", "position", "age"} <= set(one)
        assert not {"yaw", "session", "stability", "place_id", "extent", "state"} & set(one)
        assert None not in one.values()
        assert one["position"] == [round(value, 2) for value in one["position"]]


def test_a_reply_about_many_things_names_the_first_ten(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory:
        for number in range(14):
            memory.tell("there is a mug", position=(float(number), 0.0, 0.5), extent=(0.1, 0.1, 0.1))
        with serving(memory) as running:
            reply = ask(address(running), "ask", question="how many mugs are there?")
    assert (reply["count"], len(reply["objects"]), reply["more"]) == (14, 10, 4)


def test_an_age_counts_to_the_moment_of_asking(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path, wall_clock=lambda: time.time() - 3600.0) as memory:
        walk(memory, 6, looks="random")
    with Memory.open(path, read_only=True) as memory, serving(memory) as running:
        hint = ask(address(running), "go_to_hint", query="sofa")
    sofa = hint["results"][0]
    assert sofa["age"] == pytest.approx(3600.0, abs=60.0)
    assert sofa["age"] == pytest.approx(hint["robot_pose"]["age"], abs=30.0)
    assert len(sofa["last_seen"]) == len("2026-01-01T00:00:00Z")


def test_the_text_of_an_answer_has_no_blanks(home: Running) -> None:
    async def use(client: Any) -> Any:
        return await client.call_tool("list_objects", {})

    result = with_client(address(home), use)
    (text,) = [part.text for part in result.content]
    assert json.loads(text) == result.structured_content
    assert "\n" not in text


def test_a_question_without_its_query_is_told_the_field(home: Running) -> None:
    async def use(client: Any) -> Any:
        return await client.call_tool("find_object", {"text": "mug"})

    assert with_client(address(home), use).content[0].text == "find_object: query: field required"
    answer = requests.get(f"{home.address.base}/search/semantic", timeout=60).json()
    assert answer == {"error": "invalid", "message": "query: field required"}


def test_robots_are_asked_for_only_where_a_memory_shares_an_index(home: Running) -> None:
    answer = ask(address(home), "find_object", query="sofa", robots="all")
    assert answer["status"] == "error"
    assert "needs a shared index" in answer["reason"]
