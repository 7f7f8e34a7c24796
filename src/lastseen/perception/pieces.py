"""Which pieces of a depth image belong together: bumps of a bed, the front below a sideboard's top, a chair's parts.

The image is cut at every step and inward fold of depth, which also cuts things apart that bend inwards. Pieces are
joined again where they touch without a step and have one colour, and a level plane takes in what hangs from it or
rises from it without a fold.

Depth alone does not part a toy from the pillow it leans on, or a box from its chest: within a piece, a region whose
colour differs from the piece's own is cut out as a thing when it stands out of the plane through what surrounds it.
Light, print, tiles and paper have an outline too, but lie in that plane.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.perception.kernels import differ_in_color, label_means, label_spreads, middle_colors, region_contacts

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int32]

ALIKE = 24.0
"""Difference of mean colour, of 255 in the channel that differs most, within which two pieces have one colour."""
LIT = 60.0
"""The same for two sides of one thing, of which one is in the light."""
TOUCHING = 0.3
"""Share of the smaller piece's outline without a step from which two pieces of one colour are one thing."""
HELD = 0.05
"""The same where the smaller one neither stands on a plane nor, with its foot, on the other: then the other holds it,
as a seat holds its back and the arm rests. Less is chance: two things in one line of sight."""
FOOT = 0.15
"""Share of its height up to which a contact is at the foot of a piece."""
HANGING = 0.03
"""The same for a piece below a level plane, of any colour: a duvet's side, a sideboard's front, a table's leg."""
LYING = 0.3
"""The same for what lies in or on a plane: its bumps, and flat pieces beside it."""
BELOW = 0.7
"""Share of its pixels that must lie below the plane."""
OVERHANG = 0.1
"""Metres beyond the edge of a plane at which the middle of what hangs from it may lie: farther is a neighbour."""
BUMP = 0.08
"""Metres that a bump of a soft surface rises at most."""
FOLDED = 0.3
"""Share of the contact in a fold from which what rises from a plane stands on it rather than being its bump."""
THIN = 2
"""Every second pixel of a row and column tells means and shapes as well, at a quarter of the time."""
FLAT_LENGTH = 0.15
"""Metres; noise and its smoothing leave no shape to smaller pieces."""
FLAT, FLAT_THICKNESS = 0.03, 0.02
"""Standard deviation across a flat piece: share of its length, and metres at most; what is thinner than the noise is
flat at any length."""
CONTRAST = 40.0
"""Difference, of 255 in the channel that differs most, from the middle colour of the piece."""
TINT = 0.04
"""Difference in the share of one channel from which colour differs by more than light: lamps and sun change all."""
BRIGHT = 80.0
"""Difference of 255 that is needed where one of the two is dark: there tint tells nothing."""
DARK = 75.0
"""Sum of three channels below which shares of channels are noise."""
MIN_PIXELS = 16
"""Pixels of the working image; smaller regions are texture."""
MIN_AREA = 0.0015
"""Square metres, a third of a hand; smaller is texture."""
OWN_SHARE = 0.6
"""A region that fills more of a piece than this is the piece itself."""
FILLED = 0.35
"""Share of its box that a region fills: wrinkles and cables fill less."""
SPOTS = 3
"""Regions of one colour on one piece from which they are its print."""
RELIEF, RELIEF_NOISE = 0.025, 0.001
"""Metres, and metres per square metre of range, that a region stands out of the plane around it: less is noise."""
ENCLOSED = 0.6
"""Share of the surroundings of a region that its piece fills at least."""
LEANING, LEANING_RELIEF = 0.4, 0.04
"""The same share, and the metres it stands out then: what leans on a piece and rests on another, a toy on a bed."""
FLAT_AROUND = 0.7
"""Share of the surroundings that must lie in their plane, else they are two sides of the piece."""
BENT = 0.01
"""Metres that surroundings may be off their own plane."""
GAP, RING = 2, 3
"""Pixels next to a region whose smoothed depth is half its own, and pixels beyond them that tell this plane."""


