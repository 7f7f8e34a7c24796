from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.room import walk, write_recording


@pytest.fixture(scope="session")
def stored_walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean recording of 16 frames; tests must not write into it."""
    return write_recording(tmp_path_factory.mktemp("walk") / "clean", walk())


@pytest.fixture
def short_walk(tmp_path: Path) -> Path:
    """A clean recording of four frames of its own, to be broken."""
    return write_recording(tmp_path / "recording", walk(4))
