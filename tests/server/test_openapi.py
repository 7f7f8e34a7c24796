"""Whatever the schema allows, and much that it does not, is answered without the server failing."""

from __future__ import annotations

from typing import Any
from unittest import SkipTest

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from lastseen.server.run import Running

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_no_request_makes_the_server_fail(home: Running, mode: str, soak: int) -> None:
    schema = schemathesis.openapi.from_url(f"{home.address.base}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 20
    for operation in operations:
        _try(operation, mode, examples=8 * soak)


def _try(operation: Any, mode: str, *, examples: int) -> None:
    strategy = operation.as_strategy(generation_mode=getattr(schemathesis.GenerationMode, mode))

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(case=strategy)
    def send(case: Any) -> None:
        answer = case.call(timeout=10)
        assert answer.status_code < 500, (case.as_curl_command(), answer.status_code, answer.text)
        if answer.status_code >= 400 and "json" in str(answer.headers.get("content-type")):
            assert {"error", "message"} <= set(answer.json())

    try:
        send()
    except (Unsatisfiable, SkipTest):
        # an operation without parameters has nothing wrong to send
        assert mode == "NEGATIVE"


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
