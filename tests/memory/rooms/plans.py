"""Homes as lines of wall, drawn into the grid of walls that rooms are cut from."""

from __future__ import annotations

import math
import zlib

import numpy as np

from lastseen.config.search import Policy
from lastseen.memory.rooms.plan import Plan, plan_of
from lastseen.memory.space.floor import TILE, FloorGrid, wall_grid

Line = tuple[float, float, float, float]
NOWHERE = np.zeros((0, 2))
THICK = 0.12


def outer(width: float, depth: float) -> list[Line]:
    """The four outer walls of a home with a corner at (0, 0)."""
    return [(0, 0, width, 0), (width, 0, width, depth), (0, depth, width, depth), (0, 0, 0, depth)]


def grid_of(lines: list[Line], width: float, depth: float, *, turned: float = 0.0) -> FloorGrid:
    """A grid that has seen all inside, with walls along lines (x0, y0, x1, y1); the whole is turned by degrees."""
    grid = wall_grid(Policy())
    cell = grid.settings.cell
    angle = math.radians(turned)
    reach = int(2.0 * math.hypot(width, depth) / cell / TILE + 1) * TILE
    u, v = np.meshgrid(*([np.arange(-reach, reach) * cell] * 2), indexing="ij")
    x, y = math.cos(angle) * u + math.sin(angle) * v, math.cos(angle) * v - math.sin(angle) * u
    evidence = np.where((x > 0) & (x < width) & (y > 0) & (y < depth), -4, 0).astype(np.int8)
    half = THICK / 2
    for x0, y0, x1, y1 in lines:
        evidence[(x >= x0 - half) & (x <= x1 + half) & (y >= y0 - half) & (y <= y1 + half)] = 6
    tiles = {}
    for i in range(-reach, reach, TILE):
        for j in range(-reach, reach, TILE):
            body = np.ascontiguousarray(evidence[i + reach : i + reach + TILE, j + reach : j + reach + TILE])
            tiles[i // TILE, j // TILE] = zlib.compress(body.tobytes())
    grid.restore(tiles)
    return grid


def plan(lines: list[Line], width: float, depth: float, *, turned: float = 0.0) -> Plan:
    """The plan of such a home."""
    found = plan_of(grid_of(lines, width, depth, turned=turned), NOWHERE)
    assert found is not None
    return found
