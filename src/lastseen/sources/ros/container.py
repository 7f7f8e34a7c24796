"""One interface to the messages of a ROS 1 bag, a ROS 2 folder (sqlite3 or MCAP) and a bare file.

MCAP is read by ``mcap``, the others by rosbags. What a broken container makes a reader raise becomes one clear error
here; a topic whose message type cannot be understood is left out and counted, the others are read.
"""

from __future__ import annotations

import functools
import re
import struct
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Protocol

from lastseen.errors import SourceError
from lastseen.images import refuse_pointer
from lastseen.sources.ros.mcap import MAGIC, Connection, McapFile, has_header
from lastseen.sources.ros.messages import cdr_nanoseconds, require_rosbags, ros1_types, ros2_types
from lastseen.sources.ros.unpacking import BROKEN, MAX_RECORD, unpack, unpack_file, zstd

METADATA = "metadata.yaml"
_PART = re.compile(r"(?P<stem>.+)_(?P<number>\d+)")
_REMEDIES = {
    ".bag": "repair it with `rosbag reindex` or `rosbag filter`",
    ".mcap": "repair it with `mcap recover`",
    ".db3": "repair it with `sqlite3 FILE .recover`",
}
_BEGINNINGS = {".bag": b"#ROSBAG V2.0", ".mcap": MAGIC, ".db3": b"SQLite format 3\x00"}
_KINDS = {".bag": "ROS 1 bag", ".mcap": "MCAP file", ".db3": "SQLite database"}
_IDL_PART = "=" * 80 + "\n"


@dataclass(frozen=True, slots=True)
class Raw:
    """A message before decoding."""

    topic: str
    type: str
    log_time: int
    data: bytes


class Part(Protocol):
    """One file of a recording."""

    connections: list[Connection]

    def messages(self, numbers: set[int]) -> Iterator[tuple[int, int, bytes]]:
        """Log time (ns), connection and data by log time."""

    def close(self) -> None:
        """Release the file."""


class _Rosbags:
    """A ROS 1 bag or an sqlite3 file as a part, through rosbags."""

    def __init__(self, path: Path) -> None:
        from rosbags.rosbag2.storage_sqlite3 import Sqlite3Reader

        self._reader: Any = _ros1_reader(path) if path.suffix == ".bag" else Sqlite3Reader(path)
        self._reader.open()
        if path.suffix != ".bag":
            import apsw

            # a table may make up values of any length
            connection: Any = self._reader.dbconn
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_RECORD)
        encodings = {"MSG": "ros2msg", "IDL": "ros2idl"}
        self.connections = [
            Connection(
                one.id,
                one.topic,
                one.msgtype,
                encodings.get(one.msgdef.format.name, ""),
                one.msgdef.data,
                one.msgcount,
            )
            for one in self._reader.connections
        ]

    def messages(self, numbers: set[int]) -> Iterator[tuple[int, int, bytes]]:
        wanted = [one for one in self._reader.connections if one.id in numbers]
        if wanted:
            for connection, log_time, data in self._reader.messages(connections=wanted):
                yield log_time, connection.id, data

    def close(self) -> None:
        self._reader.close()


def _ros1_reader(path: Path) -> Any:
    """A reader of rosbags for a ROS 1 bag, with limits: the library unpacks whatever comes and trusts every count."""
    from rosbags.rosbag1 import Reader
    from rosbags.rosbag1.reader import decompressors

    packings = {function: name for name, function in decompressors.items()}
    most = path.stat().st_size // 12  # an entry of an index has 12 bytes; one index may be named many times

    class Limited(Reader):
        def read_chunk(self) -> Any:
            chunk = super().read_chunk()
            packing = packings[chunk.decompressor]
            return chunk._replace(decompressor=functools.partial(unpack, compression=packing))

        def read_index_data(self, pos: int, indexes: Any) -> None:
            super().read_index_data(pos, indexes)
            if sum(map(len, indexes.values())) > most:
                raise SourceError("bag index", pos, "names more messages than the file holds", remedy="reindex it")

    return Limited(path)


