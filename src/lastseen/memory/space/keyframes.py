"""Keyframes: small pictures of what the robot saw, each with its pose and the objects in it, kept in the file.

A picture may show people. It is kept only where a detector that knows people looked at the image, and what it found
is blanked; or where the user opted in (``store.keyframes = "always"``). Each keyframe says which of the two it is.
They never take more than their budget: where they would, every second one of the older half goes.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Box
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.objects.boxes import corners
from lastseen.memory.store.journal.opening import decoding
from lastseen.observation import OBJECT, Observation

BLANKED, KEPT = "blanked", "kept"
"""What became of people: blanked, or kept as they were because the user opted in."""
WIDTH = 320
"""Pixels of a picture's width: a mug across a room is still a mug, in some 10 KB."""
BUDGET = 16_000_000
"""Bytes of all pictures: more than a thousand."""
_QUALITY = 75
"""Of the JPEG: what is smaller shows blocks."""
_FAR, _TURNED = 1.0, math.radians(40.0)
"""Metres and radians from another keyframe that make a view another one: half of what a camera takes in."""
_AGAIN = 600.0
"""Seconds after which the same view is worth another picture: a home changes."""
_AFTER_EVENT = 5.0
"""Seconds between pictures of what happens to objects: one shows what the next frames show too."""
_EVENTS = ("confirmed", "moved", "missing", "reappeared")
_MARGIN = 0.1
"""Share of its size that a person's box is enlarged by: detectors cut off hands and feet."""
_GREY = 128
_REACH = 6.0
"""Metres within which a forgotten object may be made out in a picture that does not name it."""
_HEAD = struct.Struct("<I")


@dataclass(frozen=True)
class Keyframe:
    """One picture: memory time, T_world_camera, the picture's camera, and the box of each object seen in it."""

    number: int
    time: float
    pose: Pose3D
    camera: Intrinsics
    seen: Mapping[str, Box]
    people: str
    jpeg: bytes

    @cached_property
    def body(self) -> bytes:
        """The keyframe as it is kept in a file."""
        camera = self.camera
        head = {
            "time": self.time,
            "xyz": [round(value, 4) for value in self.pose.translation.tolist()],
            "quaternion_xyzw": [round(value, 6) for value in self.pose.quaternion.tolist()],
            "camera": [camera.fx, camera.fy, camera.cx, camera.cy, camera.width, camera.height],
            "seen": {key: list(box) for key, box in sorted(self.seen.items())},
            "people": self.people,
        }
        text = json.dumps(head, separators=(",", ":")).encode()
        return _HEAD.pack(len(text)) + text + self.jpeg

    @classmethod
    def read(cls, number: int, body: bytes) -> Keyframe:
        """The keyframe of a body; raises ``ValueError`` and its like where it is none."""
        (size,) = _HEAD.unpack_from(body)
        head = json.loads(body[_HEAD.size : _HEAD.size + size])
        fx, fy, cx, cy, width, height = head["camera"]
        return cls(
            number,
            float(head["time"]),
            Pose3D.from_quaternion(head["xyz"], head["quaternion_xyzw"]),
            Intrinsics(fx=fx, fy=fy, cx=cx, cy=cy, width=int(width), height=int(height)),
            {str(key): _box(values) for key, values in head["seen"].items()},
            str(head["people"]),
            body[_HEAD.size + size :],
        )


