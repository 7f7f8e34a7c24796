"""The observations of one frame as arrays, in an order given by what was seen and not by how it was listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

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
    pose = frame.T_world_camera
    return _on_image(frame, (xyz - pose.translation) @ pose.rotation, extent, margin)


def _on_image(frame: Frame, middle: Floats, extent: Floats, margin: float) -> NDArray[np.bool_]:
    camera = frame.intrinsics
    half = extent @ (0.5 * np.abs(frame.T_world_camera.rotation))
    low, high = middle - half, middle + half
    nearest = high[:, 2] = low[:, 2]
    # a face is inside the image where focal * x >= border * z, both counted from the principal point
    left, top = margin - camera.cx, margin - camera.cy
    right, bottom = camera.width - 1 - margin - camera.cx, camera.height - 1 - margin - camera.cy
    first = low @ np.array([[camera.fx, 0.0], [0.0, camera.fy], [-left, -top]])
    last = high @ np.array([[camera.fx, 0.0], [0.0, camera.fy], [-right, -bottom]])
    inside = (first >= 0.0) & (last <= 0.0)
    whole: NDArray[np.bool_] = inside[:, 0] & inside[:, 1] & (nearest > 1e-6)
    return whole


def gather(frame: Frame, observations: Sequence[Observation], labels: LabelTable) -> Batch:
    """Turn a frame's observations into arrays in canonical order; label numbers follow that order too."""
    ordered, (xyz, extent, view) = _in_order(observations)
    pose = frame.T_world_camera
    local = (xyz - pose.translation) @ pose.rotation
    looks, has_look = _looks([seen.embedding for seen in ordered])
    label_ids, label_scores = _labels([seen.labels for seen in ordered], labels)
    return Batch(
        frame.id,
        frame.stamp,
        ordered,
        xyz,
        extent,
        view,
        np.array([seen.sigma for seen in ordered]),
        np.concatenate([local, xyz], axis=1),
        label_ids,
        label_scores,
        looks,
        has_look,
        np.count_nonzero(has_look) == len(ordered),
        ~_on_image(frame, local, extent, CUT_MARGIN),
    )


def _in_order(observations: Sequence[Observation]) -> tuple[list[Observation], Floats]:
    """Observations by place, and their positions, extents and view directions (3, observations, 3)."""
    ordered = list(observations)
    vectors = [seen.position for seen in ordered]
    vectors += [seen.extent for seen in ordered]
    vectors += [seen.view_direction for seen in ordered]
    if not vectors:
        return ordered, np.empty((3, 0, 3))
    # adding 0 turns -0 into 0: equal values must have equal bytes
    table = np.concatenate(vectors).reshape(3, -1, 3) + 0.0
    if len(ordered) < 2:
        return ordered, table
    order = np.lexsort(table[0].T[::-1])
    table = table.take(order, axis=1)
    ordered = [ordered[index] for index in order.tolist()]
    same = table[0, 1:] == table[0, :-1]
    if np.count_nonzero(same[:, 0]) and same.all(axis=1).any():
        # the same point twice: everything else about the observations decides, so that listing order never does
        return _in_order_of_content(ordered)
    return ordered, table


def _in_order_of_content(observations: list[Observation]) -> tuple[list[Observation], Floats]:
    ordered = sorted(observations, key=_content)
    rows = [(seen.position, seen.extent, seen.view_direction) for seen in ordered]
    return ordered, np.array(rows).transpose(1, 0, 2) + 0.0


def _labels(
    named: Sequence[Mapping[str, float]], labels: LabelTable
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    if set(map(len, named)) == {1}:
        # the usual case: one name each
        names, scores = chain.from_iterable(named), chain.from_iterable([each.values() for each in named])
        ids = np.array(labels.ids_of(names), dtype=np.int32)
        return ids[:, np.newaxis], np.array([*scores], dtype=np.float32)[:, np.newaxis]
    lists = [ranked(each) for each in named]
    width = max(map(len, lists), default=0)
    blank = [(0, 0.0)] * width
    filled = [[*((labels.id_of(label), score) for label, score in pairs), *blank[len(pairs) :]] for pairs in lists]
    table = np.array(filled, dtype=np.float64).reshape(len(named), width, 2)
    return table[..., 0].astype(np.int32), table[..., 1].astype(np.float32)


def _looks(
    looks: Sequence[NDArray[np.float32] | None],
) -> tuple[NDArray[np.float32] | None, NDArray[np.bool_]]:
    known = [look for look in looks if look is not None]
    if not known:
        return None, np.zeros(len(looks), dtype=np.bool_)
    dim = len(known[0])
    for look in known:
        if len(look) != dim:
            raise InvalidValue(
                "observation.embedding", len(look), f"has another length than {dim}", remedy="use one encoder"
            )
    if len(known) == len(looks):
        return np.concatenate(known).reshape(-1, dim), np.ones(len(looks), dtype=np.bool_)
    has_look = np.array([look is not None for look in looks])
    table = np.zeros((len(looks), dim), dtype=np.float32)
    table[has_look] = known
    return table, has_look


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
