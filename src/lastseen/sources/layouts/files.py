"""Reading the files of a folder: images by number, tables and JSON; what is wrong with one is one line naming it."""

from __future__ import annotations

import io
import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, SourceError
from lastseen.images import MAX_PIXELS, image_size, read_depth, refuse_pointer
from lastseen.sources.layouts.exr import exr_size, read_exr
from lastseen.sources.record import Intake

MAX_TEXT = 64 * 2**20
"""Bytes of a text file at most: the poses of ten hours have as much."""

_UNITS = (
    ("nanoseconds", 1e9, 1e17, 1e6),
    ("microseconds", 1e6, 1e14, 2e3),
    ("milliseconds", 1e3, 1e11, 12.0),
)
"""Units of stamps: how many are a second, and the stamp and the median interval beyond which they are no larger ones.

Seconds since 1970 stay below 1e11, and a camera takes more than an image in 12 s."""

SINCE_1970 = 1e9
"""Seconds since 1970 from which stamps are of a wall clock: 2001."""

_NUMBER = re.compile(r"(\d+)(?!.*\d)")
IMAGES = (".png", ".jpg", ".jpeg")
DEPTHS = (".png", ".npy", ".tif", ".tiff", ".exr")


def numbered(
    folder: Path, suffixes: tuple[str, ...] = IMAGES, *, contains: str = "", without: str = ""
) -> dict[int, Path]:
    """The files of a folder by the last number in their names; a folder that is not there is an error."""
    if not folder.is_dir():
        raise SourceError(folder.name, str(folder), "is no folder", remedy="copy the recording whole")
    # macOS keeps what it knows about 0.jpg in a file ._0.jpg
    files = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".") and contains in path.name]
    files = [path for path in files if not (without and without in path.name)]
    found: dict[int, Path] = {}
    for path in files:
        number = _NUMBER.search(path.stem)
        if path.suffix.lower() not in suffixes or number is None:
            continue
        if int(number[1]) in found:
            names = f"{found[int(number[1])].name} and {path.name}"
            raise SourceError(
                folder.name, str(folder), f"holds two files of one number ({names})", remedy="number each file once"
            )
        found[int(number[1])] = path
    if not found:
        kinds = " or ".join(suffixes)
        what = f"holds no numbered {kinds} files" + (
            f" with {contains.strip('.')!r} in their names" if contains else ""
        )
        others = sorted({path.suffix for path in files if path.suffix} - set(suffixes))
        if not others:
            raise SourceError(folder.name, str(folder), what, remedy="copy it whole")
        remedy = (
            "store depth as 16-bit PNG, .npy, TIFF or EXR" if suffixes == DEPTHS else f"convert them to {suffixes[0]}"
        )
        raise SourceError(folder.name, str(folder), f"{what} but {', '.join(others[:3])}", remedy=remedy)
    return found


def in_order(name: str) -> list[str | int]:
    """What names are sorted by, so that frame 10 comes after frame 9 also where numbers have no leading zeros."""
    return [int(word) if at % 2 else word for at, word in enumerate(re.split(r"(\d+)", name))]


def part(folder: Path, *names: str) -> Path | None:
    """The first of some files or folders that is there, in whatever case its name is written."""
    there = _entries(folder)
    return next((there[name] for name in names if name in there), None)


class Stored:
    """Files that a list names, in the case and with the slashes that their names have on this disk."""

    def __init__(self) -> None:
        self._folders: dict[Path, dict[str, Path]] = {}

    def __call__(self, path: Path) -> Path:
        """The file as it is stored; the path as it is where there is none."""
        if "\\" in path.name:
            path = path.parent / path.name.replace("\\", "/")
        if path.exists():
            return path
        if path.parent not in self._folders:
            self._folders[path.parent] = _entries(path.parent)
        return self._folders[path.parent].get(path.name.lower(), path)


def _entries(folder: Path) -> dict[str, Path]:
    return {path.name.lower(): path for path in sorted(folder.iterdir())} if folder.is_dir() else {}


def seconds(stamps: NDArray[np.float64], name: str, intake: Intake) -> NDArray[np.float64]:
    """Stamps in seconds, where they are milli-, micro- or nanoseconds by their size or by how far they are apart."""
    apart = float(np.median(np.diff(np.sort(stamps)))) if len(stamps) > 2 else 0.0
    last = float(np.abs(stamps).max(initial=0.0))
    for unit, per_second, largest, interval in _UNITS:
        if unit == "milliseconds" and SINCE_1970 < last < largest:
            # images that are rarely taken
            continue
        if last > largest or apart > interval:
            intake.note(f"stamps of {name} are taken for {unit}")
            return stamps / per_second
    return stamps


def by_stamp(rows: NDArray[np.float64], name: str, intake: Intake) -> NDArray[np.float64]:
    """Rows in the order of their first number, the stamp; of several with one stamp the first counts."""
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    again = np.append(False, np.diff(rows[:, 0]) == 0)
    other = np.append(False, (np.diff(rows, axis=0) != 0).any(axis=1)) & again
    if other.any():
        first = float(rows[int(np.argmax(other)), 0])
        intake.note(
            f"{int(other.sum())} lines of {name} have the stamp of another one (first: {first:.6f}): it counts"
        )
    return rows[~again]


def nearest(files: dict[float, Path], stamp: float, *, within: float) -> float | None:
    """The stamp nearest to one, of files sorted by theirs; None where that is further than ``within`` seconds."""
    stamps = list(files)
    right = bisect_left(stamps, stamp)
    near = min(stamps[max(0, right - 1) : right + 1], key=lambda one: abs(one - stamp), default=None)
    return near if near is not None and abs(near - stamp) <= within else None


