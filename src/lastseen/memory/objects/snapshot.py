"""Copies of working memory that later frames do not change: one object's state, and all rows for a journal.

``export_rows(since)`` gives every object, or only those changed after an earlier export, as plain arrays with one
row per object in the order of their numbers; nothing is marked or cleared, so an export that was not written can be
made again. A full export restores to a memory that goes on exactly as the first: same ids, same bytes. To keep a
file current, store ``rows.columns`` by ``columns["seq"]`` and ``rows.views`` by ``views["slot"]``, delete
``rows.gone``, replace ``rows.labels`` and the counters, and pass ``rows.version`` as ``since`` the next time, also
after a restore.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import best_label
from lastseen.errors import InvalidValue
from lastseen.memory.objects.appearance import mean_cosine
from lastseen.memory.objects.columns import State
from lastseen.memory.objects.free_space import DepthKeyframes
from lastseen.memory.objects.labels import LabelTable
from lastseen.memory.objects.store import ObjectStore
from lastseen.observation import OBJECT, SURFACE

_ADDED_LATER = frozenset({"emb_norm", "surface_hits", "yaw", "missed_evidence", "missed_views", "missed_from"})
"""Columns that older memories were written without: all in them are objects, boxes lie along the axes of the world,
and lengths follow from the means."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectState:
    """Everything remembered of one object at one moment; positions in metres in the world, z up.

    ``emb_mean`` is the plain running mean of unit embeddings; ``stability`` the mean cosine between different ones of
    them, 0 to 1; ``confirmed`` whether it was promoted, whatever became of it since (``state``); ``image_crops`` come
    from where crops are stored and are empty where nothing stores them; ``last_seen`` and ``first_seen`` are frame
    time in seconds; ``extent`` is the size of an upright box that is turned by ``yaw`` radians about z; ``kind`` is
    object or surface.
    """

    id: str
    xyz_world: NDArray[np.float64]
    emb_mean: NDArray[np.float32] | None = field(repr=False)
    emb_gallery: NDArray[np.float16] | None = field(repr=False)
    view_bins: frozenset[tuple[int, int]]
    label_scores: dict[str, float]
    stability: float
    hits: int
    confirmed: bool
    image_crops: tuple[bytes, ...] = field(repr=False)
    last_seen: float
    first_seen: float
    state: str
    stale: bool
    extent: NDArray[np.float64]
    detection_rate: float
    kind: str
    yaw: float = 0.0

    @property
    def label(self) -> str | None:
        """The likeliest label; ties go to the alphabetically first."""
        return best_label(self.label_scores)


