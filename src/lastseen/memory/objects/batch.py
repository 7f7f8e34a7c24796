"""The observations of one frame as arrays, in an order given by what was seen and not by how it was listed.

Left out is what never reaches memory: ignored labels, the robot's own body, and the same thing detected twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.objects.appearance import SAME_APPEARANCE
from lastseen.memory.objects.boxes import ORIGIN, in_axes_of, sides, turned
from lastseen.memory.objects.camera import camera_numbers, image_holds_box, to_camera, view_from
from lastseen.memory.objects.columns import NO_EMBEDDINGS, Floats, Rows
from lastseen.memory.objects.labels import LabelTable, ranked
from lastseen.memory.objects.relations import overlap
from lastseen.observation import SURFACE, Observation

DUPLICATE_OVERLAP = 0.5
"""Part of their union that boxes share from which they are one thing: detected twice in a frame, or remembered twice
without embeddings."""
ROUNDING = 1e-6
"""Part by which that may be missed where pairs are sought that are measured exactly afterwards."""
CUT_MARGIN = 2.0
"""Pixels from the border of the image within which a thing counts as cut off."""


class SeenColumns(NamedTuple):
    """Columns of a batch for compiled code; one row per observation. ``toward`` is the view direction."""

    frame_id: int
    stamp: float
    has_camera: bool
    camera: Floats
    xyz: Floats
    extent: Floats
    yaw: Floats
    toward: Floats
    sigma: Floats
    places: Floats
    embeddings: NDArray[np.float32]
    has_embedding: NDArray[np.bool_]
    cut: NDArray[np.bool_]
    surface: NDArray[np.bool_]
    label_ids: NDArray[np.int32]
    label_scores: NDArray[np.float32]


_COLUMNS = attrgetter(*SeenColumns._fields)
"""Gives the columns of a batch for compiled code at once."""


@dataclass(slots=True)
class Batch:
    """One frame's observations; ``places`` are positions in the camera frame and in the world, side by side.

    ``given`` is where each observation stood in the list that the frame came with; ``may_coincide`` is false where
    no two boxes can be one thing detected twice.
    """

    frame_id: int
    stamp: float
    has_camera: bool
    camera: Floats
    observations: list[Observation]
    given: NDArray[np.int64]
    xyz: Floats
    extent: Floats
    yaw: Floats
    toward: Floats
    sigma: Floats
    places: Floats
    label_ids: NDArray[np.int32]
    label_scores: NDArray[np.float32]
    embeddings: NDArray[np.float32] | None
    has_embedding: NDArray[np.bool_]
    all_embedded: bool
    cut: NDArray[np.bool_]
    surface: NDArray[np.bool_]
    may_coincide: bool

    def __len__(self) -> int:
        return len(self.observations)

    def confirming(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of some observations may confirm an object: the named and the settled ones."""
        seen = (self.observations[at] for at in index.tolist())
        return np.fromiter((one.settled or bool(one.labels) for one in seen), np.bool_, len(index))

    @property
    def columns(self) -> SeenColumns:
        """What compiled code reads."""
        seen = SeenColumns._make(_COLUMNS(self))
        return seen if self.embeddings is not None else seen._replace(embeddings=NO_EMBEDDINGS)

    def subset(self, keep: NDArray[np.int64]) -> Batch:
        """The same frame with only these observations, order kept."""
        has_embedding = self.has_embedding[keep]
        arrays = (
            *("given", "xyz", "extent", "yaw", "toward", "sigma", "places"),
            *("label_ids", "label_scores", "cut", "surface"),
        )
        kept: dict[str, Any] = {name: getattr(self, name)[keep] for name in arrays}
        return replace(
            self,
            observations=[self.observations[index] for index in keep.tolist()],
            embeddings=self.embeddings[keep] if self.embeddings is not None and has_embedding.any() else None,
            has_embedding=has_embedding,
            all_embedded=bool(has_embedding.all()),
            **kept,
        )


