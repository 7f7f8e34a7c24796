"""Records for tests: small, seeded, and different enough to be told apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from lastseen.memory.store.records import CONFIRMED, ObjectRecord

LABELS = ("mug", "chair", "sofa", "lamp", "book", "plant")


def unit(rng: np.random.Generator, dim: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    vector = rng.normal(size=dim)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def make_record(number: int, *, dim: int | None = 8, seed: int = 0, **changes: Any) -> ObjectRecord:
    """Object ``obj-NUMBER``; the same number and seed give the same record."""
    rng = np.random.default_rng([seed, number])
    look = None if dim is None else unit(rng, dim)
    values: dict[str, Any] = {
        "id": f"obj-{number}",
        "xyz": tuple(float(value) for value in rng.uniform(-5, 5, 3)),
        "extent": (0.1, 0.2, 0.3),
        "label_scores": {LABELS[number % len(LABELS)]: 0.75},
        "state": CONFIRMED,
        "hits": 3,
        "stability": 0.9,
        "first_seen": float(number),
        "last_seen": float(number) + 1.0,
        "view_bins": (1, 4),
        "embedding": look,
        "gallery": None if look is None else np.stack([look, look]).astype(np.float16),
        "colors": None,
        "working": rng.bytes(16),
    }
    return ObjectRecord(**{**values, **changes})


def same(one: ObjectRecord, other: ObjectRecord) -> bool:
    """Whether two records hold the same values, vectors included."""
    for name in ObjectRecord.__slots__:
        mine, theirs = getattr(one, name), getattr(other, name)
        equal = np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
        if not equal:
            return False
    return True
