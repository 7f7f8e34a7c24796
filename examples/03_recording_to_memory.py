"""A recording becomes a memory file: the same as ``lastseen run walk --memory home.lastseen``.

The recording is made here first, by a simulated robot (extra ``sim``); give a folder, bag or .mcap of yours instead.

    python examples/03_recording_to_memory.py [RECORDING]
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp

import lastseen
from lastseen.perception.pipeline import Perception
from lastseen.sources.follow import follow

folder = Path(mkdtemp())
address = sys.argv[1] if len(sys.argv) > 1 else "sim://7?minutes=0.5&rooms=4&level=good"
with lastseen.open_source(address) as source, lastseen.open(folder / "home.lastseen") as memory:
    summary = follow(source, memory, Perception(memory.settings, detector=source.detector()))
    print(f"{summary.frames} frames, {summary.looked_at} looked at, {summary.confirmed} objects confirmed")
    for room in memory.rooms():
        print(f"{room.name}: {room.area:.1f} m2 seen")
print("look at it: lastseen serve", folder / "home.lastseen")
