"""Columns that grow without being copied: what keeps a frame's time flat while the memory gets larger.

Each column lies in its own anonymous private mapping. Growing remaps pages instead of copying rows (a fraction of a
millisecond at hundreds of megabytes), and pages that no row has touched cost nothing.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lastseen.errors import InvalidValue

FIRST_CAPACITY = 256
"""Rows of an empty table: one page for most columns."""


class Columns:
    """A table of named columns with one row per thing; new rows are zero.

    A column is an attribute of the same name. Growing replaces the attribute, so no view may be kept across it.
    """

    def __init__(self, capacity: int = FIRST_CAPACITY) -> None:
        self.capacity = capacity
        self._maps: dict[str, mmap.mmap] = {}
        self._specs: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}

    def add(self, name: str, dtype: DTypeLike, shape: tuple[int, ...] = ()) -> None:
        """Add a column of zeros."""
        if name in self._specs:
            raise InvalidValue("column", name, "exists", remedy="add each column once")
        self._specs[name] = (np.dtype(dtype), shape)
        self._maps[name] = _new_map(self._bytes(name, self.capacity))
        setattr(self, name, self._view(name))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in the order they were added."""
        return tuple(self._specs)

    def spec(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Type and row shape of a column."""
        return self._specs[name]

    def column(self, name: str) -> NDArray[Any]:
        """The live array of a column."""
        array: NDArray[Any] = getattr(self, name)
        return array

    def grow(self, capacity: int) -> None:
        """Make room for this many rows; a smaller number changes nothing."""
        if capacity <= self.capacity:
            return
        self.capacity = capacity
        for name in self._specs:
            # the mapping cannot move while an array looks at it
            setattr(self, name, None)
            self._maps[name] = _resized(self._maps[name], self._bytes(name, capacity))
            setattr(self, name, self._view(name))

    def _bytes(self, name: str, rows: int) -> int:
        dtype, shape = self._specs[name]
        return max(1, rows * dtype.itemsize * int(np.prod(shape, dtype=np.int64)))

    def _view(self, name: str) -> NDArray[Any]:
        dtype, shape = self._specs[name]
        count = self.capacity * int(np.prod(shape, dtype=np.int64))
        array: NDArray[Any] = np.frombuffer(self._maps[name], dtype=dtype, count=count)
        return array.reshape(self.capacity, *shape)


def _new_map(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _resized(old: mmap.mmap, size: int) -> mmap.mmap:
    try:
        old.resize(size)
    except (BufferError, SystemError):
        # a view is still held, or the platform cannot remap: copy once, the old pages go with their last view
        new = _new_map(size)
        new[: len(old)] = old[:]
        return new
    return old
