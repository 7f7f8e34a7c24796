"""Runs inside a Habitat environment and answers lastseen over a loopback socket: one file, nothing of lastseen.

Habitat wants a Python and a numpy of its own, so this file uses the standard library, numpy and habitat-lab alone and
runs on Python 3.8 and up. ``lastseen eval habitat`` starts it; docs/habitat.md describes the messages. A message is a
prefix (magic, version, two lengths), JSON, and the bytes of the arrays that the JSON names; nothing is unpickled, and
what is longer than the limits is refused before it is read.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import socket
import struct
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PROTOCOL = 1
"""Raised with every change of a message; both sides refuse another."""
GREETING = "LASTSEEN_HABITAT_GREETING"
"""The environment variable with the word by which lastseen knows its worker."""
MAGIC = b"LSHW"
MAX_JSON = 1 << 20
"""Bytes of the JSON part: the longest, an open request with its overrides, has some thousand."""
MAX_ARRAYS = 1 << 28
"""Bytes of the arrays of one message: colour and depth of 32 megapixels."""
DTYPES = ("uint8", "float32")
_PREFIX = struct.Struct("!4sHIQ")
_CATCHABLE = (Exception, SystemExit)


class ProtocolError(Exception):
    """The other side said something that is no message of this protocol."""


def send(sock: socket.socket, message: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> None:
    """Send one message with its arrays (uint8 or float32)."""
    blocks: list[bytes] = []
    described: list[list[Any]] = []
    for name, array in sorted((arrays or {}).items()):
        whole = np.ascontiguousarray(array)
        if whole.dtype.name not in DTYPES:
            raise ProtocolError(f"array {name} is {whole.dtype.name}, not one of {DTYPES}")
        described.append([name, whole.dtype.name, list(whole.shape)])
        blocks.append(whole.tobytes())
    text = json.dumps({"message": dict(message), "arrays": described}, allow_nan=False).encode("utf-8")
    size = sum(len(block) for block in blocks)
    _check_sizes(len(text), size)
    sock.sendall(_PREFIX.pack(MAGIC, PROTOCOL, len(text), size) + text + b"".join(blocks))


def receive(sock: socket.socket) -> tuple[dict[str, Any], dict[str, Any]]:
    """The next message and its arrays; raises EOFError where the other side is gone."""
    magic, version, length, size = _PREFIX.unpack(_read(sock, _PREFIX.size))
    if magic != MAGIC:
        raise ProtocolError(f"{magic!r} is not the beginning of a message")
    if version != PROTOCOL:
        raise ProtocolError(f"protocol {version} is not {PROTOCOL}: use the worker of this lastseen")
    _check_sizes(length, size)
    text, block = _read(sock, length), _read(sock, size)
    try:
        whole = json.loads(text.decode("utf-8"))
        message, described = whole["message"], whole["arrays"]
        arrays: dict[str, Any] = {}
        at = 0
        for name, dtype, shape in described:
            if dtype not in DTYPES or not all(isinstance(side, int) and side >= 0 for side in shape):
                raise ProtocolError(f"array {name} of {dtype} {shape} is not allowed")
            count = math.prod(shape) * np.dtype(dtype).itemsize
            if at + count > size:
                raise ProtocolError(f"array {name} is longer than its message")
            # a copy: the bytes of a message are read-only
            arrays[str(name)] = np.frombuffer(block, dtype, math.prod(shape), at).reshape(shape).copy()
            at += count
    except (ValueError, KeyError, TypeError) as error:
        raise ProtocolError(f"a message is not as it should be ({error})") from error
    if at != size or not isinstance(message, dict):
        raise ProtocolError("a message has bytes that nothing in it names")
    return message, arrays


def _check_sizes(length: int, size: int) -> None:
    if length > MAX_JSON or size > MAX_ARRAYS:
        raise ProtocolError(f"a message of {length} and {size} bytes exceeds {MAX_JSON} and {MAX_ARRAYS}")


def _read(sock: socket.socket, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = sock.recv(min(count, 1 << 20))
        if not part:
            raise EOFError("the connection was closed")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class World:
    """One ``habitat.Env``; each method answers one request with a message and arrays."""

    def __init__(self) -> None:
        self.env: Any = None
        self.rgb = self.depth = ""

    def open(self, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Load the plugins, make the environment, and tell what it can do and how many episodes it has."""
        for path in request["plugins"]:
            _load(path)
        import habitat

        self.rgb, self.depth = request["rgb"], request["depth"]
        config = habitat.get_config(request["config"], overrides=request["overrides"])
        dataset = habitat.make_dataset(config.habitat.dataset.type, config=config.habitat.dataset)
        if request["scene_dataset"]:
            # habitat.Env takes it from the episodes, whatever its configuration says
            for episode in dataset.episodes:
                episode.scene_dataset_config = request["scene_dataset"]
        self.env = habitat.Env(config, dataset=dataset)
        sensors = self.env.sim.sensor_suite.sensors
        simulator = self.env.sim.habitat_config
        return {
            "episodes": len(self.env.episodes),
            "digest": _digest(self.env.episodes),
            "actions": sorted(str(name) for name in self.env.task.actions),
            "sensors": {name: _sensor(sensors[name].config) for name in (self.rgb, self.depth) if name in sensors},
            "known_sensors": sorted(sensors),
            "forward_step": float(simulator.forward_step_size),
            "turn_angle": float(simulator.turn_angle),
            "scene_dataset": str(simulator.scene_dataset),
            "habitat": str(getattr(habitat, "__version__", "unknown")),
        }, {}

    def begin(self, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin the episode of a number; what is random in it comes from the seed alone."""
        self.env.seed(request["seed"])
        self.env.current_episode = self.env.episodes[request["episode"]]
        seen = self.env.reset()
        episode = self.env.current_episode
        message, arrays = self._seen(seen)
        message["episode"] = str(episode.episode_id)
        message["scene"] = os.path.basename(str(episode.scene_id))
        message["goal"] = getattr(episode, "object_category", None)
        return message, arrays

    def step(self, request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Do one action."""
        return self._seen(self.env.step(request["action"]))

    def _seen(self, seen: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        # a method by Habitat's interface, a property in its own simulator
        collided = self.env.sim.previous_step_collided
        state = self.env.sim.get_agent_state()
        sensors = getattr(state, "sensor_states", None) or {}
        message: dict[str, Any] = {
            "over": bool(self.env.episode_over),
            "collided": bool(collided() if callable(collided) else collided),
            "metrics": _numbers(self.env.get_metrics()),
            "agent": _pose(state),
            "camera": _pose(sensors[self.rgb]) if self.rgb in sensors else None,
        }
        arrays: dict[str, Any] = {"rgb": np.asarray(seen[self.rgb])[..., :3].astype(np.uint8)}
        if self.depth in seen:
            depth = np.asarray(seen[self.depth], dtype=np.float32)
            arrays["depth"] = depth[..., 0] if depth.ndim == 3 else depth
        return message, arrays


def _load(path: str) -> None:
    """Import a file that registers simulators, datasets or sensors."""
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


def _digest(episodes: Sequence[Any]) -> str:
    """What tells one list of episodes from another: scenes without their folders, ids, starts and goals."""
    found = hashlib.sha256()
    for episode in episodes:
        start = [round(float(value), 4) for value in episode.start_position]
        scene, goal = os.path.basename(str(episode.scene_id)), getattr(episode, "object_category", None)
        found.update(repr((scene, str(episode.episode_id), goal, start)).encode("utf-8"))
    return found.hexdigest()


def _sensor(config: Any) -> dict[str, Any]:
    camera: dict[str, Any] = {
        "subtype": str(getattr(config, "sensor_subtype", "PINHOLE")),
        "width": int(config.width),
        "height": int(config.height),
        "hfov": float(config.hfov) if hasattr(config, "hfov") else None,
        "position": [float(value) for value in config.position],
        "orientation": [float(value) for value in config.orientation],
    }
    if hasattr(config, "max_depth"):
        camera["min_depth"], camera["max_depth"] = float(config.min_depth), float(config.max_depth)
        camera["normalized"] = bool(config.normalize_depth)
    return camera


def _pose(state: Any) -> dict[str, Any]:
    """Position, and rotation as x, y, z, w: Habitat has quaternion objects, and lists in this order."""
    turn = state.rotation
    xyzw = (turn.x, turn.y, turn.z, turn.w) if hasattr(turn, "w") else turn
    return {
        "position": [float(value) for value in state.position],
        "rotation": [float(value) for value in xyzw],
    }


def _numbers(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The measures that are one number; what is infinite, as the distance to a goal out of reach, is None."""
    found: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, (bool, int, float, np.number)):
            found[str(name)] = float(value) if math.isfinite(value) else None
    return found


def serve(sock: socket.socket) -> None:
    """Answer requests until the other side closes; what Habitat raises is answered, not fatal."""
    world = World()
    answers = {"open": world.open, "begin": world.begin, "step": world.step}
    while True:
        try:
            request, _ = receive(sock)
        except EOFError:
            return
        arrays: dict[str, Any] = {}
        try:
            message, arrays = answers[request["do"]](request)
        except _CATCHABLE as error:
            traceback.print_exc()
            first = (str(error).strip().splitlines() or [""])[0]
            message = {"error": f"{type(error).__name__}: {first[:300]}"}
        send(sock, message, arrays)


def main(port: int) -> None:
    """Connect to lastseen on this machine, say who this is, and serve."""
    # the folder of this file: modules of lastseen must not stand in for those of the environment
    sys.path.pop(0)
    with socket.create_connection(("127.0.0.1", port), timeout=30.0) as sock:
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        python = ".".join(str(part) for part in sys.version_info[:3])
        send(sock, {"greeting": os.environ.pop(GREETING, ""), "python": python})
        serve(sock)


if __name__ == "__main__":
    main(int(sys.argv[1]))