def batch_observations(frame: Frame, observations: Sequence[Observation], labels: LabelTable) -> Batch:
    """Turn a frame's observations into arrays in canonical order; label numbers follow that order too."""
    camera = camera_numbers(frame, frame.intrinsics)
    given, (xyz, extent, view), yaw, places, cut, may_coincide = _sorted_by_place(observations, camera)
    ordered = [observations[index] for index in given.tolist()]
    embeddings, has_embedding = _embeddings([seen.embedding for seen in ordered])
    label_ids, label_scores = _labels([seen.labels for seen in ordered], labels)
    return Batch(
        frame.id,
        frame.stamp,
        frame.has_camera,
        camera,
        ordered,
        given,
        xyz,
        extent,
        yaw,
        view,
        np.array([seen.sigma for seen in ordered], dtype=np.float64),
        places,
        label_ids,
        label_scores,
        embeddings,
        has_embedding,
        np.count_nonzero(has_embedding) == len(ordered),
        cut & frame.has_camera,
        np.array([seen.kind == SURFACE for seen in ordered], dtype=np.bool_),
        may_coincide,
    )


def _sorted_by_place(
    observations: Sequence[Observation], camera: Floats
) -> tuple[NDArray[np.int64], Floats, Floats, Floats, NDArray[np.bool_], bool]:
    """The order by place; positions, extents and view directions (3, observations, 3); yaws.

    Then come the places, who is cut off, and whether two boxes may coincide. Where things are followed their place is
    that before the camera: what is numbered first, and who gives way where room is short, must not depend on how the
    map lies.
    """
    count = len(observations)
    order, places, cut = np.empty(count, dtype=np.int64), np.empty((count, 6)), np.empty(count, dtype=np.bool_)
    table, yaw = np.empty((3, count, 3)), np.empty(count)
    arranged = order, table, yaw, places, cut
    followed = any(seen.thing is not None for seen in observations)
    distinct, may_coincide = _arrange(_table(observations), _yaws(observations), camera, followed, *arranged)
    if distinct:
        return order, table, yaw, places, cut, may_coincide
    # the same point twice: everything else about the observations decides, so that listing order never does
    by_content = sorted(range(count), key=lambda index: _content(observations[index]))
    same = [observations[index] for index in by_content]
    _arrange(_table(same), _yaws(same), camera, followed, *arranged)
    return np.array(by_content)[order], table, yaw, places, cut, may_coincide


def _table(observations: Sequence[Observation]) -> Floats:
    vectors = [seen.position for seen in observations]
    vectors += [seen.extent for seen in observations]
    vectors += [seen.view_direction for seen in observations]
    return _joined(vectors, np.float64).reshape(3, -1, 3)


def _yaws(observations: Sequence[Observation]) -> Floats:
    return np.array([seen.yaw for seen in observations], dtype=np.float64)


