"""Everything a memory knows of space: places and anchors, explored floor, viewpoints, and where the robot is.

``Space`` takes each frame after the objects did, and hands to the journal what changed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lastseen.body import body_points
from lastseen.config import Settings
from lastseen.detection import Box, Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.alignment.transform import FrameTransform
from lastseen.memory.objects import Event
from lastseen.memory.places import SpatialMemory
from lastseen.memory.places.anchor import pose_to_list
from lastseen.memory.places.events import SpatialEvent
from lastseen.memory.places.tracker import PlaceTracker, Step
from lastseen.memory.space.floor import FloorGrid, wall_grid
from lastseen.memory.space.keyframes import Keyframes
from lastseen.memory.space.path import RobotPath
from lastseen.memory.space.storeys import APART, Storeys
from lastseen.memory.space.surface import Surface
from lastseen.memory.space.viewpoints import Viewpoints
from lastseen.memory.store.journal import Journal
from lastseen.memory.store.journal.opening import decoding
from lastseen.observation import Observation
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.protocols import SceneAnalyzer

_PLACES, _POSE, _STATE = "places.state", "robot.pose", "space.state"
_STILL, _SAME_HEADING = 0.05, math.radians(4.0)
"""Metres and radians within which a second look at the floor shows nothing new: a camera at 30 Hz is mostly there."""
_SURFACE_PERIOD = 30.0
"""Seconds of memory time between writings of the surface: a walk changes the same tiles again and again. A crash
loses no more of it than that, and nothing else."""
_WIDTH = 160
"""Columns of depth that the floor is read from: half a degree each, a third of a cell at the end of the range."""


@dataclass(frozen=True, slots=True)
class LastPose:
    """T_world_camera of the newest frame, and its memory time."""

    pose: Pose3D
    time: float


class Space:
    """The space of one memory, read from its journal; ``analyzer`` names the scenes for places."""

    def __init__(self, journal: Journal, settings: Settings, *, analyzer: SceneAnalyzer | None) -> None:
        meta, path = journal.meta(), journal.path
        self._written: dict[str, dict[int, bytes]] = {"places": {}, "anchors": {}}
        self.spatial = self._read_places(meta, journal, settings)
        self.tracker = PlaceTracker(self.spatial, analyzer)
        self.viewpoints = Viewpoints()
        self.viewpoints.restore(journal.viewpoints(), path)
        # cells of a room's scale: finer ones cost more and say no more about where a robot can go
        policy = replace(settings.policy, cell=settings.explored.cell)
        tiles = journal.bodies("floor"), journal.bodies("walls")

        def grids(storey: int) -> tuple[FloorGrid, FloorGrid]:
            made = FloorGrid(policy), wall_grid(settings.policy)
            for grid, kept in zip(made, tiles, strict=True):
                grid.restore({(i, j): body for (number, i, j), body in kept.items() if number == storey}, path)
            return made

        self.storeys = Storeys(grids)
        self.storey_of_anchor: dict[int, int] = {}
        self.spatial.on_other_storey = self._on_other_storey
        self._journal = journal
        self._surface: Surface | None = None
        self._surface_written = -math.inf
        self.keeps_surface = settings.store.surface and journal.path is not None
        self._keyframes: Keyframes | None = None
        self._pictures = settings.store.keyframes
        self.keeps_keyframes = self._pictures != "never" and journal.path is not None
        self.path = RobotPath()
        self.path.restore(journal.bodies("path"), path)
        self._floor_seen_from: Pose2D | None = None
        self._written_state = meta.get(_STATE)
        if self._written_state is not None:
            self._restore_state(self._written_state, path)
        self.pose = self._written_pose = _read_pose(meta)
        self._revision = self.spatial.revision

    def observe(
        self,
        frame: Frame,
        observations: Sequence[Observation],
        *,
        ids: Sequence[str | None],
        events: Sequence[Event],
        seen: Sequence[tuple[str, float]] | None = None,
        step: Step | None = None,
        people: Sequence[Box] | None = None,
    ) -> list[SpatialEvent]:
        """Take one frame whose stamp is memory time; ``ids`` are the objects that the observations are of.

        ``seen`` are the labels that were detected, with or without depth; without them, those of the observations
        stand in. ``people`` are their boxes in the image, by a detector that knows them; None: nobody looked for any.
        Returns what happened to places and anchors.
        """
        pose = frame.floor_pose
        self.pose = LastPose(frame.T_world_camera, frame.stamp)
        self.path.add(frame.T_world_camera, time=frame.stamp)
        self.viewpoints.on_events(events)
        self.viewpoints.note(pose, observations, ids)
        self._see_floor(frame, pose, people or ())
        self._keep_picture(frame, observations, ids, events, people)
        if step is not None and step.collided:
            self.floor.mark_blocked(pose)
        happened = self.tracker.observe(frame, labels_of(observations) if seen is None else seen, step)
        storey = self.storeys.current.number
        if storey:
            made = (each["anchor_id"] for each in happened if each["event"] == "anchor_created")
            self.storey_of_anchor.update(dict.fromkeys(made, storey))
        return happened

    @property
    def floor(self) -> FloorGrid:
        """The explored floor of the storey the robot is on."""
        return self.storeys.current.floor

    @property
    def walls(self) -> FloorGrid:
        """The walls of the storey the robot is on, which rooms are cut from."""
        return self.storeys.current.walls

    @property
    def surface(self) -> Surface:
        """What the home looks like, read from the file when it is first asked for."""
        if self._surface is None:
            surface = Surface()
            surface.restore(self._journal.bodies("surface"), self._journal.path)
            self._surface = surface
        return self._surface

    @property
    def keyframes(self) -> Keyframes:
        """Pictures of what the robot saw, read from the file when they are first asked for."""
        if self._keyframes is None:
            keyframes = Keyframes()
            keyframes.restore(self._journal.bodies("keyframes"), self._journal.path)
            self._keyframes = keyframes
        return self._keyframes

    def forget(
        self,
        object_ids: Sequence[str],
        labels: Collection[str],
        *,
        boxes: Sequence[tuple[Sequence[float], Sequence[float]]] = (),
    ) -> None:
        """Drop what is known of objects, names that no object has any more, and what the home looks like in boxes."""
        self.surface.forget(boxes)
        self.keyframes.forget(object_ids, boxes=boxes)
        self._surface_written = -math.inf
        self.viewpoints.forget(object_ids)
        self.spatial.forget_labels(labels)
        self.tracker.forget_labels(labels)

    def drop_before(self, time: float) -> None:
        """Drop path and pictures from before a memory time; minus infinity keeps all."""
        self.path.drop_before(time)
        if time > -math.inf:
            self.keyframes.drop_before(time)

    def take_in(self, other: Space, transform: FrameTransform, *, ids: Mapping[str, str], later: float) -> None:
        """Take what another memory knows of space, whose map lies here by ``transform``.

        Places and anchors stay a graph of their own beside this one's. ``ids`` are its objects' ids here, and its
        memory times count ``later`` seconds more here.
        """
        origin = transform.on_floor
        anchors, storeys = len(self.spatial.graph.anchors), {}
        for storey in other.storeys:
            # the floor that a memory begins on is at height 0 of its map, whatever the other's z says
            here = self.storeys.at(storey.height + (transform.z if abs(transform.z) >= APART else 0.0))
            here.floor.take_in(storey.floor, origin)
            here.walls.take_in(storey.walls, origin)
            storeys[storey.number] = here.number
        self.spatial.take_in(other.spatial.graph, origin)
        for anchor in other.spatial.graph.anchors:
            number = storeys[other.storey_of_anchor.get(anchor, 0)]
            if number:
                self.storey_of_anchor[anchor + anchors] = number
        for theirs, mine in ids.items():
            spots = [(*spot, 0.0) for spot in other.viewpoints.of(theirs)]
            if spots:
                turned = transform.apply(np.array(spots, dtype=np.float64)).tolist()
                self.viewpoints.put(mine, [(x, y) for x, y, _ in turned])
        points = np.array(other.path.points, dtype=np.float64).reshape(-1, 4)
        points[:, 1:], points[:, 0] = transform.apply(points[:, 1:]), points[:, 0] + later
        self.path.extend((time, x, y, z) for time, x, y, z in points.tolist())
        if self.keeps_surface:
            xyz, colors = other.surface.shown()
            time = 0.0 if other.pose is None else other.pose.time + later
            self.surface.take_in(transform.apply(xyz.astype(np.float64)).astype(np.float32), colors, time=time)

    def drain_changed(self, *, final: bool = False) -> tuple[dict[str, dict[Any, Any]], dict[str, str]]:
        """What changed since the last call: bodies by table, and facts about the file; both go into the journal.

        The surface is given once in a while, and when the memory closes (``final``).
        """
        meta: dict[str, str] = {}
        bodies: dict[str, dict[Any, Any]] = {
            "viewpoints": self.viewpoints.drain_changed(),
            "path": self.path.drain_changed(),
            "keyframes": {} if self._keyframes is None else self._keyframes.drain_changed(),
            "floor": {},
            "walls": {},
        }
        for storey in self.storeys:
            for grid, tiles in ((storey.floor, bodies["floor"]), (storey.walls, bodies["walls"])):
                tiles.update({(storey.number, *tile): body for tile, body in grid.drain_changed().items()})
        now = -math.inf if self.pose is None else self.pose.time
        if self._surface is not None and (final or now - self._surface_written >= _SURFACE_PERIOD):
            self._surface_written = now
            bodies["surface"] = self._surface.drain_changed()
        if self.spatial.revision != self._revision:
            self._revision = self.spatial.revision
            state = self.spatial.to_dict()
            graph = state.pop("graph")
            meta[_PLACES] = json.dumps(state)
            bodies["places"] = self._unwritten("places", "place_id", graph["places"])
            bodies["anchors"] = self._unwritten("anchors", "anchor_id", graph["anchors"])
        state_text = self._state_text()
        if self.pose is not None and state_text != self._written_state:
            meta[_STATE] = self._written_state = state_text
        if self.pose is not None and self.pose is not self._written_pose:
            self._written_pose = self.pose
            meta[_POSE] = json.dumps(
                {
                    "xyz": self.pose.pose.translation.tolist(),
                    "quaternion_xyzw": self.pose.pose.quaternion.tolist(),
                    "time": self.pose.time,
                }
            )
        return bodies, meta

    def _state_text(self) -> str:
        """What the next frame depends on besides places and floor: with it, a stream may go on in another process."""
        seen_from = self._floor_seen_from
        return json.dumps(
            {
                "walk": self.tracker.to_dict(),
                "cell": self.floor.settings.cell,
                "floor_seen_from": None if seen_from is None else pose_to_list(seen_from),
                "storeys": self.storeys.to_dict(),
                "storey_of_anchor": sorted(self.storey_of_anchor.items()),
            }
        )

    def _restore_state(self, text: str, path: object) -> None:
        with decoding(path, "the state of its walk"):
            state = json.loads(text)
            self.tracker.restore(state["walk"])
            cell, seen_from = float(state["cell"]), state["floor_seen_from"]
            self._floor_seen_from = None if seen_from is None else Pose2D(*seen_from)
            if "storeys" in state:
                self.storeys.restore(state["storeys"])
                self.storey_of_anchor = {int(anchor): int(storey) for anchor, storey in state["storey_of_anchor"]}
        if cell != self.floor.settings.cell:
            problem = f"is not the {cell} of this file's floor"
            raise InvalidValue("explored.cell", self.floor.settings.cell, problem, remedy="set it as it was")

    def _on_other_storey(self, anchor: int) -> bool:
        return self.storey_of_anchor.get(anchor, 0) != self.storeys.current.number

    def _see_floor(self, frame: Frame, pose: Pose2D, people: Sequence[Box]) -> None:
        last = self._floor_seen_from
        if (
            last is not None
            and last.distance_to(pose) < _STILL
            and abs(wrap_angle(pose.yaw - last.yaw)) < _SAME_HEADING
        ):
            return
        stride = max(1, frame.depth.shape[1] // _WIDTH)
        points = body_points(frame, stride=stride)
        if np.isfinite(points[..., 0]).any():
            self._floor_seen_from = pose
            storey = self.storeys.enter(float(frame.T_world_camera.translation[2]), points)
            if storey is not None:
                points[..., 2] -= np.float32(storey.height)
                storey.floor.add(points, pose)
                storey.walls.add(points, pose)
            if self.keeps_surface:
                self.surface.add(frame, without=people)

    def _keep_picture(
        self,
        frame: Frame,
        observations: Sequence[Observation],
        ids: Sequence[str | None],
        events: Sequence[Event],
        people: Sequence[Box] | None,
    ) -> None:
        """Keep a picture of the frame where it may be kept; one that nobody looked at for people needs consent."""
        consent = self._pictures == "always"
        if self.keeps_keyframes and frame.has_camera and (consent or people is not None):
            kinds = {str(event.kind) for event in events}
            self.keyframes.observe(frame, observations, ids, events=kinds, people=None if consent else people)

    def _unwritten(self, table: str, name: str, bodies: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        """Those of the bodies that the journal does not hold as they are now, as JSON by id."""
        written, found = self._written[table], {}
        for body in bodies:
            text = json.dumps(body)
            digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
            if written.get(body[name]) != digest:
                written[body[name]] = digest
                found[int(body[name])] = text
        return found

    def _read_places(self, meta: Mapping[str, str], journal: Journal, settings: Settings) -> SpatialMemory:
        if _PLACES not in meta:
            return SpatialMemory(settings)
        with decoding(journal.path, "its places"):
            graph = journal.places()
            spatial = SpatialMemory.from_dict({**json.loads(meta[_PLACES]), "graph": graph}, settings=settings)
        for table, name in (("places", "place_id"), ("anchors", "anchor_id")):
            self._unwritten(table, name, graph[table])
        return spatial


def labels_of(seen: Sequence[Observation | Detection]) -> list[tuple[str, float]]:
    """What was seen by name, each once with its best score, the surest first."""
    best: dict[str, float] = {}
    for one in seen:
        if one.label is not None:
            sure = one.score if isinstance(one, Detection) else 1.0
            best[one.label] = max(best.get(one.label, 0.0), sure * one.labels[one.label])
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))


def _read_pose(meta: Mapping[str, str]) -> LastPose | None:
    if _POSE not in meta:
        return None
    try:
        body = json.loads(meta[_POSE])
        return LastPose(Pose3D.from_quaternion(body["xyz"], body["quaternion_xyzw"]), float(body["time"]))
    except (InvalidValue, ValueError, TypeError, KeyError):
        # a hint for agents, not a fact that other facts stand on: a memory opens without it
        return None
