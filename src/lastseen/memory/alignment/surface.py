"""Where the coloured surface of a session lies on that of a map: for places with too few things to be recognised by.

Both surfaces are compared from above, in bands of height and brightness, for every turn and shift at once. The places
that fit best are refined point by point, and each is judged by how much of each surface lies on the other and has its
colour too. Plain walls and floors, and speckled ones, fit in many places, so that only what is rare is counted:
points of a height and colour that hardly any other spot of the same map has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.alignment.transform import FrameTransform

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

NEAR, SAME_COLOR = 0.08, 40
"""Metres and steps of a colour channel (of 255) within which a point lies on the other surface and looks like it."""
OVERLAP = 0.3
"""Metres from the other surface within which a point lies where the map has looked."""
_CELL, _BAND, _TONES = 0.2, 0.25, 3
"""Metres of a cell seen from above and of a band of height, and shades of grey told apart."""
_TURNS = 60
"""Turns that are tried: every 6 degrees, which is 20 cm at 2 m."""
_WIDEST = 160
"""Cells along the side of a map at most; a larger one gets larger cells, so that a try takes as long."""
_LIFTS, _LIFT_STEP = 3, 0.05
"""Shifts in height that are tried, and the metres that heights are counted in: floors and tables tell them."""
_PEAKS, _PEAKS_A_PLACE = 12, 3
"""Transforms that are refined, and of those at most so many that put the session at one place: the others are what
the best is compared with."""
_RADII = (0.4, 0.3, 0.2, 0.15, 0.1, 0.1, 0.1, 0.1)
"""Metres within which a point belongs to the nearest of the map, in each round of refining."""
_PATTERN, _AROUND = 40, 0.12
"""Steps of a colour channel by which a point differs from one within so many metres to be patterned."""
RARE = 0.15
"""Chance, below which a point tells a place, that a spot of its map taken anywhere has a like point at its height."""
_RARE_CELL, _RARE_HEIGHT, _RARE_SHADES = 0.1, 0.08, 8
"""Metres of a cell by which a map's area is counted, of a step of height, and steps of a colour channel, that chance
is counted in; a point is like those up to one step away."""
PLACE = (0.5, math.radians(30.0))
"""Metres at the middle of the session, and radians, within which two transforms put it at one place: refining ends up
to so far from where it began."""
_LIKE_COLOR = 60
"""Steps of a colour channel within which a point may belong to it at all."""
_POINTS, _ROUGH = 4000, 1500
"""Points of the session that judge a place, and that refine it: evenly taken, so that nothing is random."""


@dataclass(frozen=True, eq=False)
class SurfacePoints:
    """Coloured points (n, 3) of what a map has seen, in metres with z up, and their colours (n, 3), 0 to 255."""

    points: NDArray[np.float64]
    colors: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.points)

    def moved(self, transform: FrameTransform) -> SurfacePoints:
        """The same points in another frame."""
        return SurfacePoints(transform.apply(self.points), self.colors)

    @cached_property
    def tree(self) -> cKDTree:
        """Finds the nearest point."""
        from scipy.spatial import cKDTree

        return cKDTree(self.points)

    @cached_property
    def telling(self) -> SurfacePoints:
        """The points by which a place is recognised: of a height and colour that are rare in this map."""
        if not len(self):
            return self
        rows = np.flatnonzero(_chances(self) < RARE)
        return SurfacePoints(self.points[rows], self.colors[rows])

    @cached_property
    def patterned(self) -> float:
        """The share of the points that look other than one beside them."""
        pairs = self.tree.query_pairs(_AROUND, output_type="ndarray")
        other = np.abs(self.colors[pairs[:, 0]] - self.colors[pairs[:, 1]]).max(axis=1, initial=0) >= _PATTERN
        return len(np.unique(pairs[other])) / max(len(self), 1)

    def some(self, most: int) -> SurfacePoints:
        """At most so many of the points, evenly taken."""
        rows = np.linspace(0, len(self) - 1, min(most, len(self))).astype(np.int64)
        return SurfacePoints(self.points[rows], self.colors[rows])


@dataclass(frozen=True, slots=True)
class Fit:
    """How a session's surface lies on a map's.

    Of the telling points of one ``seen`` is the share that lie where the other has looked, and ``alike`` the share of
    those that lie on the other's surface and have its colour: both of the session on the map or of the map on the
    session, ``seen`` of the one with more, ``alike`` of the one with less. ``spread`` is how far apart the session's
    alike points lie, as a root mean square from their middle, in metres on the floor.
    """

    transform: FrameTransform
    seen: float
    alike: float
    spread: float


def fit_at(transform: FrameTransform, session: SurfacePoints, known: SurfacePoints) -> Fit:
    """How the surfaces lie on each other under a given transform."""
    seen, alike, spread = _lies_on(transform, session, known)
    back = _lies_on(transform.inverse(), known, session)
    return Fit(transform, max(seen, back[0]), min(alike, back[1]), spread)


def _lies_on(transform: FrameTransform, session: SurfacePoints, known: SurfacePoints) -> tuple[float, float, float]:
    """Seen, alike and spread of the one surface on the other."""
    some = session.telling.some(_POINTS)
    if not len(some):
        return 0.0, 0.0, 0.0
    gaps, rows = known.tree.query(transform.apply(some.points), distance_upper_bound=OVERLAP)
    seen, near = np.isfinite(gaps), np.flatnonzero(gaps <= NEAR)
    near = near[np.abs(some.colors[near] - known.colors[rows[near]]).max(axis=1, initial=0) < SAME_COLOR]
    alike = some.points[near, :2]
    spread = math.sqrt(float(np.var(alike, axis=0).sum())) if len(alike) else 0.0
    return float(seen.mean()), len(near) / max(int(seen.sum()), 1), spread


def same_place(one: FrameTransform, other: FrameTransform, session: SurfacePoints) -> bool:
    """Whether two transforms put a session at one place."""
    middle, (metres, radians) = session.points.mean(axis=0)[None], PLACE
    gap = float(np.linalg.norm(one.apply(middle) - other.apply(middle)))
    return one.angle_to(other) <= radians and gap <= metres


def refined(transform: FrameTransform, session: SurfacePoints, known: SurfacePoints) -> FrameTransform:
    """The transform by the points that lie near one of like colour under it."""
    some = session.telling.some(_ROUGH)
    for radius in _RADII:
        gaps, rows = known.tree.query(transform.apply(some.points), distance_upper_bound=radius)
        near = np.flatnonzero(np.isfinite(gaps))
        like = np.abs(some.colors[near] - known.colors[rows[near]]).max(axis=1, initial=0) < _LIKE_COLOR
        near = near[like]
        if len(near) < 3:
            return transform
        transform = FrameTransform.fit(some.points[near], known.points[rows[near]], np.ones(len(near)))
    return transform


def fits(session: SurfacePoints, known: SurfacePoints, *, also: tuple[FrameTransform, ...] = ()) -> list[Fit]:
    """Where a session's surface may lie on a map's, the best first.

    Args:
        session: In the session's own frame.
        known: In the map's.
        also: Places to try besides those found from above.
    """
    found = [fit_at(refined(one, session, known), session, known) for one in (*also, *_from_above(session, known))]
    return sorted(found, key=lambda fit: (-fit.seen * fit.alike, fit.transform.yaw))


def _from_above(session: SurfacePoints, known: SurfacePoints) -> list[FrameTransform]:
    """The transforms under which most cells of both hold the same, seen from above."""
    from scipy import fft

    middle, low = session.points.mean(axis=0), known.points.min(axis=0) - OVERLAP
    span, reach = np.ptp(known.points[:, :2], axis=0).max(), 2.0 * np.hypot(*(session.points - middle)[:, :2].T).max()
    cell = max(_CELL, float(span) / _WIDEST)
    side = fft.next_fast_len(math.ceil(float(span + reach) / cell) + 4, real=True)
    bands = math.ceil(np.ptp(known.points[:, 2]) / _BAND) + 2
    tones = [_tone(one.colors) for one in (session, known)]

    def grid(points: NDArray[np.float64], tone: NDArray[np.int64]) -> NDArray[np.complex64]:
        cells = np.floor(points[:, :2] / cell).astype(np.int64)
        band = np.floor((points[:, 2] - low[2]) / _BAND).astype(np.int64)
        inside = (band >= 0) & (band < bands)
        filled = np.zeros((bands * _TONES, side, side), dtype=np.float32)
        filled[(band * _TONES + tone)[inside], cells[inside, 0] % side, cells[inside, 1] % side] = 1.0
        return fft.rfft2(filled)

    ours = grid(known.points - np.array([low[0], low[1], 0.0]), tones[1])
    peaks: list[tuple[float, FrameTransform]] = []
    centred = session.points - np.array([middle[0], middle[1], 0.0])
    for lift in _lifts(session.points[:, 2], known.points[:, 2]):
        for number in range(_TURNS):
            turn = FrameTransform(2.0 * math.pi * number / _TURNS, 0.0, 0.0, lift)
            theirs = grid(turn.apply(centred), tones[0])
            score = fft.irfft2((ours * theirs.conj()).sum(axis=0), s=(side, side))
            row, column = divmod(int(score.argmax()), side)
            # what lies past the middle of the cycle is a shift back
            back = side - float(reach) / cell / 2.0
            shift = [(value if value < back else value - side) * cell for value in (row, column)]
            x, y, _ = (low + np.array([*shift, 0.0]) - turn.turn(middle[None])[0]).tolist()
            peaks.append((float(score.max()), FrameTransform(turn.yaw, x, y, lift)))
    peaks.sort(key=lambda peak: (-peak[0], peak[1].yaw, peak[1].z))
    chosen: list[FrameTransform] = []
    for _, transform in peaks:
        if sum(same_place(transform, other, session) for other in chosen) < _PEAKS_A_PLACE:
            chosen.append(transform)
        if len(chosen) == _PEAKS:
            break
    return chosen


def _tone(colors: NDArray[np.int16]) -> NDArray[np.int64]:
    """How bright points are, in a few steps."""
    return np.asarray(np.minimum(colors.mean(axis=1) * _TONES / 256.0, _TONES - 1), dtype=np.int64)


def _lifts(session: NDArray[np.float64], known: NDArray[np.float64]) -> list[float]:
    """The shifts in height under which most points of both are level with each other, the best first."""
    low, first = known.min(), session.min()
    counts = [
        np.bincount(np.floor((heights - start) / _LIFT_STEP).astype(np.int64)).astype(np.float64)
        for heights, start in ((known, low), (session, first))
    ]
    score = np.correlate(counts[0], counts[1], mode="full")
    lifts: list[float] = []
    for place in np.argsort(-score, kind="stable").tolist():
        lift = float(low - first) + (place - len(counts[1]) + 1) * _LIFT_STEP
        if all(abs(lift - other) > 2.0 * _LIFT_STEP for other in lifts):
            lifts.append(lift)
        if len(lifts) == _LIFTS:
            break
    return lifts


def _chances(surface: SurfacePoints) -> NDArray[np.float64]:
    """For each point, the chance that a spot of the same map has a like point at its height and nearest to it."""
    from scipy import ndimage

    heights, colors = surface.points[:, 2], surface.colors * _RARE_SHADES // 256
    levels = 1 + np.floor((heights - heights.min()) / _RARE_HEIGHT).astype(np.int64)
    counts = np.zeros((int(levels.max()) + 2, _RARE_SHADES, _RARE_SHADES, _RARE_SHADES))
    cells = (levels, *colors.astype(np.int64).T)
    np.add.at(counts, cells, 1.0)
    like = ndimage.uniform_filter(counts, 3, mode="constant")[cells] * 3.0**4
    level = (ndimage.uniform_filter1d(counts.sum(axis=(1, 2, 3)), 3, mode="constant") * 3.0)[levels]
    area = len(np.unique(np.floor(surface.points[:, :2] / _RARE_CELL), axis=0)) * _RARE_CELL**2
    near = 1.0 - np.exp(-level * math.pi * NEAR**2 / area)
    return np.asarray(near * like / level)
