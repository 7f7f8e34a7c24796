"""The journal: one SQLite file that is the truth about everything remembered."""

from lastseen.memory.store.journal.journal import Journal
from lastseen.memory.store.journal.reading import Block
from lastseen.memory.store.journal.rows import Batch

__all__ = ["Batch", "Block", "Journal"]
