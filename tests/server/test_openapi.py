"""The schema says what comes back, and whatever it allows, and much that it does not, is answered accordingly."""

from __future__ import annotations

from typing import Any
from unittest import SkipTest

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from lastseen.server.run import Running

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

CHECKS = {
    "negative_data_rejection": {"expected-statuses": [400, 401, 404, 405, 409, 411, 413, 415, 422, 503]},
}
BEYOND_A_SCHEMA = "^/(camera$|objects$|search/|changes|ingest/|tell$|objects/.*/(relabel|merge))"
"""Paths whose requests obey rules that no schema can say: a picture, a unit quaternion, a session there is,
a sentence that is understood."""
CONFIG = {
    "checks": CHECKS,
    "operations": [
        {
            "include-path-regex": BEYOND_A_SCHEMA,
            "checks": {**CHECKS, "positive_data_acceptance": {"expected-statuses": [200, 401, 404, 409, 422, 503]}},
        }
    ],
}
GIVEN: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("/objects", {}, {}),
    ("/objects", {}, {"include_snapshot": True, "limit": 2}),
    ("/objects", {}, {"as_of": "5", "include_removed": True}),
    ("/objects/{object_id}", {"object_id": "obj-2"}, {}),
    ("/objects/{object_id}/image", {"object_id": "obj-2"}, {}),
    ("/objects/{object_id}/snapshots/{number}/image", {"object_id": "obj-2", "number": 0}, {}),
    ("/objects/{object_id}/history", {"object_id": "obj-2"}, {}),
    ("/search/semantic", {}, {"query": "red mug"}),
    ("/search/semantic", {}, {"query": "mug", "near": "1,0,0.8", "since": "2"}),
    ("/search/label", {}, {"query": "mug"}),
    ("/search/spatial", {}, {"x": 0, "y": 0, "z": 0.8, "radius": 3}),
    ("/places", {}, {}),
    ("/facts", {}, {}),
    ("/ask", {}, {"question": "where is the mug?"}),
    ("/places/{place_id}", {"place_id": 0}, {}),
    ("/robot", {}, {}),
    ("/timeline", {}, {}),
    ("/sessions", {}, {}),
    ("/changes", {}, {}),
    ("/pointcloud", {}, {}),
    ("/stats", {}, {}),
    ("/stats/detailed", {}, {}),
    ("/healthz", {}, {}),
    ("/readyz", {}, {}),
    ("/metrics", {}, {}),
    ("/session", {}, {}),
]


def schema_of(running: Running) -> Any:
    config = schemathesis.Config.from_dict(CONFIG)
    return schemathesis.openapi.from_url(f"{running.address.base}/openapi.json", config=config)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_every_request_is_answered_as_the_schema_says(home: Running, mode: str, soak: int) -> None:
    operations = [found.ok() for found in schema_of(home).get_all_operations()]
    assert len(operations) >= 20
    for operation in operations:
        _try(operation, mode, examples=8 * soak)


def _try(operation: Any, mode: str, *, examples: int) -> None:
    strategy = operation.as_strategy(generation_mode=getattr(schemathesis.GenerationMode, mode))

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(case=strategy)
    def send(case: Any) -> None:
        answer = case.call_and_validate(timeout=60)
        assert answer.status_code < 500, (case.as_curl_command(), answer.status_code, answer.text)
        if answer.status_code >= 400 and "json" in str(answer.headers.get("content-type")):
            assert {"error", "message"} <= set(answer.json())

    try:
        send()
    except (Unsatisfiable, SkipTest):
        # an operation without parameters has nothing wrong to send
        assert mode == "NEGATIVE"


def test_answers_have_the_shape_that_the_schema_declares(home: Running) -> None:
    schema = schema_of(home)
    for path, in_path, query in GIVEN:
        answer = schema[path]["GET"].Case(path_parameters=in_path, query=query).call_and_validate(timeout=60)
        assert answer.status_code == 200, (path, answer.text)


def test_every_json_answer_is_declared_with_its_fields_and_errors(home: Running) -> None:
    described = requests.get(f"{home.address.base}/openapi.json", timeout=60).json()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            where, answers = f"{method} {path}", operation["responses"]
            assert "405" in answers, where
            assert method != "post" or {"400", "413", "415", "422"} <= set(answers), where
            for status, answer in answers.items():
                for kind, content in answer.get("content", {}).items():
                    assert kind != "application/json" or content["schema"], (where, status)


def test_another_method_is_answered_with_405_and_those_there_are(home: Running) -> None:
    paths = requests.get(f"{home.address.base}/openapi.json", timeout=60).json()["paths"]
    for path, operations in paths.items():
        url = home.address.base + path.replace("{object_id}", "obj-1").replace("{number}", "0").replace(
            "{place_id}", "0"
        )
        there_are = {method.upper() for method in operations}
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - there_are:
            answer = requests.request(method, url, timeout=60)
            assert (answer.status_code, answer.json()["error"]) == (405, "method_not_allowed"), (method, path)
            assert {one.strip() for one in answer.headers["allow"].split(",")} == there_are


def test_the_schema_names_every_path(home: Running) -> None:
    paths = requests.get(f"{home.address.base}/openapi.json", timeout=60).json()["paths"]
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
