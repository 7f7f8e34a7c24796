"""Procedural homes: the same seed gives the same house.

An attempt that cannot meet its constraints is thrown away whole and the next one starts from a derived seed, so a
house never carries the marks of a failed attempt.
"""

from __future__ import annotations

import itertools

import numpy as np

from lastseen.config.programs import Homes
from lastseen.errors import HomeRefused, InvalidValue
from lastseen.sim.catalog import CLASSES, Group, check_class
from lastseen.sim.floorplan import draw_plan
from lastseen.sim.floorplan.plan import Constraint, structure_mesh, wall_boxes
from lastseen.sim.home import Home
from lastseen.sim.placement.clutter import Clutterer
from lastseen.sim.placement.furniture import Furnisher
from lastseen.sim.placement.space import Placed, Space
from lastseen.sim.priors import FURNISHINGS, Furnishing, Rule

_DEFAULTS = Homes()
ATTEMPTS = 20
"""Derived seeds tried before a house is refused with its reason; the first or second nearly always does."""


def generate_home(
    seed: int, *, rooms: int | None = None, settings: Homes = _DEFAULTS, attempts: int = ATTEMPTS
) -> Home:
    """A furnished house of 4 to 12 rooms; without ``rooms`` the seed decides how many.

    >>> generate_home(7, rooms=5).name
    'house-7'
    """
    _check(seed, rooms, settings)
    if rooms is None:
        # drawn once, before any attempt: a retry must not quietly prefer small houses
        draw = np.random.default_rng([seed, 0])
        rooms = int(draw.integers(settings.min_rooms, settings.max_rooms + 1))
    reason = ""
    for attempt in range(attempts):
        try:
            return _attempt(seed, np.random.default_rng([seed, rooms, attempt]), rooms, settings)
        except Constraint as constraint:
            reason = str(constraint)
    raise HomeRefused(
        f"house {seed} with {rooms} rooms: {reason} (the last of {attempts} attempts); "
        "loosen homes.require, homes.walk_width or homes.room_scale, or take another seed"
    )


def _attempt(seed: int, rng: np.random.Generator, rooms: int, settings: Homes) -> Home:
    plan = draw_plan(rooms, rng, settings=settings)
    walls = wall_boxes(plan)
    ids = itertools.count(1)
    furnishers = [Furnisher(Space(plan, room, settings, walls), rng, ids, settings) for room in plan.rooms]
    for furnisher in furnishers:
        furnisher.furnish()
    _add_missing_furniture(furnishers, rng, settings)
    clutterers = [Clutterer(furnisher, rng, ids, settings) for furnisher in furnishers]
    for clutterer in clutterers:
        clutterer.clutter()
    _add_missing_things(clutterers, rng, settings)
    placed: list[Placed] = [thing for part in (furnishers, clutterers) for each in part for thing in each.placed]
    structure = structure_mesh(plan, rng, ceiling=settings.ceiling)
    return Home(f"house-{seed}", plan.rooms, structure, {thing.id: thing.thing() for thing in placed})


def _missing(settings: Homes, placed: list[Placed], *, small: bool) -> list[str]:
    present = {thing.label for thing in placed}
    return [
        label for label in settings.require if label not in present and (CLASSES[label].group is Group.SMALL) == small
    ]


def _add_missing_furniture(furnishers: list[Furnisher], rng: np.random.Generator, settings: Homes) -> None:
    placed = [thing for furnisher in furnishers for thing in furnisher.placed]
    for label in _missing(settings, placed, small=False):
        usual = [
            (furnisher, row)
            for furnisher in furnishers
            for row in FURNISHINGS[furnisher.space.room.type]
            if row.label == label
        ]
        offers = [usual[i] for i in rng.permutation(len(usual))]
        # a chair whose table found no place may still stand at a wall
        offers += [(furnisher, Furnishing(label, Rule.WALL)) for furnisher, _ in offers]
        if not any(furnisher.place_row(row, 1) for furnisher, row in offers):
            raise Constraint(f"no room has a place for the required {label}")


def _add_missing_things(clutterers: list[Clutterer], rng: np.random.Generator, settings: Homes) -> None:
    placed = [thing for clutterer in clutterers for thing in clutterer.placed]
    for label in _missing(settings, placed, small=True):
        order = [clutterers[i] for i in rng.permutation(len(clutterers))]
        if not any(clutterer.add(label) for clutterer in order):
            raise Constraint(f"no support has a place for the required {label}")


def _check(seed: int, rooms: int | None, settings: Homes) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidValue("seed", seed, "must be a whole number from 0", remedy="for example 7")
    if settings.min_rooms > settings.max_rooms:
        raise InvalidValue(
            "homes.min_rooms", settings.min_rooms, f"is above max_rooms {settings.max_rooms}", remedy="swap them"
        )
    if rooms is not None and (
        isinstance(rooms, bool)
        or not isinstance(rooms, int | np.integer)
        or not settings.min_rooms <= rooms <= settings.max_rooms
    ):
        limits = f"{settings.min_rooms} to {settings.max_rooms}"
        raise InvalidValue("rooms", rooms, f"must be a whole number in {limits}", remedy="leave it out to draw one")
    for label in settings.require:
        check_class(label, field="homes.require")
    for label in settings.exclude:
        check_class(label, field="homes.exclude")
        if label in settings.require:
            raise InvalidValue("homes.exclude", label, "is required too", remedy="drop it from one of the two")
