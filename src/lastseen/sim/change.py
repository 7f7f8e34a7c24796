"""Homes that change: things are moved, removed, added and swapped, and every edit is kept as truth with its time.

An edit gives a new home and a ``Change``; changes can be applied again in order, so a log replays to the same home.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.sim.home import Home, Thing


class ChangeKind(StrEnum):
    """What can happen to things."""

    MOVE = "move"
    REMOVE = "remove"
    ADD = "add"
    SWAP = "swap"


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing before and after; None where it is not there."""

    before: Thing | None
    after: Thing | None

    @property
    def thing(self) -> Thing:
        """The thing edited, as it was, or as it is where it was not there."""
        thing = self.after if self.before is None else self.before
        assert thing is not None
        return thing

    @property
    def thing_id(self) -> int:
        """The id of the thing edited."""
        return self.thing.id


@dataclass(frozen=True, slots=True)
class Change:
    """What happened at one stamp; a swap has two edits, every other kind one."""

    stamp: float
    kind: ChangeKind
    edits: tuple[Edit, ...]

    def apply(self, home: Home) -> Home:
        """The home after this change; it must be as it was when the change was made."""
        for edit in self.edits:
            if edit.before is not None and home.things.get(edit.thing_id) is not edit.before:
                raise InvalidValue(
                    "change", edit.thing_id, "does not fit this home", remedy="apply changes in their order"
                )
        for edit in self.edits:
            home = home.without_thing(edit.thing_id) if edit.after is None else home.with_thing(edit.after)
        return home

    def record(self) -> dict[str, Any]:
        """The change as JSON: kind, stamp, and for each thing its id, class and positions."""
        return {
            "stamp": self.stamp,
            "kind": str(self.kind),
            "things": [
                {
                    "id": edit.thing_id,
                    "label": edit.thing.label,
                    "from": _spot(edit.before),
                    "to": _spot(edit.after),
                }
                for edit in self.edits
            ],
        }


def move(home: Home, thing_id: int, pose: Pose3D, *, stamp: float, support_id: int | None = None) -> Change:
    """A thing goes to another pose, onto a support if one is named; whatever stands on it must be moved first."""
    thing = home.thing(thing_id)
    _refuse_support(home, thing)
    return Change(stamp, ChangeKind.MOVE, (Edit(thing, placed(home, thing, pose, support_id)),))


def remove(home: Home, thing_id: int, *, stamp: float) -> Change:
    """A thing is gone; whatever stands on it must be moved first."""
    thing = home.thing(thing_id)
    _refuse_support(home, thing)
    return Change(stamp, ChangeKind.REMOVE, (Edit(thing, None),))


def add(home: Home, thing: Thing, *, stamp: float) -> Change:
    """A thing appears; its id must be new."""
    if thing.id in home.things:
        raise InvalidValue("thing.id", thing.id, "is taken", remedy=f"use {new_id(home)}")
    return Change(stamp, ChangeKind.ADD, (Edit(None, placed(home, thing, thing.pose, thing.support_id)),))


def swap(home: Home, first_id: int, second_id: int, *, stamp: float) -> Change:
    """Two things change places."""
    first, second = home.thing(first_id), home.thing(second_id)
    if first_id == second_id:
        raise InvalidValue("thing_id", first_id, "is given twice", remedy="name two things")
    for thing in (first, second):
        _refuse_support(home, thing)
    return Change(
        stamp,
        ChangeKind.SWAP,
        (
            Edit(first, placed(home, first, second.pose, second.support_id)),
            Edit(second, placed(home, second, first.pose, first.support_id)),
        ),
    )


def apply_all(home: Home, changes: Sequence[Change]) -> Home:
    """The home after all changes, in their order."""
    for change in changes:
        home = change.apply(home)
    return home


def placed(home: Home, thing: Thing, pose: Pose3D, support_id: int | None = None) -> Thing:
    """A thing at another pose, with its room there and its support, which is looked for where none is named."""
    there = replace(thing, pose=pose, support_id=support_id)
    room = home.room_at(float(pose.translation[0]), float(pose.translation[1]))
    found = home.support_below(there) if support_id is None else support_id
    return replace(there, room_id=None if room is None else room.id, support_id=found)


def new_id(home: Home) -> int:
    """An id that no thing has."""
    return max(home.things, default=0) + 1


def carried_by(home: Home, thing: Thing) -> list[Thing]:
    """The things that stand on a thing, by id."""
    return [other for other in home.things.values() if other.support_id == thing.id]


def _refuse_support(home: Home, thing: Thing) -> None:
    carried = carried_by(home, thing)
    if carried:
        raise InvalidValue(
            "thing_id",
            thing.id,
            f"is a {thing.label} that carries a {carried[0].label} (id {carried[0].id})",
            remedy="move what stands on it first",
        )


def _spot(thing: Thing | None) -> dict[str, Any] | None:
    if thing is None:
        return None
    return {
        "position": [round(float(value), 4) for value in thing.position],
        "room_id": thing.room_id,
        "support_id": thing.support_id,
    }
