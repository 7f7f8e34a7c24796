"""The files of sessions beside a memory's: a session in quarantine taken in, and that undone.

home.session-7.lastseen is a session that was kept apart, home.before-session-7.lastseen the memory before that was
aligned, home.undone-session-7.lastseen the memory as it was when that was undone. See docs/alignment.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from lastseen.errors import InvalidValue
from lastseen.memory.alignment import Alignment, FrameTransform, align, landmarks_of
from lastseen.memory.merging import Merged, take_in
from lastseen.memory.session_frames import SessionFrame, covariance_of
from lastseen.memory.store.salvage import backup
from lastseen.memory.write_path import WritePath


def join(home: WritePath, apart: WritePath, frame: SessionFrame, found: Alignment) -> Merged:
    """Take the memory of a session into the one it is a session of; the file from before is kept beside it."""
    best, path = found.candidates[0], home.store.journal.path
    before = None
    if path is not None:
        before = beside(path, f"before-session-{frame.session}")
        drop_undo(path)
        backup(path, before)
    offset = home.clock.sessions[frame.session - 1].clock_offset
    later = offset - (apart.clock.sessions[0].clock_offset if apart.clock.sessions else offset)
    merged = take_in(home, apart, best.transform, best.pairs, later=later)
    home.frames.put(
        frame.becomes(
            "aligned",
            time=home.clock.now,
            reason=found.reason,
            transform=(frame.transform or FrameTransform()).then(best.transform),
            covariance=covariance_of(best.deviations),
            evidence=round(best.score, 3),
            pairs=tuple(merged.matched),
            before=None if before is None else before.name,
        )
    )
    return merged


def align_session(path: Path, session: int, open_writes: Callable[[Path], WritePath]) -> Merged:
    """Try again to align a session in quarantine, now that the memory or the session holds more.

    Raises:
        InvalidValue: The session is not in quarantine, its file is gone, or it still cannot be aligned.
    """
    with open_writes(path) as home:
        frame = home.frames.of(session)
        if frame.state != "quarantined" or session > len(home.clock.sessions):
            problem = f"is {frame.state}" if session <= len(home.clock.sessions) else "is not there"
            raise InvalidValue("session", session, problem, remedy="`lastseen sessions` lists those in quarantine")
        file = path.with_name(frame.file or "")
        if frame.file is None or not file.is_file():
            raise InvalidValue("session", session, f"has no file {file}", remedy="put it beside the memory again")
        with open_writes(file) as apart:
            found = align(landmarks_of(apart.objects, apart.space), landmarks_of(home.objects, home.space))
            if found.status != "aligned":
                status = found.status.replace("_", " ")
                raise InvalidValue("session", session, f"is {status}: {found.reason}", remedy="look around more")
            return join(home, apart, frame, found)


def undo_alignment(path: Path, session: int, open_writes: Callable[[Path], WritePath]) -> Path:
    """Undo the alignment of a session: the file from before it is put back, and the session is in quarantine again.

    Returns where the file is kept as it was until now: nothing is deleted.

    Raises:
        InvalidValue: The session is not aligned, a later one came after it, or the file from before is gone.
    """
    with open_writes(path) as home:
        frame = home.frames.of(session)
        last = home.clock.sessions[-1].id if home.clock.sessions else 0
    if frame.state != "aligned":
        raise InvalidValue(
            "session", session, f"is {frame.state}", remedy="`lastseen sessions` lists what is aligned"
        )
    before = beside(path, f"before-session-{session}")
    if not before.exists():
        raise InvalidValue(
            "session", session, f"cannot be undone: {before} is gone", remedy="forgetting and later alignments end it"
        )
    if last != session:
        raise InvalidValue(
            "session", session, f"is not the newest: {last} came after it", remedy=f"{before} is the memory before it"
        )
    if path.with_name(f"{path.name}-wal").exists():
        # it would be taken for the WAL of the file that is put back
        raise InvalidValue("session", session, "cannot be undone while the file is read", remedy="close it first")
    kept = free_name(path, f"undone-session-{session}")
    backup(path, kept)
    # in one step: whatever happens, a whole memory has this name
    before.replace(path)
    with open_writes(path) as home:
        was = home.frames.of(session)
        reason = "its alignment was undone"
        home.frames.put(was.becomes("quarantined", time=home.clock.now, reason=reason, before=None))
    return kept


def beside(path: Path, what: str) -> Path:
    """The file of a session beside a memory's: home.lastseen has home.session-7.lastseen."""
    return path.with_name(f"{path.stem}.{what}{path.suffix}")


def free_name(path: Path, what: str) -> Path:
    """The same, numbered where a run that was cut off left one."""
    file, number = beside(path, what), 2
    while file.exists():
        file, number = beside(path, f"{what}-{number}"), number + 1
    return file


def drop_undo(path: Path) -> None:
    """Delete the copy from before an earlier alignment: only the newest can be undone."""
    for file in path.parent.glob(f"{_escaped(path.stem)}.before-session-*{_escaped(path.suffix)}"):
        file.unlink(missing_ok=True)


def drop_copies(path: Path, frames: Iterable[SessionFrame]) -> None:
    """Delete every file beside a memory that holds what it holds too: what is forgotten would stay in them.

    A session in quarantine is a memory of its own and is kept.
    """
    drop_undo(path)
    copies = [path.with_name(frame.file) for frame in frames if frame.state == "aligned" and frame.file is not None]
    stem, suffix = _escaped(path.stem), _escaped(path.suffix)
    copies += path.parent.glob(f"{stem}.undone-session-*{suffix}")
    # what an alignment left that was killed as it copied
    copies += path.parent.glob(f".{stem}.before-session-*{suffix}.*.part*")
    for file in copies:
        file.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
