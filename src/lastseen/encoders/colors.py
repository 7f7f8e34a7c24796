"""The eleven basic colours: the words people use for them, how near they lie, and which a pixel shows.

"The red mug" must find a red mug without any model, so colour is named here by rule: a hue circle for saturated
pixels, a grey axis for the rest, with soft borders because people and cameras disagree at them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

COLORS = ("black", "blue", "brown", "green", "grey", "orange", "pink", "purple", "red", "white", "yellow")

COLOR_WORDS: dict[str, str] = {
    **{color: color for color in COLORS},
    **dict.fromkeys(("gray", "silver", "silvery", "charcoal", "steel", "greyish", "grayish"), "grey"),
    **dict.fromkeys(("crimson", "scarlet", "maroon", "burgundy", "ruby", "reddish", "cherry"), "red"),
    **dict.fromkeys(("navy", "azure", "turquoise", "cyan", "indigo", "bluish", "cobalt", "aqua"), "blue"),
    **dict.fromkeys(("olive", "lime", "emerald", "teal", "mint", "greenish", "khaki"), "green"),
    **dict.fromkeys(("violet", "lilac", "lavender", "mauve", "magenta", "purplish"), "purple"),
    **dict.fromkeys(("gold", "golden", "yellowish", "mustard", "lemon"), "yellow"),
    **dict.fromkeys(("amber", "peach", "apricot", "tangerine", "orangish"), "orange"),
    **dict.fromkeys(("rose", "salmon", "fuchsia", "pinkish"), "pink"),
    **dict.fromkeys(("tan", "beige", "chocolate", "brownish", "walnut", "oak", "bronze"), "brown"),
    **dict.fromkeys(("ivory", "cream", "whitish", "offwhite"), "white"),
    **dict.fromkeys(("ebony", "blackish"), "black"),
}
"""Colour words and the basic colour each means."""

# pairs that one lamp or one viewer turns into each other; every other pair is 0
_NEAR = {
    ("black", "grey"): 0.5,
    ("grey", "white"): 0.5,
    ("brown", "orange"): 0.5,
    ("brown", "red"): 0.35,
    ("black", "brown"): 0.35,
    ("orange", "red"): 0.5,
    ("orange", "yellow"): 0.5,
    ("pink", "red"): 0.5,
    ("pink", "purple"): 0.5,
    ("blue", "purple"): 0.5,
    ("brown", "yellow"): 0.35,
    ("blue", "green"): 0.35,
    ("green", "yellow"): 0.35,
}
NEARNESS = np.eye(len(COLORS), dtype=np.float32)
"""How far one colour passes for another, 0 to 1, symmetric, 1 on the diagonal."""
for (_one, _other), _share in _NEAR.items():
    _i, _j = COLORS.index(_one), COLORS.index(_other)
    NEARNESS[_i, _j] = NEARNESS[_j, _i] = _share
NEARNESS.flags.writeable = False

# hue in degrees at the middle of each colour on the circle; red closes it
_HUES = (
    (0.0, "red"),
    (28.0, "orange"),
    (56.0, "yellow"),
    (120.0, "green"),
    (220.0, "blue"),
    (280.0, "purple"),
    (330.0, "pink"),
    (360.0, "red"),
)
# indoors a camera shows white walls at about 0.6 to 0.75, so the grey axis is divided for rooms, not for studios
_DARK = 0.12
_GREY_SATURATION, _FULL_SATURATION = 0.10, 0.22


def color_vector(colors: Iterable[str]) -> NDArray[np.float32]:
    """Equal shares of the colours named, in the order of ``COLORS``; zero when there are none."""
    shares = np.zeros(len(COLORS), dtype=np.float32)
    for color in colors:
        shares[COLORS.index(color)] += 1.0
    total = float(shares.sum())
    return shares / np.float32(total) if total else shares


def name_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Shares of the basic colours for each RGB pixel (n, 3), as (n, 11); each row sums to 1."""
    hue, saturation, value = hue_saturation_value(pixels)
    shares = np.zeros((len(pixels), len(COLORS)), dtype=np.float32)

    lightness = value * (1.0 - saturation / 2.0)
    black = np.clip((0.28 - lightness) / 0.12, 0.0, 1.0)
    white = np.clip((lightness - 0.47) / 0.12, 0.0, 1.0)
    achromatic = np.stack([black, 1.0 - black - white, white], axis=1)

    chroma = np.clip((saturation - _GREY_SATURATION) / (_FULL_SATURATION - _GREY_SATURATION), 0.0, 1.0)
    chroma *= np.clip((value - _DARK) / 0.10, 0.0, 1.0)
    for i, name in enumerate(("black", "grey", "white")):
        shares[:, COLORS.index(name)] = (1.0 - chroma) * achromatic[:, i]

    for (start, left), (end, right) in pairwise(_HUES):
        inside = (hue >= start) & (hue < end)
        # a soft border in the middle half of each arc; the outer quarters belong to one colour alone
        part = np.clip(((hue - start) / (end - start) - 0.25) / 0.5, 0.0, 1.0)
        weight = np.where(inside, chroma, 0.0)
        shares[:, COLORS.index(left)] += weight * (1.0 - part)
        shares[:, COLORS.index(right)] += weight * part
    _split_by_light(shares, saturation=saturation, value=value)
    return shares


def _split_by_light(
    shares: NDArray[np.float32], *, saturation: NDArray[np.float32], value: NDArray[np.float32]
) -> None:
    """Dark orange and yellow are brown, pale red is pink: the same hue has another name at another lightness."""
    dark = np.clip((0.55 - value) / 0.15, 0.0, 1.0)
    dull = np.clip((0.70 - saturation) / 0.12, 0.0, 1.0)
    brownness = np.maximum(dark, dull)
    for name, share in (("orange", brownness), ("yellow", brownness * 0.5)):
        column = shares[:, COLORS.index(name)]
        shares[:, COLORS.index("brown")] += column * share
        column *= 1.0 - share
    pale = np.clip((0.58 - saturation) / 0.12, 0.0, 1.0) * np.clip((value - 0.42) / 0.1, 0.0, 1.0)
    red = shares[:, COLORS.index("red")]
    shares[:, COLORS.index("pink")] += red * pale
    red *= 1.0 - pale


def hue_saturation_value(
    pixels: NDArray[np.uint8],
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Hue in degrees, saturation and value in 0 to 1, of RGB pixels (n, 3)."""
    rgb = pixels.astype(np.float32) / np.float32(255.0)
    value = rgb.max(axis=1)
    spread = value - rgb.min(axis=1)
    safe = np.where(spread > 0, spread, np.float32(1.0))
    red, green, blue = rgb[:, 0], rgb[:, 1], rgb[:, 2]
    sector = np.where(
        value == red,
        ((green - blue) / safe) % 6.0,
        np.where(value == green, (blue - red) / safe + 2.0, (red - green) / safe + 4.0),
    )
    hue = np.where(spread > 0, sector * 60.0, 0.0).astype(np.float32)
    saturation = np.where(value > 0, spread / np.where(value > 0, value, 1.0), 0.0).astype(np.float32)
    return np.minimum(hue, np.float32(359.99)), saturation, value
