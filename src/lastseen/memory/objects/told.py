"""Objects that were told rather than seen: how they are made, put elsewhere, and recognised when they are seen.

A told object has no sighting (``hits`` is 0) and a place that is only roughly known, so that the first sightings
decide where and what it is; where its place is seen empty, it goes as a seen one does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.objects.appearance import appearance_cosine
from lastseen.memory.objects.layout import State
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.objects.update import keep_points

TOLD_SIGMA = 0.3
"""Metres by which a told place is off: a person points at a shelf, not at a spot on it."""
_REACH = 1.5
"""Metres from a told place within which a thing of its name that is seen is taken for it."""
_ALIKE = 0.7
"""Cosine from which a thing of its name that is seen elsewhere is the one that was said to be put away."""
_ON_A_SIDE = 3
"""Surface points along an edge of the box of a told object, from which an empty place is told."""


def create_told(store: ObjectStore, xyz: Sequence[float], extent: Sequence[float], *, time: float) -> int:
    """Make a confirmed object without a sighting; returns its row."""
    row = int(store.allocate(1)[0])
    store.state[row] = State.CONFIRMED
    store.extent[row] = extent
    store.first_seen[row] = store.last_seen[row] = time
    place(store, row, xyz)
    return row


def place(store: ObjectStore, row: int, xyz: Sequence[float]) -> None:
    """Put an object where it was said to be; what was seen of its old place tells nothing of the new one."""
    store.xyz[row] = xyz
    store.precision[row] = TOLD_SIGMA**-2.0
    store.n_points[row] = store.ring_n[row] = store.empty_views[row] = 0
    store.doubt[row] = 0.0
    if store.state[row] != State.TENTATIVE:
        store.state[row] = State.CONFIRMED
    keep_points(store, row, _box_points(store.xyz[row], store.extent[row]))
    store.update_grid(np.array([row]))


def recognised(store: ObjectStore, told: Sequence[int], row: int) -> int | None:
    """The row among told ones that an object just confirmed is; None where it is none of them.

    One that was never seen is the thing of its name near where it was told to be; one that was seen before and put
    away since must look like it, wherever it is.
    """
    label = store.label(row)
    best: tuple[float, int] | None = None
    for one in told:
        if one == row or label is None or store.label(one) != label or store.state[one] == State.TENTATIVE:
            continue
        away = float(np.linalg.norm(store.xyz[one] - store.xyz[row]))
        if store.hits[one]:
            alike = float(appearance_cosine(store, np.array([one]), np.array([row]))[0])
            if not alike >= _ALIKE:
                continue
        elif away > _REACH + 0.5 * float(store.extent[one].max()):
            continue
        if best is None or (away, int(store.seq[one])) < (best[0], int(store.seq[best[1]])):
            best = away, one
    return None if best is None else best[1]


def _box_points(xyz: NDArray[np.float64], extent: NDArray[np.float64]) -> NDArray[np.float32]:
    """Points on top and sides of a box."""
    steps = np.linspace(-0.5, 0.5, _ON_A_SIDE)
    a, b = (grid.ravel() for grid in np.meshgrid(steps, steps))
    half = np.full(len(a), 0.5)
    faces = [(a, b, half), (half, a, b), (-half, a, b), (a, half, b), (a, -half, b)]
    points = np.concatenate([np.stack(face, axis=1) for face in faces])
    found: NDArray[np.float32] = (xyz + points * extent).astype(np.float32)
    return found
