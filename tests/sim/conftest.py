from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.geometry import Intrinsics
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.render import Renderer
from tests.sim.tiny import tiny_home


@pytest.fixture(scope="session")
def home() -> Home:
    return tiny_home()


@pytest.fixture(scope="session")
def renderer(home: Home) -> Renderer:
    return Renderer(home)


@pytest.fixture(scope="session")
def grid(home: Home) -> NavigationGrid:
    return NavigationGrid(home)


@pytest.fixture(scope="session")
def small() -> Intrinsics:
    return Intrinsics.from_fov(96, 72, horizontal_deg=79.0)


@pytest.fixture(scope="session")
def aws_home(shared_data: Path) -> Home:
    return Home.from_npz(shared_data / "aws_small_house" / "small_house.npz")
