"""Stand-ins for the makers' SDKs: the documented calls that the camera sources use, with images of a still scene.

``Visits`` says what happens each time a camera is opened: how many images come before it goes away. After the last
one a recording ends, and a camera stays silent.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

WIDTH, HEIGHT = 64, 48


def images(number: int) -> tuple[Any, Any]:
    """Colour that shows its number, and depth of 1.5 m in millimetres."""
    return np.full((HEIGHT, WIDTH, 3), number, np.uint8), np.full((HEIGHT, WIDTH), 1500, np.uint16)


class Visits:
    """What a camera does at each opening: so many images, then it is gone."""

    def __init__(self, *counts: int) -> None:
        self.counts = list(counts)
        self.left = 0
        self.number = 0

    def open(self) -> None:
        if not self.counts:
            raise RuntimeError("No device connected")
        self.left = self.counts.pop(0)

    def next(self) -> int | None:
        """The number of the next image; None when the camera is gone."""
        if self.left == 0:
            return None
        self.left -= 1
        self.number += 1
        return self.number


def realsense(monkeypatch: pytest.MonkeyPatch, visits: Visits) -> None:
    """Install a stand-in for pyrealsense2."""
    sdk: Any = ModuleType("pyrealsense2")
    sdk.stream = SimpleNamespace(depth="depth", color="color")
    sdk.format = SimpleNamespace(z16="z16", rgb8="rgb8", bgr8="bgr8")

    class Config:
        def enable_stream(self, *_: object) -> None: ...
        def enable_device(self, serial: str) -> None: ...
        def enable_device_from_file(self, file: str, *, repeat_playback: bool) -> None: ...

    class Picture:
        def __init__(self, data: Any, number: int) -> None:
            self.data, self.number = data, number
            own = SimpleNamespace(fx=60.0, fy=60.0, ppx=31.5, ppy=23.5, width=WIDTH, height=HEIGHT)
            view = SimpleNamespace(intrinsics=own, format=lambda: "rgb8")
            self.profile = SimpleNamespace(as_video_stream_profile=lambda: view)

        def get_data(self) -> Any:
            return self.data

        def get_frame_number(self) -> int:
            return self.number

        def get_timestamp(self) -> float:
            return 1000.0 * self.number / 30

        def get_units(self) -> float:
            return 0.001

    class Pipeline:
        def start(self, config: Config) -> Any:
            visits.open()
            playback = SimpleNamespace(set_real_time=lambda _: None)
            return SimpleNamespace(get_device=lambda: SimpleNamespace(as_playback=lambda: playback))

        def try_wait_for_frames(self, milliseconds: int) -> tuple[bool, Any]:
            number = visits.next()
            if number is None:
                if visits.counts:
                    raise RuntimeError("Device disconnected")
                return False, None
            color, depth = (Picture(data, number) for data in images(number))
            return True, SimpleNamespace(get_color_frame=lambda: color, get_depth_frame=lambda: depth)

        def stop(self) -> None: ...

    sdk.config, sdk.pipeline = Config, Pipeline
    sdk.align = lambda _: SimpleNamespace(process=lambda frames: frames)
    monkeypatch.setitem(sys.modules, "pyrealsense2", sdk)


def oak(monkeypatch: pytest.MonkeyPatch, visits: Visits) -> None:
    """Install a stand-in for depthai 3."""
    sdk: Any = ModuleType("depthai")

    class Picture:
        def __init__(self, data: Any, number: int) -> None:
            self.data, self.number = data, number

        def getFrame(self) -> Any:
            return self.data

        def getTimestamp(self) -> timedelta:
            return timedelta(seconds=self.number / 30)

        def getTransformation(self) -> Any:
            return SimpleNamespace(getIntrinsicMatrix=lambda: [[60.0, 0, 31.5], [0, 60.0, 23.5], [0, 0, 1]])

    class Queue:
        def has(self) -> bool:
            return visits.left > 0

        def get(self) -> dict[str, Picture]:
            number = visits.next()
            assert number is not None
            color, depth = images(number)
            return {"color": Picture(color, number), "depth": Picture(depth, number)}

    class Output:
        def link(self, other: object) -> None: ...

        def createOutputQueue(self) -> Queue:
            return Queue()

    class Node:
        left = right = object()
        depth = out = Output()

        def __init__(self) -> None:
            self.inputAlignTo = object()
            self.inputs = {"depth": object(), "color": object()}

        def build(self, socket: object) -> Node:
            return self

        def requestOutput(self, *_: object, **__: object) -> Output:
            return Output()

    class Pipeline:
        def __init__(self, device: object) -> None: ...

        def create(self, kind: type[Node]) -> Node:
            return kind()

        def start(self) -> None:
            visits.open()

        def isRunning(self) -> bool:
            return visits.left > 0 or not visits.counts

        def stop(self) -> None: ...

    sdk.Device = sdk.DeviceInfo = lambda *_: object()
    sdk.Pipeline = Pipeline
    sdk.node = SimpleNamespace(Camera=Node, StereoDepth=Node, Sync=Node)
    sdk.CameraBoardSocket = SimpleNamespace(CAM_A=0, CAM_B=1, CAM_C=2)
    sdk.ImgFrame = SimpleNamespace(Type=SimpleNamespace(RGB888i=0))
    monkeypatch.setitem(sys.modules, "depthai", sdk)


def record3d(monkeypatch: pytest.MonkeyPatch, visits: Visits) -> None:
    """Install a stand-in for record3d: every image that is taken brings the next."""
    sdk: Any = ModuleType("record3d")

    class Record3DStream:
        on_new_frame: Any = None
        on_stream_stopped: Any = None
        number: int | None = 0

        @staticmethod
        def get_connected_devices() -> list[object]:
            return [object()] if visits.counts else []

        def connect(self, device: object) -> bool:
            visits.open()
            self.advance()
            return True

        def advance(self) -> None:
            self.number = visits.next()
            (self.on_stream_stopped if self.number is None else self.on_new_frame)()

        def get_rgb_frame(self) -> Any:
            return images(self.number or 0)[0]

        def get_depth_frame(self) -> Any:
            return np.full((24, 32), 1.5, np.float32)

        def get_confidence_frame(self) -> Any:
            return np.full((24, 32), 2, np.uint8)

        def get_intrinsic_mat(self) -> Any:
            return SimpleNamespace(fx=60.0, fy=60.0, tx=31.5, ty=23.5)

        def get_camera_pose(self) -> Any:
            return SimpleNamespace(tx=0.1 * (self.number or 0), ty=1.2, tz=0.0, qx=0.0, qy=0.0, qz=0.0, qw=1.0)

        def get_device_type(self) -> int:
            self.advance()
            return 1

    sdk.Record3DStream = Record3DStream
    monkeypatch.setitem(sys.modules, "record3d", sdk)
