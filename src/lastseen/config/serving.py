"""Settings of the server: where it listens, what it accepts, and how much it shows at once."""

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
    max_query: int = setting(4096, unit="bytes", low=256, why="a question in words and a dozen parameters")
    max_observations: int = setting(512, unit="per frame", low=1, why="far more than a detector finds in one image")
    max_leap: float = setting(
        2_592_000.0, unit="s", low=1.0, why="a stamp a month after the last one is a wrong clock or a wrong unit"
    )
    max_embedding: int = setting(4096, unit="numbers", low=1, why="the longest looks of today's encoders")
    max_image_pixels: int = setting(
        16_000_000, unit="px", low=64, why="a picture may be small as a file and huge when unpacked"
    )
    max_sessions: int = setting(64, unit="pages", low=1, why="people logged in at once; the oldest goes first")
    max_clients: int = setting(128, unit="WebSocket clients", low=1, why="each costs a task and a socket buffer")
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
    max_connections: int = setting(512, unit="connections", low=8, why="beyond it new ones are told to come back")


@dataclass(frozen=True, kw_only=True)
class Live(Section):
    """What is pushed to those who watch."""

    tick: float = setting(0.2, unit="s", low=0.02, why="five updates a second look fluent and cost little")
    stats_period: float = setting(1.0, unit="s", low=0.1, why="figures that people read")
    send_timeout: float = setting(
        30.0, unit="s", low=1.0, why="a client that takes nothing for so long is gone; its socket is closed"
    )
    follow_period: float = setting(
        1.0, unit="s", low=0.05, why="how often a file that another process writes is looked at: one look is cheap"
    )
    events_kept: int = setting(500, unit="events", low=10, why="what a client may miss before it is told so")
    events_first: int = setting(100, unit="events", low=0, why="enough to fill a feed when a page opens")
    objects_per_message: int = setting(
        1000, unit="objects", low=1, why="about half a megabyte, below the limit of common clients"
    )
    path_points: int = setting(4000, unit="points", low=2, why="an hour of walking; older ones are thinned out")
    voxel: float = setting(0.05, unit="m", low=0.005, high=1.0, why="walls look solid and a home fits in the slots")
    point_slots: int = setting(
        300_000, unit="points", low=1000, why="a large flat at this voxel; a tablet still draws it"
    )
    points_per_message: int = setting(20_000, unit="points", low=100, why="400 KB, sent in a blink on a slow link")
    points_per_frame: int = setting(
        20_000, unit="points", low=100, why="every second pixel of a 320 x 240 image in both directions"
    )
    point_range: float = setting(5.0, unit="m", low=0.5, why="depth beyond it is too noisy to draw")
    carve_margin: float = setting(
        0.12, unit="m", low=0.0, why="a drawn point this much before the measured surface is gone: it was moved"
    )
    place_reach: float = setting(
        4.0, unit="m", low=0.1, why="a thing belongs to the place of the nearest anchor within a room's width"
    )
    demo_pace: float = setting(
        0.25, unit="s per frame", low=0.0, why="the demo's robot at twice its pace: a flat in two minutes"
    )
    demo_change_every: int = setting(
        60, unit="frames", low=1, why="something in the demo's home changes every half minute of frame time"
    )
