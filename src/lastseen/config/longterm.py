"""Settings of long-term memory: what is written, how often, and how much is kept."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Longterm(Section):
    """The journal and its vector index."""

    upsert_period: float = setting(
        5.0, unit="s of frame time", low=0.0, why="the document: confirmed objects are written this often"
    )
    index: str = setting("faiss", why="the document: FAISS by default; a milvus:// address for many robots")
    store_crops: bool = setting(True, why="pictures make answers checkable; false where a home must stay private")
