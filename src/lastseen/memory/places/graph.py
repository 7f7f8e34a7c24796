"""The places and anchors of a robot's life, and the edges it travelled."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lastseen.config.memory import Localization
from lastseen.errors import InvalidValue
from lastseen.memory.places.anchor import Anchor
from lastseen.memory.places.place import Place, normalize_scene_type
from lastseen.pose2d import Pose2D

_DEFAULTS = Localization()


@dataclass(slots=True)
class PlaceGraph:
    """Anchors and places by id, ids counted from 0 in the order of making."""

    places: dict[int, Place] = field(default_factory=dict)
    anchors: dict[int, Anchor] = field(default_factory=dict)

    def add_place(self, place_type: str, *, episode: int) -> Place:
        """Make a place without anchors."""
        place = Place(place_id=len(self.places), place_type=place_type, episode=episode)
        self.places[place.place_id] = place
        return place

    def add_anchor(
        self,
        pose: Pose2D,
        *,
        place_id: int,
        step: int,
        episode: int,
        reached_from: int | None,
        world_pose: Pose2D | None = None,
        frame: tuple[int, Pose2D] | None = None,
    ) -> Anchor:
        """Make an anchor in a place, joined both ways to the anchor the robot came from."""
        anchor = Anchor(
            anchor_id=len(self.anchors),
            pose=pose,
            place_id=self.place(place_id).place_id,
            step=step,
            episode=episode,
            world_pose=world_pose,
            frame=frame,
        )
        self.anchors[anchor.anchor_id] = anchor
        self.places[place_id].anchors.append(anchor.anchor_id)
        if reached_from is not None:
            self.join(reached_from, anchor.anchor_id)
        return anchor

    def join(self, first: int, second: int) -> None:
        """Make two anchors neighbours of each other, once."""
        for one, other in ((first, second), (second, first)):
            if one != other and other not in self.anchor(one).neighbors:
                self.anchor(one).neighbors.append(other)

    def place(self, place_id: int) -> Place:
        """The place of this id."""
        try:
            return self.places[place_id]
        except KeyError:
            raise InvalidValue("place_id", place_id, "is not in the graph", remedy="see graph.places") from None

    def anchor(self, anchor_id: int) -> Anchor:
        """The anchor of this id."""
        try:
            return self.anchors[anchor_id]
        except KeyError:
            raise InvalidValue("anchor_id", anchor_id, "is not in the graph", remedy="see graph.anchors") from None

    def scene_type_of(self, anchor_id: int) -> str:
        """The normalised scene type of an anchor's place."""
        return self.place(self.anchor(anchor_id).place_id).scene_type

    def nearest_place(
        self,
        place_ids: Iterable[int],
        scene_type: str,
        pose: Pose2D,
        *,
        radius: float,
        elsewhere: Callable[[int], bool],
    ) -> Place | None:
        """Of these places the one of this type, no corridor, with the nearest anchor within ``radius`` metres.

        Anchors that are ``elsewhere``, by id, do not count: the room above is not the room.
        """
        wanted = normalize_scene_type(scene_type)
        found: list[tuple[float, int]] = []
        for place in map(self.place, place_ids):
            if place.scene_type == wanted and not place.is_corridor:
                here = (anchor for anchor in place.anchors if not elsewhere(anchor))
                away = (pose.distance_to(self.anchor(anchor).pose) for anchor in here)
                # files of before may hold places without anchors
                found.append((min(away, default=math.inf), place.place_id))
        distance, place_id = min(found, default=(math.inf, -1))
        return self.place(place_id) if distance <= radius else None

    def newest_frame(self) -> int:
        """The id of the newest frame that an anchor follows; -1 where none does."""
        return max((anchor.frame[0] for anchor in self.anchors.values() if anchor.frame is not None), default=-1)

    def retire_frames(self) -> int:
        """Let no new pose reach the anchors made so far; how many could be reached before."""
        followed = [anchor for anchor in self.anchors.values() if anchor.frame is not None]
        for anchor in followed:
            anchor.frame = None
        return len(followed)

    def correct_poses(self, poses: Mapping[int, Pose2D]) -> list[int]:
        """Move the anchors made at these frames with the frames' new poses; the ids of those that moved."""
        moved = []
        for anchor in self.anchors.values():
            pose = None if anchor.frame is None else poses.get(anchor.frame[0])
            if anchor.frame is not None and pose is not None:
                anchor.world_pose = pose.compose(anchor.frame[1])
                moved.append(anchor.anchor_id)
        return moved

    def forget_labels(self, labels: Collection[str]) -> None:
        """Let no anchor and no place name these any more; a description that tells of one goes whole."""
        told = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(label) for label in sorted(labels))})(?!\w)")
        for anchor in self.anchors.values():
            anchor.labels = {label for label in anchor.labels if plain_label(label) not in labels}
        for place in self.places.values():
            place.objects_list = {name for name in place.objects_list if plain_label(name) not in labels}
            if told.search(plain_label(place.semantic_description)):
                place.semantic_description = ""

    def newest_episode(self) -> int:
        """The highest number of an episode that holds a place or an anchor; -1 where none does."""
        episodes = [place.episode for place in self.places.values()]
        return max([*episodes, *(anchor.episode for anchor in self.anchors.values())], default=-1)

    def origin_of(self, episode: int) -> Pose2D | None:
        """Where the (0, 0, 0) of an episode lies in the world; None where no anchor says so."""
        for anchor in reversed(self.anchors.values()):
            if anchor.episode == episode and anchor.world_pose is not None:
                return anchor.world_pose.compose(anchor.pose.inverse())
        return None

    def anchors_near(self, world_pose: Pose2D, *, radius: float, episode: int, before: int) -> list[Anchor]:
        """The anchors of an episode within ``radius`` metres, nearest first, of those with ids below ``before``."""
        found = [
            (anchor.world_pose.distance_to(world_pose), anchor.anchor_id)
            for anchor in self.anchors.values()
            if anchor.anchor_id < before and anchor.episode == episode and anchor.world_pose is not None
        ]
        return [self.anchors[number] for distance, number in sorted(found) if distance <= radius]

    def take_in(self, other: PlaceGraph, origin: Pose2D, *, episode: int) -> None:
        """Put another graph beside this one, its episodes numbered from ``episode`` on.

        ``origin`` is where its map lies in this one's. No anchor is merged and no edge joins the two.
        """
        places, anchors = len(self.places), len(self.anchors)
        for place in other.places.values():
            copy = Place.from_dict(place.to_dict())
            copy.place_id, copy.episode = copy.place_id + places, copy.episode + episode
            copy.anchors = [number + anchors for number in copy.anchors]
            self.places[copy.place_id] = copy
        for anchor in other.anchors.values():
            made = Anchor.from_dict(anchor.to_dict())
            made.anchor_id, made.place_id = made.anchor_id + anchors, made.place_id + places
            made.episode, made.frame = made.episode + episode, None
            made.neighbors = [number + anchors for number in made.neighbors]
            made.world_pose = None if made.world_pose is None else origin.compose(made.world_pose)
            self.anchors[made.anchor_id] = made

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, by id."""
        return {
            "places": [place.to_dict() for place in self.places.values()],
            "anchors": [anchor.to_dict() for anchor in self.anchors.values()],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PlaceGraph:
        """The graph that ``to_dict`` wrote."""
        return cls(
            places={place["place_id"]: Place.from_dict(place) for place in values["places"]},
            anchors={anchor["anchor_id"]: Anchor.from_dict(anchor) for anchor in values["anchors"]},
        )


def nearby_anchors(graph: PlaceGraph, anchor_id: int, *, radius: float = _DEFAULTS.radius) -> list[Anchor]:
    """All other anchors of the same episode and normalised scene type within ``radius`` metres, nearest first.

    A hint for the planner and nothing more: no anchor is merged and no edge is added on its account. Episodes start
    at their own (0, 0, 0), so distances across them would mean nothing.
    """
    here = graph.anchor(anchor_id)
    scene_type = graph.scene_type_of(anchor_id)
    found = [
        other
        for other in graph.anchors.values()
        if other is not here
        and other.episode == here.episode
        and here.pose.distance_to(other.pose) <= radius
        and graph.scene_type_of(other.anchor_id) == scene_type
    ]
    return sorted(found, key=lambda other: (here.pose.distance_to(other.pose), other.anchor_id))


def plain_label(text: str) -> str:
    """Text in the form in which object memory keeps labels."""
    return " ".join(text.split()).casefold()
