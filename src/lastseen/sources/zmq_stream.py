"""A live camera over ZeroMQ: ``zmq://host:port`` subscribes to whoever publishes frames there.

Messages are those of ``lastseen.sources.wire``. With ``backpressure = "lossless"`` it pulls instead, and a sender
that pushes waits for us. Messages from outside are data: sizes are limited, nothing is unpickled.
"""

from __future__ import annotations

import re
import threading

from lastseen.errors import MissingExtra, SourceError
from lastseen.protocols import Detector
from lastseen.sources.detections import RecentDetections
from lastseen.sources.live import POLL, LiveSource
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RawRecord
from lastseen.sources.wire import MAX_HEADER, PARTS, read_header, unpack

FIRST_MESSAGE = 10.0
"""Seconds until the first message must have come, where it matters what it holds."""


class ZmqSource(LiveSource[list[bytes]]):
    """Frames that somebody publishes or pushes."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(f"zmq://{address}", options)
        try:
            import zmq
        except ImportError as error:
            raise MissingExtra("a camera over ZeroMQ", extra="zmq") from error
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
        first = self.mailbox.peek(FIRST_MESSAGE)
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

        lossless = self.options.backpressure == "lossless"
        socket = self._context.socket(zmq.PULL if lossless else zmq.SUB)
        try:
            socket.setsockopt(zmq.LINGER, 0)
            # libzmq closes a connection that announces more, before it takes it in
            socket.setsockopt(zmq.MAXMSGSIZE, self.options.max_message_mb * 2**20)
            socket.setsockopt(zmq.RCVHWM, self.options.queue_frames)
            if not lossless:
                socket.setsockopt(zmq.SUBSCRIBE, b"")
            socket.connect(self._endpoint)
            while not stop.is_set():
                if not socket.poll(int(1000 * POLL)):
                    continue
                parts = [socket.recv()]
                while socket.getsockopt(zmq.RCVMORE):
                    # parts that nobody asked for are read and let go
                    parts = [*parts, socket.recv()][: PARTS + 1]
                if not self._take(parts):
                    return
        except zmq.ZMQError as error:
            raise SourceError("zmq address", self.address, str(error), remedy="check host and port") from error
        finally:
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
            self.mailbox.report("unreadable message", f"{len(parts)} parts, the first of {len(parts[0])} bytes")
            return True
        try:
            header = read_header(parts[0])
        except SourceError as error:
            self.mailbox.report(f"unreadable {error.field.split()[0]}", str(error))
            return True
        if header.get("end") is True:
            return False
        number = header.get("sequence")
        if isinstance(number, int) and not isinstance(number, bool):
            if self._next is not None and number > self._next:
                self.mailbox.lose(number - self._next)
            self._next = number + 1
        return self.mailbox.put(parts)
