"""habitat-lab in its own environment, with our simulator in a third process: what the lab tests share."""

from __future__ import annotations

import gzip
import json
import math
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lastseen.detection import Detection
from lastseen.evaluation.habitat import worker
from lastseen.evaluation.habitat.dataset import Dataset
from lastseen.frame import Frame
from lastseen.pose2d import Pose2D
from lastseen.sim.episodes import make_episodes
from tests.sim.tiny import tiny_home

PYTHON = os.environ.get("LASTSEEN_HABITAT_PYTHON", "")
PORT = "LASTSEEN_TEST_SIMULATOR"
DETECTOR = f"{__name__}:detector"
PLUGIN = str(Path(__file__).with_name("remote_simulator.py"))
FLOOR = 3.1
OVERRIDES = (
    "habitat.simulator.type=Lastseen-v0",
    "habitat.task.actions.look_up.type=TiltUp",
    "habitat.task.actions.look_down.type=TiltDown",
)


@contextmanager
def simulator() -> Iterator[int]:
    """Our simulator in a process of its own; gives its port."""
    command = [sys.executable, "-m", "tests.evaluation.habitat.simulator_server"]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


class RemoteDetector:
    """What the simulated detector finds in the frame that the simulator showed last."""

    def __init__(self, port: int) -> None:
        self._port = port

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        with socket.create_connection(("127.0.0.1", self._port)) as sock:
            worker.send(sock, {"do": "detect", "targets": list(targets)})
            told, masks = worker.receive(sock)
        return [
            Detection(
                box=tuple(each["box"]),
                score=each["score"],
                labels=each["labels"],
                mask=masks[str(k)].astype(bool) if str(k) in masks else None,
            )
            for k, each in enumerate(told["detections"])
        ]


def detector() -> RemoteDetector:
    return RemoteDetector(int(os.environ[PORT]))


def to_habitat(x: float, y: float, z: float = 0.0) -> list[float]:
    """A point of ours in Habitat's world: y up, our +y is -z."""
    return [x, z + FLOOR, -y]


def rotation_of(yaw: float) -> list[float]:
    """A heading of ours as x, y, z, w about Habitat's y; without a turn it looks along -z, our +y."""
    half = (yaw - math.pi / 2.0) / 2.0
    return [0.0, math.sin(half), 0.0, math.cos(half)]


def write_dataset(folder: Path, *goals: str, split: str = "val") -> str:
    """Our episodes as files of habitat-lab's ObjectNav dataset; gives their path with ``{split}`` in it."""
    home = tiny_home()
    episodes = make_episodes(home, len(goals), seed=1, goals=goals)
    scene = f"{home.name}.glb"
    by_category: dict[str, list[dict[str, Any]]] = {}
    for episode in episodes:
        by_category[f"{scene}_{episode.goal}"] = [
            {
                "position": to_habitat(*home.thing(key).position),
                "object_id": str(key),
                "object_category": episode.goal,
                "view_points": [_view_point(spot) for spot in episode.viewpoints],
            }
            for key in episode.goal_ids
        ]
    ids = {label: number for number, label in enumerate(sorted(set(goals)))}
    told = {
        "category_to_task_category_id": ids,
        "category_to_scene_annotation_category_id": ids,
        "goals_by_category": by_category,
        "episodes": [
            {
                "episode_id": episode.id,
                "scene_id": f"homes/{scene}",
                "start_position": to_habitat(episode.start.x, episode.start.y),
                "start_rotation": rotation_of(episode.start.yaw),
                "object_category": episode.goal,
                "goals": [],
            }
            for episode in episodes
        ],
    }
    file = folder / split / f"{split}.json.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.compress(json.dumps(told).encode()))
    return f"{folder}/{{split}}/{{split}}.json.gz"


def _view_point(spot: Pose2D) -> dict[str, Any]:
    state = {"position": to_habitat(spot.x, spot.y), "rotation": rotation_of(spot.yaw)}
    return {"agent_state": state, "iou": 1.0}


def dataset(data_path: str, *overrides: str, **given: Any) -> Dataset:
    """What the worker opens: the HM3D ObjectNav task with PixelNav's settings, on our simulator and episodes."""
    return Dataset(
        data_path=data_path,
        scenes_dir="scans",
        width=160,
        height=120,
        overrides=(*OVERRIDES, *overrides),
        plugins=(PLUGIN,),
        **given,
    )
