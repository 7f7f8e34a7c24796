"""Writes the golden file of the current version: ``python -m tests.memory.longterm.journal.make_golden``.

A golden file is made once per version and then kept: it stands for the files that people already have.
"""

from __future__ import annotations

from pathlib import Path

from tests.memory.longterm.records import make_record

from lastseen.config import Settings
from lastseen.memory.longterm.journal import Batch, Journal
from lastseen.memory.longterm.journal.schema import newest
from lastseen.memory.longterm.records import EventRecord, SessionRecord


def main() -> None:
    """Write vN.lastseen; refuses to replace one."""
    path = Path(__file__).parent / f"v{newest()}.lastseen"
    if path.exists():
        raise SystemExit(f"{path} exists: a golden file is never made again")
    journal = Journal.open(path)
    journal.write(
        Batch(
            time=6.0,
            objects=[make_record(i) for i in range(5)],
            events=[EventRecord(1.0, "obj-0", "appeared")],
            session=SessionRecord(1, "robot", 0.0, None, 0.0, 6.0),
        ),
        settings=Settings(),
    )
    journal.close()


if __name__ == "__main__":
    main()
