"""The journal: one SQLite file that is the truth about everything remembered."""

from lastseen.memory.store.journal.journal import Batch, Journal
from lastseen.memory.store.journal.reading import Block

__all__ = ["Batch", "Block", "Journal"]
