"""Between working memory and the journal: an export of object rows becomes records, and a file becomes an export.

What people and searches read gets columns of its own in the journal; the rest of a row travels as packed bytes,
whose layout stands in the file once. Packing keeps every bit, so a restored memory goes on exactly as it was.
Columns are made at full length first and filled block by block: joining a whole file's blobs before unpacking them
would hold it three times and spend more time on fresh pages than on reading.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.color_shape import ColorShapeEncoder, color_shares
from lastseen.errors import InvalidValue, JournalDamaged, shorten
from lastseen.memory.objects import Rows
from lastseen.memory.objects.columns import id_text
from lastseen.memory.store.journal import Block
from lastseen.memory.store.records import STATES, ObjectRecord

_LARGEST, _LONGEST, _MOST_COUNTED = 1_000_000, 65_536, 2**62
"""Bytes of an object's packed row, numbers of an embedding and values of a counter: far above any that is real."""
_VECTORS = frozenset({"emb_mean", "gallery", "gallery_n"})
"""Columns that are kept as vectors in a table of their own."""
Room = Callable[[int, int | None], Mapping[str, NDArray[Any]]]
"""Gives columns of zeros for so many objects with embeddings of such a length."""


def records_of(rows: Rows, *, colors: Mapping[str, NDArray[np.float32]], reads_colors: bool) -> list[ObjectRecord]:
    """The records of an export; ``colors`` adds what working memory does not know itself."""
    if not len(rows):
        return []
    columns = rows.columns
    packed = _packed(columns)
    shares = color_shares(columns["emb_mean"]) if reads_colors and "emb_mean" in columns else None
    seqs = columns["seq"].tolist()
    xyz, extent, yaw = (columns[name].tolist() for name in ("xyz", "extent", "yaw"))
    label_ids, label_scores = columns["label_ids"].tolist(), columns["label_scores"].tolist()
    first, last = columns["first_seen"].tolist(), columns["last_seen"].tolist()
    hits, stability, states = columns["hits"].tolist(), columns["stability"].tolist(), columns["state"].tolist()
    records = []
    for i, seq in enumerate(seqs):
        object_id = id_text(seq)
        seen = "emb_mean" in columns and columns["emb_hits"][i] > 0
        records.append(
            ObjectRecord(
                id=object_id,
                xyz=tuple(xyz[i]),
                extent=tuple(extent[i]),
                label_scores={
                    rows.labels[number - 1]: score
                    for number, score in zip(label_ids[i], label_scores[i], strict=True)
                    if number and score > 0.0
                },
                state=STATES[states[i] - 1],
                hits=hits[i],
                stability=stability[i],
                first_seen=first[i],
                last_seen=last[i],
                view_bins=tuple(np.flatnonzero(columns["bins"][i]).tolist()),
                embedding=columns["emb_mean"][i] if seen else None,
                gallery=columns["gallery"][i, : int(columns["gallery_n"][i])] if seen else None,
                colors=shares[i] if shares is not None and seen else colors.get(object_id),
                working=packed[i].tobytes(),
                yaw=yaw[i],
            )
        )
    return records


def counters_of(rows: Rows) -> dict[str, str]:
    """What the file must know of working memory besides its objects."""
    return {
        "working.layout": json.dumps(_layout(rows.columns)),
        "working.labels": json.dumps(rows.labels, ensure_ascii=False),
        "working.counters": json.dumps(
            {"dim": rows.dim, "next_seq": rows.next_seq, "now": rows.now, "frame_id": rows.frame_id}
            | {"version": rows.version}
        ),
        "working.views": json.dumps(_layout(rows.views, leave_out=frozenset({"slot"}))),
    }


def views_of(rows: Rows) -> dict[int, bytes]:
    """The small depth images of an export as packed bytes by slot."""
    if "slot" not in rows.views:
        return {}
    packed = _packed(rows.views, leave_out=frozenset({"slot"}))
    return {int(slot): packed[i].tobytes() for i, slot in enumerate(rows.views["slot"].tolist())}


def encoder_name(name: str | None, dim: int) -> str:
    """The name under which vectors of this length are compared; the built-in encoder is recognised by it."""
    return name or (ColorShapeEncoder.name if dim == ColorShapeEncoder.dim else f"unnamed-{dim}")


def _layout(
    columns: Mapping[str, NDArray[Any]], *, leave_out: frozenset[str] = _VECTORS
) -> list[tuple[str, str, list[int]]]:
    return [
        (name, columns[name].dtype.str, list(columns[name].shape[1:])) for name in columns if name not in leave_out
    ]


def _packed(columns: Mapping[str, NDArray[Any]], *, leave_out: frozenset[str] = _VECTORS) -> NDArray[Any]:
    layout = _layout(columns, leave_out=leave_out)
    packed = np.zeros(len(columns[layout[0][0]]), dtype=layout_dtype(layout))
    for name, _, _ in layout:
        packed[name] = columns[name]
    return packed


