"""One memory taken into another, once it is known where its map lies there: things met again become one.

A thing that both hold keeps the id and history it has here and adds what the other saw of it. One that stands
elsewhere now is told as moved, the rest is added under new ids. Floor, walls, path and surface are turned into this
map; places and anchors stay a graph of their own. Both are used when a session that was kept apart is aligned, and
by ``lastseen merge``; see docs/alignment.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.box_axes import quarter
from lastseen.config import Settings
from lastseen.errors import IndexMismatch, InvalidValue
from lastseen.memory.alignment import Alignment, FrameTransform, align, landmarks_of
from lastseen.memory.alignment.landmarks import likeness
from lastseen.memory.objects import EventKind, ObjectMemory, Rows
from lastseen.memory.objects.appearance import MERGE_APPEARANCE, appearance_cosine
from lastseen.memory.objects.batch import DUPLICATE_OVERLAP
from lastseen.memory.objects.boxes import ORIGIN, in_axes_of
from lastseen.memory.objects.columns import CONFIRMED, RING, TENTATIVE, id_text
from lastseen.memory.objects.duplicates import DUPLICATE_TOLERANCE, turned_bins
from lastseen.memory.objects.relations import overlap
from lastseen.memory.objects.store import ObjectStore
from lastseen.memory.store.clock import PAUSE
from lastseen.memory.store.records import CropRecord, EventRecord
from lastseen.memory.store.salvage import backup, new_file
from lastseen.memory.write_path import WritePath

_MOVED_LIKENESS = 0.6
"""Likeness by name, size and appearance from which a thing that is here no more may be one that is new there."""
_MOVED_APPEARANCE = 0.9
"""Cosine of appearance that is asked as well: two chairs of one set look no more alike than one moved chair does."""
_SEEN_AROUND = 0.6
"""Metres around a thing's old place in which the other memory must have seen floor to know that it is gone."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of the things of a memory that was taken into another; ids are its own and those here.

    ``matched`` were met again, ``moved`` are here under their old id at the new place, ``added`` are new here, and
    ``unmet`` are the things here that the other one did not hold.
    """

    matched: tuple[tuple[str, str], ...]
    moved: tuple[tuple[str, str], ...]
    added: tuple[tuple[str, str], ...]
    unmet: tuple[str, ...]


def take_in(
    home: WritePath,
    other: WritePath,
    transform: FrameTransform,
    pairs: Sequence[tuple[str, str]],
    *,
    later: float,
) -> Merged:
    """Take what another memory holds into this one; ``home.flush`` writes it.

    Args:
        home: The memory that goes on.
        other: The one that is taken in; it is not changed.
        transform: From the other's map to this one's.
        pairs: Ids of one thing in both, the other's first.
        later: Seconds that the other's memory times count more here.
    """
    _check_encoders(home, other)
    other.pull()
    with home.lock, other.lock:
        moved = _moved(home, other, transform, pairs)
        unmet = [state.id for state in home.objects.states()]
        objects = home.objects
        objects.lifecycle.now = max(objects.lifecycle.now, home.clock.now)
        known = objects.store.live()
        ids = _add_rows(objects, other.objects.export_rows(), transform, later)
        home.space.take_in(other.space, transform, ids=ids, later=later)
        final = dict(ids)
        paired, met_here = ({pair[side] for pair in (*pairs, *moved)} for side in (0, 1))
        left = {theirs: mine for theirs, mine in ids.items() if theirs not in paired}
        unmatched = known[[objects.store.id(row) not in met_here for row in known.tolist()]]
        stands = _in_one_place(objects.store, unmatched, left)
        for met, how in ((pairs, "alignment"), (stands, "alignment"), (moved, None)):
            for theirs, mine in met:
                if theirs in ids and objects.holds(mine):
                    _join(objects, objects.store.row(mine), objects.store.row(ids[theirs]), how)
                    final[theirs] = mine
        events = objects.lifecycle.take_events()
        home.space.viewpoints.on_events(events)
        home.store.stage(
            events=[
                *_events(other, final, transform, later),
                *(EventRecord(one.stamp, one.object_id, str(one.kind), dict(one.evidence)) for one in events),
            ],
            crops=[
                CropRecord(mine, crop.time + later, crop.quality, crop.jpeg)
                for theirs, mine in final.items()
                for crop in other.store.crops(theirs)
            ],
        )
        for theirs, mine in final.items():
            if theirs in other.colors and mine not in home.colors:
                home.colors[mine] = other.colors[theirs]
        _take_facts(home, other, final, transform, later)
    met_again = set(final.values())
    return Merged(
        matched=tuple((one, final[one]) for one, _ in (*pairs, *stands) if one in final),
        moved=tuple((one, final[one]) for one, _ in moved if one in final),
        added=tuple((one, mine) for one, mine in final.items() if mine == ids[one]),
        unmet=tuple(one for one in unmet if one not in met_again),
    )


def merge_files(first: Path, second: Path, out: Path, settings: Settings) -> tuple[Path, Alignment, Merged]:
    """Merge two memory files of one home into a new one; neither is changed.

    Returns the file whose map the new one keeps (the one whose newest session is older, so that time goes on in
    order), how the other lies in it, and what became of its things.

    Raises:
        InvalidValue: They cannot be told to be of one home; nothing is written.
    """
    if out.exists():
        raise InvalidValue("out", str(out), "is there already", remedy="give a new name")
    with (
        WritePath(first, settings, read_only=True) as one,
        WritePath(second, settings, read_only=True) as two,
    ):
        ends = [memory.clock.wall(memory.clock.now) for memory in (one, two)]
        swapped = ends[0] is not None and ends[1] is not None and ends[1] < ends[0]
        known, new = (two, one) if swapped else (one, two)
        base, added = (second, first) if known is two else (first, second)
        if _is_copy(new, known):
            problem = f"holds the same sessions and things as {base}: their sightings would count twice"
            raise InvalidValue("merge", str(added), problem, remedy="nothing was merged; give memories of two walks")
        found = align(landmarks_of(new.objects, new.space), landmarks_of(known.objects, known.space))
        if found.status != "aligned":
            status = found.status.replace("_", " ")
            problem = f"is {status} with {base}: {found.reason}"
            raise InvalidValue("merge", str(added), problem, remedy="nothing was merged; `lastseen align` tells more")
        best = found.candidates[0]
        # it has its name once it is whole: a merge that is cut off must not look like one
        with new_file(out) as part:
            backup(base, part)
            with WritePath(part, settings, read_only=False) as home:
                later = _take_sessions(home, new)
                merged = take_in(home, new, best.transform, best.pairs, later=later)
    return base, found, merged


def _is_copy(one: WritePath, other: WritePath) -> bool:
    """Whether a memory is the other one, or a copy of it at an earlier time: nothing in it is new."""
    mine, theirs = one.clock.sessions, other.clock.sessions
    known = {(state.id, tuple(state.xyz_world)) for state in other.objects.states(include_tentative=True)}
    seen = {(state.id, tuple(state.xyz_world)) for state in one.objects.states(include_tentative=True)}
    return bool(mine) and mine == theirs[: len(mine)] and seen <= known


def _check_encoders(home: WritePath, other: WritePath) -> None:
    mine, theirs = home.store.image_encoder, other.store.image_encoder
    if mine is not None and theirs is not None and mine != theirs:
        raise IndexMismatch(
            "image_encoder", theirs, f"is not the encoder of {home.store.journal.path} ({mine})", remedy="reindex one"
        )
    home.store.image_encoder = mine or theirs


def _take_sessions(home: WritePath, other: WritePath) -> float:
    """Put the other's sessions after those here; returns the seconds that its memory times count more here."""
    if not other.clock.sessions:
        return 0.0
    later = max(0.0, home.clock.now + PAUSE - other.clock.sessions[0].first)
    for session in other.clock.sessions:
        taken = replace(
            session,
            id=len(home.clock.sessions) + 1,
            clock_offset=session.clock_offset + later,
            first=session.first + later,
            last=session.last + later,
        )
        home.clock.sessions.append(taken)
        home.store.commit(taken.last, session=taken)
    return later


