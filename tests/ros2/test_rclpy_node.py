"""Runs ``checks_with_rclpy.py`` with the Python of ``make ros``, which has a real rclpy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CHECKS = ROOT / "tests" / "ros2" / "checks_with_rclpy.py"


def run_checks(*words: str) -> None:
    python = Path(os.environ.get("LASTSEEN_ROS_PYTHON", ROOT / ".venv-ros" / "bin" / "python"))
    if not (python.parent.parent / "share" / "lastseen_interfaces").is_dir():
        pytest.skip("there is no ROS 2 here: `make ros` makes one from wheels, or says why not")
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-W",
        "ignore",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "--timeout",
        "600",
        *words,
        str(CHECKS),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_the_node_on_a_real_graph() -> None:
    run_checks("-m", "not integration")


@pytest.mark.integration
@pytest.mark.timeout(7200)
def test_the_node_with_a_camera_and_crashes() -> None:
    run_checks("-m", "integration")
