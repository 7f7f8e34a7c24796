"""rtsm 0.3.1 through its own Associator, WorkingMemory and ProximityIndex, with the configuration it ships.

It asks for many packages of which these three need PyYAML alone:
pip install --no-deps rtsm==0.3.1 && pip install pyyaml
"""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import numpy as np

from lastseen.frame import Frame
from lastseen.observation import Observation


class Rtsm:
    """rtsm's own parts, wired as its engine wires them."""

    def __init__(self) -> None:
        from rtsm.cfg import load_config
        from rtsm.core.association import Associator
        from rtsm.stores.proximity_index import GridSpec, ProximityIndex
        from rtsm.stores.working_memory import WorkingMemory

        logging.getLogger("rtsm").setLevel(logging.WARNING)
        config = load_config()
        cells = config["sweep_cache"]
        grid = GridSpec(cell_m=float(cells["grid_size_m"]), use_3d=not cells["two_d"], up_axis="z")
        self.index = ProximityIndex(grid, per_cell_cap=cells["per_cell_cap"], neighbors_max=cells["neighbors_max"])
        self.memory = WorkingMemory(config, index=self.index)
        self.associator = Associator(config)

    def fill(self, xyz: np.ndarray, looks: np.ndarray, labels: list[str]) -> None:
        """Create every object directly: its association is not what filling is about."""
        for place, look, label in zip(xyz.astype(np.float32), looks, labels, strict=True):
            self.memory.create_object(
                place,
                look,
                label_topk=[(label, 0.8)],
                view_dir_cam=np.array([0.0, 0.0, 1.0], dtype=np.float32),
            )

    @staticmethod
    def prepare(frame: Frame, observations: list[Observation]) -> tuple[list[Any], Any]:
        """Its own input types, made outside the clock."""
        pose = frame.T_world_camera.inverse()
        local = pose.transform(np.array([seen.position for seen in observations]).reshape(-1, 3)).astype(np.float32)
        camera = frame.intrinsics
        pixels = camera.project(local)
        candidates = [
            SimpleNamespace(
                stats=SimpleNamespace(
                    centroid_cam=at, centroid_px=(float(px[0]), float(px[1])), depth_valid=1.0, coverage=1.0
                ),
                emb_vis=seen.embedding,
                label_topk=list(seen.labels.items()),
            )
            for seen, at, px in zip(observations, local, pixels, strict=True)
        ]
        intrinsics = {"fx": camera.fx, "fy": camera.fy, "cx": camera.cx, "cy": camera.cy}
        return candidates, SimpleNamespace(pose_cam_T_world=pose.matrix.astype(np.float32), intrinsics=intrinsics)

    def observe(self, frame: Frame, candidates: list[Any], snapshot: Any) -> None:
        """One frame through the associator."""
        self.associator.update_with_candidates(
            candidates, snapshot, self.memory, self.index, is_keyframe=True, frame_id=str(frame.id)
        )
