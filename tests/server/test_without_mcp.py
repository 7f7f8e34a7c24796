"""A server without the extra for agents answers at their address with what to install."""

from __future__ import annotations

import pytest
import requests

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