class Container:
    """An open bag; messages come in the order they were recorded."""

    def __init__(self, path: Path) -> None:
        require_rosbags("reading a bag")
        self.path = path
        self.ros1 = path.suffix == ".bag"
        self.cut_off = False
        """Whether the recording has no end: it was read as far as it goes."""
        self.left_out: list[str] = []
        """Files of the recording that hold nothing which can be read, and topics of types nobody can parse."""
        self._stack = ExitStack()
        self._packed_messages = False
        try:
            self._parts = [self._opened(file) for file in self._files()]
            self._types = self._read_types()
        except bag_errors() as error:
            self.close()
            if isinstance(error, SourceError):
                raise
            raise self._unreadable(error) from error

    def topics(self) -> dict[str, tuple[str, int]]:
        """Message type and count by topic."""
        found: dict[str, tuple[str, int]] = {}
        for part in self._parts:
            for one in part.connections:
                found[one.topic] = one.type, found.get(one.topic, ("", 0))[1] + one.count
        return found

    def messages(self, topics: Collection[str]) -> Iterator[Raw]:
        """Raw messages of some topics; a container that breaks off raises ``SourceError`` there."""
        try:
            for part in self._parts:
                known = {one.number: one for one in part.connections if one.topic in topics}
                for log_time, number, data in part.messages(set(known)) if known else ():
                    whole = unpack(data, "zstd") if self._packed_messages else data
                    yield Raw(known[number].topic, known[number].type, log_time, whole)
        except bag_errors() as error:
            raise self._unreadable(error) from error

    def decode(self, raw: Raw) -> Any:
        """The message; one that does not fit its type raises ``SourceError``."""
        try:
            if self.ros1:
                return self._types.deserialize_ros1(raw.data, raw.type)
            return self._types.deserialize_cdr(raw.data, raw.type)
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
        self._stack.close()

    def _opened(self, file: Path) -> Part:
        part: Part
        if file.suffix == ".mcap":
            part = mcap = McapFile(file)
            self.cut_off |= mcap.cut_off
        else:
            part = _Rosbags(file)
        self._stack.callback(part.close)
        return part

    def _files(self) -> list[Path]:
        """The files of the recording in the order of time, without those of which nothing reached the disk."""
        path = self.path
        unfinished = path.is_dir() and not (path / METADATA).exists()
        files = [path] if path.is_file() else self._files_of_folder()
        blank = [file for file in files if _is_blank(file)]
        if len(blank) < len(files):
            # a recorder that lost power may have begun a file of which nothing reached the disk
            self.left_out = [file.name for file in blank]
            files = [file for file in files if file not in blank]
        for file in files:
            _check_beginning(file)
        self.cut_off = bool(self.left_out) or unfinished
        return files

    def _files_of_folder(self) -> list[Path]:
        metadata = self.path / METADATA
        if not metadata.exists():
            return _numbered_files(self.path)
        tree = _read_metadata(metadata)
        files = [self.path / PurePath(name).name for name in tree["relative_file_paths"]]
        missing = [file.name for file in files if not file.is_file()]
        if missing or not files:
            raise SourceError(
                METADATA, ", ".join(missing) or "no file", "is not there", remedy="copy the whole folder"
            )
        mode = str(tree.get("compression_mode") or "").lower()
        packing = tree.get("compression_format") or ""
        if mode in {"file", "message"} and packing != "zstd":
            raise SourceError("compression_format", packing, "is not read here", remedy="convert it with `ros2 bag`")
        self._packed_messages = mode == "message"
        if mode == "file":
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
            for file in files:
                unpack_file(file, folder / file.stem)
            files = [folder / file.stem for file in files]
        unknown = [file.name for file in files if file.suffix not in _KINDS]
        if unknown:
            raise SourceError(METADATA, unknown[0], "is no file of a known storage", remedy="use sqlite3 or MCAP")
        return files

    def _read_types(self) -> Any:
        """The message types of the recording; a topic whose type cannot be parsed is left out and noted."""
        from rosbags.typesys import Stores, get_typestore

        connections = [one for part in self._parts for one in part.connections]
        if not any(one.encoding for one in connections):
            # recorders of old wrote no definitions: the standard ones hold
            return ros1_types() if self.ros1 else ros2_types()
        found: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for one in connections:
            try:
                found.update(_parse(one))
            except bag_errors() as error:
                wrong[one.topic] = f"{one.topic} ({one.type}: {_words(error)[:60]})"
        for part in self._parts:
            part.connections = [one for one in part.connections if one.topic not in wrong]
        self.left_out += [f"topic {text}" for _, text in sorted(wrong.items())]
        store = get_typestore(Stores.EMPTY)
        store.register(found)
        return store

    def _unreadable(self, error: BaseException) -> SourceError:
        remedy = _REMEDIES.get(self.path.suffix, "check metadata.yaml and the files beside it")
        return SourceError("bag", str(self.path), f"cannot be read ({_words(error)})", remedy=remedy)


