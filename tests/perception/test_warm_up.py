from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.sources.room import looking, write_recording

WARMED_UP = """
import sys
from lastseen.compiled import Compiled
from lastseen.perception.pipeline import Perception
from lastseen.perception.warm_up import warm_up
from lastseen.sources import open_source
def compiled():
    return {one.__qualname__: len(one.machine_code.signatures) for one in Compiled._all if one.machine_code}
warm_up()
before = compiled()
perception = Perception()
for frame in open_source(sys.argv[1]).frames():
    perception.perceive(frame)
assert perception.keyframes.passed == 4
assert compiled() == before, {name: count for name, count in compiled().items() if before.get(name) != count}
assert set(before.values()) == {1}, before
"""


def test_after_warming_up_no_image_waits_for_the_compiler(tmp_path: Path) -> None:
    poses = [looking(-0.6 - 0.06 * step, 0.03 * step, yaw=-0.8 + 0.02 * step, pitch=-0.35) for step in range(4)]
    walk = write_recording(tmp_path / "walk", poses)
    done = subprocess.run(
        [sys.executable, "-c", WARMED_UP, str(walk)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
