"""Which task, episodes and scenes Habitat opens, and the overrides that give it the figures of our settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lastseen.config import Settings
from lastseen.errors import InvalidValue

_HM3D, _MP3D = (f"benchmark/nav/objectnav/objectnav_{name}.yaml" for name in ("hm3d", "mp3d"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A dataset by name: habitat-lab's configuration, and paths where it has none; ``{split}`` is Habitat's."""

    config: str
    data_path: str | None = None
    scene_dataset: str | None = None


DATASETS: Mapping[str, Known] = {
    "hm3d": Known(config=_HM3D),
    "hm3d_v2": Known(
        config=_HM3D,
        data_path="data/datasets/objectnav/hm3d/v2/{split}/{split}.json.gz",
        scene_dataset="hm3d_v0.2/hm3d_annotated_basis.scene_dataset_config.json",
    ),
    "mp3d": Known(config=_MP3D),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What is opened; paths are as the worker's environment sees them, relative ones from the current directory.

    Args:
        name: ``hm3d`` (episodes v1), ``hm3d_v2`` or ``mp3d``.
        split: Such as ``val``.
        data_path: The episodes, with ``{split}`` in it; by default where Habitat expects them.
        scenes_dir: The folder of the scenes; by default ``data/scene_datasets``.
        scene_dataset: The scene dataset configuration; by default what the episodes name, or with ``scenes_dir`` the
            one of HM3D v0.2 in it.
        width: Pixels of both cameras; ``height`` likewise.
        overrides: More overrides in Hydra's grammar, the last word.
        plugins: Python files that the worker imports first, to register simulators, datasets or sensors.
    """

    name: str = "hm3d_v2"
    split: str = "val"
    data_path: str | None = None
    scenes_dir: str | None = None
    scene_dataset: str | None = None
    width: int = 640
    height: int = 480
    overrides: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    rgb: str = "rgb"
    depth: str = "depth"

    def __post_init__(self) -> None:
        if self.name not in DATASETS:
            raise InvalidValue(
                "dataset", self.name, "is not known", remedy=f"choose one of {', '.join(sorted(DATASETS))}"
            )

    def request(self, settings: Settings) -> dict[str, Any]:
        """The fields of an ``open`` request to the worker."""
        known = DATASETS[self.name]
        scene_dataset = self.scene_dataset
        if scene_dataset is None and known.scene_dataset is not None and self.scenes_dir is not None:
            scene_dataset = f"{self.scenes_dir.rstrip('/')}/{known.scene_dataset}"
        return {
            "config": known.config,
            "overrides": [*self._overrides(settings), *self.overrides],
            "scene_dataset": scene_dataset,
            "plugins": list(self.plugins),
            "rgb": self.rgb,
            "depth": self.depth,
        }

    def _overrides(self, settings: Settings) -> list[str]:
        """The figures of our settings, PixelNav's by default: 0.25 m, 30 degrees, a camera at 0.88 m, 500 steps."""
        robot, motion = settings.robot, settings.dead_reckoning
        agent = "habitat.simulator.agents.main_agent"
        tilt = _whole("robot.look_angle", robot.look_angle)
        found = [
            f"habitat.dataset.split={quoted(self.split)}",
            "habitat.environment.iterator_options.shuffle=False",
            f"habitat.environment.max_episode_steps={settings.search.max_steps}",
            f"habitat.task.measurements.success.success_distance={settings.search.success_distance}",
            f"habitat.task.actions.look_up.tilt_angle={tilt}",
            f"habitat.task.actions.look_down.tilt_angle={tilt}",
            f"habitat.simulator.forward_step_size={motion.forward_step}",
            f"habitat.simulator.turn_angle={_whole('dead_reckoning.turn_angle', motion.turn_angle)}",
            f"habitat.simulator.habitat_sim_v0.allow_sliding={robot.slide}",
            f"{agent}.height={robot.camera_height}",
            f"{agent}.radius={robot.radius}",
        ]
        for sensor in ("rgb_sensor", "depth_sensor"):
            path = f"{agent}.sim_sensors.{sensor}"
            found += [
                f"{path}.width={self.width}",
                f"{path}.height={self.height}",
                f"{path}.hfov={_whole('camera.horizontal_fov', settings.camera.horizontal_fov)}",
                f"{path}.position=[0,{robot.camera_height},0]",
            ]
        data_path = self.data_path or DATASETS[self.name].data_path
        if data_path is not None:
            found.append(f"habitat.dataset.data_path={quoted(data_path)}")
        if self.scenes_dir is not None:
            found.append(f"habitat.dataset.scenes_dir={quoted(self.scenes_dir)}")
        return found


def quoted(text: str) -> str:
    """A string in Hydra's grammar, where braces, commas, blanks and equals signs mean something without quotes.

    >>> quoted("data/{split}.json.gz")
    "'data/{split}.json.gz'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _whole(field: str, value: float) -> int:
    """Habitat's angles are whole degrees."""
    if value != int(value):
        raise InvalidValue(field, value, "is not whole, as Habitat's angles are", remedy="use a whole number")
    return int(value)
