"""Where frames come from: recordings, live cameras, the simulator, all behind ``open_source(address)``."""

from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.sources.base import RecordSource as RecordSource
    from lastseen.sources.options import SourceOptions as SourceOptions
    from lastseen.sources.record import RawRecord as RawRecord
    from lastseen.sources.registry import open_source as open_source

__all__ = ["RawRecord", "RecordSource", "SourceOptions", "open_source"]

__getattr__ = lazy_exports(
    __name__,
    {
        "RawRecord": "lastseen.sources.record",
        "RecordSource": "lastseen.sources.base",
        "SourceOptions": "lastseen.sources.options",
        "open_source": "lastseen.sources.registry",
    },
)
