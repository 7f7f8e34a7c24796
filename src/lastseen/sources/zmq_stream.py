"""A live camera over ZeroMQ: ``zmq://host:port`` subscribes to whoever publishes frames there.

With ``backpressure = "lossless"`` it pulls instead, and a sender that pushes waits for us. ``message`` describes what
is sent.
"""

from __future__ import annotations

import os
import re
import socket as system_socket
import struct
import threading
from typing import Any

from lastseen.errors import SourceError, needs_extra
from lastseen.protocols import Detector
from lastseen.sources.detections import RecentDetections
from lastseen.sources.live import POLL, LiveSource
from lastseen.sources.message import MAX_HEADER, PARTS, read_header, unpack
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RawRecord

_TCP_INFO, _TCP_INFO_SIZE, _BYTES_RECEIVED = 11, 136, 128
"""Linux: the option that tells of a connection, and where in its answer the bytes received stand."""
FIRST_MESSAGE = 10.0
"""Seconds until the first message must have come, where it matters what it holds."""


class ZmqSource(LiveSource[list[bytes]]):
    """Frames that a sender publishes or pushes."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(f"zmq://{address}", options)
        with needs_extra("a camera over ZeroMQ", extra="zmq"):
            import zmq
        if not re.fullmatch(r"[\w.:\[\]-]+:\d+", address):
            raise SourceError("zmq address", address, "is no host:port", remedy="for example zmq://127.0.0.1:5599")
        if not 1 <= int(address.rpartition(":")[2]) <= 65535:
            raise SourceError(
                "zmq address", address, "has no port from 1 to 65535", remedy="for example zmq://127.0.0.1:5599"
            )
        self._endpoint = f"tcp://{address}"
        self._context = zmq.Context()
        self._detections = RecentDetections(self.options)
        self._next: int | None = None

    def detector(self) -> Detector | None:
        """The detections in the messages, where the first one has any; waits for it."""
        self.start()
        first = self.queue.peek(FIRST_MESSAGE)
        if first is None:
            raise SourceError(
                "zmq address",
                self.address,
                f"sent nothing for {FIRST_MESSAGE:g} s",
                remedy="start the publisher, check host and port; examples/zmq_publisher.py is one",
            )
        return self._detections if "detections" in read_header(first[0]) else None

    def receive(self, stop: threading.Event) -> None:
        """Take messages from the socket until it ends."""
        import zmq

        try:
            while not stop.is_set() and self._receive_until_too_much(stop):
                pass
        except zmq.ZMQError as error:
            raise SourceError("zmq address", self.address, str(error), remedy="check host and port") from error

    def _receive_until_too_much(self, stop: threading.Event) -> bool:
        """Take messages from one connection; True when it was given up because a message had no end.

        libzmq takes a message in whole, however many parts it has, and limits only the size of each: so the bytes
        that came since the last whole message are watched.
        """
        import zmq

        lossless, most = self.options.backpressure == "lossless", self.options.max_message_mb * 2**20
        socket = self._context.socket(zmq.PULL if lossless else zmq.SUB)
        traffic = Traffic(socket)
        try:
            socket.setsockopt(zmq.LINGER, 0)
            # libzmq closes a connection that announces more, before it takes it in
            socket.setsockopt(zmq.MAXMSGSIZE, most)
            socket.setsockopt(zmq.RCVHWM, self.options.queue_frames)
            if not lossless:
                socket.setsockopt(zmq.SUBSCRIBE, b"")
            socket.connect(self._endpoint)
            while not stop.is_set():
                if not socket.poll(int(1000 * POLL)):
                    if traffic.since_message() > PARTS * most:
                        size = f"more than {PARTS * self.options.max_message_mb} MiB"
                        self.queue.skip("unreadable message", f"{size} without an end; connected anew")
                        return True
                    continue
                parts = [socket.recv()]
                while socket.getsockopt(zmq.RCVMORE):
                    # surplus parts are read and dropped
                    parts = [*parts, socket.recv()][: PARTS + 1]
                traffic.note_message()
                if not self._take(parts):
                    return False
            return False
        finally:
            traffic.close()
            socket.close()

    def decode(self, item: list[bytes]) -> RawRecord:
        """The record of a message; its detections are kept for the detector."""
        record, rows = unpack(item, max_pixels=self.options.max_pixels)
        self._detections.add(record.stamp, rows)
        return record

    def close(self) -> None:
        """Stop and release the socket."""
        super().close()
        self._context.term()

    def _take(self, parts: list[bytes]) -> bool:
        """Pass a message on; False when it was the last."""
        if len(parts) > PARTS or len(parts[0]) > MAX_HEADER:
            self.queue.skip("unreadable message", f"{len(parts)} parts, the first of {len(parts[0])} bytes")
            return True
        try:
            header = read_header(parts[0])
        except SourceError as error:
            self.queue.skip(f"unreadable {error.field.split()[0]}", str(error))
            return True
        if header.get("end") is True:
            return False
        number = header.get("sequence")
        if isinstance(number, int) and not isinstance(number, bool):
            if self._next is not None and number > self._next:
                self.queue.count_lost(number - self._next)
            self._next = number + 1
        return self.queue.put(parts)


class Traffic:
    """Counts the bytes that came over a socket's connection, as the system counts them (Linux; 0 elsewhere)."""

    def __init__(self, socket: Any) -> None:
        import zmq

        self._socket = socket
        self._events = socket.get_monitor_socket(zmq.EVENT_CONNECTED)
        self._descriptor: int | None = None
        self._at_message = 0

    def note_message(self) -> None:
        """A whole message came: count from here on."""
        self._at_message = self._received()

    def since_message(self) -> int:
        """Bytes that came since the last whole message."""
        return self._received() - self._at_message

    def close(self) -> None:
        """Look no more; comes before the socket is closed."""
        self._socket.disable_monitor()
        self._events.close(0)

    def _received(self) -> int:
        from zmq.utils.monitor import recv_monitor_message

        while self._events.poll(0):
            self._descriptor, self._at_message = int(recv_monitor_message(self._events)["value"]), 0
        if self._descriptor is None:
            return 0
        try:
            with system_socket.socket(fileno=os.dup(self._descriptor)) as connection:
                facts = connection.getsockopt(system_socket.IPPROTO_TCP, _TCP_INFO, _TCP_INFO_SIZE)
            return int(struct.unpack_from("<Q", facts, _BYTES_RECEIVED)[0])
        except (OSError, struct.error):
            # the connection has ended, or the system does not tell
            return 0
