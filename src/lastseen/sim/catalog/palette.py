"""The colours things may have, by the names people use when they ask for one."""

from __future__ import annotations

from collections.abc import Sequence

Rgb = tuple[int, int, int]

PALETTE: dict[str, Rgb] = {
    "white": (236, 236, 232),
    "black": (38, 38, 40),
    "grey": (138, 140, 142),
    "dark grey": (82, 84, 88),
    "silver": (186, 190, 194),
    "red": (188, 38, 40),
    "orange": (226, 122, 38),
    "yellow": (232, 198, 54),
    "green": (62, 142, 72),
    "dark green": (38, 86, 56),
    "blue": (48, 96, 178),
    "light blue": (138, 184, 220),
    "navy": (34, 48, 92),
    "teal": (40, 134, 136),
    "purple": (116, 70, 148),
    "pink": (226, 142, 162),
    "brown": (122, 80, 48),
    "light brown": (186, 144, 98),
    "dark brown": (78, 52, 36),
    "beige": (214, 198, 170),
}

_BRIGHTS = ("red", "orange", "yellow", "green", "blue", "light blue", "teal", "purple", "pink", "white", "black")
_SETS: dict[str, tuple[str, ...]] = {
    "woods": ("brown", "light brown", "dark brown"),
    "fabrics": ("grey", "dark grey", "beige", "blue", "navy", "teal", "dark green", "red", "brown"),
    "brights": _BRIGHTS,
    "brights but white": tuple(name for name in _BRIGHTS if name != "white"),
    "appliances": ("white", "silver", "black"),
    "linens": ("white", "light blue", "beige", "pink", "grey", "navy", "green"),
    "cabinets": ("white", "grey", "light brown", "beige", "dark green", "navy"),
    "china": ("white", "light blue", "beige", "grey", "teal", "yellow"),
    "pots": ("white", "brown", "grey", "orange", "blue", "black"),
    "leather": ("brown", "black", "dark brown", "red", "navy", "light brown"),
}
"""Colours that many classes share, by what they are the colours of."""

METAL: Rgb = (170, 174, 178)
DARK_METAL: Rgb = (70, 72, 76)
RUBBER: Rgb = (30, 30, 32)
SCREEN: Rgb = (22, 26, 34)
PAPER: Rgb = (240, 238, 228)
CERAMIC: Rgb = (240, 240, 238)
FOLIAGE: Rgb = (52, 118, 54)
SOIL: Rgb = (66, 48, 36)
TIMBER: Rgb = (150, 108, 68)


def color_names(text: str) -> tuple[str, ...]:
    """The colours that a text names, sets such as "woods" spelt out.

    >>> color_names("woods, white")
    ('brown', 'light brown', 'dark brown', 'white')
    """
    return tuple(name for word in text.split(", ") for name in _SETS.get(word, (word,)))


def shade(color: Rgb, factor: float) -> Rgb:
    """The same colour darker (below 1) or lighter (above 1), for parts of one thing that should read apart."""
    red, green, blue = (min(255, max(0, round(channel * factor))) for channel in color)
    return red, green, blue


def nearest_name(rgb: Sequence[float]) -> str:
    """The word of the palette that is nearest to a colour."""
    return min(PALETTE, key=lambda name: (sum(abs(a - b) for a, b in zip(rgb, PALETTE[name], strict=True)), name))
