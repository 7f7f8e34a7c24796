"""Live ROS 2 topics through an installed ROS: ``ros2://`` uses rclpy, whatever middleware it has.

Messages are taken as bytes and read like those of bags, so that one decoder serves all.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from typing import Any

from lastseen.errors import SourceError
from lastseen.sources.live import POLL
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import TF, installed_class
from lastseen.sources.ros.stream import RosStream, live_topics, split_address
from lastseen.sources.ros.topics import Topic

DEPTH = 10
"""Messages the middleware keeps for us: as ROS does by default."""


class RclpySource(RosStream):
    """A camera on the ROS 2 graph."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        try:
            import rclpy
            import rclpy.context
        except ImportError as error:
            remedy = "source your ROS installation first, or use ros2+zenoh://"
            raise SourceError("ROS address", f"ros2://{address}", "needs rclpy", remedy=remedy) from error
        super().__init__(f"ros2://{address}", options)
        host, domain = split_address(address)
        if host:
            raise SourceError(
                "ROS address", address, "takes no host", remedy="ros2://?domain=5, or ros2+zenoh://host"
            )
        self._context = rclpy.context.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("lastseen", context=self._context)

    def find_topics(self) -> list[Topic]:
        """Topics of the graph as it is now."""
        return live_topics([(name, kind) for name, kinds in self._node.get_topic_names_and_types() for kind in kinds])

    def receive(self, stop: threading.Event) -> None:
        """Subscribe to the camera's topics and spin until ``stop`` is set."""
        from rclpy.executors import SingleThreadedExecutor

        for topic, kind in self.wanted().items():
            if kind == TF and self.options.pose_topic and not _is_installed(kind):
                # poses come from elsewhere; a camera mounted on something is then reported to have none
                continue

            def handle(data: bytes, topic: str = topic, kind: str = kind) -> None:
                self.on_message(topic, kind, bytes(data))

            self._node.create_subscription(
                installed_class(kind), topic, handle, _quality(static=topic == "/tf_static"), raw=True
            )
        executor = SingleThreadedExecutor(context=self._context)
        executor.add_node(self._node)
        try:
            while not stop.is_set():
                executor.spin_once(timeout_sec=POLL)
        finally:
            executor.shutdown()

    def close(self) -> None:
        """Leave the graph."""
        super().close()
        if self._context.ok():
            self._node.destroy_node()
            self._context.shutdown()


def _quality(*, static: bool) -> Any:
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    if static:
        return QoSProfile(
            depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
        )
    # best effort receives from reliable publishers too; cameras are often best effort
    return QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)


def _is_installed(kind: str) -> bool:
    return importlib.util.find_spec(kind.split("/", maxsplit=1)[0]) is not None
