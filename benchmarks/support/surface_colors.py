"""The colours that people could call a thing by: those of the surface that shows, from the triangles it is made of.

A darker side of a white table is white, not grey, so a thing's own paint keeps its name in every shade; and what
lies against a wall or under a canvas gives a thing no colour.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.words import parse
from lastseen.sim.catalog.palette import PALETTE, nearest_name
from lastseen.sim.home import Home, Thing
from lastseen.sim.scene import Scene

HIDDEN = 0.05
"""Metres before a face within which another surface hides it: a mirror's back at its wall, a frame under a canvas."""
DARKEST, DARKEST_GREY, LIGHTEST = 0.5, 0.75, 1.3
"""How much darker and lighter than its paint a part may be and still be called by it; half of white is grey."""
GREYS = frozenset({"white", "silver", "grey", "dark grey", "black"})
ROUNDING = 3.0
"""Steps of 255 by which a shade may miss the straight line from black through its paint."""


class SurfaceColors:
    """The basic colours of the things of one home, each with its share of the thing's visible surface."""

    def __init__(self, home: Home) -> None:
        self._scene = Scene(home)
        self._known: dict[int, dict[str, float]] = {}

    def of(self, thing: Thing) -> dict[str, float]:
        """Shares by colour; together 1."""
        if thing.id not in self._known:
            self._known[thing.id] = self._shares(thing)
        return self._known[thing.id]

    def main(self, thing: Thing) -> str:
        """The colour that covers most of it."""
        colors = self.of(thing)
        return max(sorted(colors), key=colors.__getitem__)

    def has(self, thing: Thing, color: str, *, at_least: float) -> bool:
        """Whether a colour covers that share of it."""
        return self.of(thing).get(color, 0.0) >= at_least

    def _shares(self, thing: Thing) -> dict[str, float]:
        mesh = thing.mesh.moved(thing.pose)
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        areas = np.linalg.norm(normals, axis=1)
        normals /= np.maximum(areas, 1e-12)[:, None]
        middles = corners.mean(axis=1)
        # faces have two sides: it is enough that one of them is open
        shows = self._is_open(middles, normals) | self._is_open(middles, -normals)
        visible = areas * shows if (areas * shows).any() else areas
        shares: Counter[str] = Counter()
        for rgb, area in zip(map(tuple, mesh.colors.tolist()), visible.tolist(), strict=True):
            shares[basic_color(rgb, thing.color)] += area
        return {color: area / float(visible.sum()) for color, area in shares.items() if area}

    def _is_open(self, points: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.bool_]:
        origins = (points + 1e-3 * directions).astype(np.float32)
        hits = self._scene.cast(origins, np.ascontiguousarray(directions, dtype=np.float32))
        free: NDArray[np.bool_] = (hits["primID"] < 0) | (hits["tfar"] > HIDDEN)
        return free


@cache
def basic_color(rgb: tuple[int, int, int], paint: str) -> str:
    """The basic colour of a face on a thing that was painted so."""
    name = paint if _is_shade(rgb, paint) else nearest_name(rgb)
    return parse(f"{name} thing").colors[0]


def _is_shade(rgb: tuple[int, int, int], paint: str) -> bool:
    if paint not in PALETTE:
        return False
    face, full = np.array(rgb, dtype=float), np.array(PALETTE[paint], dtype=float)
    factor = float(face @ full / (full @ full))
    darkest = DARKEST_GREY if paint in GREYS else DARKEST
    return darkest <= factor <= LIGHTEST and bool(np.abs(face - factor * full).max() <= ROUNDING)
