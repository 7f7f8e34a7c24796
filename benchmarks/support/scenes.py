"""Homes that lastseen did not invent: an artist-made house, and apartments of another simulator."""

from __future__ import annotations

import os
from pathlib import Path

from lastseen.sim.from_graph import home_from_graph
from lastseen.sim.from_npz import load_npz
from lastseen.sim.home import Home


def shared(name: str) -> Path | None:
    """A folder of recordings or scenes; None where it is not there."""
    folder = Path(os.environ.get("LASTSEEN_DATA", Path(__file__).parents[3] / "shared" / "data")) / name
    return folder if folder.exists() else None


def foreign_homes() -> dict[str, list[Home]]:
    """The foreign homes by where they come from; an empty list where they are not at hand."""
    house, graphs = shared("aws_small_house"), shared("virtualhome_graphs")
    return {
        "aws": [load_npz(house / "small_house.npz")] if house else [],
        "virtualhome": [home_from_graph(path) for path in sorted(graphs.glob("*.json.gz"))] if graphs else [],
    }
