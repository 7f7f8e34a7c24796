"""Which pieces of a depth image belong together: bumps of a bed, the front below a sideboard's top, a chair's parts.

The image is cut at every step and inward fold of depth, which also cuts things apart that bend inwards. Pieces are
joined again where they touch without a step and have one colour, and a level plane takes in what hangs from it or
rises from it without a fold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
HANGING = 0.15
"""The same for a piece below a level plane: a duvet's side, the front of a sideboard."""
BELOW = 0.7
"""Share of its pixels that must lie below the plane."""
BUMP = 0.08
"""Metres that a bump of a soft surface rises at most."""
FOLDED = 0.3
"""Share of the contact in a fold from which what rises from a plane stands on it rather than being its bump."""
CLOSED = 0.6
"""Share of its outline, where nothing hides it, at which a region ends by itself."""


@dataclass(frozen=True, slots=True)
class Contacts:
    """Pairs of neighbouring regions and how they meet, counted in pixel pairs."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    smooth: Doubles
    folded: Doubles
    outline: Doubles
    closed: NDArray[np.float64]


def contacts_of(labels: Labels, depth: Floats, folds: Bools, usable: Bools, *, step: Floats) -> Contacts:
    """The contacts of every region, its outline in pixel pairs, and the share of it that is closed.

    An outline is closed where what is behind is farther than ``step`` or cannot be measured; where something nearer
    hides it, it is not counted, and at the border of the image it is open.
    """
    count = int(labels.max()) + 1
    outline, own, hidden = (np.zeros(count) for _ in range(3))
    codes: list[NDArray[np.int64]] = []
    in_fold: list[Bools] = []
    for axis in (0, 1):
        low = (slice(None, -1), slice(None)) if axis == 0 else (slice(None), slice(None, -1))
        high = (slice(1, None), slice(None)) if axis == 0 else (slice(None), slice(1, None))
        a, b = labels[low], labels[high]
        apart = a != b
        a, b = a[apart], b[apart]
        gap = (depth[high] - depth[low])[apart]
        limit = step[low][apart]
        known = usable[low][apart] & usable[high][apart]
        folded = (folds[low] | folds[high])[apart]
        for one, farther in ((a, gap > limit), (b, -gap > limit)):
            outline += np.bincount(one, minlength=count)
            own += np.bincount(one, weights=farther | ~known, minlength=count)
        hidden += np.bincount(a, weights=known & (-gap > limit), minlength=count)
        hidden += np.bincount(b, weights=known & (gap > limit), minlength=count)
        meet = known & (np.abs(gap) <= limit) & (a > 0) & (b > 0)
        small, large = np.minimum(a, b)[meet].astype(np.int64), np.maximum(a, b)[meet].astype(np.int64)
        codes.append(small * count + large)
        in_fold.append(folded[meet])
    border = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    outline += np.bincount(border, minlength=count)
    code, where = np.unique(np.concatenate(codes), return_inverse=True)
    smooth = np.bincount(where, minlength=len(code)).astype(np.float64)
    folded_pairs = np.bincount(where, weights=np.concatenate(in_fold), minlength=len(code)).astype(np.float64)
    closed = own / np.maximum(outline - hidden, 1.0)
    return Contacts(code // count, code % count, smooth, folded_pairs, outline, closed)


def joined(
    labels: Labels, contacts: Contacts, colors: Doubles, *, below: Doubles, rises: Doubles, pieces: int
) -> NDArray[np.int32]:
    """The number of the group of each label: a piece's own or that of what it is part of.

    Labels up to ``pieces`` are pieces, those beyond level planes. ``below`` (planes, labels) is the share of each
    label's pixels under each plane, ``rises`` how far it rises above it in metres.
    """
    parent = np.arange(int(labels.max()) + 1, dtype=np.int32)

    def root(one: int) -> int:
        while parent[one] != one:
            one = int(parent[one])
        return one

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
        else:
            hangs = below[b - pieces - 1, a] >= BELOW and meet >= HANGING * contacts.outline[a]
            soft = folded < FOLDED * meet and meet >= TOUCHING * contacts.outline[a]
            together = hangs or (alike and soft and rises[b - pieces - 1, a] < BUMP)
        if together:
            # the larger number wins, so that a plane keeps its own
            first, second = sorted((root(a), root(b)))
            if not (first > pieces and second > pieces):
                parent[first] = second
    return np.array([root(one) for one in range(len(parent))], dtype=np.int32)
