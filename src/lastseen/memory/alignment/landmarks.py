"""The things of a map by which another map is recognised, and how alike two of them are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.memory.alignment.surface import SurfacePoints
from lastseen.memory.alignment.transform import FrameTransform
from lastseen.memory.objects import ObjectState

OTHER_NAME = 0.06
"""Likeness of two things with different names: detectors err once in some fifteen views of a thing."""
NO_NAME = 0.5
"""Likeness where one has no name: that says nothing for or against."""
SIZE_SPREAD = 0.45
"""Standard deviation of the logarithm of a remembered size: partial views make boxes a third too small or large."""
SMALLEST = 0.03
"""Metres below which a box's side is noise."""
COSINE_LOW, COSINE_HIGH = 0.3, 0.9
"""Cosines of appearance that count as unlike and as alike; in between likeness rises evenly."""
UNLIKE = 0.1
"""Likeness of things that look different: light and viewpoint change between visits."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """What one map holds.

    Args:
        ids: One a thing.
        positions: (n, 3) metres, z up.
        extents: (n, 3) metres, the sides of its box.
        labels: Names with their scores, by thing; empty where it has none.
        embeddings: (n, dim) of unit length, or None; a row of zeros where a thing has none.
        surface: Reads the coloured surface of the map, which is only done where the things do not tell; None where
            none is kept.
    """

    ids: Sequence[str]
    positions: NDArray[np.float64]
    extents: NDArray[np.float64]
    labels: Sequence[Mapping[str, float]]
    embeddings: NDArray[np.float32] | None = None
    surface: Callable[[], SurfacePoints] | None = None

    def __post_init__(self) -> None:
        for name in ("positions", "extents"):
            values = getattr(self, name)
            if values.shape != (len(self.ids), 3) or not np.isfinite(values).all():
                problem = f"must be {len(self.ids)} finite points of three numbers"
                raise InvalidValue(name, values.shape, problem, remedy="leave out things without a position")

    def __len__(self) -> int:
        return len(self.ids)

    def moved(self, transform: FrameTransform) -> Landmarks:
        """The same things in another frame."""
        positions, extents = transform.apply(self.positions), transform.turn_boxes(self.extents)
        read = self.surface
        surface = None if read is None else cache(lambda: read().moved(transform))
        return Landmarks(self.ids, positions, extents, self.labels, self.embeddings, surface)

    def named(self) -> Landmarks:
        """The things that have a name."""
        rows = [row for row, names in enumerate(self.labels) if names]
        return Landmarks(
            [self.ids[row] for row in rows],
            self.positions[rows],
            self.extents[rows],
            [self.labels[row] for row in rows],
            None if self.embeddings is None else self.embeddings[rows],
        )

    def without_surface(self) -> Landmarks:
        """The things alone."""
        return replace(self, surface=None)


class HoldsObjects(Protocol):
    """What landmarks are read from: a memory, or its working memory."""

    def states(self, *, include_tentative: bool = False) -> list[ObjectState]:
        """The objects that are there, in the order of their ids."""


class ShowsSurface(Protocol):
    """A coloured surface."""

    def shown(self) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """The points (n, 3) that are there now, with their colours."""


class HoldsSurface(Protocol):
    """What a surface is read from: the space of a memory."""

    keeps_surface: bool

    @property
    def surface(self) -> ShowsSurface:
        """What the home looks like."""


def landmarks_of(memory: HoldsObjects, space: HoldsSurface | None = None) -> Landmarks:
    """The confirmed objects that a memory believes to be there, and the surface of its space, if it keeps one."""
    return landmarks(memory.states(), space)


def landmarks(states: Sequence[ObjectState], space: HoldsSurface | None = None) -> Landmarks:
    """Objects as landmarks, and the surface of a space."""

    def read() -> SurfacePoints:
        assert space is not None
        points, colors = space.surface.shown()
        return SurfacePoints(points.astype(np.float64), colors.astype(np.int16))

    dims = {len(state.emb_mean) for state in states if state.emb_mean is not None}
    embeddings = np.zeros((len(states), dims.pop()), dtype=np.float32) if len(dims) == 1 else None
    if embeddings is not None:
        for row, state in zip(embeddings, states, strict=True):
            if state.emb_mean is not None:
                row[:] = state.emb_mean / max(float(np.linalg.norm(state.emb_mean)), 1e-9)
    return Landmarks(
        [state.id for state in states],
        np.array([state.xyz_world for state in states], dtype=np.float64).reshape(-1, 3),
        np.array([state.extent for state in states], dtype=np.float64).reshape(-1, 3),
        [state.label_scores for state in states],
        embeddings,
        cache(read) if space is not None and space.keeps_surface else None,
    )


def likeness(first: Landmarks, second: Landmarks) -> NDArray[np.float64]:
    """How alike the things of two maps are, (n, m) of 0 to 1: by name, by size and by appearance."""
    alike = _by_name(first.labels, second.labels) * _by_size(first.extents, second.extents)
    one, other = first.embeddings, second.embeddings
    if one is not None and other is not None and one.shape[1] == other.shape[1]:
        share = np.clip((one @ other.T - COSINE_LOW) / (COSINE_HIGH - COSINE_LOW), 0.0, 1.0)
        known = np.any(one, axis=1)[:, None] & np.any(other, axis=1)[None]
        alike = alike * np.where(known, UNLIKE + (1.0 - UNLIKE) * share, NO_NAME)
    return alike


def _by_name(first: Sequence[Mapping[str, float]], second: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    names = sorted({name for labels in (*first, *second) for name in labels})
    column = {name: number for number, name in enumerate(names)}

    def shares(labels: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
        table = np.zeros((len(labels), len(names) or 1))
        for row, scores in zip(table, labels, strict=True):
            for name, score in scores.items():
                row[column[name]] = max(score, 0.0)
        return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1e-9))

    one, other = shares(first), shares(second)
    same = one @ other.T
    named = np.any(one, axis=1)[:, None] & np.any(other, axis=1)[None]
    return np.where(named, same + (1.0 - same) * OTHER_NAME, NO_NAME)


def _by_size(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """By height and by the footprint's side: a turned box has other sides, but nearly the same area."""

    def sizes(extents: NDArray[np.float64]) -> NDArray[np.float64]:
        sides = np.log(np.maximum(extents, SMALLEST))
        return np.stack([(sides[:, 0] + sides[:, 1]) / 2.0, sides[:, 2]], axis=1)

    gaps = (sizes(first)[:, None] - sizes(second)[None]) / SIZE_SPREAD
    return np.asarray(np.exp(-0.25 * np.sum(gaps**2, axis=2)))
