from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import requests

from lastseen.config import Settings
from lastseen.errors import SourceError
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perception
from lastseen.server.demo import Demo, demo_settings
from lastseen.server.live import SourceRunner
from lastseen.server.run import Running, in_background, listen
from lastseen.server.serializers import places_json
from lastseen.server.service import Service
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.base import RecordSource, Updates
from lastseen.sources.record import RawRecord
from tests.memory.objects.scenes import frame_at
from tests.server.conftest import serving
from tests.sources.room import looking, write_recording


def sharp(number: int) -> Frame:
    frame = frame_at(number, depth=2.0, eye=(0.2 * number, 0.0, 1.2))
    noise = np.random.default_rng(number).integers(60, 200, frame.rgb.shape).astype(np.uint8)
    return replace(frame, rgb=noise)


class Given(RecordSource):
    """A source of frames that are there already; with ``broken`` it fails after them."""

    live = True

    def __init__(self, count: int, *, broken: bool = False) -> None:
        super().__init__("given")
        self.count, self.broken = count, broken

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        raise NotImplementedError

    def frames(self) -> Iterator[Frame]:
        yield from map(sharp, range(self.count))
        if self.broken:
            raise SourceError("camera", "gone", "was unplugged", remedy="plug it in")


def run(service: Service, source: RecordSource) -> None:
    runner = SourceRunner(service, lambda: (source, Perception(service.settings)))
    runner.start()
    while service.source.state in ("waiting", "running"):
        time.sleep(0.01)
    runner.stop()


def test_a_source_is_followed_to_its_end() -> None:
    with Memory.open() as memory:
        service = Service(memory, mode="source")
        run(service, Given(5))
        assert service.source.state == "ended"
        assert service.frames == 5
        assert len(service.robot.path()) == 5


def test_a_source_that_fails_is_told_by_health_and_the_rest_goes_on() -> None:
    with Memory.open() as memory:
        service = Service(memory, mode="source")
        run(service, Given(2, broken=True))
        listening = listen(host="127.0.0.1", port=0)
        with in_background(Running(service, listening), wait=time.sleep) as running:
            health = requests.get(f"{running.address.base}/healthz", timeout=60).json()
            assert health["status"] == "degraded"
            assert "unplugged" in health["reasons"][0]
            assert requests.get(f"{running.address.base}/stats", timeout=60).json()["server"]["source"] == "failed"


def test_a_source_that_keeps_us_waiting_keeps_nobody_else() -> None:
    with Memory.open() as memory:
        service, opened = Service(memory, mode="source"), threading.Event()

        def opening() -> tuple[RecordSource, Perception]:
            opened.wait(20.0)
            return Given(2), Perception(service.settings)

        runner = SourceRunner(service, opening)
        runner.start()
        with serving(memory, service=service) as running:
            stats = requests.get(f"{running.address.base}/stats", timeout=60).json()
            assert stats["server"]["source"] == "waiting"
        opened.set()
        runner.stop()


def test_a_source_that_begins_anew_begins_a_session() -> None:
    class Anew(Given):
        def frames(self) -> Iterator[Frame]:
            yield sharp(5)
            self._updates = Updates(restarted=True)
            yield sharp(0)

    with Memory.open() as memory:
        service = Service(memory, mode="source")
        run(service, Anew(2))
        assert service.source.state == "ended"
        assert len(memory.sessions()) == 2
        assert memory.places()


def test_a_source_states_its_map_from_its_first_frame_on() -> None:
    with Memory.open() as memory:
        service, source = Service(memory, mode="source"), Given(3)
        source.options = source.options.replaced(map_id="ground floor")
        run(service, source)
        assert [one.map_id for one in memory.session_frames()] == ["ground floor"]


@pytest.mark.slow
def test_the_demo_walks_finds_things_and_knows_its_rooms() -> None:
    pytest.importorskip("embreex", reason="the extra sim is not installed")
    settings = demo_settings(Settings())
    with Memory.open(settings=settings, image_encoder="look") as memory:
        service = Service(memory, mode="demo")
        walk = Demo(service, seed=7).walk()
        for _ in range(30):
            frame = next(walk)
        assert frame.rgb.shape == (240, 320, 3)
        service.refresh(stats=True)
        assert memory.browse.counts()["confirmed"] >= 3
        places = places_json(service.memory)
        assert any(place["type"] != "unknown" for place in places["places"])
        assert any(anchor["world_pose"] for anchor in places["anchors"])
        assert len(service.points) > 20_000
        assert service.feed.last_event > 0


def test_the_demo_looks_at_320_by_240() -> None:
    camera = demo_settings(Settings()).camera
    assert (camera.width, camera.height) == (320, 240)


@pytest.mark.slow
def test_a_world_on_its_side_is_said_while_it_is_followed_and_kept_in_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    poses = [looking(-0.6 - 0.06 * step, 0.03 * step, yaw=-0.8 + 0.02 * step, pitch=-0.35) for step in range(16)]
    walk, file = write_recording(tmp_path / "walk", poses), tmp_path / "m.lastseen"
    with Memory.open(file) as memory:
        service = Service(memory, mode="source")
        assert service.state()["warning"] is None
        run(service, open_source(walk, SourceOptions(world_up="y")))
        assert "lies on its side" in service.state()["warning"]
        assert "doctor --fix" in service.state()["warning"]
        assert "lies on its side" in caplog.text
    with Memory.open(file, read_only=True) as memory:
        assert "lies on its side" in Service(memory).state()["warning"]
    with Memory.open(tmp_path / "upright.lastseen") as memory:
        service = Service(memory, mode="source")
        run(service, open_source(walk))
        assert service.state()["warning"] is None
