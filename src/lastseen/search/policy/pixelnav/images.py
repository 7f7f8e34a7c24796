"""A view as the network was trained to see it: a small square in BGR, and the goal pixel as a mask beside it.

The mask is drawn in the camera's own pixels and shrinks with the image, so a wide view gives a small mark.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.search.policy.goal_pixel import GoalPixel

_MASKED = 255


def network_image(rgb: NDArray[np.uint8], *, size: int) -> NDArray[np.uint8]:
    """An RGB image as the network takes it: size x size, channels swapped to BGR, 0 to 255."""
    return resized(rgb, size)[..., ::-1]


def goal_mask(frame: Frame, pixel: GoalPixel, *, side: int) -> NDArray[np.uint8]:
    """The colour image's pixels around the goal, 255 in a square of ``side`` pixels that the borders cut off.

    A goal pixel counts in the depth image; where colour has another size, it moves to the same place there.
    """
    rows, columns = frame.depth.shape
    if not (0 <= pixel.u < columns and 0 <= pixel.v < rows):
        raise InvalidValue(
            "goal_pixel",
            (pixel.u, pixel.v),
            f"lies outside the view of {columns} x {rows} pixels",
            remedy="choose it in the frame that was seen last",
        )
    height, width = frame.rgb.shape[:2]
    left = (2 * pixel.u + 1) * width // (2 * columns) - side // 2
    top = (2 * pixel.v + 1) * height // (2 * rows) - side // 2
    mask = np.zeros((height, width), dtype=np.uint8)
    mask[max(top, 0) : max(top + side, 0), max(left, 0) : max(left + side, 0)] = _MASKED
    return mask


def goal_image(frame: Frame, pixel: GoalPixel, *, size: int, mask_side: int) -> NDArray[np.uint8]:
    """The goal as the network takes it, (size, size, 4): the view in BGR and the goal mask."""
    mask = resized(goal_mask(frame, pixel, side=mask_side), size)
    return np.concatenate([network_image(frame.rgb, size=size), mask[..., None]], axis=-1)


def resized(image: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Stretch an image to size x size: bilinear between pixel middles, without smoothing before."""
    above, below, down = _between(image.shape[0], size)
    left, right, across = _between(image.shape[1], size)
    trailing = (1,) * (image.ndim - 2)
    down, across = down.reshape(size, 1, *trailing), across.reshape(size, *trailing)
    rows = image[above] * (1 - down) + image[below] * down
    stretched = rows[:, left] * (1 - across) + rows[:, right] * across
    return np.floor(stretched + np.float32(0.5)).astype(np.uint8)


def _between(old: int, new: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel the two old ones it lies between, and its share of the second."""
    place = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0.0, old - 1.0)
    first = np.floor(place).astype(np.int64)
    return first, np.minimum(first + 1, old - 1), (place - first).astype(np.float32)