class Restoring:
    """Takes ``count`` objects in blocks, then gives the rows; ``ids`` and ``colors`` go with them."""

    def __init__(
        self, meta: Mapping[str, str], count: int, *, gallery_size: int, path: object, room: Room | None = None
    ) -> None:
        self.ids: list[str] = []
        self.colors: dict[str, NDArray[np.float32]] = {}
        self._meta, self._path, self._size = meta, path, gallery_size
        self._counters = _checked_counters(json.loads(meta["working.counters"]), path)
        self._dim: int | None = self._counters["dim"]
        self._dtype = layout_dtype(json.loads(meta["working.layout"]))
        if self._dtype.itemsize > _LARGEST:
            raise JournalDamaged(path, f"its layout takes {self._dtype.itemsize} bytes an object")
        self._columns: dict[str, NDArray[Any]] = {}
        given = {} if room is None else room(count, self._dim)
        wanted = {name: (self._dtype[name].base, self._dtype[name].shape) for name in self._dtype.names or ()}
        if self._dim is not None:
            wanted["emb_mean"] = (np.dtype(np.float32), (self._dim,))
            wanted["gallery"] = (np.dtype(np.float16), (gallery_size, self._dim))
            wanted["gallery_n"] = (np.dtype(np.int32), ())
        for name, (kind, shape) in wanted.items():
            column = given.get(name)
            # a file written with other settings has other columns: whoever restores them says so
            fits = column is not None and column.dtype == kind and column.shape == (count, *shape)
            self._columns[name] = column if column is not None and fits else np.zeros((count, *shape), dtype=kind)

    def take(self, block: Block) -> None:
        """Put the next objects where they belong."""
        start, end = len(self.ids), len(self.ids) + len(block.ids)
        packed = unpacked(block.working, self._dtype, self._path)
        for name in self._dtype.names or ():
            self._columns[name][start:end] = packed[name]
        if self._dim is not None:
            self._take_means(block.means, self._columns["emb_mean"][start:end], self._dim)
            self._take_views(block.galleries, start, end, self._dim)
        self.ids += block.ids
        self.colors |= block.colors

    def rows(self, views: Mapping[int, bytes]) -> Rows:
        """The export that restores working memory, with the small depth images by slot."""
        slots = np.array(sorted(views), dtype=np.int64)
        dtype = layout_dtype(json.loads(self._meta["working.views"]))
        images = unpacked([views[slot] for slot in slots.tolist()], dtype, self._path)
        return Rows(
            columns=self._columns,
            labels=tuple(json.loads(self._meta["working.labels"])),
            dim=self._dim,
            next_seq=self._counters["next_seq"],
            now=self._counters["now"],
            frame_id=self._counters["frame_id"],
            version=self._counters["version"],
            views={"slot": slots, **{name: images[name].copy() for name in dtype.names or ()}},
        )

    def _take_means(self, means: Sequence[bytes | None], into: NDArray[np.float32], dim: int) -> None:
        known = [mean for mean in means if mean is not None]
        if any(len(mean) != 4 * dim for mean in known):
            raise JournalDamaged(self._path, f"a vector has another length than the {dim} numbers of this file")
        rows: Any = (
            slice(None) if len(known) == len(means) else [i for i, mean in enumerate(means) if mean is not None]
        )
        into[rows] = np.frombuffer(b"".join(known), dtype=np.float32).reshape(-1, dim)

    def _take_views(self, galleries: Sequence[bytes | None], start: int, end: int, dim: int) -> None:
        """Objects with equally many views are filled in at once."""
        sizes = np.array([0 if views is None else len(views) // (2 * dim) for views in galleries], dtype=np.int64)
        if sizes.max(initial=0) > self._size:
            problem = f"is less than the file's {sizes.max()}"
            raise InvalidValue("lifecycle.gallery_size", self._size, problem, remedy="set it as it was")
        self._columns["gallery_n"][start:end] = sizes
        into = self._columns["gallery"][start:end]
        # not by numpy's unique, which loads its masked arrays first
        for size in sorted(set(sizes.tolist()) - {0}):
            alike = np.flatnonzero(sizes == size)
            views = b"".join(galleries[row] or b"" for row in alike.tolist())
            rows: Any = slice(None) if len(alike) == len(sizes) else alike
            into[rows, :size] = np.frombuffer(views, dtype=np.float16).reshape(-1, size, dim)


def _checked_counters(counters: dict[str, Any], path: object) -> dict[str, Any]:
    """The counters of a file, or an error that names the one that cannot be: memory would be laid out by it."""
    dim, now = counters["dim"], counters["now"]
    if dim is not None and not (isinstance(dim, int) and 1 <= dim <= _LONGEST):
        raise JournalDamaged(path, f"its embeddings have {shorten(dim)} numbers")
    if not isinstance(now, int | float) or not math.isfinite(now):
        raise JournalDamaged(path, f"its memory time is {shorten(now)}")
    for name in ("next_seq", "version", "frame_id"):
        if not isinstance(counters[name], int) or abs(counters[name]) > _MOST_COUNTED:
            raise JournalDamaged(path, f"its counter {name} is {shorten(counters[name])}")
    return counters


def layout_dtype(layout: Sequence[tuple[str, str, Sequence[int]]]) -> np.dtype[Any]:
    """The packed bytes of one object as the file's layout names them."""
    return np.dtype([(name, kind, tuple(shape)) for name, kind, shape in layout])


def unpacked(bodies: Sequence[bytes], dtype: np.dtype[Any], path: object) -> NDArray[Any]:
    """Packed bytes of several objects as one array with named fields."""
    if any(len(body) != dtype.itemsize for body in bodies):
        raise JournalDamaged(path, "a state has another length than the file's layout says")
    return np.frombuffer(b"".join(bodies), dtype=dtype)
