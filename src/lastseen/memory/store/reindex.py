"""Changing the encoder of images: every object's vectors are made anew from its stored pictures.

Vectors of two encoders say nothing about each other, so they are replaced all at once, in one transaction. An
object without pictures keeps its name and place and loses its embedding.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.images import read_color
from lastseen.memory.objects.appearance import mean_cosine
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.outbox import TARGET
from lastseen.memory.store.records import ObjectRecord
from lastseen.protocols import Encoder


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a change of encoder did."""

    encoder: str
    encoded: int
    without_pictures: int


def reindex(path: str | Path, encoder: Encoder, *, settings: Settings) -> Reindexed:
    """Give every object of a file an embedding by another encoder, from its stored pictures."""
    journal = Journal.open(path)
    try:
        meta = journal.meta()
        if "working.counters" not in meta:
            raise InvalidValue("reindex", str(path), "holds no objects yet", remedy="observe something first")
        dtype = np.dtype([(name, kind, tuple(shape)) for name, kind, shape in json.loads(meta["working.layout"])])
        size = settings.lifecycle.gallery_size
        records = [_encoded(journal, record, encoder, dtype, size) for record in journal.objects()]
        encoded = sum(record.embedding is not None for record in records)
        counters = {**json.loads(meta["working.counters"]), "dim": encoder.dim if encoded else None}
        last = max((session.last for session in journal.sessions()), default=0.0)
        batch = Batch(
            time=last, objects=records, meta={"image_encoder": encoder.name, "working.counters": json.dumps(counters)}
        )
        journal.write(batch, settings=settings)
        # a shared index is sent everything again by whoever opens the file with it next
        journal.note(TARGET, None)
    finally:
        journal.close()
    return Reindexed(encoder.name, encoded, len(records) - encoded)


def _encoded(
    journal: Journal, record: ObjectRecord, encoder: Encoder, dtype: np.dtype[np.void], size: int
) -> ObjectRecord:
    state = np.frombuffer(record.working, dtype=dtype).copy()
    pictures = [read_color(crop.jpeg, name=f"crop of {record.id}") for crop in journal.crops(record.id)[:size]]
    state["emb_hits"] = len(pictures)
    if not pictures:
        return replace(record, embedding=None, gallery=None, working=state.tobytes())
    vectors = encoder.encode_image(pictures)
    mean = vectors.mean(axis=0)
    # a file from before the length of the mean was kept gets it when it is next opened
    if "emb_norm" in (dtype.names or ()):
        state["emb_norm"] = np.linalg.norm(mean)
    if len(pictures) > 1:
        state["stability"] = mean_cosine.py_func(float(np.linalg.norm(mean)), float(len(pictures)))
    return replace(
        record,
        embedding=mean.astype(np.float32),
        gallery=vectors.astype(np.float16),
        stability=float(state["stability"][0]),
        working=state.tobytes(),
    )
