"""The ROS 2 graph over Zenoh, as rmw_zenoh lays it out: no ROS installation is needed.

``ros2+zenoh://robot:7447`` connects to a router, ``ros2+zenoh://`` to the one on this machine: multicast is off where
rmw_zenoh runs, so there is nothing to find without an address. ``?domain=5`` is the ROS domain. Topics are found
through the liveliness tokens that every publisher declares; keys, tokens and attachments are laid out so that ROS
nodes see us like any other.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from lastseen.errors import SourceError, needs_extra
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import ros2_types, to_cdr
from lastseen.sources.ros.stream import RosStream, split_address
from lastseen.sources.ros.transport import Handler, Publication

NAME = "lastseen"
DEFAULT_HOST = "127.0.0.1:7447"
"""Where rmw_zenohd listens on the machine it runs on."""
ANSWER_WITHIN = 1.0
"""Seconds for tokens to be answered."""

_USUAL, _KEPT = "::,10:,:,:,,", ":1:,1:,:,:,,"
"""Qualities of service in a token: reliability, durability (1 is transient local), history with depth, times; empty
is usual."""
_ANY_HASH = "TypeHashNotSupported"
"""What stands for the hash where a subscriber takes every version of a type."""
_TYPE = re.compile(r"(\w+)::(\w+)::dds_::(\w+)_")


def open_zenoh(address: str, options: SourceOptions | None = None) -> RosStream:
    """A camera whose robot runs rmw_zenoh."""
    transport = ZenohTransport(address)
    return RosStream(f"ros2+zenoh://{address}", transport, options, leave=transport.close)


class ZenohTransport:
    """Topics through a Zenoh session."""

    def __init__(self, address: str = "") -> None:
        with needs_extra("ROS 2 over Zenoh", extra="zenoh"):
            import zenoh.ext  # noqa: F401
        host, self._domain = split_address(address)
        self._session: Any = _open_session(host)
        self._zid = str(self._session.zid())
        self._publishers: dict[str, Any] = {}
        self._tokens = [self._token("0/NN/%/%")]
        self._numbers: dict[str, int] = {}
        self._gid = secrets.token_bytes(16)
        self._lock = threading.Lock()

    def topics(self) -> list[tuple[str, str]]:
        """Name and type of every topic that somebody else publishes."""
        import zenoh

        replies = self._session.liveliness().get(f"@ros2_lv/{self._domain}/**", timeout=ANSWER_WITHIN)
        tokens = (str(one.ok.key_expr) for one in replies if isinstance(one.ok, zenoh.Sample))
        found = {topic_of_token(token) for token in tokens if self._zid not in token}
        return sorted(topic for topic in found if topic is not None)

    def subscribe(self, topic: str, kind: str, handle: Handler) -> Callable[[], None]:
        """Call ``handle`` with every message in CDR; what was kept for late joiners (tf_static) is requested."""
        import zenoh.ext

        key = f"{self._domain}{_resolved(topic)}/{type_key(kind)}/*"

        def receive(sample: Any) -> None:
            handle(bytes(sample.payload))

        if topic == "/tf_static":
            history = zenoh.ext.HistoryConfig(detect_late_publishers=True)
            received: Any = zenoh.ext.declare_advanced_subscriber(self._session, key, receive, history=history)
        else:
            received = self._session.declare_subscriber(key, receive)
        token = self._token(f"{len(self._tokens)}/MS/%/%", topic, kind, _ANY_HASH)

        def end() -> None:
            token.undeclare()
            received.undeclare()

        return end

    def publish(self, publication: Publication) -> None:
        """Send a message; of a type that is not known without ROS (our own), it is left out."""
        import zenoh.ext

        if publication.kind not in ros2_types().fielddefs:
            return
        topic = publication.topic
        with self._lock:
            if topic not in self._publishers:
                self._publishers[topic] = self._declare(publication)
            number = self._numbers[topic] = self._numbers.get(topic, 0) + 1
        attachment = zenoh.ext.z_serialize(
            (
                *("sequence_number", zenoh.ext.Int64(number)),
                *("source_timestamp", zenoh.ext.Int64(time.time_ns())),
                *("source_gid", self._gid),
            )
        )
        self._publishers[topic].put(to_cdr(publication.kind, publication.tree), attachment=attachment)

    def close(self) -> None:
        """Leave the network."""
        if not self._session.is_closed():
            self._session.close()

    def _declare(self, publication: Publication) -> Any:
        import zenoh.ext

        topic, kind = publication.topic, publication.kind
        rihs = ros2_types().hash_rihs01(kind)
        quality = _KEPT if publication.kept else _USUAL
        self._tokens.append(self._token(f"{len(self._tokens)}/MP/%/%", topic, kind, rihs, quality))
        key = f"{self._domain}{_resolved(topic)}/{type_key(kind)}/{rihs}"
        if not publication.kept:
            return self._session.declare_publisher(key)
        cache = zenoh.ext.CacheConfig(1)
        return zenoh.ext.declare_advanced_publisher(self._session, key, cache=cache, publisher_detection=True)

    def _token(self, head: str, topic: str = "", kind: str = "", rihs: str = "", quality: str = _USUAL) -> Any:
        """Declare that the node, a publisher or a subscriber is alive, as rmw_zenoh does."""
        entity, _, rest = head.partition("/")
        key = f"@ros2_lv/{self._domain}/{self._zid}/0/{entity}/{rest}/{NAME}"
        if topic:
            key += f"/{_resolved(topic).replace('/', '%')}/{type_key(kind)}/{rihs}/{quality}"
        return self._session.liveliness().declare_token(key)


def _open_session(host: str) -> Any:
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


def _resolved(topic: str) -> str:
    """A topic's full name: ``~/`` is the node's own."""
    return f"/{NAME}/{topic[2:]}" if topic.startswith("~/") else topic


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
