"""Cameras on this computer through their makers' SDKs: ``realsense://``, ``oak://`` and ``record3d://``.

Images are received in a thread and wait in the bounded queue of every live source. A camera that is unplugged is
opened again until it is back. RealSense and OAK have no localizer, so their poses come from the images
(``poses = "odometry"``); an iPhone with Record3D sends its own.
"""

from __future__ import annotations

import importlib
import threading
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import MissingExtra, SourceError, needs_extra
from lastseen.geometry import CameraAxes, Intrinsics, WorldUp
from lastseen.sources.live import POLL, LiveSource
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RawRecord

WIDTH, HEIGHT, RATE = 640, 480, 30
"""Pixels and images a second that are asked for: what every depth camera has, and odometry follows."""

OAK_HEIGHT = 400
"""Rows of an OAK's image: its stereo cameras have 640 x 400."""

LOST_AFTER = 3.0
"""Seconds without an image after which a camera is opened again."""

RETRY = 1.0
"""Seconds between two tries to open a camera that is away."""

AWAY = "camera away"


class CameraLostError(Exception):
    """The SDK says that the camera cannot be opened, or is gone."""


@dataclass(frozen=True, slots=True, eq=False)
class CameraImage:
    """Colour and depth of one moment as the SDK gives them; ``pose`` is translation and quaternion (xyzw)."""

    stamp: float
    rgb: NDArray[np.uint8]
    depth: NDArray[np.generic]
    raw_per_metre: float
    intrinsics: Intrinsics
    depth_intrinsics: Intrinsics | None = None
    confidence: NDArray[np.uint8] | None = None
    pose: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


