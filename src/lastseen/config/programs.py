"""Settings of what runs around the memory: server, simulated world, evaluation.

Limits that no user has a reason to turn are constants beside their code.
"""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Server(Section):
    """What comes from outside, and its limits."""

    host: str = setting("127.0.0.1", why="a home's memory is private: the network must be asked for")
    port: int = setting(8765, low=0, high=65535, why="free of well-known services; 0 takes any free port")
    max_body: int = setting(
        16_000_000, unit="bytes", low=1024, why="a frame of 1280 x 720 with depth as PNG, in base64, twice over"
    )
    max_leap: float = setting(
        2_592_000.0, unit="s", low=1.0, why="a stamp a month after the last one is a wrong clock or a wrong unit"
    )
    readers: int = setting(
        4,
        unit="threads",
        low=1,
        high=64,
        why="questions answered at once; more would only wait for each other and for the robot's frames",
    )
    patience: float = setting(
        0.25, unit="s", low=0.0, why="how long a question waits for a robot's frame that is being taken"
    )
    max_connections: int = setting(512, unit="connections", low=8, why="beyond it a stranger's oldest one is closed")


@dataclass(frozen=True, kw_only=True)
class Live(Section):
    """What is pushed to those who watch."""

    send_timeout: float = setting(
        30.0, unit="s", low=1.0, why="a client that takes nothing for so long is gone; its socket is closed"
    )
    follow_period: float = setting(
        1.0, unit="s", low=0.05, why="how often a file that another process writes is looked at: one look is cheap"
    )


@dataclass(frozen=True, kw_only=True)
class Robot(Section):
    """The body that moves through a home; its steps are those of dead reckoning."""

    radius: float = setting(0.18, unit="m", low=0.01, high=1.0, why="LoCoBot, the robot of the ObjectNav tasks")
    camera_height: float = setting(0.88, unit="m", low=0.05, high=3.0, why="LoCoBot's camera, as in ObjectNav")
    look_angle: float = setting(30.0, unit="deg", low=1.0, high=90.0, why="one look action, as in ObjectNav")
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


@dataclass(frozen=True, kw_only=True)
class Evaluation(Section):
    """Episodes, cameras and what counts as success."""

    goals: str = setting(
        "chair, bed, plant, toilet, tv, sofa",
        why="the six classes of the HM3D ObjectNav challenge; separated by commas",
    )
    image_width: int = setting(160, unit="px", low=16, why="small: an evaluation renders a hundred thousand frames")
    image_height: int = setting(120, unit="px", low=16, why="4:3, as the camera")
    level: str = setting(
        "typical",
        choices=("perfect", "good", "typical", "bad"),
        why="of detector, depth, pose and wheels: what a home robot has",
    )
    poses: str = setting(
        "actions",
        choices=("actions", "localizer"),
        why="what the frames of a search carry: poses that its actions add up to, or a localizer's at that level",
    )
    lost_distance: float = setting(
        3.0, unit="m", low=0.0, why="how wrong a wrong start pose is at least: another room, not a bad fix"
    )
    changes: int = setting(
        6, unit="things", low=0, why="moved between the earlier visit and the search: a busy week of a household"
    )
