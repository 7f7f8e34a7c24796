"""What is put right afterwards: poses after a loop closure, and names and identities by people.

Corrections by hand can be undone in reverse order, as long as the objects were not forgotten; forgetting cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import check_readable
from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.memory.objects.free_space import DepthKeyframes
from lastseen.memory.objects.grid import Floats, Rows
from lastseen.memory.objects.labels import normal
from lastseen.memory.objects.layout import RING
from lastseen.memory.objects.store import ObjectStore

RETIRED = -1
"""Stands for the id of a frame that no pose can be given for any more."""
UNDO_DEPTH = 32
"""Corrections that can be taken back: a person's last minutes, not a history."""


def shift_to_new_poses(
    store: ObjectStore, keyframes: DepthKeyframes, poses: Mapping[int, Pose3D]
) -> list[tuple[int, Floats]]:
    """Move every object by what new poses of past frames do to its remembered sightings; (row, shift) by number.

    Sightings weigh as they do in the moving average of position, so the newest decide most; those from frames
    without a new pose hold the object where it is.
    """
    if not poses:
        return []
    frames = np.array(sorted(poses), dtype=np.int64)
    turns = np.stack([poses[frame].rotation for frame in frames.tolist()])
    places = np.stack([poses[frame].translation for frame in frames.tolist()])
    rows = store.live()
    held = np.minimum(store.ring_n[rows], RING)
    at = np.minimum(np.searchsorted(frames, store.ring_frame[rows]), len(frames) - 1)
    hit = (frames[at] == store.ring_frame[rows]) & (np.arange(RING) < held[:, np.newaxis])
    touched = hit.any(axis=1)
    rows, at, hit = rows[touched], at[touched], hit[touched]
    moved = np.einsum("rsij,rsj->rsi", turns[at], store.ring_camera[rows].astype(np.float64)) + places[at]
    delta = np.where(hit[..., np.newaxis], moved - store.ring_world[rows], 0.0)
    shift = np.einsum("rs,rsi->ri", _weights(store, rows), delta)
    store.ring_world[rows] += delta.astype(np.float32)
    store.xyz[rows] += shift
    store.points_origin[rows] += shift
    store.empty_views[rows], store.doubt[rows] = 0, 0.0
    store.update_grid(rows)
    _move_keyframes(keyframes, poses, store.version)
    return [(row, by) for row, by in zip(rows.tolist(), shift, strict=True) if np.abs(by).max() > 1e-3]


def retire_frames(store: ObjectStore, keyframes: DepthKeyframes) -> None:
    """Let no new pose reach the frames so far: ids that start again are another session's, and name other frames."""
    store.ring_frame[: store.used] = RETIRED
    keyframes.frame_id[: len(keyframes)] = RETIRED


def _weights(store: ObjectStore, rows: Rows) -> Floats:
    """Weight of each ring slot, newest first by the moving average's rate; rows sum to 1, empty slots have none."""
    count = store.ring_n[rows][:, np.newaxis]
    age = (count - 1 - np.arange(RING)) % RING
    weight = (1.0 - store.settings.lifecycle.position_ema) ** age * (np.arange(RING) < count)
    # nothing but the newest counts where the average forgets at once
    weight = np.maximum(weight, 1e-12 * (age == 0))
    normed: Floats = weight / weight.sum(axis=1, keepdims=True)
    return normed


def _move_keyframes(keyframes: DepthKeyframes, poses: Mapping[int, Pose3D], version: int) -> None:
    for slot in range(len(keyframes)):
        pose = poses.get(int(keyframes.frame_id[slot]))
        if pose is not None:
            keyframes.place[slot], keyframes.turn[slot] = pose.translation, pose.rotation
            keyframes.changed_at[slot] = version


NAME_COLUMNS = ("label_ids", "label_scores", "pinned")
"""What a new name changes."""


@dataclass(frozen=True, slots=True)
class Change:
    """One correction by hand and the rows as they were before it.

    What was told has the number of its ``fact``; an object that was ``made`` for it goes with it.
    """

    what: str
    numbers: tuple[int, ...]
    before: dict[str, NDArray[Any]]
    fact: int | None = None
    made: int | None = None


def as_before(store: ObjectStore, what: str, rows: Iterable[int]) -> Change:
    """Rows as they are before they are changed."""
    taken = np.array(sorted(rows), dtype=np.int64)
    names = NAME_COLUMNS if what == "relabel" else store.names
    return Change(what, tuple(store.seq[taken].tolist()), {name: store.column(name)[taken] for name in names})


class Undo:
    """The last corrections by hand."""

    def __init__(self) -> None:
        self._changes: list[Change] = []

    def remember(self, store: ObjectStore, what: str, rows: Iterable[int]) -> None:
        """Keep rows as they are before they are changed; of a new name the old one alone, so that sightings stay."""
        self._changes.append(as_before(store, what, rows))
        del self._changes[:-UNDO_DEPTH]

    def remember_told(self, fact: int, *, made: int | None = None, moved: Change | None = None) -> None:
        """Keep that a fact was told, with the number of an object made for it or an object as it was before."""
        numbers, before = ((), {}) if moved is None else (moved.numbers, moved.before)
        self._changes.append(Change("tell", numbers if made is None else (made,), before, fact, made))
        del self._changes[:-UNDO_DEPTH]

    def restore_last(self, store: ObjectStore) -> tuple[Change, Rows]:
        """Put the rows of the last correction back as they were; one that was made for it stays for the caller."""
        if not self._changes:
            raise InvalidValue("undo", 0, "has nothing to take back", remedy="corrections by hand can be undone")
        change = self._changes.pop()
        if not change.before:
            made = [store.row_of[number] for number in change.numbers if number in store.row_of]
            return change, np.array(made, dtype=np.int64)
        absent = np.array([number for number in change.numbers if number not in store.row_of], dtype=np.int64)
        if len(absent) and change.what == "relabel":
            raise InvalidValue("undo", change.what, "was of an object that is gone since", remedy="undo once more")
        store.allocate_numbered(absent)
        store.deleted = [entry for entry in store.deleted if entry[1] not in set(absent.tolist())]
        rows = np.array([store.row_of[number] for number in change.numbers], dtype=np.int64)
        for name, values in change.before.items():
            store.column(name)[rows] = values
        store.update_grid(rows)
        return change, rows

    def forget(self, numbers: Set[int]) -> None:
        """Drop every correction that holds one of these objects."""
        self._changes = [change for change in self._changes if numbers.isdisjoint(change.numbers)]

    def forget_told(self, facts: Set[int]) -> None:
        """Drop the corrections that were these facts."""
        self._changes = [change for change in self._changes if change.fact not in facts]

    def labels(self) -> set[int]:
        """The numbers of the labels that corrections would bring back."""
        return {number for change in self._changes for number in _label_ids(change)}


def _label_ids(change: Change) -> list[int]:
    found: list[int] = change.before["label_ids"].ravel().tolist() if "label_ids" in change.before else []
    return found


def checked_name(label: str) -> str:
    """A label that can be given by hand; one that is blank or cannot be read raises."""
    if not normal(label):
        raise InvalidValue("label", label, "must be text that is not blank", remedy="give the thing's name")
    check_readable("label", label)
    return label


def set_label(store: ObjectStore, row: int, label: str) -> None:
    """Give an object one label that later sightings do not change."""
    store.label_ids[row], store.label_scores[row] = 0, 0.0
    store.label_ids[row, 0], store.label_scores[row, 0] = store.labels.id_of(label), 1.0
    store.pinned[row] = True
    store.mark_changed(np.array([row]))
