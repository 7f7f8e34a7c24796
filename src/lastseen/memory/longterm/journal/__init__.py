"""The journal: one SQLite file that is the truth about everything remembered."""

from lastseen.memory.longterm.journal.journal import Batch, Journal

__all__ = ["Batch", "Journal"]
