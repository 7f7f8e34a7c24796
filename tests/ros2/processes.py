"""Processes of lastseen on a ROS graph of their own, for the checks that run with a real rclpy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile

from lastseen.sources.ros.messages import message_class, to_cdr

DOMAIN = 1 + os.getpid() % 100
"""A domain of its own, so that two runs do not hear each other; above 101 its ports are given to others too."""
os.environ |= {"ROS_DOMAIN_ID": str(DOMAIN), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
# a shell lets what it starts in the background ignore Ctrl-C, and so would all that is started here
signal.signal(signal.SIGINT, signal.default_int_handler)
LONG = 240.0
"""Seconds after which a busy machine would have done it: only a failure waits that long."""
KEPT = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@contextmanager
def lastseen(*words: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A ``lastseen`` command in a process of its own, interrupted at the end; its output is in ``log``."""
    with log.open("ab") as out:
        process = subprocess.Popen([sys.executable, "-m", "lastseen", *words], stdout=out, stderr=out)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(LONG)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


class Client:
    """A node of the test: hears, sends, calls services and actions."""

    def __init__(self) -> None:
        self._context = rclpy.context.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node("client", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._publishers: dict[str, Any] = {}
        self.heard: dict[str, list[Any]] = {}

    def hear(self, topic: str, kind: str, *, kept: bool = False) -> list[Any]:
        heard = self.heard.setdefault(topic, [])
        self.node.create_subscription(message_class(kind), topic, heard.append, KEPT if kept else 10)
        return heard

    def send(self, topic: str, kind: str, tree: dict[str, Any]) -> None:
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(message_class(kind), topic, 10)
            self.until(self._publishers[topic].get_subscription_count)
        self._publishers[topic].publish(to_cdr(kind, tree))

    def call(self, service: str, kind: str, **fields: Any) -> Any:
        client = self.node.create_client(message_class(kind), service)
        self.until(client.service_is_ready)
        future = client.call_async(message_class(kind).Request(**fields))
        self.until(future.done)
        self.node.destroy_client(client)
        return future.result()

    def spin(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.05)

    def until(self, held: Callable[[], object], seconds: float = LONG) -> None:
        end = time.monotonic() + seconds
        while not held():
            assert time.monotonic() < end, "it did not come"
            self._executor.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.shutdown()
