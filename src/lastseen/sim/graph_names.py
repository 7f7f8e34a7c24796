"""VirtualHome writes class names as one word; people write them as they speak."""

from __future__ import annotations

_WORDS = (
    "balance ball", "bar soap", "bathroom cabinet", "bathroom counter", "bell pepper", "board game", "bottle water",
    "bread slice", "candy bar", "ceiling fan", "ceiling lamp", "cell phone", "chinese food", "chocolate syrup",
    "closet drawer", "clothes pants", "clothes pile", "clothes shirt", "coat rack", "coffee maker", "coffee pot",
    "coffee table", "condiment bottle", "condiment shaker", "cooking pot", "cpu screen", "creamy buns",
    "cutlery fork", "cutlery knife", "cutting board", "dining room", "dish bowl", "dishwashing liquid", "door jamb",
    "face cream", "frying pan", "garbage can", "hair product", "home office", "kitchen cabinets", "kitchen counter",
    "kitchen table", "knife block", "light switch", "living room", "lotion bottle", "main door", "milk shake",
    "minced meat", "mouse mat", "oven tray", "pain killers", "paper tray", "photo frame", "pound cake",
    "power socket", "remote control", "sports ball", "standing mirror", "stove fan", "table lamp", "teddy bear",
    "toilet paper", "towel rack", "towel rolled", "tv stand", "wall lamp", "wall phone", "wall picture frame",
    "wall shelf", "washing machine", "washing sponge", "water glass", "whipped cream", "wine glass",
)  # fmt: skip
_SPACED = {words.replace(" ", ""): words for words in _WORDS}


def spaced(name: str) -> str:
    """A class or room name in lower case with spaces: ``livingroom`` becomes ``living room``."""
    plain = name.strip().lower().replace("_", " ")
    return _SPACED.get(plain, plain)
