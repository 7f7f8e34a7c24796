"""An object as it is told to the outside: a copy that later frames do not change."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import best_label
from lastseen.memory.objects.store import ObjectStore, State


@dataclass(frozen=True, slots=True, eq=False)
class ObjectState:
    """Everything remembered of one object at one moment; positions in metres in the world, z up.

    ``emb_mean`` is the plain running mean (its length is the stability); ``image_crops`` come from where crops are
    stored and are empty where nothing stores them; ``last_seen`` and ``first_seen`` are frame time in seconds.
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
        confirmed=state != State.PROTO,
        image_crops=crops,
        last_seen=last_seen,
        first_seen=float(store.first_seen[row]),
        state="tentative" if state is State.PROTO else state.name.lower(),
        stale=now - last_seen > store.settings.lifecycle.stale_after,
        extent=store.extent[row].copy(),
        detection_rate=float((store.detected[row] + 1.0) / (store.expected[row] + 2.0)),
    )
