"""Our SPL and SoftSPL against habitat-lab's own measures, on walks made by hand."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from pathlib import Path

import pytest

from lastseen.evaluation.metrics import soft_spl, spl
from tests.evaluation.habitat import lab

GOAL = (4.0, 0.0, 0.0)
REACH = 1.0
WALKS = {
    "straight there": [(0.0, 0.0), (2.0, 0.0), (4.0, 0.0)],
    "a detour": [(0.0, 0.0), (0.0, 3.0), (4.0, 3.0), (4.0, 0.0)],
    "within reach": [(0.0, 0.0), (3.5, 0.0)],
    "just out of reach": [(0.0, 0.0), (3.0, 0.0)],
    "away from it": [(0.0, 0.0), (-3.0, 0.0)],
    "without a step": [(0.0, 0.0)],
}
CASES = [(name, stop) for name in WALKS for stop in (True, False)]


@pytest.fixture(scope="module")
def theirs() -> dict[tuple[str, bool], dict[str, float]]:
    asked = [{"walk": WALKS[name], "goal": GOAL, "reach": REACH, "stop": stop} for name, stop in CASES]
    script = Path(__file__).with_name("lab_measures.py")
    said = subprocess.run(
        [lab.PYTHON, str(script)], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    return dict(zip(CASES, json.loads(said.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize(("name", "stop"), CASES)
def test_ours_are_theirs(theirs: dict[tuple[str, bool], dict[str, float]], name: str, stop: bool) -> None:
    walk = WALKS[name]
    travelled = sum(math.dist(a, b) for a, b in itertools.pairwise(walk))
    start, end = (math.dist(point, (GOAL[0], GOAL[2])) for point in (walk[0], walk[-1]))
    ours = spl(success=stop and end < REACH, shortest=start, travelled=travelled)
    assert ours == pytest.approx(theirs[name, stop]["spl"], abs=1e-12)
    soft = soft_spl(start_distance=start, end_distance=end, travelled=travelled)
    assert soft == pytest.approx(theirs[name, stop]["soft_spl"], abs=1e-12)
