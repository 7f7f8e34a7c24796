from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import requests

from lastseen.memory.alignment import FrameTransform
from lastseen.memory.memory import Memory
from lastseen.server.map_schemas import SessionObjects
from lastseen.server.run import Running
from tests.memory.homes import ROOM, walk
from tests.memory.walks_in_frames import house, look
from tests.server.conftest import serving


def get(running: Running, path: str, **params: Any) -> Any:
    answer = requests.get(f"{running.address.base}{path}", params=params, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def status(running: Running, path: str, **params: Any) -> int:
    answer = requests.get(f"{running.address.base}{path}", params=params, timeout=60)
    if answer.status_code >= 400:
        assert set(answer.json()) == {"error", "message"}
    return answer.status_code


def test_objects_come_in_pages_in_the_order_of_their_ids(home: Running) -> None:
    first = get(home, "/objects", limit=3)
    rest = get(home, "/objects", limit=3, offset=3)
    assert (first["total"], first["count"], rest["count"]) == (5, 3, 2)
    assert [one["id"] for one in first["objects"] + rest["objects"]] == [f"obj-{n}" for n in range(1, 6)]


def test_an_object_tells_what_a_page_draws(home: Running) -> None:
    (sofa,) = get(home, "/objects", label="sofa")["objects"]
    assert sofa["state"] == "confirmed"
    assert sofa["color"] == "blue"
    assert sofa["xyz_world"] == pytest.approx([2.0, 2.0, 0.4], abs=0.05)
    assert len(sofa["extent"]) == 3
    assert sofa["last_seen_memory_time"] == 7.0
    detail = get(home, f"/objects/{sofa['id']}")
    assert detail["snapshots"] == len(detail["snapshot_urls"]) == 3
    taken = detail["snapshot_memory_times"]
    assert len(taken) == 3
    assert taken == sorted(taken, reverse=True)
    assert taken[0] <= detail["last_seen_memory_time"]
    for url in detail["snapshot_urls"]:
        assert requests.get(home.address.base + url, timeout=60).headers["content-type"] == "image/jpeg"


def test_snapshots_come_along_when_asked_for(home: Running) -> None:
    assert "snapshot_b64" not in get(home, "/objects", limit=1)["objects"][0]
    assert get(home, "/objects", limit=1, include_snapshot=True)["objects"][0]["snapshot_b64"].startswith("/9j/")
    assert status(home, "/objects", limit=500, include_snapshot=True) == 422


def test_history_has_the_track_and_the_events(home: Running) -> None:
    kinds = [entry["kind"] for entry in get(home, "/objects/obj-1/history")["history"]]
    assert kinds[:3] == ["appeared", "confirmed", "known"]


def test_an_answer_may_be_not_found_and_says_why(home: Running) -> None:
    answer = get(home, "/search/semantic", query="yellow mug")
    assert (answer["status"], answer["results"]) == ("not_found", [])
    assert "not yellow" in answer["reason"]
    assert get(home, "/search/semantic", query="mug")["status"] == "ambiguous"
    assert get(home, "/search/semantic", query="mug", near="1,0,0.8", radius=0.3)["status"] == "found"


def test_a_threshold_is_kept(home: Running) -> None:
    answer = get(home, "/search/semantic", query="cup", threshold=0.99)
    assert answer["status"] == "not_found"
    assert "threshold" in answer["reason"]


def test_what_is_near_comes_nearest_first(home: Running) -> None:
    answer = get(home, "/search/spatial", x=0, y=0, z=0.8, radius=1.2)
    assert [one["label_primary"] for one in answer["results"]] == ["mug", "bowl", "mug"]
    distances = [one["distance_m"] for one in answer["results"]]
    assert distances == sorted(distances)


def test_changes_are_the_newest_when_there_are_too_many(home: Running) -> None:
    everything = get(home, "/changes", limit=1000)
    some = get(home, "/changes", limit=2)
    assert some["more"]
    assert some["changes"] == everything["changes"][-2:]


def test_the_timeline_spans_the_sessions(home: Running) -> None:
    timeline = get(home, "/timeline")
    assert (timeline["first_memory_time"], timeline["last_memory_time"]) == (0.0, 7.0)
    assert timeline["sessions"][0]["first"] is not None
    assert {mark["kind"] for mark in timeline["marks"]} == {"confirmed"}


def test_an_empty_memory_answers_everything() -> None:
    with Memory.open() as memory, serving(memory) as running:
        for path in ("/objects", "/places", "/robot", "/timeline", "/changes", "/stats", "/stats/detailed"):
            get(running, path)
        assert get(running, "/timeline")["first"] is None
        assert get(running, "/search/semantic", query="mug")["reason"] == "memory is empty"
        assert get(running, "/objects", as_of="10")["objects"] == []


def test_the_past_shows_an_object_at_its_old_place() -> None:
    moved = [*ROOM[:4], type(ROOM[4])("sofa", "blue", (-2.0, 2.0, 0.4))]
    with Memory.open() as memory:
        walk(memory, 8, looks="random")
        walk(memory, 8, moved, looks="random", start=8)
        with serving(memory) as running:
            sofas = {one["id"]: one["xyz_world"][0] for one in get(running, "/objects", label="sofa")["objects"]}
            assert len(sofas) == 2
            (then,) = get(running, "/objects", label="sofa", as_of="5")["objects"]
            assert then["xyz_world"] == pytest.approx([2.0, 2.0, 0.4], abs=0.05)
            assert then["last_seen_memory_time"] <= 5.0
            assert get(running, "/search/semantic", query="sofa", as_of="1:5")["status"] == "found"


def test_corrections_are_made_and_taken_back(home: Running) -> None:
    def post(path: str, **body: Any) -> requests.Response:
        return requests.post(f"{home.address.base}{path}", json=body, timeout=60)

    assert post("/objects/obj-1/relabel", label="throne").json()["events"][0]["type"] == "object_corrected"
    assert get(home, "/objects/obj-1")["label_primary"] == "throne"
    post("/corrections/undo")
    assert get(home, "/objects/obj-1")["label_primary"] == "chair"
    post("/objects/obj-1/delete")
    assert status(home, "/objects/obj-1") == 404
    post("/corrections/undo")
    post("/objects/obj-2/merge", lose="obj-4")
    assert status(home, "/objects/obj-4") == 404
    post("/corrections/undo")
    assert get(home, "/objects")["total"] == 5
    assert post("/corrections/undo").status_code == 409
    mine = post("/objects/obj-1/relabel", label="throne").json()["correction"]
    assert post("/objects/obj-1/relabel", label=" ").status_code == 422
    theirs = post("/objects/obj-2/relabel", label="bin").json()["correction"]
    refused = post("/corrections/undo", correction=mine)
    assert (refused.status_code, "not the newest" in refused.json()["message"]) == (409, True)
    assert get(home, "/objects/obj-2")["label_primary"] == "bin"
    assert post("/corrections/undo", correction=theirs).ok
    assert post("/corrections/undo", correction=mine).ok
    assert get(home, "/objects/obj-1")["label_primary"] == "chair"
    assert post("/objects/obj-99/delete").status_code == 404
    assert post("/objects/obj-1/merge", lose="obj-1").status_code == 422
    for label in ("mu\x00g", "\x1b[31mmug", " "):
        assert post("/objects/obj-1/relabel", label=label).status_code == 422


@pytest.mark.parametrize(
    ("path", "params", "expected"),
    [
        ("/objects/obj-99", {}, 404),
        ("/objects/..%2f..%2fetc%2fpasswd", {}, 404),
        ("/objects/obj-1/snapshots/99/image", {}, 404),
        ("/places/99", {}, 404),
        ("/nowhere", {}, 404),
        ("/objects", {"limit": 0}, 422),
        ("/objects", {"limit": 100000}, 422),
        ("/objects", {"as_of": "yesterday"}, 422),
        ("/objects", {"as_of": "2026-01-01T00:00:00"}, 422),
        ("/objects", {"as_of": "9:1"}, 422),
        ("/search/semantic", {}, 422),
        ("/search/semantic", {"query": "x" * 501}, 422),
        ("/search/semantic", {"query": "mug", "near": "1,2"}, 422),
        ("/search/semantic", {"query": "mug", "radius": 1}, 422),
        ("/search/spatial", {"x": "nan", "y": 0, "z": 0}, 422),
        ("/search/spatial", {"x": 0, "y": 0, "z": 0, "radius": -1}, 422),
        ("/search/semantic", {"query": "x" * 5000}, 413),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_shape(
    home: Running, path: str, params: dict[str, Any], expected: int
) -> None:
    assert status(home, path, **params) == expected


def test_metrics_can_be_scraped(home: Running) -> None:
    get(home, "/objects")
    text = requests.get(f"{home.address.base}/metrics", timeout=60).text
    assert 'lastseen_http_requests_total{route="/objects",method="GET",status="200"}' in text
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rsplit(" ", 1)[1]) >= 0.0


def test_the_page_is_at_the_root(home: Running) -> None:
    answer = requests.get(f"{home.address.base}/", timeout=60)
    assert answer.url.endswith("/viewer/")
    assert "<!doctype html>" in answer.text.lower()
    assert "default-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "from its file"])
def test_what_a_session_kept_apart_has_seen_can_be_read(tmp_path: Path, running: bool) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        look(memory, house(1), FrameTransform())
    with Memory.open(path) as memory:
        look(memory, house(2), FrameTransform(), count=24)
        if running:
            check_apart(memory)
    if not running:
        with Memory.open(path, read_only=True) as memory:
            check_apart(memory)


def check_apart(memory: Memory) -> None:
    with serving(memory) as served:
        found = SessionObjects.model_validate(get(served, "/sessions/2/objects"))
        assert [one.id for one in found.objects] == [f"session-2/obj-{number}" for number in range(1, 31)]
        assert status(served, "/sessions/1/objects") == 404
        assert status(served, "/sessions/9/objects") == 404
