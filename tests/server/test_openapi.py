"""Whatever the schema allows, and much that it does not, is answered without the server failing."""

from __future__ import annotations

import pytest
import requests
from hypothesis import HealthCheck, settings

from lastseen.server.run import Running

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.fixture
def schema(home: Running) -> object:
    return schemathesis.openapi.from_url(f"{home.address.base}/openapi.json")


lazy = schemathesis.pytest.from_fixture("schema")


@pytest.mark.slow
@lazy.parametrize()
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_makes_the_server_fail(case: object) -> None:
    answer = case.call(timeout=10)  # type: ignore[attr-defined]
    assert answer.status_code < 500, (answer.status_code, answer.text)
    if answer.status_code >= 400 and "json" in str(answer.headers.get("content-type")):
        assert {"error", "message"} <= set(answer.json())


def test_the_schema_names_every_path(home: Running) -> None:
    paths = requests.get(f"{home.address.base}/openapi.json", timeout=10).json()["paths"]
    assert {
        "/objects",
        "/objects/{object_id}",
        "/objects/{object_id}/image",
        "/objects/{object_id}/snapshots/{number}/image",
        "/objects/{object_id}/history",
        "/search/semantic",
        "/search/spatial",
        "/search/label",
        "/places",
        "/places/{place_id}",
        "/changes",
        "/stats",
        "/stats/detailed",
        "/health",
        "/healthz",
        "/readyz",
        "/metrics",
        "/ingest/observations",
        "/ingest/frames",
    } <= set(paths)
