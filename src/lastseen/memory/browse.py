"""Reading a memory for display: pages of objects, earlier states, pictures, counts, and what changed lately.

Each read costs as much as it shows, not as much as memory holds; all may be made while frames come in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import best_label
from lastseen.geometry import Pose3D
from lastseen.memory.history import past_states
from lastseen.memory.object import AlignmentStatus, Object, Point, id_order
from lastseen.memory.objects import ObjectState, State
from lastseen.memory.objects.columns import id_text
from lastseen.memory.objects.labels import normal
from lastseen.memory.objects.snapshot import read_state
from lastseen.memory.query.ranker import main_color
from lastseen.memory.session_frames import TRUSTED
from lastseen.memory.store.clock import Moment
from lastseen.memory.store.records import MISSING, REMOVED, TENTATIVE, CropRecord
from lastseen.memory.write_path import WritePath
from lastseen.observation import SURFACE


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the objects in the order of their ids, and how many there are in all."""

    total: int
    objects: list[ObjectState]


@dataclass(frozen=True, slots=True)
class Changed:
    """Numbers of the objects that differ from an earlier ``revision``, and of all remembered now; both sorted."""

    revision: int
    objects: NDArray[np.int64]
    numbers: NDArray[np.int64]


class Browse:
    """A view of one memory.

    Args:
        writes: The parts of the memory; ``writes.lock`` is held by whoever changes working memory or space.
        pose: The camera's in the newest frame, in this memory's map; None where that is not known.
    """

    def __init__(self, writes: WritePath, pose: Callable[[], Pose3D | None]) -> None:
        self.clock, self.facts, self.lock = writes.clock, writes.facts, writes.lock
        self.storeys = writes.space.storeys
        self._writes, self._objects, self._store, self._pose = writes, writes.objects, writes.store, pose

    @property
    def now(self) -> float:
        """Memory time of the newest frame; 0 before the first."""
        return self.clock.now

    @property
    def revision(self) -> int:
        """Grows with every change of an object."""
        return self._objects.store.version

    @property
    def alignment(self) -> AlignmentStatus:
        """Whether the newest session is known to be in this memory's map; see docs/alignment.md."""
        sessions = self.clock.sessions
        state = self._writes.frames.of(sessions[-1].id).state if sessions else "first"
        if state in TRUSTED:
            return "aligned"
        return "unverified" if state == "unverified" else "unknown"

    def time(self, moment: Moment, *, name: str) -> float:
        """The memory time of a moment as people give it."""
        return self.clock.time(moment, name=name)

    def wall(self, time: float) -> float | None:
        """Seconds since 1970 (UTC) at a memory time, where the date is known."""
        found = self.clock.wall(time)
        return None if found is None else found.timestamp()

    def page(
        self,
        *,
        label: str | None = None,
        include_tentative: bool = False,
        include_removed: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> Page:
        """Objects from number ``offset`` on, as ``Memory.objects`` orders and chooses them."""
        with self.lock:
            if label is not None:
                found = self._objects.states(
                    label=label, include_tentative=include_tentative, include_absent=include_removed
                )
                return Page(len(found), found[offset : offset + limit])
            rows = self._objects.listed(include_tentative=include_tentative, include_absent=include_removed)
            return Page(len(rows), self._read(rows[offset : offset + limit]))

    def past(
        self,
        as_of: Moment,
        *,
        label: str | None = None,
        include_tentative: bool = False,
        include_removed: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> Page:
        """What was known at a moment: place, name and state of then, size of now; in the order of ids."""
        self._writes.flush()
        time = self.clock.time(as_of, name="as_of")
        left_out = (*(() if include_tentative else (TENTATIVE,)), *(() if include_removed else (MISSING, REMOVED)))
        if label is None:
            total, some = self._store.journal.page_as_of(time, without=left_out, offset=offset, limit=limit)
        else:
            called = normal(label)
            kept = [
                version
                for version in self._store.journal.as_of(time)
                if version.state not in left_out and best_label(version.label_scores) == called
            ]
            kept.sort(key=lambda version: id_order(version.object_id))
            total, some = len(kept), kept[offset : offset + limit]
        today = {state.id: state for state in self.states([version.object_id for version in some])}
        stale_after = self._store.settings.lifecycle.stale_after
        return Page(total, past_states(some, time, today, stale_after=stale_after))

    def states(self, ids: list[str]) -> list[ObjectState]:
        """The objects of these ids that are still remembered, in their order."""
        with self.lock:
            rows = self._rows(ids)
            return self._read(rows[rows >= 0])

    def gone(self) -> list[ObjectState]:
        """The objects that are missing or removed, in the order of their ids."""
        with self.lock:
            store = self._objects.store
            rows = self._objects.listed(include_absent=True)
            rows = rows[store.state[rows] > State.CONFIRMED]
            return self._read(rows)

    def _rows(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Where working memory holds objects; -1 for one that is not remembered."""
        row_of = self._objects.store.row_of
        return np.array([row_of.get(int(object_id.rpartition("-")[2]), -1) for object_id in ids], dtype=np.int64)

    def _read(self, rows: NDArray[np.int64]) -> list[ObjectState]:
        return [read_state(self._objects.store, row, now=self._objects.now) for row in rows.tolist()]

    def described(self, states: Sequence[ObjectState], *, now: float | None = None) -> list[Object]:
        """Records of working memory as users see them; ``now`` is the memory time that ages count from."""
        now = self.clock.now if now is None else now
        colors, alignment = self.colors([state.id for state in states]), self.alignment
        found = []
        spots = [state.xyz_world for state in states]
        told = self._regions(spots)
        for state, place, region in zip(
            states, self.places(spots, [state.id for state in states]), told, strict=True
        ):
            session = self.clock.session_at(state.last_seen)
            found.append(
                Object(
                    id=state.id,
                    label=state.label,
                    position=_point(state.xyz_world),
                    extent=_point(state.extent),
                    state="stale" if state.stale and state.state == "confirmed" else state.state,
                    place=region if place is None else place[1],
                    place_id=None if place is None else place[0],
                    color=colors.get(state.id),
                    first_seen=self.clock.wall(state.first_seen),
                    last_seen=self.clock.wall(state.last_seen),
                    age=now - state.last_seen,
                    last_seen_memory_time=state.last_seen,
                    session=None if session is None else session.id,
                    hits=state.hits,
                    stability=state.stability,
                    kind=state.kind,
                    provenance=self.facts.provenance(state),
                    alignment=alignment,
                    yaw=state.yaw,
                    record=state,
                )
            )
        return found

    def with_places(self, hits: Sequence[Object]) -> list[Object]:
        """Hits with what the searched table does not hold: place, extent, stability and number of sightings."""
        known = {state.id: state for state in self.states([hit.id for hit in hits])}
        found = []
        spots = [hit.position for hit in hits]
        for hit, place, region in zip(
            hits, self.places(spots, [hit.id for hit in hits]), self._regions(spots), strict=True
        ):
            more: dict[str, Any] = {"place": region} if place is None else {"place_id": place[0], "place": place[1]}
            state = known.get(hit.id)
            if state is not None:
                more |= {"extent": _point(state.extent), "hits": state.hits, "stability": state.stability}
                more |= {
                    "yaw": state.yaw,
                    "record": state,
                    "kind": state.kind,
                    "provenance": self.facts.provenance(state),
                }
            found.append(replace(hit, **more))
        return found

    def places(self, points: Sequence[Any], ids: Sequence[str]) -> list[tuple[int, str] | None]:
        """Id and name of the room that each object stands in, by its position and id."""
        with self.lock:
            rooms = self._writes.rooms.at(points, ids)
        return [None if room is None else (room.id, room.name) for room in rooms]

    def _regions(self, points: Sequence[Any]) -> list[str | None]:
        """The name of the told region that each point lies in: where no room was seen it says where that is."""
        return [names[0] if names else None for names in self.facts.regions_at(points)]

    def sizes(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """Width, depth and height of objects in metres, and the yaw of their boxes; 0 for one not remembered."""
        with self.lock:
            rows, store = self._rows(ids), self._objects.store
            found, known = np.zeros((len(rows), 4)), rows[rows >= 0]
            found[rows >= 0] = np.column_stack([store.extent[known], store.yaw[known]])
            return found

    def here(self) -> Point | None:
        """Where the camera was in the newest frame; None before the first."""
        pose = self._pose()
        return None if pose is None else _point(pose.translation)

    def support(self, object_id: str) -> str | None:
        """What an object stands on, by its label; None where that is not known."""
        return self.stands(object_id)[1]

    def stands(self, object_id: str) -> tuple[str | None, str | None]:
        """What an object is inside of, as it was told, else by the boxes, and what it stands on, by their labels."""
        with self.lock:
            states = self.states([object_id])
            if not states:
                return None, None
            told = self.facts.container_of(states[0])
            relations = self._objects.relations(object_id)
            inside, under = ([one.other_id for one in relations if one.kind == kind] for kind in ("in", "on"))
            if told is not None and told.container_id is not None:
                inside = [told.container_id]
            found = [self.states(ids[:1]) for ids in (inside, under)]
            container, support = (states[0].label if states else None for states in found)
            return container, support

    def told_inside(self, ids: Sequence[str]) -> list[str | None]:
        """The id of what each object was told to be inside of; None where nothing was told or it was seen since."""
        if not self.facts.of("contents"):
            return [None] * len(ids)
        known = {state.id: self.facts.container_of(state) for state in self.states(list(ids))}
        told = [known.get(each) for each in ids]
        return [None if fact is None else fact.container_id for fact in told]

    def changed(self, since: int) -> Changed:
        """What changed after a revision; 0 gives everything."""
        with self.lock:
            store = self._objects.store
            rows = store.live()
            changed = rows[store.changed_at[rows] > since] if since else rows
            return Changed(store.version, store.seq[changed], store.seq[rows])

    def labelled(self, weight: Callable[[str], float]) -> list[tuple[float, str, str]]:
        """Weighted score, id and label of what is there, tentative ones included, by the label that weighs most.

        ``weight`` says how well a label fits what was asked, 0 for not at all; best first, then by id.
        """
        with self.lock:
            store = self._objects.store
            names = store.labels.names
            weights = np.array([weight(name) if name else 0.0 for name in names], dtype=np.float32)
            rows = store.live()
            rows = rows[store.state[rows] <= State.CONFIRMED]
            scores = weights[store.label_ids[rows]] * store.label_scores[rows]
            best = scores.argmax(axis=1)
            top = scores[np.arange(len(rows)), best]
            order = np.lexsort((store.seq[rows], -top))
            return [
                (float(top[at]), id_text(int(store.seq[rows[at]])), names[int(store.label_ids[rows[at], best[at]])])
                for at in order[: int((top > 0.0).sum())].tolist()
            ]

    def positions(self) -> tuple[list[str], NDArray[np.float64]]:
        """Ids of the confirmed objects, and where they are."""
        with self.lock:
            store = self._objects.store
            rows = self._objects.listed()
            return [id_text(number) for number in store.seq[rows].tolist()], store.xyz[rows]

    def counts(self) -> dict[str, float]:
        """How many objects are in each state, how many of the confirmed are stale, and the mean of their hits.

        Surfaces are no objects and are counted apart: those that are confirmed.
        """
        with self.lock:
            store = self._objects.store
            rows = self._objects.listed(include_tentative=True, include_absent=True)
            state = store.state[rows]
            limit = self._objects.now - self._store.settings.lifecycle.stale_after
            here = rows[state == State.CONFIRMED]
            return {
                "tentative": int((state == State.TENTATIVE).sum()),
                "confirmed": len(here),
                "missing": int((state == State.MISSING).sum()),
                "removed": int((state == State.REMOVED).sum()),
                "surfaces": len(self._objects.listed(kind=SURFACE)),
                "stale": int((store.last_seen[here] < limit).sum()),
                "avg_hits": float(np.mean(store.hits[rows])) if len(rows) else 0.0,
            }

    def pictures(self, object_id: str) -> list[CropRecord]:
        """The pictures kept of an object, newest first; an id that is not remembered raises."""
        with self.lock:
            self._objects.store.row(object_id)
        return sorted(self._store.crops(object_id), key=lambda crop: -crop.time)

    def colors(self, ids: list[str]) -> dict[str, str | None]:
        """The colour people would name each object by; None where none was seen."""
        self._writes.pull()
        table = self._store.table
        with self._store.guard:
            rows = {object_id: table.row_of.get(object_id) for object_id in ids}
            return {
                object_id: None if row is None else main_color(table.columns.colors[row])
                for object_id, row in rows.items()
            }


def _point(values: NDArray[np.float64]) -> Point:
    x, y, z = values.tolist()
    return x, y, z
