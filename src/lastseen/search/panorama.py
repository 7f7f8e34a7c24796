"""The look around: its views as planners read them, and as one picture with each view labelled by its direction."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from lastseen.body import body_points, free_ahead
from lastseen.config import Settings
from lastseen.config.search import Panorama
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.images import encoded, read_color
from lastseen.memory.space.space import labels_of
from lastseen.search.planning.prompt import View, say_angle, whole_degrees
from lastseen.vlm.protocol import EncodedImage

_TILE_WIDTH = 256
"""Pixels: six across give 1,536 px: what models read in one go."""


class LookAround:
    """Collects views while the robot turns left; angles are from where it faces now, which is the last view."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._taken: list[tuple[Frame, Sequence[Detection]]] = []

    @property
    def complete(self) -> bool:
        """Whether every direction was looked at."""
        return len(self._taken) >= self.settings.panorama.views

    def clear(self) -> None:
        """Forget the views."""
        self._taken = []

    def add(self, frame: Frame, detections: Sequence[Detection]) -> None:
        """Take the view one turn further to the left."""
        self._taken.append((frame, detections))

    def views(self) -> list[View]:
        """Every view with its angle, in the order they were taken."""
        count = len(self._taken)
        return [
            view_of(frame, detections, self.settings, angle=_turned(index - count + 1, count))
            for index, (frame, detections) in enumerate(self._taken)
        ]

    def images(self) -> tuple[EncodedImage, ...]:
        """The pictures, straight ahead first, the others turning left."""
        ordered = [self._taken[-1], *self._taken[:-1]]
        return tuple(EncodedImage.from_rgb(frame.rgb) for frame, _ in ordered)


def view_of(frame: Frame, detections: Sequence[Detection], settings: Settings, *, angle: float = 0.0) -> View:
    """One view in a planner's words: each label once with its best score, and the free path ahead."""
    half = math.radians(180.0 / settings.panorama.views)
    return View(angle, tuple(labels_of(detections)), free_ahead(body_points(frame), settings.policy, half_angle=half))


def _turned(steps: int, count: int) -> float:
    """Degrees of a view this many turns to the left, in (-180, 180]."""
    degrees = (steps * 360.0 / count) % 360.0
    return degrees - 360.0 if degrees > 180.0 else degrees


_DEFAULTS = Panorama()
_BANNER = 22
_GAP = 4
_QUALITY = 85


def view_angles(count: int = _DEFAULTS.views) -> list[int]:
    """The directions of the views in the order they are taken: straight ahead first, then turning left.

    >>> view_angles(4)
    [0, 90, 180, -90]
    """
    return [whole_degrees(math.tau * index / count) for index in range(count)]


def stitch(images: Sequence[EncodedImage]) -> EncodedImage:
    """Put the views of a full turn in two rows that read from the left of the robot round to its back, with angles.

    The upper row goes from the far left to straight ahead, the lower one on to the right and round to the back.
    """
    if not images:
        raise InvalidValue("images", images, "are none", remedy="give the views of a look around")
    # left to right: +150 first, straight ahead in the middle, the back last
    ordered = sorted(
        zip(view_angles(len(images)), images, strict=True), key=lambda pair: 181 if pair[0] == 180 else -pair[0]
    )
    tiles = [_tile(angle, image) for angle, image in ordered]
    columns = math.ceil(len(tiles) / 2) if len(tiles) > 2 else len(tiles)
    rows = math.ceil(len(tiles) / columns)
    height = max(tile.height for tile in tiles)
    canvas = Image.new(
        "RGB",
        (columns * (_TILE_WIDTH + _GAP) - _GAP, rows * (height + _GAP) - _GAP),
        "black",
    )
    for index, tile in enumerate(tiles):
        row, column = divmod(index, columns)
        canvas.paste(tile, (column * (_TILE_WIDTH + _GAP), row * (height + _GAP)))
    return EncodedImage(encoded(canvas, "JPEG", quality=_QUALITY), "image/jpeg")


def _tile(angle: int, image: EncodedImage) -> Image.Image:
    width = _TILE_WIDTH
    picture = Image.fromarray(read_color(image.data, name=image.media_type))
    height = max(1, round(picture.height * width / picture.width))
    tile = Image.new("RGB", (width, height + _BANNER), "black")
    tile.paste(picture.resize((width, height), Image.Resampling.BILINEAR), (0, _BANNER))
    side = "ahead" if angle == 0 else "back" if angle == 180 else "left" if angle > 0 else "right"
    ImageDraw.Draw(tile).text(
        (width // 2, _BANNER // 2),
        f"{say_angle(angle)} ({side})",
        fill="yellow",
        font=ImageFont.load_default(size=15),
        anchor="mm",
    )
    return tile
