"""The node over Zenoh, where the robot runs rmw_zenoh: no ROS is needed on this machine.

Topics, keys, liveliness tokens and attachments are laid out as rmw_zenoh does it, so that ROS nodes see a publisher
like any other. Services and the action have no counterpart here: the JSON topics serve instead.
"""

from __future__ import annotations

import secrets
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from lastseen.errors import LastseenError, needs_extra
from lastseen.ros2.conversions import to_cdr
from lastseen.ros2.memory_node import TICK, MemoryNode, NodeOptions
from lastseen.ros2.publications import LATCHED, Publication
from lastseen.sources.ros.messages import ros2_types
from lastseen.sources.ros.stream import split_address
from lastseen.sources.ros.zenoh_stream import open_session, published, subscriber, type_key

NAME = "lastseen"
_USUAL = "::,10:,:,:,,"
"""ROS's default quality of service in a token: reliability, durability, history with depth, times; empty is usual."""
_ANY_HASH = "TypeHashNotSupported"
"""What stands for the hash where a subscriber takes every version of a type."""


class ZenohTransport:
    """Topics through a Zenoh session."""

    def __init__(self, address: str = "") -> None:
        with needs_extra("a node over Zenoh", extra="zenoh"):
            import zenoh.ext  # noqa: F401
        host, self._domain = split_address(address)
        self._session: Any = open_session(host)
        self._zid = str(self._session.zid())
        self._publishers: dict[str, Any] = {}
        self._tokens = [self._token("0/NN/%/%")]
        self._numbers: dict[str, int] = {}
        self._gid = secrets.token_bytes(16)
        self._lock = threading.Lock()

    def topics(self) -> list[tuple[str, str]]:
        """Name and type of every topic that somebody else publishes."""
        return sorted(published(self._session, self._domain, own=self._zid))

    def subscribe(self, topic: str, kind: str, handle: Callable[[bytes], None]) -> Callable[[], None]:
        """Call ``handle`` with every message in CDR, also with one that was kept for late joiners."""
        received = subscriber(self._session, self._domain, _resolved(topic), kind, handle)
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
                self._publishers[topic] = self._declare(topic, publication.kind)
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

    def _declare(self, topic: str, kind: str) -> Any:
        import zenoh.ext

        rihs = ros2_types().hash_rihs01(kind)
        kept = topic in LATCHED
        # transient local is 1
        quality = ":1:,1:,:,:,," if kept else _USUAL
        self._tokens.append(self._token(f"{len(self._tokens)}/MP/%/%", topic, kind, rihs, quality))
        key = f"{self._domain}{_resolved(topic)}/{type_key(kind)}/{rihs}"
        if not kept:
            return self._session.declare_publisher(key)
        cache = zenoh.ext.CacheConfig(1)
        return zenoh.ext.declare_advanced_publisher(self._session, key, cache=cache, publisher_detection=True)

    def _token(
        self, head: str, topic: str = "", kind: str = "", rihs: str = "", quality: str = "::,10:,:,:,,"
    ) -> Any:
        """Declare that the node, a publisher or a subscriber is alive, as rmw_zenoh does."""
        entity, _, rest = head.partition("/")
        key = f"@ros2_lv/{self._domain}/{self._zid}/0/{entity}/{rest}/{NAME}"
        if topic:
            key += f"/{_resolved(topic).replace('/', '%')}/{type_key(kind)}/{rihs}/{quality}"
        return self._session.liveliness().declare_token(key)


def run_zenoh_node(options: NodeOptions, address: str, *, stop: threading.Event | None = None) -> None:
    """Run the node until Ctrl-C or ``stop``; what was seen is on disk when this returns."""
    transport = ZenohTransport(address)
    node = MemoryNode(transport)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    stop = stop or threading.Event()
    try:
        node.configure(options)
        node.activate()
        while not stop.wait(TICK):
            node.tick()
    except KeyboardInterrupt:
        pass
    finally:
        try:
            node.cleanup()
        except LastseenError:
            transport.close()
            raise
        transport.close()


def _resolved(topic: str) -> str:
    """A topic's full name: ``~/`` is the node's own."""
    return f"/{NAME}/{topic[2:]}" if topic.startswith("~/") else topic
