"""Settings of long-term memory: what is written, how often, and how much is kept; and of searching it."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Store(Section):
    """The journal and its vector index."""

    upsert_period: float = setting(
        5.0, unit="s of frame time", low=0.0, why="what changed is written this often; see docs/object-memory.md"
    )
    index: str = setting("faiss", why="faiss is local and needs no server; a milvus:// address for many robots")
    store_crops: bool = setting(True, why="pictures make answers checkable; false where a home must stay private")
    surface: bool = setting(
        True, why="a coloured surface makes a file look like the home, 3 MB at most; false where it must stay private"
    )
    keep_crops: int = setting(3, unit="pictures per object", low=1, why="front, side and best; about 30 KB an object")
    keep_versions: int = setting(
        200,
        unit="versions per object",
        low=1,
        why="a thing moved daily is traced for half a year; oldest out first",
    )
    keep_events: int = setting(
        1_000_000, unit="events", low=1, why="years of a home in some 100 MB; oldest out first"
    )
    robot: str = setting("robot", why="whose memory this is, where several robots share one index")


@dataclass(frozen=True, kw_only=True)
class Retention(Section):
    """How much history is kept: the oldest events, earlier positions, pictures and paths go, objects never do."""

    days: float = setting(
        0.0, unit="days of memory time, 0 for all", low=0.0, why="nothing is too old by itself; set it where it is"
    )
    bytes: int = setting(
        1_000_000_000,
        unit="bytes of history, 0 for all",
        low=0,
        why="years of a home, and no disk is filled by the past",
    )


@dataclass(frozen=True, kw_only=True)
class Find(Section):
    """When an answer deserves to be believed."""

    encoder: str = setting("lexicon", why="meaning without a download; 'wordllama' with the extra text")
    k: int = setting(5, unit="hits", low=1, why="how many hits an answer lists at most")
    clip_accept: float = setting(
        0.24, low=0.01, high=1.0, why="text against image in CLIP-like spaces, where true pairs lie near 0.3"
    )
    siglip_accept: float = setting(
        0.1, low=0.01, high=1.0, why="SigLIP's own sigmoid calls a text and an image a pair from about there on"
    )
