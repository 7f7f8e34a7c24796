"""The observations of one frame as arrays, in an order given by what was seen and not by how it was listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.memory.objects.grid import Floats
from lastseen.memory.objects.labels import LabelTable, ranked
from lastseen.observation import Observation


@dataclass(slots=True)
class Batch:
    """One frame's observations; ``camera_xyz`` are their positions in the camera frame."""

    frame_id: int
    stamp: float
    observations: list[Observation]
    xyz: Floats
    extent: Floats
    view: Floats
    sigma: Floats
    camera_xyz: Floats
    label_ids: NDArray[np.int32]
    label_scores: NDArray[np.float32]
    looks: NDArray[np.float32] | None
    has_look: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.observations)

    def subset(self, keep: NDArray[np.int64]) -> Batch:
        """The same frame with only these observations, order kept."""
        return Batch(
            self.frame_id,
            self.stamp,
            [self.observations[index] for index in keep.tolist()],
            self.xyz[keep],
            self.extent[keep],
            self.view[keep],
            self.sigma[keep],
            self.camera_xyz[keep],
            self.label_ids[keep],
            self.label_scores[keep],
            None if self.looks is None else self.looks[keep],
            self.has_look[keep],
        )


def gather(frame: Frame, observations: Sequence[Observation], labels: LabelTable) -> Batch:
    """Turn a frame's observations into arrays in canonical order; label numbers follow that order too."""
    xyz = np.array([seen.position for seen in observations]).reshape(-1, 3)
    order = np.lexsort((xyz[:, 2], xyz[:, 1], xyz[:, 0])) if len(xyz) > 1 else np.arange(len(xyz))
    xyz = xyz[order]
    ordered = [observations[index] for index in order.tolist()]
    if len(xyz) > 1 and (xyz[1:] == xyz[:-1]).all(axis=1).any():
        # the same point twice: everything else about the observations decides, so that listing order never does
        ordered.sort(key=_content)
    pose = frame.T_world_camera
    has_look = np.array([seen.embedding is not None for seen in ordered], dtype=np.bool_)
    label_ids, label_scores = _labels(ordered, labels)
    return Batch(
        frame.id,
        frame.stamp,
        ordered,
        xyz,
        np.array([seen.extent for seen in ordered]).reshape(-1, 3),
        np.array([seen.view_direction for seen in ordered]).reshape(-1, 3),
        np.array([seen.sigma for seen in ordered]),
        (xyz - pose.translation) @ pose.rotation,
        label_ids,
        label_scores,
        _looks(ordered) if has_look.any() else None,
        has_look,
    )


def _labels(ordered: list[Observation], labels: LabelTable) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    lists = [ranked(seen.labels) for seen in ordered]
    width = max(map(len, lists), default=0)
    ids = np.zeros((len(ordered), width), dtype=np.int32)
    scores = np.zeros((len(ordered), width), dtype=np.float32)
    for index, pairs in enumerate(lists):
        for column, (label, score) in enumerate(pairs):
            ids[index, column] = labels.id_of(label)
            scores[index, column] = score
    return ids, scores


def _looks(ordered: list[Observation]) -> NDArray[np.float32]:
    dim = next(len(seen.embedding) for seen in ordered if seen.embedding is not None)
    blank = np.zeros(dim, dtype=np.float32)
    return np.array([blank if seen.embedding is None else seen.embedding for seen in ordered])


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
