"""One way to read messages from a ROS 1 bag, a ROS 2 folder (sqlite3 or MCAP) and a bare file, through rosbags.

What a broken container makes the reader raise becomes one clear error here.
"""

from __future__ import annotations

import importlib
import re
import struct
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from lastseen.errors import SourceError
from lastseen.sources.ros.messages import cdr_nanoseconds, require_rosbags, ros2_types
from lastseen.sources.ros.recover import MAGIC, RecoveredFile, has_header, is_cut_off

METADATA = "metadata.yaml"
_PART = re.compile(r"(?P<stem>.+)_(?P<number>\d+)")
_REMEDIES = {
    ".bag": "repair it with `rosbag reindex` or `rosbag filter`",
    ".mcap": "repair it with `mcap recover`",
    ".db3": "repair it with `sqlite3 FILE .recover`",
}
_BEGINNINGS = {".bag": b"#ROSBAG V2.0", ".mcap": MAGIC, ".db3": b"SQLite format 3\x00"}
_KINDS = {".bag": "ROS 1 bag", ".mcap": "MCAP file", ".db3": "SQLite database"}


@dataclass(frozen=True, slots=True)
class Raw:
    """A message before decoding."""

    topic: str
    type: str
    log_time: int
    data: bytes


class Container:
    """An open bag; messages come in the order they were recorded."""

    def __init__(self, path: Path) -> None:
        require_rosbags("reading a bag")
        from rosbags.highlevel import AnyReader

        self.path = path
        self.cut_off = False
        """Whether the recording has no end: it was read as far as it goes."""
        self.left_out: list[str] = []
        """Files of the recording that hold nothing which can be read."""
        try:
            self._reader = AnyReader(self._readable(), default_typestore=ros2_types())
            self._reader.open()
        except bag_errors() as error:
            if isinstance(error, SourceError):
                raise
            raise self._unreadable(error) from error
        self.ros1 = not self._reader.is2

    def topics(self) -> dict[str, tuple[str, int]]:
        """Message type and count by topic."""
        found: dict[str, tuple[str, int]] = {}
        for connection in self._reader.connections:
            count = found.get(connection.topic, ("", 0))[1] + int(connection.msgcount)
            found[connection.topic] = connection.msgtype, count
        return found

    def messages(self, topics: Collection[str]) -> Iterator[Raw]:
        """Raw messages of some topics; a container that breaks off raises ``SourceError`` there."""
        wanted = [one for one in self._reader.connections if one.topic in topics]
        if not wanted:
            return
        try:
            for connection, log_time, data in self._reader.messages(connections=wanted):
                yield Raw(connection.topic, connection.msgtype, log_time, data)
        except bag_errors() as error:
            raise self._unreadable(error) from error

    def decode(self, raw: Raw) -> Any:
        """The message; one that does not fit its type raises ``SourceError``."""
        try:
            return self._reader.deserialize(raw.data, raw.type)
        except bag_errors() as error:
            raise SourceError(
                raw.topic, raw.data, f"is no {raw.type} ({_words(error)})", remedy="the message is left out"
            ) from error

    def header_stamp(self, raw: Raw) -> int:
        """Nanoseconds in the header of a message that begins with one, without decoding it; 0 where it is cut."""
        if len(raw.data) < 12:
            return 0
        if self.ros1:
            seconds, rest = struct.unpack_from("<II", raw.data, 4)
            return int(seconds) * 10**9 + int(rest)
        return cdr_nanoseconds(raw.data)

    def close(self) -> None:
        """Release the files; may be called twice."""
        if self._reader.stack is not None:
            self._reader.close()

    def _readable(self) -> list[Any]:
        """What the reader opens: the path, or the files themselves where a recorder did not finish."""
        path = self.path
        unfinished = path.is_dir() and not (path / METADATA).exists()
        files = [path] if path.is_file() else _files_of_folder(path)
        blank = [file for file in files if _is_blank(file)]
        if len(blank) < len(files):
            # a recorder that lost power may have begun a file of which nothing reached the disk
            self.left_out = [file.name for file in blank]
            files = [file for file in files if file not in blank]
        for file in files:
            _check_beginning(file)
        cut = {file for file in files if file.suffix == ".mcap" and is_cut_off(file)}
        self.cut_off = bool(cut) or bool(self.left_out) or unfinished
        if not self.cut_off:
            return [path]
        # the files of a folder are in the order of time: each whole one and what is left of the last
        return [RecoveredFile(file) if file in cut else file for file in files]

    def _unreadable(self, error: BaseException) -> SourceError:
        remedy = _REMEDIES.get(self.path.suffix, "check metadata.yaml and the files beside it")
        return SourceError("bag", str(self.path), f"cannot be read ({_words(error)})", remedy=remedy)


