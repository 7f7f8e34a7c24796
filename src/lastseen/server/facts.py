"""An object, a hit, an event as the outside reads them: one shape each, for REST, WebSocket and MCP alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lastseen.memory.history import Change, HistoryEntry
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.memory.objects import Event, ObjectState

EVENT_TYPES = {
    "appeared": "object_created",
    "confirmed": "object_confirmed",
    "moved": "object_moved",
    "missing": "object_missing",
    "removed": "object_removed",
    "reappeared": "object_reappeared",
    "merged": "object_merged",
    "corrected": "object_corrected",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """Writes what the memory of now says."""

    current: Callable[[], Memory]

    @property
    def memory(self) -> Memory:
        """The memory that is asked at this moment; a file that is followed gives a new one now and then."""
        return self.current()

    def objects(self, states: Sequence[ObjectState]) -> list[dict[str, Any]]:
        """States as the outside reads them."""
        browse = self.memory.browse
        colors = browse.colors([state.id for state in states])
        places = self.memory.places_at([state.xyz_world for state in states])
        return [
            {
                "id": state.id,
                "label_primary": state.label,
                "label_scores": {label: round(score, 4) for label, score in state.label_scores.items()},
                "xyz_world": _metres(state.xyz_world.tolist()),
                "extent": _metres(state.extent.tolist()),
                "state": state_name(state.state, stale=state.stale),
                "confirmed": state.confirmed,
                "stale": state.stale,
                "hits": state.hits,
                "stability": round(state.stability, 4),
                "view_bins": len(state.view_bins),
                "color": colors.get(state.id),
                "place": place,
                "first_seen": state.first_seen,
                "last_seen": state.last_seen,
                "created_wall_utc": browse.wall(state.first_seen),
                "last_seen_wall_utc": browse.wall(state.last_seen),
            }
            for state, place in zip(states, places, strict=True)
        ]

    def hits(self, hits: Sequence[Object]) -> list[dict[str, Any]]:
        """Hits of a search; what working memory knows besides is added where it still holds the object."""
        known = {state.id: state for state in self.memory.browse.states([hit.id for hit in hits])}
        found = []
        for hit in hits:
            state = known.get(hit.id)
            found.append(
                {
                    "id": hit.id,
                    "score": None if hit.score is None else round(hit.score, 4),
                    "label_primary": hit.label,
                    "color": hit.color,
                    "confirmed": hit.state != "tentative",
                    "state": hit.state,
                    "stale": hit.stale,
                    "stability": 0.0 if state is None else round(state.stability, 4),
                    "xyz_world": _metres(hit.position),
                    "extent": None if state is None else _metres(state.extent.tolist()),
                    "place": hit.place_id,
                    "place_type": hit.place,
                    "age": round(hit.age, 3),
                    "last_seen": hit.last_seen_memory_time,
                    "last_seen_wall_utc": None if hit.last_seen is None else hit.last_seen.timestamp(),
                    "image_url": f"/objects/{hit.id}/image",
                }
            )
        return found

    def event(self, event: Event, state: ObjectState | None) -> dict[str, Any]:
        """Something that just happened; ``state`` is the object's now, None where it is gone."""
        evidence = plain(event.evidence)
        return {
            "type": EVENT_TYPES[str(event.kind)],
            "id": event.object_id,
            "time": event.stamp,
            "wall_utc": self.memory.browse.wall(event.stamp),
            "label_primary": None if state is None else state.label,
            "xyz_world": None if state is None else _metres(state.xyz_world.tolist()),
            "from_xyz": evidence.get("before") if isinstance(evidence.get("before"), list) else None,
            "evidence": evidence,
        }

    def events(self, events: Sequence[Event]) -> list[dict[str, Any]]:
        """Several things that just happened."""
        known = {state.id: state for state in self.memory.browse.states([event.object_id for event in events])}
        return [self.event(event, known.get(event.object_id)) for event in events]

    def change(self, change: Change) -> dict[str, Any]:
        """Something that happened, as ``what_changed`` lists it."""
        return {
            "id": change.object_id,
            "kind": change.kind,
            **self._when(change),
            "label": change.label,
            "xyz": None if change.xyz is None else _metres(change.xyz),
            "evidence": plain(change.evidence),
        }

    def entry(self, entry: HistoryEntry) -> dict[str, Any]:
        """One moment of an object's life."""
        return {
            "kind": entry.kind,
            **self._when(entry),
            "xyz": None if entry.xyz is None else _metres(entry.xyz),
            "label": entry.label,
            "state": None if entry.status is None else state_name(entry.status, stale=False),
            "evidence": plain(entry.evidence),
        }

    def _when(self, one: Change | HistoryEntry) -> dict[str, Any]:
        return {
            "session": one.session,
            "stamp": one.stamp,
            "time": self.memory.browse.time((one.session, one.stamp), name="stamp"),
            "wall_utc": None if one.wall is None else one.wall.timestamp(),
        }


def state_name(state: str, *, stale: bool) -> str:
    """The state as people read it: a proto is tentative, a confirmed object long unseen is stale."""
    if state == "proto":
        return "tentative"
    return "stale" if stale and state == "confirmed" else state


def plain(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence as JSON values; it holds nothing else, but a copy keeps it apart."""
    return dict(evidence)


def _metres(xyz: Sequence[float]) -> list[float]:
    return [round(float(value), 4) for value in xyz]
