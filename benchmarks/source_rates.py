"""Frames per second of every kind of source, on one recording written in each way: 640x480 colour and depth."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from lastseen.frame import Frame
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.message import END, pack
from lastseen.sources.ros.container import Container
from lastseen.sources.ros.messages import ros1_types, ros2_types
from lastseen.sources.ros.writing import record
from lastseen.sources.zmq_stream import ZmqSource

FRAMES = 60


def rates(recording: Path, console: Console) -> dict[str, float]:
    """Frames per second of wall time by kind; the sender of ZeroMQ shares the process with its reader."""
    found: dict[str, float] = {}
    table = Table("source", "frames/s", "cpu-ms a frame", "MiB a frame")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mcap, small = folder / "raw.mcap", folder / "png.mcap"
        record(open_source(recording), mcap, max_frames=FRAMES)
        record(open_source(recording), small, color="jpeg", depth="png", max_frames=FRAMES)
        ros1, sqlite = copy_ros1(mcap, folder / "raw.bag"), copy_sqlite(mcap, folder / "raw")
        kinds: dict[str, Callable[[], Any]] = {
            "TUM folder (png)": lambda: open_source(recording),
            "ROS 1 bag": lambda: open_source(ros1),
            "ROS 2 sqlite3": lambda: open_source(sqlite),
            "MCAP (raw, 32FC1)": lambda: open_source(mcap),
            "MCAP (jpeg, png)": lambda: open_source(small),
            "sim://7 (256x192)": lambda: open_source("sim://7?minutes=1&rooms=4"),
        }
        sizes = {"MCAP (raw, 32FC1)": mcap, "MCAP (jpeg, png)": small}
        for kind, opened in kinds.items():
            with opened() as source:
                count, wall, cpu = drain(source)
            size = f"{sizes[kind].stat().st_size / count / 2**20:.2f}" if kind in sizes else ""
            found[kind] = round(count / wall, 1)
            table.add_row(kind, f"{count / wall:.0f}", f"{1000 * cpu / count:.1f}", size)
        with open_source(mcap) as source:
            count, wall, cpu = over_zmq(list(source.frames()))
        found["zmq"] = round(count / wall, 1)
        table.add_row("zmq:// (raw, lossless)", f"{count / wall:.0f}", f"{1000 * cpu / count:.1f}", "")
    console.print(table)
    return found


def drain(source: Any) -> tuple[int, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    count = 0
    for _ in source.frames():
        count += 1
        if count == FRAMES:
            break
    return count, time.perf_counter() - wall, time.process_time() - cpu


def over_zmq(frames: list[Frame]) -> tuple[int, float, float]:
    import zmq

    messages = [pack(frame, sequence=number) for number, frame in enumerate(frames)]
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.setsockopt(zmq.SNDHWM, 4)
        port = socket.bind_to_random_port("tcp://127.0.0.1")

        def send() -> None:
            for message in [*messages, [END]]:
                socket.send_multipart(message)

        sender = threading.Thread(target=send)
        options = SourceOptions(backpressure="lossless", end_after=10.0)
        with ZmqSource(f"127.0.0.1:{port}", options) as source:
            sender.start()
            taken = drain(source)
            source.queue.close()
            sender.join()
    return taken


def copy_ros1(mcap: Path, out: Path) -> Path:
    from rosbags.rosbag1 import Writer

    with closing(Container(mcap)) as bag, Writer(out) as writer:
        kinds = {topic: kind for topic, (kind, _) in bag.topics().items()}
        connections = {
            topic: writer.add_connection(topic, kind, typestore=ros1_types()) for topic, kind in kinds.items()
        }
        for raw in bag.messages(set(kinds)):
            data = ros2_types().cdr_to_ros1(raw.data, raw.type)
            writer.write(connections[raw.topic], raw.log_time, data)
    return out


def copy_sqlite(mcap: Path, out: Path) -> Path:
    from rosbags.rosbag2 import StoragePlugin, Writer

    with closing(Container(mcap)) as bag, Writer(out, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        kinds = {topic: kind for topic, (kind, _) in bag.topics().items()}
        connections = {
            topic: writer.add_connection(topic, kind, typestore=ros2_types()) for topic, kind in kinds.items()
        }
        for raw in bag.messages(set(kinds)):
            writer.write(connections[raw.topic], raw.log_time, raw.data)
    return out
