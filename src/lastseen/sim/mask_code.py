"""Masks as text: lengths of runs, row by row, the first one outside; small, and readable without a library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue


def encode_mask(mask: NDArray[np.bool_]) -> list[int]:
    """The lengths of the runs of a mask.

    >>> encode_mask(np.array([[False, True], [True, False]]))
    [1, 2, 1]
    """
    flat = np.concatenate([[False], mask.ravel(), [not mask.ravel()[-1]]])
    starts = np.flatnonzero(flat[1:] != flat[:-1])
    return [int(length) for length in np.diff(np.concatenate([[0], starts]))]


def decode_mask(runs: Sequence[int], *, height: int, width: int) -> NDArray[np.bool_]:
    """The mask of these runs."""
    if sum(runs) != height * width or any(length < 0 for length in runs):
        raise InvalidValue("mask", list(runs), f"does not fill {width} x {height} pixels", remedy="check the size")
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs).reshape(height, width)
