"""Settings of procedural homes."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Homes(Section):
    """What every generated house keeps to."""

    min_rooms: int = setting(4, unit="rooms", low=4, high=12, why="kitchen, living room, bedroom and bathroom")
    max_rooms: int = setting(12, unit="rooms", low=4, high=12, why="a large one-floor house")
    room_scale: float = setting(
        1.0, low=0.8, high=1.5, why="factor on every room's floor area; 1 is the usual European flat"
    )
    wall_height: float = setting(2.6, unit="m", low=2.3, high=4.0, why="usual clear height of a flat")
    wall_thickness: float = setting(0.12, unit="m", low=0.05, high=0.4, why="a plastered partition wall")
    door_width: float = setting(0.9, unit="m", low=0.7, high=1.2, why="clear width of an accessible door")
    door_height: float = setting(2.05, unit="m", low=1.9, high=2.2, why="usual door leaf, a lintel above it")
    walk_width: float = setting(
        0.7, unit="m", low=0.4, high=1.2, why="free path kept to every room: about twice a robot of radius 0.18 m"
    )
    door_clearance: float = setting(
        0.75, unit="m", low=0.4, high=2.0, why="kept free on both sides of a doorway: a robot turns there"
    )
    reachable_share: float = setting(
        0.7, low=0.0, high=1.0, why="share of a room's open floor that must hang together with its doors"
    )
    clutter: float = setting(1.0, low=0.0, high=3.0, why="factor on how many small things lie about")
    ceiling: bool = setting(True, why="a camera inside sees one; the map leaves it out")
    require: tuple[str, ...] = setting(
        ("chair", "bed", "plant", "toilet", "tv", "sofa", "mug", "book", "bottle", "keys", "phone", "remote"),
        why="classes every house holds: the six ObjectNav goals and what people ask for most",
    )
    exclude: tuple[str, ...] = setting((), why="classes that are never placed")
    attempts: int = setting(
        20, unit="houses", low=1, high=1000, why="derived seeds tried before a house is refused with its reason"
    )
