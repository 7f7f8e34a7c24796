"""What all sources of raw records share: the door, the numbering of frames, the count of what was left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.protocols import Detector
from lastseen.sources.door import to_frame
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, RawRecord, Trajectory


class RecordSource(ABC):
    """A source that yields raw records; ``frames`` takes each through the door and survives the bad ones.

    ``intake`` counts what came and what was skipped, by reason, since the last call of ``records`` or ``frames``.
    """

    live = False
    """Whether the stream goes on while it is read: then old frames may be dropped, and it has no length."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        self.address = address
        self.options = options or SourceOptions()
        self.intake = Intake()

    @abstractmethod
    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Yield raw records by stamp; unreadable ones are counted in ``intake``.

        ``wanted`` picks records by their number in the stream, so that a sample need not decode every image.
        """

    def frames(self) -> Iterator[Frame]:
        """Yield frames in our conventions, numbered in the order of their stamps."""
        number = 0
        last_stamp: float | None = None
        for record in self.records():
            if last_stamp is not None and record.stamp < last_stamp:
                self.intake.skip("stamp goes backwards", f"{record.stamp:.6f} after {last_stamp:.6f}")
                continue
            try:
                frame = to_frame(record, self.options, frame_id=number)
            except InvalidValue as error:
                self.intake.skip(f"unfit {error.field}", f"stamp {record.stamp:.6f}: {error}")
                continue
            last_stamp = record.stamp
            number += 1
            self.intake.frames = number
            yield frame

    def length(self) -> int | None:
        """How many frames are expected; None where that is unknown."""
        return None

    def trajectory(self) -> Trajectory | None:
        """All stored poses, where the source has them apart from the images."""
        return None

    def detector(self) -> Detector | None:
        """Detections that came with the recording, as a detector; None without any."""
        return None

    def close(self) -> None:
        """Release files and sockets; may be called twice."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