@dataclass(frozen=True, slots=True)
class Contacts:
    """Pairs of neighbouring regions and how they meet, counted in pixel pairs.

    ``closed`` is the share of a region's outline where it ends by itself, ``heights`` are the heights (metres in the
    world) at which pairs meet.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    smooth: Doubles
    folded: Doubles
    outline: Doubles
    closed: NDArray[np.float64]
    heights: Doubles

    def touched_by(self, region: int, share: float) -> list[int]:
        """The regions that meet one without a step along this share of its outline or more."""
        enough = self.smooth >= share * self.outline[region]
        return [*self.second[enough & (self.first == region)], *self.first[enough & (self.second == region)]]

    def share_with(self, region: int, others: Collection[int]) -> float:
        """The share of a region's outline along which it meets any of some others without a step."""
        meets = ((self.first == region) & np.isin(self.second, list(others))) | (
            (self.second == region) & np.isin(self.first, list(others))
        )
        return float(self.smooth[meets].sum()) / max(float(self.outline[region]), 1.0)


@dataclass(frozen=True, slots=True)
class Shapes:
    """The points of each group of labels: their middle and half their box, (n, 3), and how thick and long they are.

    All in metres; ``thickness`` is the standard deviation across, ``length`` the full one, and ``lean`` the sine by
    which the thinnest direction points up or down.
    """

    mean: Doubles
    half: Doubles
    thickness: Doubles
    length: Doubles
    lean: Doubles

    def is_flat(self, group: int, noise: float) -> bool:
        """Whether a group is flat for its size; ``noise`` is the standard deviation of depth there, in metres."""
        length = float(self.length[group])
        return length > FLAT_LENGTH and float(self.thickness[group]) < max(noise, min(FLAT * length, FLAT_THICKNESS))


def shapes_of(labels: Labels, groups: NDArray[np.int32], world: Floats) -> Shapes:
    """The shapes of groups of labels, by every ``THIN``-th world point."""
    count = len(groups)
    mean, sizes, spread = np.empty((count, 3)), np.empty(count), np.empty((count, 3, 3))
    label_means(groups[labels], world, THIN, mean, sizes)
    label_spreads(labels, groups, world, THIN, mean, sizes, spread)
    values, directions = np.linalg.eigh(spread)
    axes = np.sqrt(np.maximum(values, 0.0))
    # an even strip is as long as the square root of twelve times its standard deviation
    half = np.sqrt(3.0 * np.maximum(np.diagonal(spread, axis1=1, axis2=2), 0.0))
    return Shapes(mean, half, axes[:, 0], np.sqrt(12.0) * axes[:, 2], np.abs(directions[:, 2, 0]))


def contacts_of(
    labels: Labels, depth: Floats, folds: Bools, usable: Bools, *, step: Floats, world: Floats
) -> Contacts:
    """The contacts of every region, its outline in pixel pairs, and the share of it that is closed.

    An outline is closed where what is behind is farther than ``step``; where something nearer hides it, it is not
    counted, and at the border of the image it is open. A camera measures nothing beside an edge in front: there the
    next pixel that was measured tells which of both it is, and only where there is none the outline counts as closed.
    """
    count = int(labels.max()) + 1
    outline, own, hidden = (np.zeros(count) for _ in range(3))
    smooth, folded = np.zeros((count, count)), np.zeros((count, count))
    region_contacts(labels, depth, folds, usable, step, (outline, own, hidden), (smooth, folded))
    first, second = np.nonzero(smooth)
    closed = own / np.maximum(outline - hidden, 1.0)
    heights = _contact_heights(labels, world)[first, second]
    return Contacts(first, second, smooth[first, second], folded[first, second], outline, closed, heights)


