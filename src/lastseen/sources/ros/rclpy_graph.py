"""The ROS 2 graph through an installed ROS: ``ros2://`` and the node use rclpy, whatever middleware it has.

Messages are taken as bytes and read like those of bags, so that one decoder serves all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from lastseen.closing import Closes
from lastseen.errors import SourceError
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import POSE_COVARIANCE, installed_class, message_class, to_message
from lastseen.sources.ros.stream import RosStream, split_address
from lastseen.sources.ros.transport import Handler, Publication

try:
    import rclpy
    import rclpy.context
    from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
    from rclpy.event_handler import SubscriptionEventCallbacks
    from rclpy.executors import MultiThreadedExecutor
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
    from rclpy.signals import SignalHandlerOptions
except ImportError as error:
    raise SourceError(
        "ROS",
        "rclpy",
        "is not installed",
        remedy="source your ROS installation first, or go over Zenoh: ros2+zenoh://, --zenoh",
    ) from error

THREADS = 6
"""Subscriptions, services, an action and the timer: none waits for another."""
_JOIN = 5.0
"""Seconds that the thread which spins is given to end."""
_KEPT = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


def open_graph(address: str, options: SourceOptions | None = None) -> RosStream:
    """A camera on the ROS 2 graph: ``ros2://?domain=5``."""
    host, domain = split_address(address)
    if host:
        raise SourceError("ROS address", address, "takes no host", remedy="ros2://?domain=5, or ros2+zenoh://host")
    graph = Graph("lastseen", domain=domain)
    return RosStream(f"ros2://{address}", graph.transport, options, leave=graph.close)


class RclpyTransport:
    """Topics through a node of rclpy."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._publishers: dict[str, Any] = {}
        self._missing: set[str] = set()
        self._incoming = MutuallyExclusiveCallbackGroup()

    def topics(self) -> list[tuple[str, str]]:
        """Name and type of every topic that somebody else publishes."""
        graph = self._node.get_topic_names_and_types()
        return [(name, kind) for name, kinds in graph for kind in kinds if self._is_published(name)]

    def _is_published(self, topic: str) -> bool:
        """Whether somebody else publishes it: the graph also lists what is only awaited, such as our own objects."""
        own = self._node.get_name(), self._node.get_namespace()
        found = self._node.get_publishers_info_by_topic(topic)
        return any((one.node_name, one.node_namespace) != own for one in found)

    def subscribe(self, topic: str, kind: str, handle: Handler) -> Callable[[], None]:
        """Call ``handle`` with every message in CDR."""
        qualities = [_quality_of_reading(topic)]
        if kind == POSE_COVARIANCE:
            # AMCL keeps its last pose for late joiners, and sends no other while the robot stands
            qualities.append(_KEPT)
        subscriptions = [
            self._node.create_subscription(
                installed_class(kind),
                topic,
                lambda data: self._handle(topic, handle, bytes(data)),
                quality,
                raw=True,
                callback_group=self._incoming,
                # of the two one may not fit the publisher: that is no warning
                event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=len(qualities) == 1),
            )
            for quality in qualities
        ]

        def end() -> None:
            for one in subscriptions:
                self._node.destroy_subscription(one)

        return end

    def _handle(self, topic: str, handle: Handler, data: bytes) -> None:
        """Handle a message; an error in a callback would end the executor, and the node with it."""
        try:
            handle(data)
        except Exception as error:  # noqa: BLE001
            self._node.get_logger().error(f"a message on {topic} failed: {type(error).__name__}: {error}")

    def publish(self, publication: Publication) -> None:
        """Send a message; of a type that ROS has not, it is left out and told once."""
        topic = publication.topic
        try:
            kind = message_class(publication.kind)
        except ImportError:
            if publication.kind not in self._missing:
                self._missing.add(publication.kind)
                package = publication.kind.partition("/")[0]
                self._node.get_logger().warning(f"{topic} is not published: {package} is not installed")
            return
        if topic not in self._publishers:
            quality = _KEPT if publication.kept else QoSProfile(depth=10)
            self._publishers[topic] = self._node.create_publisher(kind, topic, quality)
        self._publishers[topic].publish(to_message(kind, publication.tree))

    def close(self) -> None:
        """Publish no more."""
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        self._publishers.clear()


class Graph(Closes):
    """A node of its own for a source, or a search from the shell: spun by a thread, left at the end."""

    def __init__(self, name: str, *, domain: int | None = None) -> None:
        self.context = rclpy.context.Context()
        rclpy.init(context=self.context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(name, context=self.context)
        self.transport = RclpyTransport(self.node)
        self._executor = MultiThreadedExecutor(num_threads=THREADS, context=self.context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._executor.spin, name="lastseen-graph", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the graph; may be called twice."""
        if self.context.ok():
            self._executor.shutdown()
            self._thread.join(_JOIN)
            self.node.destroy_node()
            self.context.try_shutdown()


def _quality_of_reading(topic: str) -> Any:
    """Best effort for what sensors send, which receives from reliable publishers too; tf_static is kept for us."""
    if topic == "/tf_static":
        return QoSProfile(
            depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
        )
    sensed = not topic.startswith("~/")
    return QoSProfile(
        depth=100 if topic == "/tf" else 10,
        reliability=ReliabilityPolicy.BEST_EFFORT if sensed else ReliabilityPolicy.RELIABLE,
    )