def _parse(one: Connection) -> dict[str, Any]:
    """The types that a connection's definition describes."""
    from rosbags.typesys import get_types_from_idl, get_types_from_msg

    if one.encoding == "ros2msg":
        return dict(get_types_from_msg(one.definition, one.type))
    if one.encoding in {"ros2idl", "omgidl"}:
        parts = one.definition.split(_IDL_PART)[1:] if one.definition.startswith(f"{_IDL_PART}IDL: ") else []
        texts = [part.partition("\n")[2] for part in parts] or [one.definition]
        return {name: fields for text in texts for name, fields in get_types_from_idl(text).items()}
    raise ValueError(f"its encoding is {one.encoding or 'not given'}")


def _numbered_files(folder: Path) -> list[Path]:
    """The files of the one recording in a folder without metadata, in the order of time.

    They are the numbered parts of one name, from a recorder that did not come to its end. A folder in which somebody
    keeps several recordings is refused.
    """
    there = sorted(one for one in folder.iterdir() if one.suffix in {".mcap", ".db3"})
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


def _read_metadata(path: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        if path.stat().st_size > MAX_RECORD:
            raise ValueError("it is too large")
        tree = YAML(typ="safe").load(path.read_text(encoding="utf-8"))["rosbag2_bagfile_information"]
        if not isinstance(tree, dict) or not isinstance(tree.get("relative_file_paths"), list):
            raise TypeError("it names no files")
        return tree
    except (YAMLError, OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise SourceError(
            "bag", str(path), f"cannot be read ({_words(error)})", remedy="delete it: the files are read without it"
        ) from error


def _is_blank(file: Path) -> bool:
    """Whether a file is what a recorder leaves that lost power as it began it: no whole header, or zeros."""
    with file.open("rb") as opened:
        first = opened.read(16)
    if not any(first):
        return True
    return file.suffix == ".mcap" and MAGIC.startswith(first[: len(MAGIC)]) and not has_header(file)


def _check_beginning(file: Path) -> None:
    """Refuse what only has the name of a recording, before a reader reports internals of the format."""
    with file.open("rb") as opened:
        first = opened.read(32)
    if not first:
        raise SourceError("bag", str(file), "has no bytes", remedy="the recorder was cut off: record again")
    refuse_pointer(file)
    wanted = _BEGINNINGS.get(file.suffix, b"")
    if not first.startswith(wanted[: len(first)]):
        kind = _KINDS[file.suffix]
        raise SourceError(
            "bag", str(file), f"is no {kind}: it does not begin like one", remedy="check how it was made"
        )


def bag_errors() -> tuple[type[BaseException], ...]:
    """All that readers raise when they meet bytes that are not what they should be."""
    import apsw
    from rosbags.rosbag1 import ReaderError as BagError
    from rosbags.rosbag2 import ReaderError
    from rosbags.serde import SerdeError
    from rosbags.typesys import TypesysError

    named = (BagError, ReaderError, SerdeError, TypesysError, apsw.Error, zstd().ZstdError, struct.error)
    # rosbags trusts lengths and ids of a file: a wrong one shows as any of these
    return (*named, *BROKEN, AssertionError, ArithmeticError, RecursionError)


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__
