from __future__ import annotations

import subprocess
import sys

import pytest

from lastseen.config.seeking import Planner
from lastseen.errors import InvalidValue
from lastseen.vlm import Backend, backend_names, open_backend, register_backend, registry


def test_a_backend_opens_by_name_with_an_argument() -> None:
    backend = open_backend("mock:garbage", Planner(), seed=3)
    assert isinstance(backend, Backend)
    assert backend.name == "mock:garbage"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidValue, match=r"backend = 'oracle'.*choose one of .*mock"):
        open_backend("oracle")


def test_names_are_sorted() -> None:
    assert backend_names() == sorted(backend_names())


def test_a_backend_of_ones_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_BACKENDS", dict(registry._BACKENDS))
    register_backend("mine", "lastseen.vlm.mock:from_settings")
    assert open_backend("mine:down").name == "mock:down"


@pytest.mark.parametrize(("name", "factory"), [("", "a:b"), ("a:b", "a:b"), ("mine", "a"), ("mock", "a:b")])
def test_unfit_registrations_are_refused(name: str, factory: str) -> None:
    with pytest.raises(InvalidValue):
        register_backend(name, factory)


def test_the_seam_loads_no_backend_and_no_numpy() -> None:
    code = "import sys, lastseen.vlm; sys.exit(any(m in sys.modules for m in ('numpy', 'openai', 'PIL')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
