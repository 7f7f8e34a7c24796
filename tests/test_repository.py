"""What the tree must never hold: paths of one machine, package hosts, files that say two things."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# one letter of each stands in brackets, so that this file does not find itself
FORBIDDEN = [r"/[w]ork/", r"/[r]oot/", r"/[o]pt/wheels", r"[p]ypi\.org", r"[e]xtra-index-url"]


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: nothing to list")
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def test_no_file_names_this_machine_or_a_package_host() -> None:
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {pattern}" for pattern in FORBIDDEN if re.search(pattern, text)]
    assert not found


def test_the_version_is_said_once() -> None:
    import tomllib

    import lastseen

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == lastseen.__version__


def test_every_test_file_mirrors_a_part_of_the_package() -> None:
    parts = {path.stem for path in (ROOT / "src" / "lastseen").rglob("*") if path.suffix in {".py", ""}}
    for folder in (path for path in (ROOT / "tests").rglob("*") if path.is_dir() and path.name != "__pycache__"):
        assert folder.name in parts, f"tests/{folder.name} has no counterpart in src/lastseen"
