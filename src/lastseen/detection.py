"""What a detector says about one image: here is something, and this is what it may be."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, shorten

_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
"""Control characters other than white space, which counts as a space, and halves of surrogate pairs."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the colour image."""


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """A box in colour pixels (left, top, right, bottom), label scores in 0 to 1, and a mask when there is one.

    ``labels`` is empty for class-agnostic segments; ``score`` is the detector's confidence that something is there;
    ``kind`` is "object", or "surface" for structure: floor, wall, table top. ``world_box`` (2, 3), lowest and highest
    corner in metres, is given where earlier frames showed more of it than this one. ``thing`` is the number
    under which a segmenter follows a thing over frames, ``joined`` those of what it took for other things before;
    ``settled`` is false while it may be a part of what it touches.
    """

    box: Box
    score: float
    labels: Mapping[str, float] = field(default_factory=dict)
    mask: NDArray[np.bool_] | None = None
    embedding: NDArray[np.float32] | None = None
    kind: str = "object"
    world_box: NDArray[np.float64] | None = None
    thing: int | None = None
    joined: tuple[int, ...] = ()
    settled: bool = True

    def __post_init__(self) -> None:
        left, top, right, bottom = self.box
        if not all(math.isfinite(value) for value in self.box) or right <= left or bottom <= top:
            raise InvalidValue(
                "detection.box", self.box, "is empty or not finite", remedy="give left, top, right, bottom"
            )
        if not 0.0 <= self.score <= 1.0:
            raise InvalidValue("detection.score", self.score, "must lie in 0 to 1", remedy="apply the sigmoid")
        check_labels("detection.labels", self.labels)
        if self.mask is not None and (self.mask.ndim != 2 or self.mask.dtype != np.bool_):
            raise InvalidValue("detection.mask", self.mask, "must be a 2-D bool array", remedy="use mask > 0")

    @property
    def label(self) -> str | None:
        """The likeliest label; ties go to the alphabetically first."""
        return best_label(self.labels)


def check_labels(name: str, labels: Mapping[str, float]) -> None:
    """Refuse label scores that are no probabilities, and labels without text."""
    if not isinstance(labels, Mapping):
        raise InvalidValue(name, labels, "must map labels to scores", remedy='for example {"mug": 0.9}')
    for label, score in labels.items():
        if not isinstance(label, str) or not label.strip():
            raise InvalidValue(name, label, "must be text that is not blank", remedy="drop unnamed classes")
        check_readable(name, label)
        if not _is_share(score):
            raise InvalidValue(
                f"{name}[{shorten(label)}]", score, "must lie in 0 to 1", remedy="normalize the scores"
            )


def _is_share(score: object) -> bool:
    try:
        return bool(0.0 <= score <= 1.0)  # type: ignore[operator]
    except (TypeError, ValueError):
        return False


def check_readable(name: str, text: str) -> None:
    """Refuse text that people could not read back: control characters and halves of characters."""
    if _UNREADABLE.search(text):
        raise InvalidValue(name, text, "holds a control character", remedy="give plain text")


def best_label(labels: Mapping[str, float]) -> str | None:
    """The label with the highest score; ties go to the alphabetically first; None without labels."""
    return min(labels, key=lambda label: (-labels[label], label)) if labels else None


def people_in(found: Iterable[Detection], detector: object, *, names: Iterable[str]) -> tuple[Box, ...] | None:
    """The boxes of people, by ``names``, among detections; None where the detector does not know people.

    A detector says so by an attribute: ``knows_people = True``.
    """
    if not getattr(detector, "knows_people", False):
        return None
    wanted = frozenset(names)
    return tuple(one.box for one in found if not wanted.isdisjoint(name.lower() for name in one.labels))


def encode_mask(mask: NDArray[np.bool_]) -> list[int]:
    """The lengths of the runs of a mask.

    >>> encode_mask(np.array([[False, True], [True, False]]))
    [1, 2, 1]
    """
    flat = np.concatenate([[False], mask.ravel(), [not mask.ravel()[-1]]])
    starts = np.flatnonzero(flat[1:] != flat[:-1])
    return [int(length) for length in np.diff(np.concatenate([[0], starts]))]


def check_runs(runs: Sequence[int], *, height: int, width: int) -> None:
    """Refuse runs that are no mask of this size."""
    if sum(runs) != height * width or any(length < 0 for length in runs):
        raise InvalidValue("mask", list(runs), f"does not fill {width} x {height} pixels", remedy="check the size")


def decode_mask(runs: Sequence[int], *, height: int, width: int) -> NDArray[np.bool_]:
    """The mask of these runs."""
    check_runs(runs, height=height, width=width)
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs).reshape(height, width)
