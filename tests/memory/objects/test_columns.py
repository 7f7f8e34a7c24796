from __future__ import annotations

import numpy as np
import pytest

from lastseen.errors import InvalidValue
from lastseen.memory.objects.columns import Columns


def table() -> Columns:
    columns = Columns(4)
    columns.add("place", np.float64, (3,))
    columns.column("place")[:] = np.arange(12).reshape(4, 3)
    return columns


def test_growing_keeps_rows_and_adds_zeros() -> None:
    columns = table()
    columns.grow(10_000)
    assert columns.column("place").shape == (10_000, 3)
    assert columns.column("place")[:4].ravel().tolist() == list(range(12))
    assert not columns.column("place")[4:].any()


def test_growing_while_a_view_is_held_leaves_the_view_as_it_was() -> None:
    columns = table()
    view = columns.column("place")
    columns.grow(64)
    assert view.ravel().tolist() == list(range(12)) == columns.column("place")[:4].ravel().tolist()


def test_a_table_does_not_shrink() -> None:
    columns = table()
    columns.grow(1)
    assert columns.capacity == 4


def test_a_column_is_added_once() -> None:
    with pytest.raises(InvalidValue, match="exists"):
        table().add("place", np.float32)