class Keyframes:
    """The keyframes of one memory, oldest first."""

    def __init__(self, *, budget: int = BUDGET) -> None:
        self._budget = budget
        self._kept: list[Keyframe] = []
        self._bytes = 0
        self._next = 1
        self._changed: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def all(self) -> tuple[Keyframe, ...]:
        """Every keyframe, oldest first."""
        return tuple(self._kept)

    def observe(
        self,
        frame: Frame,
        observations: Sequence[Observation],
        ids: Sequence[str | None],
        *,
        events: Collection[str] = (),
        people: Sequence[Box] | None,
    ) -> None:
        """Keep a picture of the frame where it shows an object from a new side, or something that happened to one.

        ``people`` are the boxes to blank; None keeps the image as it is. ``events`` are the kinds of what happened.
        """
        named = [(key, seen) for key, seen in zip(ids, observations, strict=False) if key and seen.kind == OBJECT]
        if not named or not self._is_worth(frame, events):
            return
        placed = {key: box_in(frame, one.position, one.extent, one.yaw) for key, one in named}
        seen = {key: box for key, box in placed.items() if box is not None}
        picture, camera = picture_of(frame, people)
        scale = camera.width / frame.intrinsics.width
        boxes = {key: _box([round(value * scale, 1) for value in box]) for key, box in seen.items()}
        self._add(
            Keyframe(
                self._next,
                frame.stamp,
                frame.T_world_camera,
                camera,
                boxes,
                KEPT if people is None else BLANKED,
                picture,
            )
        )

    def forget(
        self, object_ids: Collection[str], *, boxes: Sequence[tuple[Sequence[float], Sequence[float]]] = ()
    ) -> None:
        """Drop every picture that shows one of these objects, or looks at where one stands (centre and extent)."""
        gone = set(object_ids)
        centres = np.array([centre for centre, _ in boxes], dtype=np.float64).reshape(-1, 3)
        self._drop([one for one in self._kept if gone & one.seen.keys() or _looks_at(one, centres)])

    def drop_before(self, time: float) -> None:
        """Drop the pictures from before a memory time."""
        self._drop([one for one in self._kept if one.time < time])

    def drain_changed(self) -> dict[int, bytes]:
        """What changed since the last call, by number; empty bodies for those dropped."""
        changed, self._changed = self._changed, {}
        return changed

    def restore(self, bodies: Mapping[int, bytes], path: object) -> None:
        """Fill an empty collection with what a file holds."""
        for number, body in sorted(bodies.items()):
            with decoding(path, f"keyframe {number}"):
                self._kept.append(Keyframe.read(number, body))
            self._bytes += len(body)
            self._next = number + 1

    def _is_worth(self, frame: Frame, events: Collection[str]) -> bool:
        now = frame.stamp
        if self._kept and any(kind in events for kind in _EVENTS) and now - self._kept[-1].time >= _AFTER_EVENT:
            return True
        ahead = frame.T_world_camera.rotation[:, 2]
        for one in reversed(self._kept):
            if now - one.time > _AGAIN:
                break
            turned = math.acos(min(1.0, max(-1.0, float(one.pose.rotation[:, 2] @ ahead))))
            if turned < _TURNED and one.pose.distance_to(frame.T_world_camera) < _FAR:
                return False
        return True

    def _add(self, one: Keyframe) -> None:
        self._kept.append(one)
        self._next += 1
        self._changed[one.number] = one.body
        self._bytes += len(one.body)
        if self._bytes > self._budget:
            self._drop(self._kept[1 : max(2, len(self._kept) // 2) : 2])

    def _drop(self, gone: Sequence[Keyframe]) -> None:
        numbers = {one.number for one in gone}
        self._kept = [one for one in self._kept if one.number not in numbers]
        self._bytes -= sum(len(one.body) for one in gone)
        self._changed.update(dict.fromkeys(numbers, b""))


def picture_of(frame: Frame, people: Sequence[Box] | None) -> tuple[bytes, Intrinsics]:
    """The frame's image, small and with people blanked, as JPEG, and its camera."""
    from PIL import Image

    from lastseen.images import encoded

    rgb = frame.rgb
    if people:
        rgb = rgb.copy()
        for box in people:
            rows, columns = enlarged(box, rgb.shape)
            rgb[rows, columns] = _GREY
    image, camera = Image.fromarray(rgb), frame.intrinsics
    if camera.width > WIDTH:
        height = max(1, round(camera.height * WIDTH / camera.width))
        image, camera = image.resize((WIDTH, height), Image.Resampling.BILINEAR), camera.resized(WIDTH, height)
    return encoded(image, "JPEG", quality=_QUALITY), camera


def enlarged(box: Box, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Rows and columns of a person's box in an image of this shape, with a margin around it."""
    left, top, right, bottom = box
    wider, higher = _MARGIN * (right - left), _MARGIN * (bottom - top)
    return (
        slice(max(0, math.floor(top - higher)), min(shape[0], math.ceil(bottom + higher))),
        slice(max(0, math.floor(left - wider)), min(shape[1], math.ceil(right + wider))),
    )


def box_in(frame: Frame, position: NDArray[np.float64], extent: NDArray[np.float64], yaw: float) -> Box | None:
    """The box around a thing in the image, by its position, extent and yaw; None where it is not in it."""
    seen = frame.T_world_camera.inverse().transform(corners(position, extent, yaw))
    if (seen[:, 2] <= 0.05).any():
        return None
    pixels, camera = frame.intrinsics.project(seen), frame.intrinsics
    left, top = np.maximum(pixels.min(axis=0), 0.0)
    right, bottom = np.minimum(pixels.max(axis=0), [camera.width, camera.height])
    return (float(left), float(top), float(right), float(bottom)) if left < right and top < bottom else None


def _looks_at(one: Keyframe, centres: NDArray[np.float64]) -> bool:
    if not len(centres):
        return False
    points = one.pose.inverse().transform(centres)
    near = points[(points[:, 2] > 0.0) & (points[:, 2] < _REACH)]
    return bool(len(near) and one.camera.contains(one.camera.project(near)).any())


def _box(values: Sequence[float]) -> Box:
    left, top, right, bottom = (float(value) for value in values)
    return left, top, right, bottom
