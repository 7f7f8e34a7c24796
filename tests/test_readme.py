"""The README's commands and Python blocks run as a newcomer would run them, top to bottom, in one empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def newcomer(home: Path) -> dict[str, str]:
    """An environment with an empty home and this interpreter's commands first in the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "HOME": str(home), "PATH": path}


def run(command: list[str], *, home: Path, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=newcomer(home), capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def test_the_demo_installs_what_the_commands_it_suggests_need() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    extras = re.findall(r"^DEMO_EXTRAS := (.+)$", makefile, flags=re.MULTILINE)[0].split(",")
    assert {"sim", "server"} <= set(extras)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.integration
def test_the_make_commands_run_in_the_checkout(tmp_path: Path) -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("make ")]
    assert "make test" in " ".join(lines)
    for line in lines:
        # `make test` would run this very test again
        if not line.startswith("make test"):
            run(["bash", "-euc", line], home=tmp_path, cwd=ROOT)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.integration
def test_the_other_blocks_run_in_order_in_an_empty_folder(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for language, block in re.findall(r"^```(bash|python)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        if language == "python":
            run([sys.executable, "-c", block], home=tmp_path, cwd=tmp_path)
        elif not block.startswith("make "):
            run(["bash", "-euo", "pipefail", "-c", block], home=tmp_path, cwd=tmp_path)


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PROMISED = {
    "recording": ("toy car (obj-3) moved", "missing", "seen for the first time"),
    "camera": ("objects confirmed", "pictures are remembered"),
    "robot": ("memory is empty", "and 0 planner calls"),
    "detector": ("green plant", "white thing"),
    "agent": ("fridge (obj-", "Nothing remembered is like 'the violin'"),
    "evaluate": ("planner_calls", "wrote results/report.html", "things.csv"),
}
"""What a page says that its reader will see."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.integration
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_from_top_to_bottom_in_an_empty_folder(page: Path, tmp_path: Path) -> None:
    """Blocks of ``sh`` need hardware, internet or a person, and are only read."""
    text, said = page.read_text(encoding="utf-8"), ""
    for language, block in re.findall(r"^```(bash|python)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        command = [sys.executable, "-c"] if language == "python" else ["bash", "-euo", "pipefail", "-c"]
        said += run([*command, block], home=tmp_path, cwd=tmp_path)
    assert [promise for promise in PROMISED[page.stem] if promise not in said] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
@pytest.mark.integration
def test_the_python_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S):
        run([sys.executable, "-c", block], home=tmp_path, cwd=tmp_path)