class CameraSource(LiveSource[CameraImage], ABC):
    """A camera: a subclass opens it, reads one image at a time and closes it."""

    scheme = ""
    remedy = ""
    """What to do where no camera can be opened."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(f"{self.scheme}://{address}", self.options_for(options or SourceOptions()))
        self.device = address
        self._pipeline: Any = None
        self._known = False
        """Whether an image ever came: then a camera that is away is waited for."""

    def options_for(self, options: SourceOptions) -> SourceOptions:
        """The options with what this kind of camera needs: poses from the images."""
        return options.replaced(poses="odometry")

    @abstractmethod
    def open(self) -> None:
        """Start the camera; raises ``CameraLostError`` where it is not there."""

    @abstractmethod
    def read(self) -> CameraImage | None:
        """The next image, or None after a short wait; raises ``EOFError`` at the end of a played recording."""

    def stop(self) -> None:
        """Release the camera by stopping the SDK's pipeline; may be called when it is gone."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            try:
                pipeline.stop()
            except RuntimeError as error:
                # it is gone already; that is why it is stopped
                self.queue.skip(AWAY, str(error))

    def receive(self, stop: threading.Event) -> None:
        """Put images into the queue; a camera that was there once is waited for when it goes away."""
        while not stop.is_set():
            try:
                self.open()
                self._receive_images(stop)
                return
            except CameraLostError as error:
                if not self._known:
                    raise SourceError(
                        "camera", self.address, f"cannot be opened ({error})", remedy=self.remedy
                    ) from error
                self.queue.skip(AWAY, str(error))
                stop.wait(RETRY)
            except EOFError:
                return
            finally:
                self.stop()

    def decode(self, item: CameraImage) -> RawRecord:
        """The record of an image; without a pose of its own it is at the origin until odometry places it."""
        translation, quaternion = item.pose or (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
        return RawRecord(
            stamp=item.stamp,
            rgb=item.rgb,
            depth=item.depth,
            raw_per_metre=item.raw_per_metre,
            translation=translation,
            quaternion=quaternion,
            intrinsics=item.intrinsics,
            depth_intrinsics=item.depth_intrinsics,
            confidence=item.confidence,
        )

    def _receive_images(self, stop: threading.Event) -> None:
        """Pass images on until it is stopped; raises ``CameraLostError`` where no image comes any more."""
        last = time.monotonic()
        while not stop.is_set():
            image = self.read()
            if image is not None:
                last, self._known = time.monotonic(), True
                if not self.queue.put(image):
                    return
            elif time.monotonic() - last > LOST_AFTER:
                raise CameraLostError(f"no image for {LOST_AFTER:g} s")


class RealSenseSource(CameraSource):
    """An Intel RealSense: ``realsense://`` or ``realsense://SERIAL``; a path plays a recording of the SDK."""

    scheme = "realsense"
    remedy = "plug it into USB 3, close other programs that use it; `rs-enumerate-devices` lists cameras"

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(address, options)
        try:
            self._sdk: Any = importlib.import_module("pyrealsense2")
        except ImportError as error:
            if "libusb" in str(error):
                raise SourceError(
                    "camera", self.address, f"needs a system library ({error})", remedy="apt install libusb-1.0-0"
                ) from error
            raise MissingExtra("a RealSense camera", extra="realsense") from error
        self._file = address if Path(address).suffix in {".bag", ".db3"} else ""
        if self._file and not Path(self._file).is_file():
            raise SourceError("camera", self.address, "is no file", remedy="check the path")
        self._align: Any = None
        self._numbers = (-1, -1)

    def open(self) -> None:
        """Start colour and depth, or the recording."""
        sdk, config = self._sdk, self._sdk.config()
        if self._file:
            config.enable_device_from_file(self._file, repeat_playback=False)
        else:
            if self.device:
                config.enable_device(self.device)
            config.enable_stream(sdk.stream.depth, WIDTH, HEIGHT, sdk.format.z16, RATE)
            config.enable_stream(sdk.stream.color, WIDTH, HEIGHT, sdk.format.rgb8, RATE)
        pipeline = sdk.pipeline()
        try:
            profile = pipeline.start(config)
        except RuntimeError as error:
            raise CameraLostError(str(error)) from error
        self._pipeline, self._align, self._numbers = pipeline, sdk.align(sdk.stream.color), (-1, -1)
        if self._file:
            # as fast as it is read: a recording loses nothing
            profile.get_device().as_playback().set_real_time(False)

    def read(self) -> CameraImage | None:
        """The next pair, with depth registered to colour by the SDK."""
        try:
            there, frames = self._pipeline.try_wait_for_frames(1000 if self._file else int(1000 * POLL))
            if not there:
                if self._file:
                    raise EOFError
                return None
            frames = self._align.process(frames)
        except RuntimeError as error:
            raise CameraLostError(str(error)) from error
        color, depth = frames.get_color_frame(), frames.get_depth_frame()
        if not color or not depth:
            return None
        numbers = (color.get_frame_number(), depth.get_frame_number())
        # a set repeats the image of a stream that had no newer one
        if any(new == old for new, old in zip(numbers, self._numbers, strict=True)):
            return None
        self._numbers = numbers
        view = color.profile.as_video_stream_profile()
        own = view.intrinsics
        return CameraImage(
            stamp=color.get_timestamp() / 1000.0,
            rgb=self._rgb(color, view.format()),
            depth=np.array(depth.get_data()),
            raw_per_metre=1.0 / depth.get_units(),
            intrinsics=Intrinsics(own.fx, own.fy, own.ppx, own.ppy, own.width, own.height),
        )

    def _rgb(self, color: Any, form: Any) -> NDArray[np.uint8]:
        data = np.array(color.get_data())
        if form == self._sdk.format.rgb8:
            return data
        if form == self._sdk.format.bgr8:
            return np.ascontiguousarray(data[:, :, ::-1])
        raise SourceError("camera colour", str(form), "is not rgb8 or bgr8", remedy="record colour as rgb8")


class OakSource(CameraSource):
    """A Luxonis OAK with stereo: ``oak://`` or ``oak://NAME`` (an address or its id)."""

    scheme = "oak"
    remedy = "plug it in, set its udev rule (docs/cameras.md), close other programs that use it"

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(address, options)
        with needs_extra("an OAK camera", extra="oak"):
            self._sdk: Any = importlib.import_module("depthai")
        self._queue: Any = None

    def open(self) -> None:
        """Build and start a pipeline of colour and stereo depth that is registered to it."""
        sdk = self._sdk
        try:
            device = sdk.Device(sdk.DeviceInfo(self.device)) if self.device else sdk.Device()
            pipeline = sdk.Pipeline(device)
            sockets, size = sdk.CameraBoardSocket, (WIDTH, OAK_HEIGHT)
            color = pipeline.create(sdk.node.Camera).build(sockets.CAM_A)
            left = pipeline.create(sdk.node.Camera).build(sockets.CAM_B)
            right = pipeline.create(sdk.node.Camera).build(sockets.CAM_C)
            stereo = pipeline.create(sdk.node.StereoDepth)
            sync = pipeline.create(sdk.node.Sync)
            image = color.requestOutput(size, sdk.ImgFrame.Type.RGB888i, fps=RATE, enableUndistortion=True)
            left.requestOutput(size, fps=RATE).link(stereo.left)
            right.requestOutput(size, fps=RATE).link(stereo.right)
            image.link(stereo.inputAlignTo)
            stereo.depth.link(sync.inputs["depth"])
            image.link(sync.inputs["color"])
            self._queue = sync.out.createOutputQueue()
            self._pipeline = pipeline
            pipeline.start()
        except RuntimeError as error:
            raise CameraLostError(str(error)) from error

    def read(self) -> CameraImage | None:
        """The next pair."""
        try:
            if not self._pipeline.isRunning():
                raise CameraLostError("its pipeline stopped")
            if not self._queue.has():
                time.sleep(0.005)
                return None
            group = self._queue.get()
        except RuntimeError as error:
            raise CameraLostError(str(error)) from error
        color, depth = group["color"], group["depth"]
        matrix = color.getTransformation().getIntrinsicMatrix()
        rgb = np.array(color.getFrame())
        return CameraImage(
            stamp=color.getTimestamp().total_seconds(),
            rgb=rgb,
            depth=np.array(depth.getFrame()),
            raw_per_metre=1000.0,
            intrinsics=Intrinsics(matrix[0][0], matrix[1][1], matrix[0][2], matrix[1][2], rgb.shape[1], rgb.shape[0]),
        )


class Record3DSource(CameraSource):
    """An iPhone or iPad with the Record3D app on a cable: ``record3d://`` or ``record3d://INDEX``."""

    scheme = "record3d"
    remedy = "plug the phone in, trust this computer, set Record3D to USB streaming and press record"

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(address, options)
        if address and not address.isdigit():
            raise SourceError("camera", self.address, "is no number", remedy="record3d:// takes the first phone")
        try:
            self._sdk: Any = importlib.import_module("record3d")
        except ImportError as error:
            raise SourceError(
                "camera",
                self.address,
                "needs the package record3d, which is LGPL and therefore no extra of ours",
                remedy="pip install record3d",
            ) from error
        self._session: Any = None
        self._new, self._ended = threading.Event(), threading.Event()

    def options_for(self, options: SourceOptions) -> SourceOptions:
        """ARKit's conventions; its poses are kept unless ``poses`` says otherwise."""
        return options.replaced(world_up=WorldUp.Y.value, camera_axes=CameraAxes.OPENGL.value)

    def open(self) -> None:
        """Connect to the phone."""
        devices = self._sdk.Record3DStream.get_connected_devices()
        index = int(self.device or 0)
        if index >= len(devices):
            raise CameraLostError(f"{len(devices)} phones are connected")
        self._new.clear()
        self._ended.clear()
        session = self._sdk.Record3DStream()
        session.on_new_frame = self._new.set
        session.on_stream_stopped = self._ended.set
        if not session.connect(devices[index]):
            raise CameraLostError("the phone does not stream")
        self._session = session

    def read(self) -> CameraImage | None:
        """The newest image with the phone's pose."""
        if self._ended.is_set():
            raise CameraLostError("the phone ended the stream")
        if not self._new.wait(POLL):
            return None
        self._new.clear()
        session = self._session
        rgb, depth = np.array(session.get_rgb_frame()), np.array(session.get_depth_frame())
        confidence = np.array(session.get_confidence_frame())
        numbers, pose = session.get_intrinsic_mat(), session.get_camera_pose()
        camera = Intrinsics(numbers.fx, numbers.fy, numbers.tx, numbers.ty, rgb.shape[1], rgb.shape[0])
        if session.get_device_type() == 0:
            # the camera above the screen shows a mirror image
            rgb, depth = rgb[:, ::-1], depth[:, ::-1]
        return CameraImage(
            stamp=time.time(),
            rgb=np.ascontiguousarray(rgb),
            depth=np.ascontiguousarray(depth),
            raw_per_metre=1.0,
            intrinsics=camera,
            depth_intrinsics=camera.resized(depth.shape[1], depth.shape[0]),
            confidence=confidence if confidence.shape == depth.shape else None,
            pose=(
                np.array([pose.tx, pose.ty, pose.tz], dtype=np.float64),
                np.array([pose.qx, pose.qy, pose.qz, pose.qw], dtype=np.float64),
            ),
        )

    def stop(self) -> None:
        """Let the session go; the package ends it with its last reference."""
        self._session = None
