"""Things over frames: one view cuts a thing in pieces, another joins it to its neighbour; together they tell.

Every piece of a frame falls on cubes of the world. Cubes that one piece covered form a part; a piece that shows only
some of them, while another shows the rest, splits the part. Two parts are of one thing when the frames in which one
piece covers both outweigh those in which two pieces do. So a thing has one number over all frames, and pieces of one
frame that have one number are one detection.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from lastseen.perception.cubes import THIN, Pixels
from lastseen.perception.parts import FEWEST, DepthAt, PartMap
from lastseen.perception.standing import neighbours, touches, with_bars, with_tops

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]

KNOWN_SHARE = 0.2
"""Share of a piece's cubes in a part from which it shows that part."""
COVERS = 0.5
"""Share of what is in sight of a part that a piece must cover to show it."""
TOGETHER = 2
"""Frames in which one piece must have covered two parts before they may be one thing."""
ALIKE, UNLIKE = 12.0, 48.0
"""Differences of mean colour, of 255 in the channel that differs most, at which two parts have one colour, or two."""
SHARE_ALIKE, SHARE_UNLIKE = 0.25, 0.85
"""Frames in which one piece covers two parts, as a share of those that show both, from which they are one: for parts
of one colour, and of two. Of 300 pairs in rendered homes those of one colour are one thing nearly always, however
seldom they were seen as one; a mug and its table are seen as one in half of the frames."""
SLAB_LENGTH, FLAT_DEVIATION = 1.0, 0.04
"""Metres; what is longer and no thicker (standard deviation, cubes and noise included) is a surface."""
FRONT_DEPTH = 0.14
"""Depth (standard deviation) of something upright as a share of its length that still is a front."""
PANEL_LENGTH, OPEN, UPRIGHT = 0.35, 0.6, 0.3
"""Metres from which a flat upright piece is a panel of a wall, a door or a cupboard when less than this share of its
outlines end by themselves; sine of its tilt."""
MOST_PARTS = 4000
"""Parts kept: a large home has a tenth of them."""
OWN_VIEWS, OWN_SHARE = 3, 0.4
"""Frames, and their share of those with it in view, from which something that touches another is a thing by itself:
pieces of a thing come and go with the view."""
IN_VIEW = 0.5
"""Share of a part's cubes that pixels fall on from which it is in view."""
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of one frame: whether it is as thin as a bar, and the share of its outline where it ends by itself."""

    bar: bool = False
    closed: float = 1.0


@dataclass(slots=True, eq=False)
class Fused:
    """The thing that a piece of a frame belongs to: its number, those it had before, and its box (2, 3) in metres."""

    number: int
    joined: tuple[int, ...]
    box: NDArray[np.float64] | None
    surface: bool
    settled: bool = True


@dataclass(slots=True, eq=False)
class ThingMap:
    """The parts of all frames so far, as cubes of the world around a corner of theirs, ``origin``.

    Where cubes end decides what is joined: the first camera is the corner, so that a shifted map has the same cubes.
    """

    origin: NDArray[np.float64]
    _parts: PartMap = field(init=False)
    _views: Counter[int] = field(default_factory=Counter)
    _together: Counter[tuple[int, int]] = field(default_factory=Counter)
    _apart: Counter[tuple[int, int]] = field(default_factory=Counter)
    _last: dict[int, None] = field(default_factory=dict)
    _bars: Counter[int] = field(default_factory=Counter)
    _closed: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _seen: Counter[int] = field(default_factory=Counter)
    _shown_as: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    _settled: set[int] = field(default_factory=set)
    _linked: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    _colors: dict[int, NDArray[np.float64]] = field(default_factory=lambda: defaultdict(lambda: np.zeros(4)))

    def __post_init__(self) -> None:
        self._parts = PartMap(self.origin)

    def add(
        self,
        labels: Labels,
        pieces: Mapping[int, Piece],
        world: Floats,
        rgb: Floats,
        depth_at: DepthAt,
        *,
        usable: NDArray[np.bool_],
    ) -> tuple[Labels, dict[int, Fused]]:
        """Enter the pieces of one frame; ``depth_at`` gives the measured depth towards points, and their own.

        ``usable`` are the pixels with depth.

        Returns the labels with pieces of one thing joined, and those that show several things parted, and what each
        of them is.
        """
        pixels = Pixels.of(labels, pieces, world, self.origin)
        cubes = pixels.cubes()
        met: dict[int, Counter[int]] = {label: Counter() for label in cubes}
        in_sight: Counter[int] = Counter()
        for label, keys in cubes.items():
            for key in keys:
                known = self._parts.part_at(key)
                if known is not None:
                    met[label][known] += 1
                    in_sight[known] += 1
        shown_by: dict[int, int] = {}
        for part in in_sight:
            shown_by[part] = max(met, key=lambda label: (met[label][part], -label))
        part_of = {label: self._part(label, cubes[label], met[label], shown_by) for label in sorted(cubes)}
        for label, keys in cubes.items():
            self._parts.enter(part_of[label], keys, {part for part, by in shown_by.items() if by == label})
            self._views[part_of[label]] += 1
            self._bars[part_of[label]] += pieces[label].bar
            self._closed[part_of[label]] += pieces[label].closed
        showing = {
            part: label
            for part, label in shown_by.items()
            if in_sight[part] >= FEWEST and met[label][part] >= COVERS * in_sight[part]
        }
        showing.update({part: label for label, part in part_of.items()})
        for part, label in showing.items():
            self._shown_as[part][part_of[label]] += 1
            self._seen[part] += 1
        for part, cubes_seen in self._parts.in_view(world, usable).items():
            if part not in showing and cubes_seen >= max(FEWEST, IN_VIEW * len(self._parts.of_part[part])):
                self._seen[part] += 1
        self._count_pairs(showing)
        self._forget(showing)
        self._parts.clear(set(showing), depth_at)
        groups = with_bars(self._groups(set(showing)), self._parts, self._is_bar)
        groups = with_tops(groups, self._parts)
        owners = np.array([self._owner(key, label, showing, part_of) for key, label in pixels.pairs], dtype=np.int64)
        colors = rgb[::THIN, ::THIN][pixels.here]
        for part in np.unique(owners).tolist():
            mine = colors[owners[pixels.pair_of] == part]
            self._colors[part] += (*mine.sum(axis=0, dtype=np.float64), len(mine))
        numbers = np.array([min(groups[part]) for part in owners.tolist()], dtype=np.int64)
        return self._renumbered(labels, pixels, numbers, groups)

    def _is_settled(self, group: frozenset[int], groups: Mapping[int, frozenset[int]]) -> bool:
        """Whether a group is a thing by itself: it touches nothing, or most frames in which it is in view say so.

        What touches something larger of its own colour looks like a piece of that however often it was seen.
        """
        whole = max(group, key=lambda part: (len(self._parts.of_part[part]), -part))
        if whole in self._settled:
            return True
        own = sum(self._shown_as[whole][part] for part in group)
        if own < OWN_VIEWS or own < OWN_SHARE * self._seen[whole]:
            return not touches(group, self._parts)
        if not any(self._is_piece_of(group, other) for other in neighbours(group, groups, self._parts)):
            self._settled.add(whole)
        return whole in self._settled

    def _is_piece_of(self, group: frozenset[int], other: frozenset[int]) -> bool:
        """Whether a group has the colour of a larger one."""
        if self._parts.size(other) <= self._parts.size(group):
            return False
        return bool(np.abs(self._color(group) - self._color(other)).max() < ALIKE)

    def _owner(self, key: int, label: int, showing: dict[int, int], part_of: dict[int, int]) -> int:
        """The part of a cube where the label shows it, else the part of the label."""
        known = self._parts.part_at(key)
        part = part_of[label] if known is None else known
        return part if showing.get(part) == label else part_of[label]

    def _renumbered(
        self, labels: Labels, pixels: Pixels, numbers: NDArray[np.int64], groups: Mapping[int, frozenset[int]]
    ) -> tuple[Labels, dict[int, Fused]]:
        """Labels numbered anew by thing; ``numbers`` are the things of the pairs of cube and label."""
        last = int(labels.max())
        shown, first = np.unique(numbers, return_inverse=True)
        coarse = np.zeros(pixels.here.shape, dtype=np.int32)
        coarse[pixels.here] = last + 1 + first[pixels.pair_of]
        # a pixel between those looked at goes with its neighbour of the same piece, else with most of the piece
        most = np.arange(last + 1, dtype=np.int32)
        for label in np.unique(pixels.owner).tolist():
            most[label] = np.bincount(coarse[pixels.here][pixels.owner == label]).argmax()
        fine, source = (_enlarged(image, labels.shape) for image in (coarse, labels[::THIN, ::THIN]))
        found = np.where((source == labels) & (fine > 0), fine, most[labels])
        return found, {last + 1 + at: self._fused(one, groups) for at, one in enumerate(shown.tolist())}

    def _part(self, label: int, keys: list[int], met: Counter[int], shown_by: dict[int, int]) -> int:
        """The part that a piece shows; a new one where it shows none, or another piece shows more of it."""
        best = max(met.items(), key=lambda one: (one[1], -one[0]), default=(0, 0))
        if best[1] < KNOWN_SHARE * len(keys):
            return self._new_part()
        own = [(shared, -part) for part, shared in met.items() if shown_by[part] == label]
        shared, part = max(own, default=(0, 0))
        if shared >= KNOWN_SHARE * len(keys):
            return -part
        whole = best[0]
        fresh = self._new_part()
        # so far both were one
        self._together[whole, fresh] = 1
        self._parts.split(whole, keys, fresh)
        return fresh

    def _new_part(self) -> int:
        return next(_numbers)

    def _count_pairs(self, showing: dict[int, int]) -> None:
        """Count the pairs of parts that one piece of the frame shows, and those that two show."""
        parts = sorted(showing)
        for at, one in enumerate(parts):
            for two in parts[at + 1 :]:
                if showing[one] == showing[two]:
                    self._together[one, two] += 1
                    self._linked[one].add(two)
                    self._linked[two].add(one)
                else:
                    self._apart[one, two] += 1

    def _groups(self, parts: set[int]) -> dict[int, frozenset[int]]:
        """The parts that are one thing with each of some parts.

        Groups grow from the surest pair on, and two become one by all pairs between them: a piece at the border of
        two things, which goes now with the one and now with the other, does not join them.
        """
        near, waiting = set(parts), sorted(parts)
        while waiting:
            fresh = self._linked[waiting.pop()] - near
            near |= fresh
            waiting += fresh
        pairs = []
        for one in near:
            for two in self._linked[one]:
                together, apart = self._together[one, two], self._apart[one, two]
                if one < two and together >= TOGETHER:
                    pairs.append((-together / (together + apart), -together, one, two))
        group_of: dict[int, frozenset[int]] = {part: frozenset((part,)) for part in near}
        for _, _, one, two in sorted(pairs):
            first, second = group_of[one], group_of[two]
            if first is not second and self._are_one(first, second):
                joined = first | second
                group_of.update(dict.fromkeys(joined, joined))
        return group_of

    def _color(self, group: frozenset[int]) -> NDArray[np.float64]:
        """The mean colour of all pixels that showed a group."""
        total = np.sum([self._colors[part] for part in sorted(group)], axis=0)
        mean: NDArray[np.float64] = total[:3] / max(float(total[3]), 1.0)
        return mean

    def _are_one(self, first: frozenset[int], second: frozenset[int]) -> bool:
        across = [(min(a, b), max(a, b)) for a in first for b in second]
        together = sum(self._together[pair] for pair in across)
        apart = sum(self._apart[pair] for pair in across)
        difference = np.abs(self._color(first) - self._color(second)).max()
        least = np.interp(difference, [ALIKE, UNLIKE], [SHARE_ALIKE, SHARE_UNLIKE])
        return bool(together >= least * (together + apart))

    def _fused(self, number: int, groups: Mapping[int, frozenset[int]]) -> Fused:
        """The group of a part as a thing: its box, and whether all that was seen of it is a piece of structure."""
        group = groups[number]
        settled = self._is_settled(group, groups)
        at = self._parts.places(group, sure=2)
        joined = tuple(sorted(group - {number}))
        if len(at) < FEWEST:
            return Fused(number, joined, None, surface=False, settled=settled)
        low, high = np.quantile(at, [0.02, 0.98], axis=0)
        spread, axes = np.linalg.eigh(np.cov(at.T))
        deviation = np.sqrt(np.maximum(spread, 0.0))
        length, flat = np.sqrt(12.0) * deviation[2], deviation[0] < FLAT_DEVIATION
        views = sum(self._views[part] for part in group)
        open_ended = sum(self._closed[part] for part in group) < OPEN * views
        upright = abs(axes[2, 0]) < UPRIGHT
        surface = flat and (length > SLAB_LENGTH or (upright and open_ended and length > PANEL_LENGTH))
        # a wall of cupboards or a window with its curtains is not quite flat
        width = np.sqrt(12.0) * deviation[1]
        surface |= upright and open_ended and width > SLAB_LENGTH and deviation[0] < FRONT_DEPTH * length
        return Fused(number, joined, np.stack([low, high]), surface=bool(surface), settled=settled)

    def _forget(self, showing: Mapping[int, int]) -> None:
        """Drop the parts seen longest ago where there are too many."""
        for part in showing:
            # the order of the dictionary is that in which parts were last seen
            self._last.pop(part, None)
            self._last[part] = None
        if len(self._last) <= MOST_PARTS:
            return
        for part in list(self._last)[: MOST_PARTS // 2]:
            del self._last[part]
            self._parts.forget(part)
            for kept in (
                self._views,
                self._bars,
                self._closed,
                self._colors,
                self._linked,
                self._seen,
                self._shown_as,
            ):
                kept.pop(part, None)
        for counts in (self._together, self._apart):
            for pair in [pair for pair in counts if pair[0] not in self._last or pair[1] not in self._last]:
                del counts[pair]
        self._settled &= self._last.keys()
        for part, others in self._linked.items():
            self._linked[part] = others & self._last.keys()

    def _is_bar(self, group: frozenset[int]) -> bool:
        return 2 * sum(self._bars[part] for part in group) > sum(self._views[part] for part in group)


def _enlarged(image: Labels, shape: tuple[int, ...]) -> Labels:
    """Each pixel ``THIN`` times in both directions, cut at ``shape``."""
    return image.repeat(THIN, axis=0).repeat(THIN, axis=1)[: shape[0], : shape[1]]