def joined(
    labels: Labels,
    contacts: Contacts,
    colors: Doubles,
    *,
    below: Doubles,
    rises: Doubles,
    pieces: int,
    shapes: Shapes,
) -> NDArray[np.int32]:
    """The number of the group of each label: a piece's own or that of what it is part of.

    Labels up to ``pieces`` are pieces, those beyond level planes. ``below`` (planes, labels) is the share of each
    label's pixels under each plane, ``rises`` how far it rises above it in metres (infinite for those not level).
    """
    sizes = np.bincount(labels.ravel())
    parent = np.arange(int(labels.max()) + 1, dtype=np.int32)

    def root(one: int) -> int:
        while parent[one] != one:
            one = int(parent[one])
        return one

    stands = _stand(contacts, below, rises, pieces)
    order = np.lexsort((contacts.second, contacts.first, -contacts.smooth))
    for index in order.tolist():
        a, b = int(contacts.first[index]), int(contacts.second[index])
        meet, folded = contacts.smooth[index], contacts.folded[index]
        difference = float(np.abs(colors[a] - colors[b]).max())
        alike = difference < ALIKE
        if a > pieces:
            continue
        if b <= pieces:
            outline = min(contacts.outline[a], contacts.outline[b])
            # without a fold between them they are two sides of one thing, lit differently
            sides = difference < LIT and folded < FOLDED * meet
            together = (alike or sides) and meet >= TOUCHING * outline
            small = a if sizes[a] < sizes[b] else b
            foot = shapes.mean[small, 2] + (2.0 * FOOT - 1.0) * shapes.half[small, 2]
            rests = (stands[a] and stands[b]) or contacts.heights[index] < foot
            together |= not rests and alike and meet >= HELD * outline
        else:
            hangs = (
                below[b - pieces - 1, a] >= BELOW
                and meet >= HANGING * contacts.outline[a]
                and (np.abs(shapes.mean[a] - shapes.mean[b])[:2] <= shapes.half[b][:2] + OVERHANG).all()
            )
            soft = folded < FOLDED * meet and meet >= LYING * contacts.outline[a]
            together = hangs or (alike and soft and rises[b - pieces - 1, a] < BUMP)
        if together:
            # the larger number wins, so that a plane keeps its own
            first, second = sorted((root(a), root(b)))
            if not (first > pieces and second > pieces):
                parent[first] = second
    return np.array([root(one) for one in range(len(parent))], dtype=np.int32)


def _contact_heights(labels: Labels, world: Floats) -> Doubles:
    """The mean height in metres at which two labels meet, by the smaller and the larger number; 0 where never."""
    count = int(labels.max()) + 1
    sums, pairs = np.zeros(count * count), np.zeros(count * count)
    up = world[..., 2]
    for one, two, height in ((labels[:, :-1], labels[:, 1:], up[:, 1:]), (labels[:-1], labels[1:], up[1:])):
        meet = (one != two) & (one > 0) & (two > 0)
        key = np.minimum(one[meet], two[meet]) * count + np.maximum(one[meet], two[meet])
        sums += np.bincount(key, weights=height[meet], minlength=count * count)
        pairs += np.bincount(key, minlength=count * count)
    heights: Doubles = (sums / np.maximum(pairs, 1.0)).reshape(count, count)
    return heights


def _stand(contacts: Contacts, below: Doubles, rises: Doubles, pieces: int) -> Bools:
    """Which labels stand on a level plane: they meet it without a step and lie mostly above it."""
    stands = np.zeros(len(contacts.outline), dtype=np.bool_)
    for a, b, meet in zip(contacts.first.tolist(), contacts.second.tolist(), contacts.smooth.tolist(), strict=True):
        if a <= pieces < b and np.isfinite(rises[b - pieces - 1, a]):
            stands[a] |= meet >= HANGING * contacts.outline[a] and below[b - pieces - 1, a] < 1.0 - BELOW
    return stands


