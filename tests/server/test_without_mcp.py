"""What a server says of the extras that are missing."""

from __future__ import annotations

import pytest
import requests
from typer.testing import CliRunner

from lastseen.cli import serve
from lastseen.cli.main import app as cli
from lastseen.config import Settings
from lastseen.memory.memory import Memory
from lastseen.server import app
from tests.server.conftest import serving


def test_without_its_extra_the_address_of_mcp_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "find_spec", lambda name: None)
    with Memory.open(settings=Settings()) as memory, serving(memory) as running:
        answer = requests.post(f"{running.address.base}/mcp", json={}, timeout=60)
    assert answer.status_code == 501
    assert "pip install 'lastseen[mcp]'" in answer.json()["message"]


@pytest.mark.parametrize(
    ("arguments", "extras"),
    [("--demo", "server,sim"), ("--source sim://7", "server,sim"), ("home.lastseen", "server")],
)
def test_all_missing_extras_of_serve_are_named_at_once(
    monkeypatch: pytest.MonkeyPatch, arguments: str, extras: str
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    done = CliRunner().invoke(cli, ["serve", *arguments.split()])
    assert f"'.[{extras}]'" in str(done.exception)