def read_state(store: ObjectStore, row: int, *, now: float, crops: tuple[bytes, ...] = ()) -> ObjectState:
    """Copy one row out of the store."""
    state = State(int(store.state[row]))
    azimuths = store.settings.views.azimuth_bins
    held = [
        (store.labels.names[number], float(score))
        for number, score in zip(store.label_ids[row].tolist(), store.label_scores[row].tolist(), strict=True)
        if number and score > 0.0
    ]
    known = store.dim is not None and store.emb_hits[row] > 0
    last_seen = float(store.last_seen[row])
    return ObjectState(
        id=store.id(row),
        xyz_world=store.xyz[row].copy(),
        emb_mean=store.emb_mean[row].copy() if known else None,
        emb_gallery=store.gallery[row, : int(store.gallery_n[row])].copy() if known else None,
        view_bins=frozenset(
            (number % azimuths, number // azimuths) for number in np.flatnonzero(store.bins[row]).tolist()
        ),
        label_scores=dict(sorted(held, key=lambda item: (-item[1], item[0]))),
        stability=float(store.stability[row]),
        hits=int(store.hits[row]),
        confirmed=state != State.TENTATIVE,
        image_crops=crops,
        last_seen=last_seen,
        first_seen=float(store.first_seen[row]),
        state=state.text,
        stale=now - last_seen > store.settings.lifecycle.stale_after,
        extent=store.extent[row].copy(),
        detection_rate=float((store.detected[row] + 1.0) / (store.expected[row] + 2.0)),
        kind=SURFACE if store.is_surface(row) else OBJECT,
        yaw=float(store.yaw[row]),
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """Objects as arrays: ``columns`` by name with equal first lengths, the table of labels, and the counters.

    ``gone`` are numbers of objects deleted since the earlier export; the id of number 7 is ``obj-7``.
    ``views`` are the small depth images of ``free_space``, to be stored by ``views["slot"]``.
    ``dim`` is the length of embeddings, None before the first.
    """

    columns: dict[str, NDArray[Any]]
    labels: tuple[str, ...]
    dim: int | None
    next_seq: int
    now: float
    frame_id: int
    version: int
    gone: tuple[int, ...] = ()
    views: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["seq"])


def export_rows(store: ObjectStore, keyframes: DepthKeyframes, *, now: float, frame_id: int, since: int) -> Rows:
    """Copy the objects changed after version ``since`` out of the store; 0 copies all."""
    rows = store.live()
    store.exported = True
    if since:
        rows = rows[store.changed_at[rows] > since]
        # whoever exports with a version has stored everything up to it
        store.deleted = [entry for entry in store.deleted if entry[0] > since]
    return Rows(
        columns={name: store.column(name)[rows] for name in store.fields},
        labels=tuple(store.labels.names[1:]),
        dim=store.dim,
        next_seq=store.next_seq,
        now=now,
        frame_id=frame_id,
        version=store.version,
        gone=tuple(number for _, number in store.deleted) if since else (),
        views=keyframes.export(since),
    )


def room(store: ObjectStore, count: int, dim: int | None) -> dict[str, NDArray[Any]]:
    """The columns of an empty store, made long enough for this many objects.

    Whoever fills them and passes them to ``restore_rows`` spares the copy; they must not be kept after it.
    """
    if dim is not None:
        store.use_embeddings(dim)
    store.reserve(count)
    return {name: store.column(name)[:count] for name in store.fields}


def restore_rows(store: ObjectStore, rows: Rows) -> None:
    """Fill an empty store; columns that were got from its ``room`` are where they belong already."""
    if len(store) or store.next_seq != 1:
        raise InvalidValue("memory", len(store), "is not empty", remedy="restore into a new memory")
    if rows.dim is not None:
        store.use_embeddings(rows.dim)
    for name in store.fields:
        fits, column = store.column(name), rows.columns.get(name)
        if column is None and name in _ADDED_LATER:
            continue
        if (
            column is None
            or column.shape != (len(rows), *fits.shape[1:])
            or not np.can_cast(column.dtype, fits.dtype)
        ):
            raise InvalidValue(
                f"rows.{name}",
                column,
                f"does not fit this memory's {fits.dtype} rows of shape {fits.shape[1:]}",
                remedy="restore with the settings and the version it was written with",
            )
    _check_counts(store, rows)
    places = store.allocate_numbered(rows.columns["seq"])
    for name in store.fields:
        own = store.column(name)
        if name in rows.columns and not np.may_share_memory(own, rows.columns[name]):
            # an empty store hands out its rows from the first on
            own[: len(rows)] = rows.columns[name]
    if rows.dim is not None and "emb_norm" not in rows.columns:
        _measure_means(store, len(rows))
    store.exported = True
    store.labels = LabelTable(rows.labels)
    store.next_seq = rows.next_seq
    store.version = rows.version
    store.fill_grid(places)


def _measure_means(store: ObjectStore, count: int) -> None:
    """Fill in the lengths of the mean embeddings of the first rows, and the stability that follows from them."""
    norms = np.sqrt(np.einsum("ij,ij->i", store.emb_mean[:count], store.emb_mean[:count]))
    store.emb_norm[:count] = norms
    for row in np.flatnonzero(store.emb_hits[:count] > 1).tolist():
        store.stability[row] = mean_cosine.py_func(float(norms[row]), float(store.emb_hits[row]))


def _check_counts(store: ObjectStore, rows: Rows) -> None:
    """Refuse counts of things kept beside the row that no row has room for: compiled code believes them."""
    rooms = {"n_points": store.points.shape[1], "ring_n": None, "empty_views": None}
    rooms |= {"emb_hits": 0} if store.dim is None else {"gallery_n": store.gallery.shape[1]}
    for name, room_for in rooms.items():
        counts = rows.columns[name]
        wrong = (counts < 0) if room_for is None else (counts < 0) | (counts > room_for)
        if wrong.any():
            limit = "from 0 on" if room_for is None else f"from 0 to {room_for}"
            raise InvalidValue(
                f"rows.{name}",
                int(counts[wrong][0]),
                f"must lie {limit}",
                remedy="the memory is damaged; take a copy of it from before",
            )
