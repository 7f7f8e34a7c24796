"""Live ROS 2 topics over Zenoh, as rmw_zenoh lays them out: no ROS installation is needed.

``ros2+zenoh://robot:7447`` connects to a router, ``ros2+zenoh://`` to the one on this machine: multicast is off where
rmw_zenoh runs, so there is nothing to find without an address. ``?domain=5`` is the ROS domain. Topics are found
through the liveliness tokens that every publisher declares.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from lastseen.errors import SourceError, needs_extra
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.stream import RosStream, live_topics, split_address
from lastseen.sources.ros.topics import Topic

DEFAULT_HOST = "127.0.0.1:7447"
"""Where rmw_zenohd listens on the machine it runs on."""
ANSWER_WITHIN = 1.0
"""Seconds for tokens to be answered."""

_TYPE = re.compile(r"(\w+)::(\w+)::dds_::(\w+)_")


class ZenohSource(RosStream):
    """A camera whose robot runs rmw_zenoh."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        with needs_extra("live ROS 2 over Zenoh", extra="zenoh"):
            import zenoh  # noqa: F401
        super().__init__(f"ros2+zenoh://{address}", options)
        host, self._domain = split_address(address)
        self._session: Any = open_session(host)

    def find_topics(self) -> list[Topic]:
        """Topics of all publishers that declared themselves."""
        return live_topics(published(self._session, self._domain))

    def receive(self, stop: threading.Event) -> None:
        """Subscribe to the camera's topics until ``stop`` is set."""
        # tf_static last: it comes at once, and then everything is known to be subscribed
        subscribers = [
            subscriber(self._session, self._domain, topic, kind, partial(self.on_message, topic, kind))
            for topic, kind in sorted(self.wanted().items(), key=lambda one: one[0] == "/tf_static")
        ]
        stop.wait()
        for one in subscribers:
            one.undeclare()

    def close(self) -> None:
        """Leave the network."""
        super().close()
        if not self._session.is_closed():
            self._session.close()


def open_session(host: str) -> Any:
    """A session with the router at ``host:port``; without a host, the one on this machine."""
    import zenoh

    address = host or DEFAULT_HOST
    settings = {
        "mode": "client",
        "connect": {"endpoints": [f"tcp/{address}"]},
        # what is kept for late joiners is put in order by it
        "timestamping": {"enabled": True},
    }
    try:
        return zenoh.open(zenoh.Config.from_json5(json.dumps(settings)))
    except zenoh.ZError as error:
        # zenoh ends with the line of its own sources
        why = str(error).partition(" at /")[0].rstrip("! ")
        raise SourceError(
            "zenoh address",
            address,
            f"does not answer ({why})",
            remedy="start rmw_zenohd there, or give the robot's: ros2+zenoh://host:7447",
        ) from error


def published(session: Any, domain: int, *, own: str | None = None) -> set[tuple[str, str]]:
    """Name and type of all declared publishers' topics, but for those of the session with the id ``own``."""
    import zenoh

    samples = (reply.ok for reply in session.liveliness().get(f"@ros2_lv/{domain}/**", timeout=ANSWER_WITHIN))
    tokens = (str(sample.key_expr) for sample in samples if isinstance(sample, zenoh.Sample))
    topics = (topic_of_token(token) for token in tokens if own is None or own not in token)
    return {topic for topic in topics if topic is not None}


def subscriber(session: Any, domain: int, topic: str, kind: str, handle: Callable[[bytes], None]) -> Any:
    """Call ``handle`` with every message in CDR; what was kept for late joiners (tf_static) is requested."""
    import zenoh.ext

    key = f"{domain}{topic}/{type_key(kind)}/*"

    def receive(sample: Any) -> None:
        handle(bytes(sample.payload))

    if topic != "/tf_static":
        return session.declare_subscriber(key, receive)
    history = zenoh.ext.HistoryConfig(detect_late_publishers=True)
    return zenoh.ext.declare_advanced_subscriber(session, key, receive, history=history)


def type_key(kind: str) -> str:
    """A message type as it stands in a key: ``std_msgs/msg/String`` is ``std_msgs::msg::dds_::String_``."""
    package, folder, name = kind.split("/")
    return f"{package}::{folder}::dds_::{name}_"


def topic_of_token(token: str) -> tuple[str, str] | None:
    """Topic and type of a publisher's token; None for all else that is alive.

    >>> topic_of_token("@ros2_lv/0/aa/0/11/MP/%/%/node/%cam%image/sensor_msgs::msg::dds_::Image_/RIHS01_1/::,7:,")
    ('/cam/image', 'sensor_msgs/msg/Image')
    """
    parts = token.split("/")
    if len(parts) < 11 or parts[5] != "MP":
        return None
    found = _TYPE.fullmatch(parts[10])
    return None if found is None else (parts[9].replace("%", "/"), "/".join(found.groups()))
