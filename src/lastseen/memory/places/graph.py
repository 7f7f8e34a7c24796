"""The places and anchors of a robot's life, and the edges it travelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lastseen.errors import InvalidValue
from lastseen.memory.places.anchor import Anchor
from lastseen.memory.places.place import Place
from lastseen.pose2d import Pose2D


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
