from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lastseen.errors import SourceError
from lastseen.images import read_color, read_depth

FORMATS = ("EPS", "BMP", "GIF", "TIFF", "PPM", "WEBP", "ICO")


def encoded(form: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 6)).save(out, form)
    return out.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_other_formats_are_refused_by_their_first_bytes(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a decoder was asked")

    data = encoded(form)
    monkeypatch.setattr(Image, "open", never)
    with pytest.raises(SourceError, match="no JPEG or PNG"):
        read_color(data)


def test_first_bytes_of_a_png_do_not_let_another_format_in() -> None:
    with pytest.raises(SourceError, match="cannot be decoded"):
        read_color(b"\x89PNG\r\n\x1a\n" + encoded("EPS"))


def test_too_many_pixels_are_refused_before_they_are_decoded() -> None:
    with pytest.raises(SourceError, match=r"8x6.*exceeds 47 pixels"):
        read_color(encoded("PNG"), max_pixels=47)


def test_a_git_lfs_pointer_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(SourceError, match="Git LFS pointer"):
        read_depth(path)


def test_depth_keeps_its_sixteen_bits() -> None:
    out = io.BytesIO()
    Image.fromarray(np.full((6, 8), 60_000, dtype=np.uint16)).save(out, "PNG")
    assert read_depth(out.getvalue()).max() == 60_000


def test_depth_in_pgm_is_read_and_its_faults_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "frame.depth.pgm"
    values = np.arange(12, dtype=np.uint16).reshape(3, 4) * 400
    file.write_bytes(b"P5 # by hand\n4 3\n65535\n" + values.astype(">u2").tobytes())
    assert (read_depth(file) == values).all()
    with pytest.raises(SourceError, match=r"4x3.*exceeds 11 pixels"):
        read_depth(file, max_pixels=11)
    file.write_bytes(file.read_bytes()[:-2])
    with pytest.raises(SourceError, match="it is cut off"):
        read_depth(file)
    file.write_bytes(b"P2\n1 1\n1\n1")
    with pytest.raises(SourceError, match="no JPEG or PNG"):
        read_depth(file)


def test_no_other_module_decodes_images() -> None:
    folder = Path(__file__).parent.parent / "src" / "lastseen"
    opening = re.compile(r"Image\.open\(|imdecode|imread|ImageFile\.")
    found = [str(path) for path in folder.rglob("*.py") if opening.search(path.read_text(encoding="utf-8"))]
    assert [Path(path).name for path in found] == ["images.py"]
