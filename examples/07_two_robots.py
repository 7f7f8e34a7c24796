"""Two robots, one home: each keeps its own file, and where one map lies in the other is found by what both saw.

Extra ``sim``. With a Milvus server they can also share an index: see 08_milvus.py.

    python examples/07_two_robots.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import lastseen
from lastseen.cli.main import main
from lastseen.perception.pipeline import Perception
from lastseen.sources.follow import follow

folder = Path(mkdtemp())
for robot, minutes in (("ann", 1.2), ("bob", 1.0)):
    with (
        lastseen.open_source(f"sim://7?minutes={minutes}&level=good&rooms=4") as source,
        lastseen.open(folder / f"{robot}.lastseen") as memory,
    ):
        follow(source, memory, Perception(memory.settings, detector=source.detector()))
        print(robot, "remembers", len(memory.objects()), "objects")
try:
    main(["align", str(folder / "ann.lastseen"), str(folder / "bob.lastseen")])
except SystemExit as end:
    print("exit code", end.code, "(0: one home; 1: not known to be)")
