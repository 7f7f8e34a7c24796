"""Depth in EXR files, written by an encoder that knows nothing of this decoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import SourceError
from lastseen.sources.layouts.exr import exr_size, read_exr
from tests.sources.layouts import write_exr

pytest.importorskip("av")

PLANE = np.random.default_rng(0).uniform(0.3, 6.0, (37, 21)).astype(np.float32)
PLANE[5:20] = 2.5


def read(path: Path, *, max_pixels: int = 10_000) -> np.ndarray:
    return read_exr(path, name="depth/a.exr", max_pixels=max_pixels)


@pytest.mark.parametrize("packing", ["none", "rle", "zip1", "zip16"])
def test_floats_come_back_from_every_packing(tmp_path: Path, packing: str) -> None:
    write_exr(tmp_path / "a.exr", PLANE, packing=packing)
    assert exr_size(tmp_path / "a.exr", name="a") == (21, 37)
    np.testing.assert_array_equal(read(tmp_path / "a.exr"), PLANE)


def test_a_ray_that_met_nothing_is_no_depth(tmp_path: Path) -> None:
    plane = PLANE.copy()
    plane[0, :3] = np.inf, np.nan, 1e10
    write_exr(tmp_path / "a.exr", plane)
    assert np.isnan(read(tmp_path / "a.exr")).sum() == 3


def test_too_many_pixels_are_refused(tmp_path: Path) -> None:
    write_exr(tmp_path / "a.exr", PLANE)
    with pytest.raises(SourceError, match=r"21x37.*exceeds 700 pixels"):
        read(tmp_path / "a.exr", max_pixels=700)


def test_a_packing_that_is_not_read_says_what_to_store(tmp_path: Path) -> None:
    write_exr(tmp_path / "a.exr", PLANE)
    data = (tmp_path / "a.exr").read_bytes()
    at = data.index(b"compression\0compression\0") + len(b"compression\0compression\0") + 4
    (tmp_path / "a.exr").write_bytes(data[:at] + b"\x04" + data[at + 1 :])
    with pytest.raises(SourceError, match=r"compression 4.*is none of none, RLE, ZIPS, ZIP; store depth as"):
        read(tmp_path / "a.exr")


@pytest.mark.parametrize("packing", ["none", "rle", "zip16"])
def test_broken_files_are_planes_or_one_line(tmp_path: Path, packing: str, soak: int) -> None:
    write_exr(tmp_path / "a.exr", PLANE, packing=packing)
    data, rng, said = (tmp_path / "a.exr").read_bytes(), np.random.default_rng(1), list[str]()
    for _ in range(150 * soak):
        changed = bytearray(data)
        for place in rng.integers(0, len(data), 6).tolist():
            changed[int(rng.choice([place, place % 400]))] = int(rng.integers(256))
        (tmp_path / "a.exr").write_bytes(changed[: int(rng.integers(1, len(data))) if rng.random() < 0.3 else None])
        try:
            assert read(tmp_path / "a.exr").ndim == 2
        except SourceError as error:
            said.append(str(error))
    assert said
    assert not [line for line in said if "\n" in line]