def add_color_regions(labels: Labels, rgb: Floats, depth: Floats, *, areas: Floats, skip: Sequence[int]) -> Labels:
    """Labels with regions of another colour and relief cut out of their pieces and numbered after them.

    ``rgb``, ``depth`` (metres, 0 where unknown) and ``areas`` (square metres behind a pixel) have the size of
    ``labels``; pieces in ``skip`` are left whole.
    """
    found = labels.copy()
    count = int(labels.max())
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    usual = np.zeros((count + 1, 3), dtype=np.float32)
    cut = sizes >= 4 * MIN_PIXELS
    cut[[0, *skip]] = False
    middle_colors(labels, rgb, cut, usual)
    differs = np.empty(labels.shape, dtype=np.bool_)
    differ_in_color(labels, rgb, usual, cut, (CONTRAST, TINT, BRIGHT, DARK), differs)
    parts, parts_count = ndimage.label(ndimage.binary_opening(differs))
    if not parts_count:
        return found
    flat = parts.ravel()
    part_sizes = np.bincount(flat, minlength=parts_count + 1)
    metres = np.bincount(flat, weights=areas.ravel(), minlength=parts_count + 1)
    piece_of = np.zeros(parts_count + 1, dtype=np.int64)
    piece_of[flat] = labels.ravel()
    large = (part_sizes >= MIN_PIXELS) & (metres >= MIN_AREA) & (part_sizes <= OWN_SHARE * sizes[piece_of])
    large[0] = False
    chosen = np.flatnonzero(large)
    means = np.empty((parts_count + 1, 3))
    label_means(parts, rgb, 1, means, np.empty(parts_count + 1))
    means = means[chosen]
    near = ndimage.find_objects(parts)
    for part, mean in zip(chosen.tolist(), means, strict=True):
        same = piece_of[chosen] == piece_of[part]
        alike = int((same & (np.abs(means - mean).max(axis=1) < CONTRAST)).sum())
        window = _around(near[part - 1], labels.shape)
        mask, piece = parts[window] == part, labels[window] == piece_of[part]
        if alike < SPOTS and _filled(mask) >= FILLED and _stands_out(mask, np.where(piece, depth[window], 0.0)):
            count += 1
            found[window][mask] = count
    return found


def _around(window: tuple[slice, slice], shape: tuple[int, ...]) -> tuple[slice, slice]:
    """A window with a ring around it, cut at the image."""
    rows, columns = (
        slice(max(side.start - GAP - RING, 0), min(side.stop + GAP + RING, size))
        for side, size in zip(window, shape, strict=True)
    )
    return rows, columns


def _filled(mask: Bools) -> float:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(mask.sum()) / float((rows[-1] - rows[0] + 1) * (columns[-1] - columns[0] + 1))


def _stands_out(mask: Bools, depth: Floats) -> bool:
    """Whether a region is nearer than the plane around it; ``depth`` is 0 outside the piece."""
    known = depth > 0.0
    away = ndimage.distance_transform_cdt(~mask, metric="taxicab")
    ring = (away > GAP) & (away <= GAP + RING)
    mine, around = mask & known, ring & known
    enclosed = int(around.sum()) / max(int(ring.sum()), 1)
    # along one edge only, it is another side of the piece, and no plane could be told either
    if int(mine.sum()) < MIN_PIXELS // 2 or int(around.sum()) < MIN_PIXELS or enclosed < LEANING:
        return False
    level = float(np.median(depth[mine]))
    fitted = _plane(around, depth)
    off = np.abs(_depths(fitted, around) - depth[around])
    # surroundings may bend, as over the edge of a chest: most of them tell the plane
    flat = np.zeros_like(around)
    flat[around] = off <= max(BENT, float(np.median(off)))
    fitted = _plane(flat, depth)
    if float((np.abs(_depths(fitted, around) - depth[around]) <= BENT).mean()) < FLAT_AROUND:
        return False
    # what lies behind is another side of the same thing, as the top of a chest seen with its front
    relief = float(np.median(_depths(fitted, mine) - depth[mine]))
    least = RELIEF if enclosed >= ENCLOSED else LEANING_RELIEF
    return relief >= least + RELIEF_NOISE * level * level


def _plane(mask: Bools, depth: Floats) -> NDArray[np.float64]:
    """The plane through the pixels of a mask: linear in inverse depth, by least squares."""
    v, u = np.nonzero(mask)
    terms = np.stack([np.ones(len(v)), u, v], axis=1)
    inverse = 1.0 / depth[mask].astype(np.float64)
    return np.asarray(np.linalg.solve(terms.T @ terms + 1e-6 * np.eye(3), terms.T @ inverse), dtype=np.float64)


def _depths(fitted: NDArray[np.float64], mask: Bools) -> NDArray[np.float64]:
    """Metres along the camera's axis of a fitted plane at the pixels of a mask."""
    v, u = np.nonzero(mask)
    depths: NDArray[np.float64] = 1.0 / np.maximum(fitted[0] + fitted[1] * u + fitted[2] * v, 1e-3)
    return depths
