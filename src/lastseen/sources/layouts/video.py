"""Pictures of a video file, in numbers and with their seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError, needs_extra
from lastseen.images import refuse_pointer

_FORMATS = "mov,mp4,matroska,avi"


class Video:
    """A video file, decoded from the start as pictures are wanted."""

    def __init__(self, path: Path, *, max_pixels: int) -> None:
        with needs_extra("a recording with a video", extra="video"):
            import av
        self._av = av
        self.path, self._max_pixels = path, max_pixels
        with self._opened() as container:
            stream = container.streams.video[0]
            self.size = (int(stream.codec_context.width), int(stream.codec_context.height))
        if not 0 < self.size[0] * self.size[1] <= max_pixels:
            raise SourceError(
                path.name,
                f"{self.size[0]}x{self.size[1]}",
                f"must be 1 to {max_pixels} pixels",
                remedy="raise max_pixels",
            )

    def stamps(self) -> list[float]:
        """Seconds of every picture from the start, without decoding them."""
        with self._opened() as container:
            stream = container.streams.video[0]
            times = sorted(packet.pts for packet in container.demux(stream) if packet.pts is not None)
            return [float(time * stream.time_base) for time in times]

    def pictures(self, wanted: Callable[[int], bool]) -> Iterator[NDArray[np.uint8]]:
        """RGB of the pictures that are wanted, by number."""
        with self._opened() as container:
            try:
                for number, frame in enumerate(container.decode(video=0)):
                    if wanted(number):
                        if frame.width * frame.height > self._max_pixels:
                            raise SourceError(self.path.name, number, "changes its size", remedy="encode it again")
                        yield np.ascontiguousarray(frame.to_ndarray(format="rgb24"))
            except self._av.FFmpegError as error:
                raise SourceError(
                    self.path.name, str(self.path), f"breaks off ({error})", remedy="encode it again"
                ) from error

    def _opened(self) -> "av.container.InputContainer":  # type: ignore[name-defined] # noqa: F821, UP037
        refuse_pointer(self.path)
        try:
            container = self._av.open(str(self.path), options={"format_whitelist": _FORMATS})
        except (self._av.FFmpegError, OSError) as error:
            raise SourceError(
                self.path.name, str(self.path), f"is no video ({error})", remedy="use mp4, mkv, mov or avi"
            ) from error
        if not container.streams.video:
            container.close()
            raise SourceError(self.path.name, str(self.path), "has no picture", remedy="use mp4, mkv, mov or avi")
        return container
