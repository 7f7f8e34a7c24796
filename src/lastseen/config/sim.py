"""Settings of the simulated world: the robot's body, its camera and the homes that are generated."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Robot(Section):
    """The body that moves through a home; its steps are those of dead reckoning."""

    radius: float = setting(0.18, unit="m", low=0.01, high=1.0, why="LoCoBot, the robot of the ObjectNav tasks")
    camera_height: float = setting(0.88, unit="m", low=0.05, high=3.0, why="LoCoBot's camera, as in ObjectNav")
    look_angle: float = setting(30.0, unit="deg", low=1.0, high=90.0, why="one look action, as in ObjectNav")
    look_limit: float = setting(60.0, unit="deg", low=0.0, high=90.0, why="two looks up or down: ceiling to feet")
    step_over: float = setting(0.05, unit="m", low=0.0, why="wheels pass carpets and thresholds lower than this")
    slide: bool = setting(True, why="Habitat lets a blocked forward slide along the wall; false stops dead")


@dataclass(frozen=True, kw_only=True)
class Camera(Section):
    """The simulated RGB-D camera."""

    width: int = setting(256, unit="px", low=8, high=4096, why="enough for a mug at 3 m, cheap to ray cast")
    height: int = setting(192, unit="px", low=8, high=4096, why="4:3, as depth cameras have")
    horizontal_fov: float = setting(79.0, unit="deg", low=10.0, high=150.0, why="LoCoBot's camera in ObjectNav")
    step_time: float = setting(
        0.5, unit="s of frame time per action", low=0.001, why="0.25 m in half a second, a robot's indoor pace"
    )


@dataclass(frozen=True, kw_only=True)
class Homes(Section):
    """What every generated house keeps to."""

    min_rooms: int = setting(4, unit="rooms", low=4, high=12, why="kitchen, living room, bedroom and bathroom")
    max_rooms: int = setting(12, unit="rooms", low=4, high=12, why="a large one-floor house")
    room_scale: float = setting(
        1.0, low=0.8, high=1.5, why="factor on every room's floor area; 1 is the usual European flat"
    )
    door_width: float = setting(0.9, unit="m", low=0.7, high=1.2, why="clear width of an accessible door")
    door_height: float = setting(2.05, unit="m", low=1.9, high=2.2, why="usual door leaf, a lintel above it")
    walk_width: float = setting(
        0.7, unit="m", low=0.4, high=1.2, why="free path kept to every room: about twice a robot of radius 0.18 m"
    )
    clutter: float = setting(1.0, low=0.0, high=3.0, why="factor on how many small things lie about")
    ceiling: bool = setting(True, why="a camera inside sees one; the map leaves it out")
    require: tuple[str, ...] = setting(
        ("chair", "bed", "plant", "toilet", "tv", "sofa", "mug", "book", "bottle", "keys", "phone", "remote"),
        why="classes every house holds: the six ObjectNav goals and what people ask for most",
    )
    exclude: tuple[str, ...] = setting((), why="classes that are never placed")
