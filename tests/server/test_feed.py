"""What subscribers are sent of objects: in parts while a large memory is read, and each part once."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lastseen.memory.memory import Memory
from lastseen.server import feed
from lastseen.server.feed import Feed
from lastseen.server.service import Service
from lastseen.server.websocket import Subscription
from tests.memory.homes import ROOM, walk


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """Five things, described two at a time and sent one a message."""
    monkeypatch.setattr(feed, "_OBJECTS_AT_ONCE", 2)
    monkeypatch.setattr(feed, "_OBJECTS_PER_MESSAGE", 1)
    with Memory.open() as opened:
        walk(opened, 6, ROOM, looks="random")
        yield opened


def sent(source: Feed, cursor: int = 0) -> list[dict[str, object]]:
    """Every message after a cursor."""
    found, more = [], True
    while more and (update := source.objects_since(cursor, reset=cursor == 0)) is not None:
        cursor, more = update.cursor, update.more
        found.append(json.loads(update.text))
    return found


def test_the_first_objects_can_be_sent_before_the_last_are_described(memory: Memory) -> None:
    source = Feed(lambda: memory)
    counts: list[int] = []
    source.refresh(lambda: counts.append(source.newest))
    assert counts == [2, 4, 5]


def test_only_the_last_message_of_a_first_filling_says_that_nothing_follows(memory: Memory) -> None:
    source = Feed(lambda: memory)
    told: list[dict[str, object]] = []
    source.refresh(lambda: told.extend(sent(source, len(told))))
    assert [one["more"] for one in told] == [True, True, True, True, False]


def test_who_is_far_behind_gets_every_object_once_and_in_order(memory: Memory) -> None:
    source = Feed(lambda: memory)
    source.refresh()
    ids = [one["id"] for message in sent(source) for one in message["objects"]]  # type: ignore[attr-defined]
    assert ids == [one.id for one in memory.objects()]


def test_a_later_change_is_whole_though_it_is_one_of_many(memory: Memory) -> None:
    source = Feed(lambda: memory)
    source.refresh()
    known = source.newest
    memory.relabel("obj-1", "lamp")
    source.refresh()
    (message,) = sent(source, known)
    assert message["more"] is False


def told_at_first(service: Service) -> list[dict[str, object]]:
    """What a subscriber is sent while a memory is first read."""
    told: list[str] = []
    watcher = Subscription(service)
    watcher.command('{"type": "subscribe", "topics": ["objects", "robot", "stats"]}')
    service.refresh(stats=True, published=lambda: told.extend(watcher.messages()))
    return [json.loads(text) for text in (*told, *watcher.messages())]


def test_no_empty_message_is_sent_while_a_memory_is_first_read(memory: Memory) -> None:
    told = told_at_first(Service(memory))
    assert {one["type"] for one in told} == {"objects_update", "robot_pose", "places_update", "stats"}
    assert all(one["objects"] for one in told if one["type"] == "objects_update")


def test_figures_do_not_wait_for_rooms_and_descriptions(memory: Memory) -> None:
    kinds = [one["type"] for one in told_at_first(Service(memory))]
    assert kinds.index("stats") < kinds.index("objects_update") < kinds.index("places_update")
