"""The look around as one picture: the views side by side, each labelled with its direction."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from lastseen.config.seeking import Panorama
from lastseen.errors import InvalidValue
from lastseen.images import read_color
from lastseen.search.planning.directions import say_angle, whole_degrees
from lastseen.vlm.protocol import EncodedImage

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


def stitch(
    images: Sequence[EncodedImage], *, angles: Sequence[float] | None = None, settings: Panorama = _DEFAULTS
) -> EncodedImage:
    """Put the views in two rows that read from the left of the robot round to its back, angles above them.

    The upper row goes from the far left to straight ahead, the lower one on to the right and round to the back.
    """
    if not images:
        raise InvalidValue("images", images, "are none", remedy="give the views of a look around")
    directions = list(angles) if angles is not None else [float(angle) for angle in view_angles(len(images))]
    if len(directions) != len(images):
        raise InvalidValue("angles", directions, f"are not {len(images)}", remedy="give one angle per image")
    ordered = sorted(zip(directions, images, strict=True), key=lambda pair: _reading_order(pair[0]))
    tiles = [_tile(angle, image, settings.tile_width) for angle, image in ordered]
    columns = math.ceil(len(tiles) / 2) if len(tiles) > 2 else len(tiles)
    rows = math.ceil(len(tiles) / columns)
    height = max(tile.height for tile in tiles)
    canvas = Image.new(
        "RGB",
        (columns * (settings.tile_width + _GAP) - _GAP, rows * (height + _GAP) - _GAP),
        "black",
    )
    for index, tile in enumerate(tiles):
        row, column = divmod(index, columns)
        canvas.paste(tile, (column * (settings.tile_width + _GAP), row * (height + _GAP)))
    buffer = io.BytesIO()
    canvas.save(buffer, format="JPEG", quality=_QUALITY)
    return EncodedImage(buffer.getvalue(), "image/jpeg")


def _reading_order(angle: float) -> float:
    """Left to right: +150 first, straight ahead in the middle, the back last."""
    return 181.0 if angle >= 180.0 else -angle


def _tile(angle: float, image: EncodedImage, width: int) -> Image.Image:
    picture = Image.fromarray(read_color(image.data, name=image.media_type))
    height = max(1, round(picture.height * width / picture.width))
    tile = Image.new("RGB", (width, height + _BANNER), "black")
    tile.paste(picture.resize((width, height), Image.Resampling.BILINEAR), (0, _BANNER))
    side = "ahead" if angle == 0 else "back" if abs(angle) == 180 else "left" if angle > 0 else "right"
    ImageDraw.Draw(tile).text(
        (width // 2, _BANNER // 2),
        f"{say_angle(angle)} ({side})",
        fill="yellow",
        font=ImageFont.load_default(size=15),
        anchor="mm",
    )
    return tile
