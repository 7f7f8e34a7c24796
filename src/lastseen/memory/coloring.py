"""The colours of objects from their pictures, for memories whose embeddings do not tell them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.color_shape import ColorShapeEncoder, color_shares
from lastseen.errors import SourceError
from lastseen.images import read_color

_log = logging.getLogger(__name__)
_NEW_SHARE = np.float32(0.5)
"""Weight of a new picture: they come seldom, each better than the last or from a new side."""


class Coloring:
    """Shares of the basic colours by object, averaged over its pictures."""

    def __init__(self, known: Mapping[str, NDArray[np.float32]]) -> None:
        self.shares: dict[str, NDArray[np.float32]] = dict(known)
        self._encoder = ColorShapeEncoder()

    def see(self, object_id: str, jpeg: bytes) -> None:
        """Learn from one more picture; one that cannot be read is told to the log and changes nothing."""
        try:
            pixels = read_color(jpeg)
        except SourceError as error:
            _log.warning("the picture of %s cannot be read (%s); its colour stays unknown", object_id, error)
            return
        seen = color_shares(self._encoder.encode_image([_middle(pixels)]))[0]
        old = self.shares.get(object_id)
        self.shares[object_id] = seen if old is None else old + (seen - old) * _NEW_SHARE

    def forget(self, object_id: str) -> None:
        """Drop what is known of an object."""
        self.shares.pop(object_id, None)


def _middle(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture with its corners masked out: what lies there is mostly background."""
    height, width = pixels.shape[:2]
    rows = (np.arange(height) - (height - 1) / 2.0)[:, None] / max(height * 0.4, 1.0)
    columns = (np.arange(width) - (width - 1) / 2.0)[None, :] / max(width * 0.4, 1.0)
    alpha = np.where(rows**2 + columns**2 <= 1.0, 255, 0).astype(np.uint8)
    return np.dstack([pixels, alpha])
