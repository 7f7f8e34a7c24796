"""Our simulator behind a loopback socket, in the worker's own messages: the test simulator of habitat-lab asks it.

It also answers what the simulated detector finds in the newest frame, for the search in a third process. One world is
held for all that connect: one episode runs at a time.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

import numpy as np

from lastseen.action import Action
from lastseen.evaluation.habitat import worker
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.pose2d import Pose2D
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import SimEnvironment
from tests.sim.tiny import tiny_home

Answer = tuple[dict[str, Any], dict[str, Any]]


class Simulator:
    """The tiny home, one robot, and the messages about it."""

    def __init__(self) -> None:
        self.world: SimEnvironment | None = None
        self.frame: Frame | None = None
        self._lock = threading.Lock()

    def answer(self, request: dict[str, Any]) -> Answer:
        """One request, one answer."""
        with self._lock:
            if request["do"] == "make":
                camera = Intrinsics.from_fov(request["width"], request["height"], horizontal_deg=request["hfov"])
                self.world = SimEnvironment(tiny_home(), start=Pose2D(2.5, 3.0, 0.0), intrinsics=camera)
                return {}, {}
            assert self.world is not None
            if request["do"] == "reset":
                self.world.start = Pose2D(request["x"], request["y"], request["yaw"])
                return self._seen(self.world, self.world.reset(), collided=False)
            if request["do"] == "step":
                result = self.world.step(Action(request["action"]))
                return self._seen(self.world, result.frame, collided=result.collided)
            if request["do"] == "distance":
                path = self.world.grid.path(tuple(request["start"]), [tuple(end) for end in request["ends"]])
                return {"metres": None if path is None else path.length}, {}
            return self._detected(self.world, request["targets"])

    def _seen(self, world: SimEnvironment, frame: Frame, *, collided: bool) -> Answer:
        self.frame, agent = frame, world.agent
        told = {"x": agent.pose.x, "y": agent.pose.y, "yaw": agent.pose.yaw, "pitch": agent.pitch}
        told["height"] = agent.grid.robot.camera_height
        return {**told, "collided": collided}, {"rgb": frame.rgb, "depth": np.nan_to_num(frame.depth)}

    def _detected(self, world: SimEnvironment, targets: list[str]) -> Answer:
        assert self.frame is not None
        found = SimulatedDetector(world, level="perfect").detect(self.frame, targets)
        told = [{"box": each.box, "score": each.score, "labels": dict(each.labels)} for each in found]
        masks = {str(k): each.mask.astype(np.uint8) for k, each in enumerate(found) if each.mask is not None}
        return {"detections": told}, masks


def serve(server: socket.socket) -> None:
    """Answer every connection in a thread of its own, until the process ends."""
    simulator = Simulator()
    while True:
        connection, _ = server.accept()
        threading.Thread(target=_serve_one, args=(simulator, connection), daemon=True).start()


def _serve_one(simulator: Simulator, connection: socket.socket) -> None:
    with connection:
        try:
            while True:
                request, _ = worker.receive(connection)
                worker.send(connection, *simulator.answer(request))
        except (EOFError, OSError):
            return


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    serve(listening)
