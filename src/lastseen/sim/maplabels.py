"""Text on a map that does not cover other text."""

from __future__ import annotations

from dataclasses import dataclass, field

from PIL import ImageDraw, ImageFont

from lastseen.sim.catalog.palette import Rgb

Box = tuple[float, float, float, float]

TEXT: Rgb = (52, 52, 56)
FAINT: Rgb = (112, 112, 118)
_PLATE = (255, 255, 255, 190)


def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font that comes with Pillow: the same picture on every machine."""
    return ImageFont.load_default(size)


@dataclass
class Labels:
    """Places texts on a picture and remembers where they are."""

    draw: ImageDraw.ImageDraw
    bounds: Box
    taken: list[Box] = field(default_factory=list)

    def is_free(self, box: Box) -> bool:
        """Whether a box lies on the picture and covers no text."""
        x0, y0, x1, y1 = self.bounds
        if box[0] < x0 or box[1] < y0 or box[2] > x1 or box[3] > y1:
            return False
        return not any(meets(box, other) for other in self.taken)

    def size(self, text: str, points: int) -> tuple[float, float]:
        """Width and height of a text of one or more lines."""
        x0, y0, x1, y1 = self.draw.multiline_textbbox((0, 0), text, font=font(points), spacing=1)
        return x1 - x0, y1 - y0

    def put(self, text: str, at: tuple[float, float], *, points: int, plate: bool = False) -> bool:
        """Write a text centred on a point, or not at all where it would cover another."""
        width, height = self.size(text, points)
        pad = 2.0
        x, y = at
        box = (x - width / 2 - pad, y - height / 2 - pad, x + width / 2 + pad, y + height / 2 + pad)
        if not self.is_free(box):
            return False
        self.taken.append(box)
        if plate:
            self.draw.rounded_rectangle(box, radius=4, fill=_PLATE)
        self.draw.multiline_text((x, y), text, font=font(points), fill=TEXT, anchor="mm", spacing=1, align="center")
        return True

    def badge(self, text: str, at: tuple[float, float], color: Rgb, *, radius: float, points: int) -> None:
        """A dot in a colour with a number beside it, and a thin line between them where the number had to move."""
        x, y = at
        width, height = self.size(text, points)
        spot = (x + radius + 2 + width / 2, y)
        for reach in (1.0, 1.8, 2.8, 4.0, 5.5):
            step_x, step_y = (radius + 2 + width / 2) * reach, (radius + 1 + height / 2) * reach
            around = ((1, 0), (-1, 0), (0, -1), (0, 1), (0.8, -0.8), (-0.8, -0.8), (0.8, 0.8), (-0.8, 0.8))
            free = [
                (x + dx * step_x, y + dy * step_y)
                for dx, dy in around
                if self.is_free(_about(x + dx * step_x, y + dy * step_y, width, height))
            ]
            if free:
                spot = free[0]
                if reach > 1.0:
                    self.draw.line([(x, y), spot], fill=(150, 150, 156), width=1)
                break
        self.taken.append(_about(*spot, width, height))
        self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=color, outline=TEXT, width=1)
        plate = _about(*spot, width - 2, height - 2)
        self.draw.rounded_rectangle(plate, radius=2, fill=_PLATE)
        self.draw.text(spot, text, font=font(points), fill=TEXT, anchor="mm")


def meets(first: Box, second: Box) -> bool:
    """Whether two boxes overlap."""
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def _about(x: float, y: float, width: float, height: float) -> Box:
    return (x - width / 2 - 1, y - height / 2 - 1, x + width / 2 + 1, y + height / 2 + 1)
