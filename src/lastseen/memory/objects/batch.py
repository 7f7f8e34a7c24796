"""The observations of one frame as arrays, in an order given by what was seen and not by how it was listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.objects.grid import Floats
from lastseen.memory.objects.labels import LabelTable, ranked
from lastseen.observation import Observation


@dataclass(slots=True)
class Batch:
    """One frame's observations; ``places`` are positions in the camera frame and in the world, side by side."""

    frame_id: int
    stamp: float
    observations: list[Observation]
    xyz: Floats
    extent: Floats
    view: Floats
    sigma: Floats
    places: Floats
    label_ids: NDArray[np.int32]
    label_scores: NDArray[np.float32]
    looks: NDArray[np.float32] | None
    has_look: NDArray[np.bool_]
    all_look: bool
    cut: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.observations)

    def subset(self, keep: NDArray[np.int64]) -> Batch:
        """The same frame with only these observations, order kept."""
        has_look = self.has_look[keep]
        return Batch(
            self.frame_id,
            self.stamp,
            [self.observations[index] for index in keep.tolist()],
            self.xyz[keep],
            self.extent[keep],
            self.view[keep],
            self.sigma[keep],
            self.places[keep],
            self.label_ids[keep],
            self.label_scores[keep],
            self.looks[keep] if self.looks is not None and has_look.any() else None,
            has_look,
            bool(has_look.all()),
            self.cut[keep],
        )


CUT_MARGIN = 2.0
"""Pixels from the border of the image within which a thing counts as cut off."""


def wholly_in_view(frame: Frame, xyz: Floats, extent: Floats, *, margin: float = 0.0) -> NDArray[np.bool_]:
    """Whether each box falls on the image with all of its corners, judged by the box around it in camera axes."""
    pose, camera = frame.T_world_camera, frame.intrinsics
    middle = (xyz - pose.translation) @ pose.rotation
    half = extent @ (0.5 * np.abs(pose.rotation))
    nearest = middle[:, 2] - half[:, 2]
    low, high = middle - half, middle + half
    whole: NDArray[np.bool_] = (
        (nearest > 1e-6)
        & (camera.fx * low[:, 0] >= (margin - camera.cx) * nearest)
        & (camera.fx * high[:, 0] <= (camera.width - 1 - margin - camera.cx) * nearest)
        & (camera.fy * low[:, 1] >= (margin - camera.cy) * nearest)
        & (camera.fy * high[:, 1] <= (camera.height - 1 - margin - camera.cy) * nearest)
    )
    return whole


def gather(frame: Frame, observations: Sequence[Observation], labels: LabelTable) -> Batch:
    """Turn a frame's observations into arrays in canonical order; label numbers follow that order too."""
    ordered, xyz = _in_order(observations)
    pose = frame.T_world_camera
    looks = [seen.embedding for seen in ordered]
    has_look = np.array([look is not None for look in looks], dtype=np.bool_)
    all_look = bool(has_look.all())
    label_ids, label_scores = _labels(ordered, labels)
    extent = _stacked([seen.extent for seen in ordered])
    return Batch(
        frame.id,
        frame.stamp,
        ordered,
        xyz,
        extent,
        _stacked([seen.view_direction for seen in ordered]),
        np.array([seen.sigma for seen in ordered]),
        np.concatenate([(xyz - pose.translation) @ pose.rotation, xyz], axis=1),
        label_ids,
        label_scores,
        _looks(looks) if has_look.any() else None,
        has_look,
        all_look,
        ~wholly_in_view(frame, xyz, extent, margin=CUT_MARGIN),
    )


def _in_order(observations: Sequence[Observation]) -> tuple[list[Observation], Floats]:
    xyz = _stacked([seen.position for seen in observations])
    if len(xyz) < 2:
        return list(observations), xyz
    order = np.lexsort(xyz.T[::-1])
    xyz = xyz[order]
    ordered = [observations[index] for index in order.tolist()]
    if (xyz[1:, 0] == xyz[:-1, 0]).any() and (xyz[1:] == xyz[:-1]).all(axis=1).any():
        # the same point twice: everything else about the observations decides, so that listing order never does
        ordered.sort(key=_content)
    return ordered, xyz


def _stacked(vectors: list[Floats]) -> Floats:
    # adding 0 turns -0 into 0: equal values must have equal bytes
    return np.concatenate(vectors).reshape(-1, 3) + 0.0 if vectors else np.empty((0, 3))


def _labels(ordered: list[Observation], labels: LabelTable) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    if all(len(seen.labels) == 1 for seen in ordered):
        named = [next(iter(seen.labels.items())) for seen in ordered]
        ids = np.array([[labels.id_of(label)] for label, _ in named], dtype=np.int32)
        return ids, np.array([[score] for _, score in named], dtype=np.float32)
    lists = [ranked(seen.labels) for seen in ordered]
    width = max(map(len, lists), default=0)
    blank = [(0, 0.0)] * width
    filled = [[*((labels.id_of(label), score) for label, score in pairs), *blank[len(pairs) :]] for pairs in lists]
    table = np.array(filled, dtype=np.float64).reshape(len(ordered), width, 2)
    return table[..., 0].astype(np.int32), table[..., 1].astype(np.float32)


def _looks(looks: list[NDArray[np.float32] | None]) -> NDArray[np.float32]:
    dim = next(len(look) for look in looks if look is not None)
    blank = np.zeros(dim, dtype=np.float32)
    rows = [blank if look is None else look for look in looks]
    for look in rows:
        if len(look) != dim:
            raise InvalidValue(
                "observation.embedding", len(look), f"has another length than {dim}", remedy="use one encoder"
            )
    return np.concatenate(rows).reshape(-1, dim)


def _content(seen: Observation) -> tuple[object, ...]:
    return (
        seen.position.tolist(),
        seen.extent.tolist(),
        seen.view_direction.tolist(),
        seen.sigma,
        seen.quality,
        sorted(seen.labels.items()),
        b"" if seen.embedding is None else seen.embedding.tobytes(),
        b"" if seen.points is None else seen.points.tobytes(),
        seen.crop or b"",
    )
