"""Publish RGB-D frames over ZeroMQ for `lastseen run zmq://127.0.0.1:5599`: here a walk through a simulated home.

Replace `frames()` by your camera: a message is a JSON header and two raw buffers, nothing else
(`python -c "import lastseen.sources.message as w; print(w.__doc__)"` describes it).
"""

from __future__ import annotations

import argparse
import time

import zmq

from lastseen.sources import open_source
from lastseen.sources.message import END, pack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", default="sim://7?minutes=1&rooms=4", help="what to publish")
    parser.add_argument("--port", type=int, default=5599)
    parser.add_argument("--rate", type=float, default=10.0, help="frames per second")
    parser.add_argument("--push", action="store_true", help="wait for the reader, which sets backpressure=lossless")
    parser.add_argument("--frames", type=int, default=None, help="stop after so many")
    arguments = parser.parse_args()
    context = zmq.Context()
    socket = context.socket(zmq.PUSH if arguments.push else zmq.PUB)
    socket.setsockopt(zmq.SNDHWM, 4)
    socket.bind(f"tcp://127.0.0.1:{arguments.port}")
    # a subscriber that is still connecting misses what is published meanwhile
    time.sleep(1.0)
    with open_source(arguments.source) as source:
        detector = source.detector()
        for frame in source.frames():
            found = None if detector is None else detector.detect(frame)
            socket.send_multipart(pack(frame, sequence=frame.id, detections=found))
            if arguments.frames is not None and frame.id + 1 >= arguments.frames:
                break
            time.sleep(1.0 / arguments.rate)
    socket.send_multipart([END])
    # close lets what was sent go out first
    socket.close(linger=2000)
    context.term()


if __name__ == "__main__":
    main()
