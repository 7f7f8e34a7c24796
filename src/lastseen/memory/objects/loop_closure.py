"""New poses of past frames, after a loop closure: objects go where their sightings now say that they were."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lastseen.geometry import Pose3D
from lastseen.memory.objects.columns import RING, Floats, Rows
from lastseen.memory.objects.free_space import DepthKeyframes
from lastseen.memory.objects.store import ObjectStore

RETIRED = -1
"""Stands for the id of a frame that no pose can be given for any more."""


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
    store.end_doubt(rows)
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
    return weight / weight.sum(axis=1, keepdims=True)


def _move_keyframes(keyframes: DepthKeyframes, poses: Mapping[int, Pose3D], version: int) -> None:
    for slot in range(len(keyframes)):
        pose = poses.get(int(keyframes.frame_id[slot]))
        if pose is not None:
            keyframes.place[slot], keyframes.turn[slot] = pose.translation, pose.rotation
            keyframes.changed_at[slot] = version
