"""Export what is remembered: facts as JSON and CSV, boxes as PLY, a plan as PNG.

python examples/10_export.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import lastseen
from lastseen.cli.main import main

folder = Path(mkdtemp())
file = str(folder / "home.lastseen")
with lastseen.open(file) as memory:
    memory.tell("there is a kettle on the stove", position=(1.0, 2.0, 0.9), extent=(0.2, 0.2, 0.3))
    memory.tell("there is a sofa", position=(3.0, 0.5, 0.4), extent=(2.0, 0.9, 0.8))
for name in ("home.json", "home.csv", "home.ply"):
    try:
        main(["export", str(folder / name), "--memory", file, "--tentative"])
    except SystemExit as end:
        if end.code:
            raise
print(*sorted(path.name for path in folder.glob("home.*")))
