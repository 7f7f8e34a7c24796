"""From working memory to the journal: an export of object rows becomes records.

What people and searches read gets columns of its own in the journal; the rest of a row travels as packed bytes,
whose layout stands in the file once. Packing keeps every bit, so a restored memory goes on exactly as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.color_shape import ColorShapeEncoder, color_shares
from lastseen.memory.objects import Rows
from lastseen.memory.objects.store import id_text
from lastseen.memory.store.records import STATUSES, ObjectRecord
from lastseen.memory.store.restoring import layout_dtype

_VECTORS = frozenset({"emb_mean", "gallery", "gallery_n"})
"""Columns that are kept as vectors in a table of their own."""


def records_of(rows: Rows, *, colors: Mapping[str, NDArray[np.float32]], reads_colors: bool) -> list[ObjectRecord]:
    """The records of an export; ``colors`` adds what working memory does not know itself."""
    if not len(rows):
        return []
    columns = rows.columns
    packed = _packed(columns)
    shares = color_shares(columns["emb_mean"]) if reads_colors and "emb_mean" in columns else None
    seqs = columns["seq"].tolist()
    xyz, extent = columns["xyz"].tolist(), columns["extent"].tolist()
    label_ids, label_scores = columns["label_ids"].tolist(), columns["label_scores"].tolist()
    first, last = columns["first_seen"].tolist(), columns["last_seen"].tolist()
    hits, stability, states = columns["hits"].tolist(), columns["stability"].tolist(), columns["state"].tolist()
    records = []
    for i, seq in enumerate(seqs):
        object_id = id_text(seq)
        seen = "emb_mean" in columns and columns["emb_hits"][i] > 0
        look = columns["emb_mean"][i] if seen else None
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
                status=STATUSES[states[i] - 1],
                hits=hits[i],
                stability=stability[i],
                first_seen=first[i],
                last_seen=last[i],
                view_bins=tuple(np.flatnonzero(columns["bins"][i]).tolist()),
                look=look,
                gallery=columns["gallery"][i, : int(columns["gallery_n"][i])] if seen else None,
                colors=shares[i] if shares is not None and seen else colors.get(object_id),
                state=packed[i].tobytes(),
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


def look_name(name: str | None, dim: int) -> str:
    """The name under which vectors of this length are compared; the built-in look is recognised by its length."""
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