def _moved(
    home: WritePath, other: WritePath, transform: FrameTransform, pairs: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Things that stand elsewhere now: alike, the only such one on both sides, and gone from where they stood."""
    mine, theirs = landmarks_of(home.objects), landmarks_of(other.objects)
    if (
        mine.embeddings is None
        or theirs.embeddings is None
        or mine.embeddings.shape[1:] != theirs.embeddings.shape[1:]
    ):
        return []
    known = {here for _, here in pairs}, {there for there, _ in pairs}
    rows = np.array([n for n, one in enumerate(theirs.ids) if one not in known[1]], dtype=np.int64)
    columns = np.array([n for n, one in enumerate(mine.ids) if one not in known[0]], dtype=np.int64)
    if not len(rows) or not len(columns):
        return []
    alike = likeness(theirs, mine)[np.ix_(rows, columns)]
    cosine = theirs.embeddings[rows] @ mine.embeddings[columns].T
    fits = (alike >= _MOVED_LIKENESS) & (cosine >= _MOVED_APPEARANCE)
    only = fits & (fits.sum(axis=0) == 1) & (fits.sum(axis=1) == 1)[:, None]
    back = transform.inverse()
    found = []
    for row, column in np.argwhere(only).tolist():
        old = back.apply(mine.positions[columns[column]][None])[0]
        number = int(other.space.storeys.numbers(old[2:])[0])
        floor = next(storey.floor for storey in other.space.storeys if storey.number == number)
        if floor.knows_around(float(old[0]), float(old[1]), radius=_SEEN_AROUND):
            found.append((theirs.ids[rows[row]], mine.ids[columns[column]]))
    return found


def _in_one_place(store: ObjectStore, known: NDArray[np.int64], left: Mapping[str, str]) -> list[tuple[str, str]]:
    """What lies where a thing of the same kind lies already, each with the one it shares most of its box with.

    Floors, walls and table tops are no landmarks, and of what is seen at the edge of a room too little may tell; but
    two things do not fill one place. ``left`` are ids here of what was added, by their ids there.
    """
    rows = np.array([store.row(mine) for mine in left.values()], dtype=np.int64)
    mine, theirs = (each.ravel() for each in np.meshgrid(known, rows))
    offset, sides = in_axes_of(
        store.xyz[mine], store.yaw[mine], store.xyz[theirs], store.extent[theirs], store.yaw[theirs]
    )
    share = overlap(ORIGIN, store.extent[mine] + DUPLICATE_TOLERANCE, offset, sides + DUPLICATE_TOLERANCE)
    cosine = appearance_cosine(store, mine, theirs)
    fits = (share >= DUPLICATE_OVERLAP) & (store.is_surface(mine) == store.is_surface(theirs))
    fits &= (store.state[mine] == CONFIRMED) & ~(cosine < MERGE_APPEARANCE)
    ids, found, used = {store.row(one): there for there, one in left.items()}, [], set[int]()
    at = np.flatnonzero(fits)
    for pair in at[np.lexsort((store.seq[theirs[at]], store.seq[mine[at]], -share[at]))].tolist():
        here, there = int(mine[pair]), int(theirs[pair])
        if not {here, there} & used:
            used |= {here, there}
            found.append((ids[there], store.id(here)))
    return found


def _add_rows(objects: ObjectMemory, rows: Rows, transform: FrameTransform, later: float) -> dict[str, str]:
    """Make objects of all but the tentative ones of another working memory; their ids here by their ids there."""
    store, columns = objects.store, rows.columns
    chosen = np.flatnonzero(columns["state"] > TENTATIVE)
    if not len(chosen):
        return {}
    store.version += 1
    if rows.dim is not None:
        store.use_embeddings(rows.dim)
    made = store.allocate(len(chosen))
    for name in store.fields:
        if name != "seq" and name in columns:
            store.column(name)[made] = columns[name][chosen]
    for name in ("xyz", "points_origin"):
        store.column(name)[made] = transform.apply(columns[name][chosen])
    _turn_boxes(store, made, transform.yaw)
    store.points[made] = _turned(columns["points"][chosen], transform)
    store.empty_from[made] = 0.0
    store.end_doubt(made)
    store.ring_frame[made] = -1
    place = columns["ring_place"][chosen].astype(np.float64)
    place[..., 3:] = transform.apply(place[..., 3:].reshape(-1, 3)).reshape(len(chosen), RING, 3)
    store.ring_place[made] = place
    for name in ("first_seen", "last_seen", "missing_since"):
        store.column(name)[made] = columns[name][chosen] + later
    numbers = np.array([0, *(store.labels.id_of(name) for name in rows.labels)], dtype=np.int32)
    store.label_ids[made] = numbers[columns["label_ids"][chosen]]
    new_of = dict(zip(columns["seq"][chosen].tolist(), store.seq[made].tolist(), strict=True))
    neighbours = columns["neighbours"][chosen]
    store.neighbours[made] = np.vectorize(lambda number: new_of.get(number, 0), otypes=[np.int64])(neighbours)
    store.neighbour_hits[made] = np.where(store.neighbours[made] > 0, columns["neighbour_hits"][chosen], 0)
    store.update_grid(made)
    for row in made.tolist():
        if store.state[row] == CONFIRMED:
            objects.lifecycle.record(EventKind.CORRECTED, row, how="alignment", xyz=_rounded(store.xyz[row]))
    return {id_text(old): id_text(new) for old, new in new_of.items()}


def _turn_boxes(store: ObjectStore, rows: NDArray[np.int64], turn: float) -> None:
    """Turn boxes with their map; each yaw is kept within an eighth of a turn, and quarters exchange the sides."""
    for row in rows.tolist():
        yaw = float(store.yaw[row]) + turn
        store.yaw[row] = quarter(yaw)
        quarters = round((yaw - store.yaw[row]) / (0.5 * math.pi))
        store.extent[row] = store.extent[row][[1, 0, 2]] if quarters % 2 else store.extent[row]
        store.bins[row] = turned_bins(store, store.bins[row], quarters * 0.5 * math.pi)


def _turned(points: NDArray[np.float16], transform: FrameTransform) -> NDArray[np.float64]:
    flat = transform.turn(points.reshape(-1, 3).astype(np.float64))
    return flat.reshape(points.shape)


def _join(objects: ObjectMemory, keep: int, lose: int, how: str | None) -> None:
    """Let a thing of here go on with what was seen of it there; without ``how`` it moved."""
    store = objects.store
    if how is None:
        objects.lifecycle.relocate(keep, lose, math.nan)
        return
    share = float(store.hits[lose]) / max(float(store.hits[keep] + store.hits[lose]), 1.0)
    # one place and one size for both
    store.xyz[[keep, lose]] = (1.0 - share) * store.xyz[keep] + share * store.xyz[lose]
    store.extent[lose], store.yaw[lose] = store.extent[keep], store.yaw[keep]
    if store.state[keep] > CONFIRMED:
        objects.lifecycle.reappear(np.array([keep]))
    objects.lifecycle.merge(keep, lose, how=how)


def _events(other: WritePath, ids: Mapping[str, str], transform: FrameTransform, later: float) -> list[EventRecord]:
    """What happened to the other's things before, under their ids here and in this map."""
    if not other.read_only:
        other.flush()
    taken = []
    for event in other.store.journal.events():
        if event.object_id not in ids:
            continue
        # an id that went on as another is one of the other memory's, and may be another thing here
        evidence = {name: value for name, value in event.evidence.items() if name != "absorbed"}
        for name in ("xyz", "before", "after"):
            if _is_point(evidence.get(name)):
                evidence[name] = _rounded(transform.apply(np.array([evidence[name]], dtype=np.float64))[0])
        taken.append(EventRecord(event.time + later, ids[event.object_id], event.kind, evidence))
    return taken


def _is_point(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(each, int | float) for each in value)


def _rounded(xyz: NDArray[np.float64]) -> list[float]:
    return [round(value, 4) for value in xyz.tolist()]


def _take_facts(
    home: WritePath, other: WritePath, ids: Mapping[str, str], transform: FrameTransform, later: float
) -> None:
    for fact in other.facts.all():
        changes: dict[str, Any] = {"time": fact.time + later, "room_id": None}
        for name in ("object_id", "container_id"):
            changes[name] = ids.get(getattr(fact, name) or "")
        if fact.position is not None:
            changes["position"] = tuple(transform.apply(np.array([fact.position]))[0].tolist())
        if fact.outline:
            corners = np.array([(*corner, 0.0) for corner in fact.outline])
            changes["outline"] = tuple((x, y) for x, y, _ in transform.apply(corners).tolist())
        if fact.object_id is None or changes["object_id"] is not None:
            home.facts.add(replace(fact, **changes))
