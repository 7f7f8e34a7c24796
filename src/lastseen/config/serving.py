"""Settings of the server: where it listens, what it accepts, and how much it shows at once.

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
    max_image_pixels: int = setting(
        16_000_000, unit="px", low=64, why="a picture may be small as a file and huge when unpacked"
    )
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
    max_connections: int = setting(512, unit="connections", low=8, why="beyond it a stranger's oldest one is closed")


@dataclass(frozen=True, kw_only=True)
class Live(Section):
    """What is pushed to those who watch."""

    tick: float = setting(0.2, unit="s", low=0.02, why="five updates a second look fluent and cost little")
    send_timeout: float = setting(
        30.0, unit="s", low=1.0, why="a client that takes nothing for so long is gone; its socket is closed"
    )
    follow_period: float = setting(
        1.0, unit="s", low=0.05, why="how often a file that another process writes is looked at: one look is cheap"
    )