def by_number(
    colors: dict[int, Path], depths: dict[int, Path], intake: Intake
) -> list[tuple[int, Path, Path | None]]:
    """Number, colour and depth of each frame: of the same number, or where no numbers agree, of the same place."""
    same = colors.keys() & depths.keys()
    if 2 * len(same) >= min(len(colors), len(depths)):
        spare = sorted(depths.keys() - same)
        if spare:
            intake.note(f"{len(spare)} depth images have no colour image (first: {short(depths[spare[0]])})")
        return [(number, color, depths.get(number)) for number, color in sorted(colors.items())]
    if len(colors) != len(depths):
        first, other = next(iter(colors.values())), next(iter(depths.values()))
        raise SourceError(
            first.parent.name,
            f"{len(colors)} and {len(depths)} images",
            f"pair neither by number nor by count ({short(first)}, {short(other)})",
            remedy="give colour and depth of a frame the same number",
        )
    return list(zip(sorted(colors), colors.values(), depths.values(), strict=True))


@contextmanager
def values_of(name: str, value: object, *, remedy: str) -> Iterator[None]:
    """Around reading values out of a file: what is missing or no number becomes one line that names the file."""
    try:
        yield
    except InvalidValue:
        raise
    except KeyError as error:
        raise SourceError(name, value, f"has no {error}", remedy=remedy) from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise SourceError(name, value, f"holds a wrong value ({error})", remedy=remedy) from error


def read_text(path: Path) -> str:
    """The text of a file; one that is missing, too large or no text is an error that names it."""
    try:
        if path.stat().st_size > MAX_TEXT:
            raise SourceError(path.name, path.stat().st_size, f"exceeds {MAX_TEXT} bytes", remedy="check the file")
        refuse_pointer(path)
        # Windows writes a mark before the first word
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SourceError(path.name, str(path), "does not exist", remedy="copy the recording whole") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(path.name, str(path), f"cannot be read ({error})", remedy="check the file") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds."""
    try:
        tree = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(path.name, str(path), f"is no JSON ({error})", remedy="copy it again") from error
    if not isinstance(tree, dict):
        raise SourceError(path.name, str(path), "must hold an object", remedy="check how it was made")
    return tree


def read_numbers(path: Path, *, columns: int | None = None, text: str | None = None) -> NDArray[np.float64]:
    """Rows of numbers in a text file, without comments (#) and names of columns; a row of another length is an error.

    Windows writes -1.#IND where others write nan.
    """
    rows: list[list[float]] = []
    for number, line in enumerate((read_text(path) if text is None else text).splitlines(), start=1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith("#"):
            continue
        try:
            rows.append([float("nan" if "#" in word else word) for word in words])
        except ValueError:
            if not rows and number == 1 and not any(word[0].isdigit() for word in words):
                # the names of the columns
                continue
            raise SourceError(short(path), line[:60], f"line {number} holds no numbers", remedy="check it") from None
        wanted = columns or len(rows[0])
        if len(rows[-1]) != wanted:
            has = f"line {number} has {len(rows[-1])} numbers"
            has += f", not {wanted}" if columns else f" and the first one {wanted}"
            raise SourceError(short(path), line[:60], has, remedy="check it")
    if not rows:
        raise SourceError(path.name, str(path), "holds no numbers", remedy="copy it again")
    return np.array(rows)


def matrix(path: Path) -> NDArray[np.float64]:
    """The 4 x 4 (or 3 x 4, 3 x 3) matrix in a text file, as 4 x 4."""
    rows = read_numbers(path)
    if rows.shape not in {(4, 4), (3, 4), (3, 3)}:
        raise SourceError(short(path), str(path), f"is no 4 x 4 matrix but {rows.shape}", remedy="check it")
    whole = np.eye(4)
    whole[: rows.shape[0], : rows.shape[1]] = rows
    return whole


def read_array(data: Path | bytes, *, name: str, max_pixels: int) -> NDArray[np.generic]:
    """A plane (rows, columns) of numbers as numpy stores it; objects are never unpickled."""
    try:
        if isinstance(data, Path):
            refuse_pointer(data)
        with data.open("rb") if isinstance(data, Path) else io.BytesIO(data) as file:
            np.lib.format.read_magic(file)
            shape, _, kind = np.lib.format.read_array_header_1_0(file)
            if len(shape) != 2 or not 0 < shape[0] * shape[1] <= max_pixels or kind.kind not in "uif":
                raise ValueError(f"{shape} of {kind}")
            file.seek(0)
            return np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(name, "array", f"is no plane of numbers ({error})", remedy="store depth as PNG") from error


def read_plane(data: Path | bytes, path: Path, *, max_pixels: int) -> NDArray[np.generic]:
    """Raw values (rows, columns) of depth, in any of the forms that it is stored in, by how its name ends."""
    kind = path.suffix.lower()
    if kind == ".npy":
        return read_array(data, name=short(path), max_pixels=max_pixels)
    if kind == ".exr" and isinstance(data, Path):
        return read_exr(data, name=short(path), max_pixels=max_pixels)
    return read_depth(data, name=short(path), max_pixels=max_pixels)


def first_size(paths: dict[int, Path]) -> tuple[int, int]:
    """Width and height of the first image that can be read; the error of the first where none can."""
    problem: SourceError | None = None
    for path in paths.values():
        try:
            if path.suffix.lower() == ".npy":
                height, width = read_array(path, name=short(path), max_pixels=MAX_PIXELS).shape
                return width, height
            if path.suffix.lower() == ".exr":
                return exr_size(path, name=short(path))
            return image_size(path, name=short(path))
        except SourceError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def short(path: Path) -> str:
    """A file by its folder and name, as messages name it."""
    return f"{path.parent.name}/{path.name}"
