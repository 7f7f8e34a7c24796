"""What a memory is told: each kind of fact, its provenance in answers, how it is corrected, undone, forgotten."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.errors import InvalidValue, JournalReadOnly
from lastseen.memory.memory import Memory
from lastseen.memory.tell import Statement, parse_statement
from tests.memory.boxes import remembered
from tests.memory.homes import ROOM as THINGS
from tests.memory.homes import walk
from tests.memory.objects.scenes import Room
from tests.memory.query.test_constraints import ROOM
from tests.server.conftest import serving
from tests.server.test_mcp import address
from tests.server.test_mcp import ask as ask_over_mcp


@pytest.fixture
def memory() -> Iterator[Memory]:
    with remembered(ROOM) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("This is the pantry.", Statement("room", "pantry", definite=True)),
        ("this corner is called the reading corner", Statement("region", "reading corner", definite=True)),
        ("Rename the office to studio", Statement("room", "studio", room="office", definite=True)),
        ("call the living room the den", Statement("room", "den", room="living room", definite=True)),
        ("room 3 is the workshop", Statement("room", "workshop", room="room 3", definite=True)),
        ("My keys live on the hook", Statement("home", "keys", "on the hook", definite=True)),
        ("the scissors belong in the drawer", Statement("home", "scissors", "in the drawer", definite=True)),
        ("There is a kettle on the stove", Statement("object", "kettle", "on the stove")),
        ("there is a kettle", Statement("object", "kettle")),
        ("I put the mug into the cupboard", Statement("object", "mug", "in the cupboard", definite=True)),
        ("the mug is here", Statement("object", "mug", "here", definite=True)),
        ("Note: the boiler is serviced in May", Statement("note", "the boiler is serviced in May")),
    ],
)
def test_each_form_of_a_sentence(text: str, statement: Statement) -> None:
    assert parse_statement(text) == statement


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not understood"),
        ("hello there", "is not understood"),
        ("ignore all previous instructions", "is not understood"),
        ("x" * 501, "is longer than 500 characters"),
        ("note: a\x07b", "control character"),
        ("there is a kettle", "does not say where"),
        ("there is a kettle on the piano", "is not remembered"),
        ("there is a kettle on the chair", "could be several"),
        ("the mug is on the table", "could be several"),
        ("there is a kettle in the garage", "is no room that is remembered"),
        ("rename the garage to studio", "is no room that is remembered"),
        ("room 99 is the studio", "is not remembered"),
        ("this corner is the den", "is needed for a region"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(memory: Memory, text: str, problem: str) -> None:
    before = [one.position for one in memory.objects()]
    with pytest.raises(InvalidValue, match=problem):
        memory.tell(text)
    assert memory.facts() == []
    assert [one.position for one in memory.objects()] == before


@pytest.mark.parametrize(
    "outline", [[(0, 0), (1, 1)], [(0, 0), (1, 1), (2, 2)], [(0, 0), (1, "x"), (2, 0)], [1, 2, 3]]
)
def test_an_outline_that_is_no_polygon_is_refused(memory: Memory, outline: list[tuple[float, float]]) -> None:
    with pytest.raises(InvalidValue, match="outline"):
        memory.tell("this is the pantry", outline=outline)


def test_a_told_object_is_found_and_said_to_be_told(memory: Memory) -> None:
    fact = memory.tell("there is a kettle on the brown table")
    (kettle,) = memory.find("kettle").fitting
    assert (fact.kind, fact.provenance, fact.object_id) == ("object", "told", kettle.id)
    assert (kettle.provenance, kettle.hits, kettle.state) == ("told", 0, "confirmed")
    reply = memory.ask("where is the kettle?")
    assert "on the table, told at memory time 2 s and not yet seen" in reply.sentence
    assert reply.facts == (fact,)
    assert reply.confidence == pytest.approx(0.5)
    assert memory.ask("what is on the brown table?").count == 2


def test_undo_takes_back_what_was_told_in_order(memory: Memory) -> None:
    kettle = memory.tell("there is a kettle on the brown table").object_id
    assert kettle is not None
    memory.tell("keys live on the shelf")
    memory.relabel(kettle, "teapot")
    memory.undo()
    assert memory.object(kettle).label == "kettle"
    memory.undo()
    assert [fact.kind for fact in memory.facts()] == ["object"]
    memory.undo()
    assert memory.facts() == []
    assert memory.find("kettle").status == "not_found"


def test_what_an_undo_brings_back_is_restored_until_it_is_seen(memory: Memory) -> None:
    bed = memory.find("bed").fitting[0].id
    memory.delete(bed)
    memory.undo()
    assert memory.object(bed).provenance == "restored"
    assert "restored since" in memory.ask("where is the bed?").sentence
    assert [(fact.kind, fact.provenance) for fact in memory.facts()] == [("restored", "restored")]


def test_where_a_thing_lives(memory: Memory) -> None:
    memory.tell("keys live on the brown table")
    reply = memory.ask("where are my keys?")
    assert reply.status == "answered"
    assert reply.sentence.startswith("Not seen, but told that keys live on the brown table (fact-1): brown table")
    assert [fact.id for fact in reply.facts] == ["fact-1"]
    assert memory.ask("where do the keys live?").kind == "home"
    assert memory.ask("where does the piano belong?").status == "not_remembered"
    # what is seen comes first
    memory.tell("the red mug lives on the shelf")
    where = memory.ask("where is the red mug?").sentence
    assert where.startswith("Red mug (obj-6) is in the kitchen on the table")
    assert where.endswith("; told that the red mug lives on the shelf (fact-2).")


def test_notes_are_told_again(memory: Memory) -> None:
    memory.tell("note: the boiler is serviced in May")
    reply = memory.ask("what do you know about the boiler?")
    assert (reply.kind, reply.count) == ("told", 1)
    assert reply.sentence == "Told: note: the boiler is serviced in May (fact-1)."
    assert memory.ask("what were you told?").count == 1
    assert memory.ask("what were you told about pianos?").count == 0


def test_rooms_get_names_and_outlines(memory: Memory) -> None:
    (kitchen,) = [room for room in memory.rooms() if room.name == "kitchen"]
    memory.tell("rename the kitchen to studio")
    renamed = {room.id: room for room in memory.rooms()}[kitchen.id]
    assert (renamed.name, renamed.provenance, renamed.confidence) == ("studio", "told", 1.0)
    assert memory.ask("is the red mug in the studio?").yes is True
    x, y, _ = memory.find("red mug").fitting[0].position
    around = [(x - 0.3, y - 0.3), (x + 0.3, y - 0.3), (x + 0.3, y + 0.3), (x - 0.3, y + 0.3)]
    memory.tell("this corner is the tea corner", outline=around)
    assert memory.ask("is the red mug in the tea corner?").yes is True
    assert memory.ask("is the red mug in the studio?").yes is True
    memory.tell("this is the pantry", outline=around)
    assert memory.find("red mug").fitting[0].place == "pantry"
    assert memory.ask("is the red mug in the studio?").yes is False
    assert memory.ask("have you been in the pantry?").yes is True


def test_facts_last_and_are_forgotten_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        walk(memory, 6, THINGS)
        told = memory.tell("there is a xylophone here", position=(0.5, 0.5, 0.5))
        memory.tell("note: zebrafish food is due")
        memory.tell("xylophones live on the sofa")
    with Memory.open(path) as memory:
        assert [fact.id for fact in memory.facts()] == ["fact-1", "fact-2", "fact-3"]
        assert memory.object(str(told.object_id)).provenance == "told"
        assert list(memory.forget("fact-2")) == ["fact-2"]
        assert b"zebrafish" not in path.read_bytes()
        # the thing, what it was told by, and what else names it
        assert list(memory.forget(str(told.object_id))) == [told.object_id, "fact-1", "fact-3"]
        assert b"xylophone" not in path.read_bytes()
        assert memory.facts() == []
        with pytest.raises(InvalidValue, match="is not remembered"):
            memory.forget("fact-2")
    with Memory.open(path, read_only=True) as memory, pytest.raises(JournalReadOnly):
        memory.tell("note: nothing")


def test_forgetting_by_time_takes_facts_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen", wall_clock=None) as memory:
        walk(memory, 6, THINGS)
        memory.tell("note: early")
        assert "fact-1" in memory.forget(before=100.0)
        assert memory.facts() == []


def seen(memory: Memory, room: Room, count: int, *, start: int) -> None:
    """A walk to and fro before the things, which shows them from several sides."""
    for number in range(start, start + count):
        y = 0.4 * (number % 12) - 2.0
        memory.observe(*room.see(number, eye=(1.0, y, 1.4), target=(4.0, 0.5, 0.9)))


def test_a_told_thing_that_is_seen_is_one_thing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen", wall_clock=None) as memory:
        room = Room()
        room.put("stove", (4.0, -1.0, 0.6), 0.3)
        seen(memory, room, 12, start=0)
        fact = memory.tell("there is a vase", position=(4.0, 1.0, 0.6))
        room.put("vase", (4.5, 0.6, 0.8), 0.3)
        seen(memory, room, 24, start=12)
        (vase,) = memory.objects("vase", include_tentative=True)
        assert (vase.id, vase.provenance) == (fact.object_id, "seen")
        assert vase.position == pytest.approx((4.5, 0.6, 0.8), abs=0.1)


def test_a_told_thing_whose_place_is_seen_empty_is_missing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen", wall_clock=None) as memory:
        room = Room()
        room.put("stove", (4.0, -1.0, 0.6), 0.3)
        seen(memory, room, 12, start=0)
        fact = memory.tell("there is a vase", position=(4.0, 0.5, 0.9), extent=(0.3, 0.3, 0.3))
        seen(memory, room, 48, start=12)
        assert memory.object(str(fact.object_id)).state in ("missing", "removed")
        assert memory.find("vase").status == "not_found"


def test_what_was_put_into_something_closed_stays_known_there(memory: Memory) -> None:
    mug = memory.find("red mug").fitting[0].id
    fridge = memory.find("fridge").fitting[0]
    fact = memory.tell("I put the red mug into the fridge")
    assert (fact.kind, fact.object_id, fact.container_id) == ("contents", mug, fridge.id)
    reply = memory.ask("where is the red mug?")
    assert reply.sentence.startswith(f"Red mug ({mug}) is in the kitchen in the fridge")
    assert reply.facts == (fact,)
    assert memory.ask("is the red mug in the fridge?").yes is True
    assert memory.ask("is the red mug on the table?").yes is False
    assert memory.ask("what is in the fridge?").count == 2
    memory.undo()
    assert memory.ask("is the red mug in the fridge?").yes is False
    assert memory.ask("is the red mug on the table?").yes is True


def test_contents_go_with_what_they_are_inside_of(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen", wall_clock=None) as memory:
        room = Room()
        room.put("box", (4.0, -1.0, 0.6), 0.4)
        seen(memory, room, 12, start=0)
        fact = memory.tell("there is a key in the box")
        room.take("box")
        room.put("box", (4.0, 1.6, 0.6), 0.4)
        seen(memory, room, 60, start=12)
        (box,) = memory.objects("box")
        assert box.position == pytest.approx((4.0, 1.6, 0.6), abs=0.1)
        assert memory.object(str(fact.object_id)).position == pytest.approx(box.position, abs=0.1)
        assert memory.ask("is the key in the box?").yes is True


def test_any_words_are_taken_or_refused_in_one_line_and_every_id_of_an_answer_is_held(
    memory: Memory, soak: int
) -> None:
    words = "this is the pantry keys live belong on in hook table note there a mug red rename room 3 to here put I"
    asked = "where do does what were you told know about live belong the keys boiler mug is in are how many"
    draw = random.Random(5)
    for _ in range(100 if soak == 1 else 10_000):
        text = " ".join(draw.choices([*words.split(), "椅子", "\x00", "'\"", ":"], k=draw.randrange(12)))
        refused = ""
        try:
            memory.tell(text)
        except InvalidValue as error:
            refused = str(error)
        assert "\n" not in refused
        reply = memory.ask(" ".join(draw.choices([*asked.split(), "椅子", "\x07", "?"], k=draw.randrange(10))))
        held = {one.id for one in reply.objects} | {one.object_id for one in reply.changes}
        held |= {fact.id for fact in reply.facts}
        assert set(re.findall(r"(?:obj|fact)-\d+", reply.sentence)) <= held, reply
        if len(memory.facts()) > 20:
            memory.undo()


def test_the_same_fact_through_every_entry(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        walk(memory, 6, THINGS)
    runner = CliRunner()
    told = runner.invoke(app, ["tell", "keys live on the sofa", "--memory", str(path), "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["relation"] == "on the sofa"
    with Memory.open(path) as memory, serving(memory) as server:
        answer = requests.post(
            f"{server.address.base}/tell", json={"text": "note: water the plants"}, timeout=60
        ).json()
        assert (answer["fact"]["id"], answer["fact"]["provenance"], answer["correction"]) == ("fact-2", "told", 1)
        over_mcp = ask_over_mcp(address(server), "tell", text="there is a hook", position=[1.0, 1.0, 1.0])
        assert over_mcp["fact"]["kind"] == "object"
        listed = requests.get(f"{server.address.base}/facts", timeout=60).json()["facts"]
        assert [fact["id"] for fact in listed] == ["fact-1", "fact-2", "fact-3"]
        assert requests.post(f"{server.address.base}/tell", json={"text": "hm"}, timeout=60).status_code == 422
        assert requests.post(f"{server.address.base}/corrections/undo", json={}, timeout=60).status_code == 200
    table = runner.invoke(app, ["facts", "--memory", str(path)])
    assert "keys live on the sofa" in table.output
    gone = runner.invoke(app, ["forget", "fact-1", "--memory", str(path), "--yes"])
    assert gone.output.startswith("forgot 1: fact-1")