def _joined(vectors: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    """Many short vectors in one; joining their bytes takes a sixth of the time of joining arrays."""
    # arrays give their bytes to whoever asks for a buffer, which the types of the standard library do not know
    buffers: Any = vectors
    return np.frombuffer(bytearray().join(buffers), dtype=dtype)


@compiled
def _arrange(
    table: Floats,
    yaws: Floats,
    camera: Floats,
    before_camera: bool,
    order: Rows,
    arranged: Floats,
    yaw: Floats,
    places: Floats,
    cut: NDArray[np.bool_],
) -> tuple[bool, bool]:
    """Sort by position, equal ones as they come; returns whether all differ, and whether two boxes may coincide.

    The position is that in the world or ahead, left and up of the camera. Places are in camera axes and in the world
    side by side; ``cut`` are the boxes that the image cuts off.
    """
    view, distinct = view_from(camera), True
    position = np.empty((len(order), 3))
    for at in range(len(order)):
        x, y, z = table[0, at, 0], table[0, at, 1], table[0, at, 2]
        if before_camera:
            right, down, ahead = to_camera(view, x, y, z)
            x, y, z = ahead, -right, -down
        position[at, 0], position[at, 1], position[at, 2] = x, y, z
        slot = at
        while slot > 0:
            way = _compare(position, at, order[slot - 1])
            distinct = distinct and way != 0
            if way >= 0:
                break
            order[slot] = order[slot - 1]
            slot -= 1
        order[slot] = at
    for at in range(len(order)):
        for kind in range(3):
            for axis in range(3):
                # adding 0 turns -0 into 0: equal values must have equal bytes
                arranged[kind, at, axis] = table[kind, order[at], axis] + 0.0
        x, y, z = arranged[0, at, 0], arranged[0, at, 1], arranged[0, at, 2]
        size = arranged[1, at, 0], arranged[1, at, 1], arranged[1, at, 2]
        yaw[at] = yaws[order[at]]
        places[at, 0], places[at, 1], places[at, 2] = to_camera(view, x, y, z)
        places[at, 3], places[at, 4], places[at, 5] = x, y, z
        cut[at] = not image_holds_box(view, x, y, z, size, yaw[at], CUT_MARGIN)
    return distinct, _any_coincide(arranged[0], arranged[1], yaw)


@compiled
def _compare(position: Floats, one: int, other: int) -> int:
    for axis in range(3):
        if position[one, axis] != position[other, axis]:
            return 1 if position[one, axis] > position[other, axis] else -1
    return 0


def _labels(
    named: Sequence[Mapping[str, float]], labels: LabelTable
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    if set(map(len, named)) == {1}:
        # the usual case: one name each
        ids = labels.ids_of([name for each in named for name in each])
        scores = [score for each in named for score in each.values()]
        return np.array(ids, dtype=np.int32)[:, np.newaxis], np.array(scores, dtype=np.float32)[:, np.newaxis]
    lists = [ranked(each) for each in named]
    width = max(map(len, lists), default=0)
    blank = [(0, 0.0)] * width
    filled = [[*((labels.id_of(label), score) for label, score in pairs), *blank[len(pairs) :]] for pairs in lists]
    table = np.array(filled, dtype=np.float64).reshape(len(named), width, 2)
    return table[..., 0].astype(np.int32), table[..., 1].astype(np.float32)


def _embeddings(
    embeddings: Sequence[NDArray[np.float32] | None],
) -> tuple[NDArray[np.float32] | None, NDArray[np.bool_]]:
    known = [embedding for embedding in embeddings if embedding is not None]
    if not known:
        return None, np.zeros(len(embeddings), dtype=np.bool_)
    dim = len(known[0])
    other = set(map(len, known)) - {dim}
    if other:
        raise InvalidValue(
            "observation.embedding", min(other), f"has another length than {dim}", remedy="use one encoder"
        )
    if len(known) == len(embeddings):
        return _joined(known, np.float32).reshape(-1, dim), np.ones(len(embeddings), dtype=np.bool_)
    has_embedding = np.array([embedding is not None for embedding in embeddings])
    table = np.zeros((len(embeddings), dim), dtype=np.float32)
    table[has_embedding] = known
    return table, has_embedding


def _content(seen: Observation) -> tuple[object, ...]:
    return (
        seen.position.tolist(),
        seen.extent.tolist(),
        seen.yaw,
        seen.view_direction.tolist(),
        seen.sigma,
        seen.quality,
        sorted(seen.labels.items()),
        b"" if seen.embedding is None else seen.embedding.tobytes(),
        b"" if seen.points is None else seen.points.tobytes(),
        seen.picture() or b"",
        seen.kind,
    )


def without_labels(batch: Batch, ignored: AbstractSet[int]) -> Batch:
    """Leave out observations whose likeliest label is one of the ignored."""
    if not len(batch) or not batch.label_ids.shape[1]:
        return batch
    best = batch.label_ids[:, 0].tolist()
    if ignored.isdisjoint(best):
        return batch
    return _only(batch, [index for index, label in enumerate(best) if label not in ignored])


def without_body(batch: Batch, frame: Frame, mask: NDArray[np.bool_] | None) -> Batch:
    """Leave out observations whose middle falls on the robot's own body in the depth image."""
    if mask is None or not len(batch):
        return batch
    camera = frame.camera_of_depth
    pixels = camera.project(batch.places[:, :3])
    inside = camera.contains(pixels)
    column, row = np.rint(np.where(inside[:, np.newaxis], pixels, 0.0)).astype(np.int64).T
    return _only(batch, np.flatnonzero(~(inside & mask[row, column])).tolist())


def without_duplicates(batch: Batch) -> Batch:
    """Of two boxes that nearly coincide and look alike, keep the better seen."""
    if not batch.may_coincide:
        return batch
    pairs = np.empty((len(batch) * (len(batch) - 1) // 2, 2), dtype=np.int64)
    first, second = pairs[: _coinciding(batch.xyz, batch.extent, batch.yaw, pairs)].T
    second_xyz, second_extent, second_yaw = batch.xyz[second], batch.extent[second], batch.yaw[second]
    offset, along = in_axes_of(batch.xyz[first], batch.yaw[first], second_xyz, second_extent, second_yaw)
    share = overlap(ORIGIN, batch.extent[first], offset, along)
    dropped: set[int] = set()
    for at in np.lexsort((second, first, -share)).tolist():
        one, other = int(first[at]), int(second[at])
        if share[at] <= DUPLICATE_OVERLAP:
            break
        if one in dropped or other in dropped or not _look_alike(batch, one, other):
            continue
        better = batch.observations[other].quality > batch.observations[one].quality
        dropped.add(one if better else other)
    return _only(batch, [index for index in range(len(batch)) if index not in dropped])


@compiled
def _coinciding(xyz: Floats, extent: Floats, yaw: Floats, pairs: Rows) -> int:
    """Write the pairs of boxes that coincide but for rounding, the smaller number first; returns how many."""
    count = 0
    for one in range(len(xyz)):
        for other in range(one):
            if _may_coincide(one, other, xyz, extent, yaw):
                pairs[count, 0], pairs[count, 1] = other, one
                count += 1
    return count


@compiled
def _any_coincide(xyz: Floats, extent: Floats, yaw: Floats) -> bool:
    for one in range(len(xyz)):
        for other in range(one):
            if _may_coincide(one, other, xyz, extent, yaw):
                return True
    return False


@compiled
def _may_coincide(one: int, other: int, xyz: Floats, extent: Floats, yaw: Floats) -> bool:
    """Whether two boxes share so much of their union, but for rounding; along the axes of the second."""
    turn = yaw[one] - yaw[other]
    x, y = turned(xyz[one, 0] - xyz[other, 0], xyz[one, 1] - xyz[other, 1], yaw[other])
    wide, deep = sides(extent[one, 0], extent[one, 1], turn)
    shared = _shared(x, extent[other, 0], wide) * _shared(y, extent[other, 1], deep)
    if shared <= 0.0:
        return False
    high = extent[one, 2]
    shared *= _shared(xyz[one, 2] - xyz[other, 2], extent[other, 2], high)
    union = extent[other, 0] * extent[other, 1] * extent[other, 2] + wide * deep * high - shared
    return shared > (DUPLICATE_OVERLAP - ROUNDING) * union


@compiled
def _shared(offset: float, side: float, other_side: float) -> float:
    """Length that two sides share whose middles are so far apart."""
    length: float = min(0.5 * side, offset + 0.5 * other_side) - max(-0.5 * side, offset - 0.5 * other_side)
    return max(length, 0.0)


def _only(batch: Batch, kept: list[int]) -> Batch:
    return batch if len(kept) == len(batch) else batch.subset(np.array(kept, dtype=np.int64))


def _look_alike(batch: Batch, one: int, other: int) -> bool:
    if batch.embeddings is None or not (batch.has_embedding[one] and batch.has_embedding[other]):
        return True
    return float(batch.embeddings[one] @ batch.embeddings[other]) >= SAME_APPEARANCE
