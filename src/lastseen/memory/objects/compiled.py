"""Small compiled functions of the object memory: the scalar product of embeddings, and half-precision numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.compiled import compiled, summing

__all__ = ["compiled", "dot", "float_to_half", "half_to_float", "summing"]


@summing
def dot(one: NDArray[np.float32], other: NDArray[np.float32]) -> np.float32:
    """The scalar product of two embeddings."""
    total = np.float32(0.0)
    for at in range(len(one)):
        total += one[at] * other[at]
    return total


@compiled
def half_to_float(bits: np.uint16) -> np.float32:
    """The value of a half-precision number given by its bits; infinities and NaN are not kept in memory."""
    magnitude = np.int32((np.int32(bits) & np.int32(0x7FFF)) << np.int32(13)).view(np.float32)
    value = magnitude * np.float32(2.0**112)
    return -value if bits & 0x8000 else value


@compiled
def float_to_half(value: np.float32) -> np.uint16:
    """The bits of the nearest half-precision number, even ones on ties; what is too large becomes the largest."""
    bits = np.float32(abs(value)).view(np.int32)
    # the exponent's offset drops from 127 to 15; below it numbers lose digits until nothing is left
    if bits >= 0x477FF000:
        half = np.int32(0x7BFF)
    elif bits >= 0x38800000:
        half = np.int32((bits - 0x38000000 + 0xFFF + ((bits >> 13) & 1)) >> 13)
    else:
        half = np.int32(np.rint(np.float32(abs(value)) * np.float32(2.0**24)))
    return np.uint16(half | 0x8000 if value < 0.0 else half)