def _files_of_folder(folder: Path) -> list[Path]:
    """The files of the one recording in a folder, in the order of time.

    They are those its metadata names, or the numbered parts of one name. A folder without metadata is either a
    recording whose recorder did not come to its end, or a place where somebody keeps recordings: the second is
    refused.
    """
    there = sorted(one for one in folder.iterdir() if one.suffix in {".mcap", ".db3"})
    if (folder / METADATA).exists():
        named = _named_files(folder / METADATA)
        return [file for file in there if file.name in named]
    if len(there) <= 1:
        return there
    parts = [(_PART.fullmatch(file.stem), file) for file in there]
    numbered = [(int(part["number"]), part["stem"] + file.suffix, file) for part, file in parts if part]
    if len(numbered) < len(there) or len({name for _, name, _ in numbered}) > 1:
        raise SourceError(
            "bag",
            str(folder),
            f"holds several recordings ({', '.join(file.name for file in there)}) and no {METADATA}",
            remedy="give one of the files",
        )
    return [file for _, _, file in sorted(numbered)]


def _named_files(metadata: Path) -> set[str]:
    """The names in the metadata; none where it cannot be read: the reader reports that."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        tree = YAML(typ="safe").load(metadata.read_text(encoding="utf-8"))
        return {PurePath(name).name for name in tree["rosbag2_bagfile_information"]["relative_file_paths"]}
    except (YAMLError, OSError, ValueError, LookupError, TypeError):
        return set()


def _is_blank(file: Path) -> bool:
    """Whether a file is what a recorder leaves that lost power as it began it: no whole header, or zeros."""
    with file.open("rb") as opened:
        first = opened.read(16)
    if not any(first):
        return True
    return file.suffix == ".mcap" and MAGIC.startswith(first[: len(MAGIC)]) and not has_header(file)


def _check_beginning(file: Path) -> None:
    """Refuse what only has the name of a recording, before the reader reports internals of the format."""
    with file.open("rb") as opened:
        first = opened.read(16)
    if not first:
        raise SourceError("bag", str(file), "has no bytes", remedy="the recorder was cut off: record again")
    wanted = _BEGINNINGS.get(file.suffix, b"")
    if not first.startswith(wanted[: len(first)]):
        kind = _KINDS[file.suffix]
        raise SourceError(
            "bag", str(file), f"is no {kind}: it does not begin like one", remedy="check how it was made"
        )


def bag_errors() -> tuple[type[BaseException], ...]:
    """All that rosbags raises when it meets bytes that are not what they should be."""
    import apsw
    from rosbags.highlevel.anyreader import AnyReaderError, ReaderErrors
    from rosbags.serde import SerdeError
    from rosbags.typesys import TypesysError

    # the same library, which the standard library has from 3.14 on
    zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    named = (AnyReaderError, *ReaderErrors, SerdeError, TypesysError, apsw.Error, zstd.ZstdError, struct.error)
    # it trusts lengths and ids of a file: a wrong one shows as any of these
    return (*named, OSError, ValueError, TypeError, LookupError, AssertionError, EOFError, *_UNPACKING)


_UNPACKING = (RuntimeError, ArithmeticError, MemoryError)


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
