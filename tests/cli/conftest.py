"""What the tests of the commands share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_file_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that name no memory file use one of the test's own."""
    monkeypatch.setenv("LASTSEEN_MEMORY", str(tmp_path / "home.lastseen"))
