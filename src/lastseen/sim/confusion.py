"""Which classes a detector takes for each other: things of alike shape, size and place."""

from __future__ import annotations

from functools import cache

_ALIKE = (
    ("mug", "cup", "glass", "bowl", "pencil cup", "can"),
    ("glass", "wine glass", "vase", "candle"),
    ("bottle", "vase", "soap bottle", "detergent", "milk carton"),
    ("plate", "bowl", "tray", "tableware", "scale"),
    ("pot", "pan", "kettle", "bowl"),
    ("kettle", "coffee maker", "toaster", "knife block"),
    ("cutting board", "tray", "clipboard", "book", "tablet"),
    ("knife block", "kitchen utensils", "seasoning box", "pencil cup"),
    ("apple", "orange", "ball"),
    ("banana", "bread"),
    ("cereal box", "milk carton", "detergent", "book", "cardboard box"),
    ("chair", "armchair", "stool", "office chair", "bench"),
    ("sofa", "armchair", "bed", "bench"),
    ("table", "desk", "dining table", "kitchen table", "coffee table", "balcony table", "console table"),
    ("coffee table", "side table", "bench", "tv stand", "stool"),
    ("nightstand", "side table", "cabinet", "dresser", "stool"),
    ("cabinet", "wardrobe", "dresser", "bookshelf", "kitchen cabinet", "tv cabinet", "kitchen counter"),
    ("bookshelf", "shelf", "shoe rack", "wardrobe"),
    ("kitchen counter", "kitchen island", "kitchen sink", "kitchen cabinet", "cooking bench", "desk"),
    ("fridge", "refrigerator", "wardrobe", "air conditioner"),
    ("stove", "microwave", "dishwasher", "washing machine", "dryer"),
    ("microwave", "toaster", "printer", "speaker"),
    ("range hood", "air conditioner", "kitchen cabinet"),
    ("tv", "monitor", "picture", "mirror", "board"),
    ("tv stand", "tv cabinet", "console table", "dresser", "bench"),
    ("laptop", "monitor", "tablet", "book", "keyboard", "printer"),
    ("phone", "remote", "tablet", "wallet", "game controller"),
    ("remote", "phone", "game controller", "mouse"),
    ("keys", "wallet", "watch", "glasses"),
    ("headphones", "glasses", "hair dryer", "game controller"),
    ("router", "speaker", "tablet", "clock", "security camera"),
    ("fan", "floor lamp", "speaker", "clock", "hair dryer"),
    ("book", "magazine", "clipboard", "cereal box", "tablet"),
    ("backpack", "handbag", "suitcase", "laundry basket"),
    ("hat", "handbag", "bowl", "pillow"),
    ("pillow", "blanket", "towel", "teddy bear"),
    ("rug", "carpet", "bath mat", "door mat", "blanket", "towel"),
    ("curtain", "towel", "shower"),
    ("shoes", "slippers"),
    ("plant", "potted flower", "vase"),
    ("floor lamp", "table lamp", "lamp", "chandelier", "coat rack"),
    ("coat rack", "umbrella", "ironing board"),
    ("ironing board", "bench", "console table", "guitar"),
    ("iron", "hair dryer", "shoes", "toaster"),
    ("guitar", "umbrella", "vacuum cleaner"),
    ("toilet", "sink", "bathtub", "trash can"),
    ("sink", "kitchen sink", "bathtub", "shower"),
    ("toilet paper", "candle", "mug", "towel"),
    ("trash can", "laundry basket", "basket", "bucket", "cardboard box"),
    ("picture", "photo frame", "mirror", "clock", "board"),
    ("toothbrush", "soap bottle", "remote", "handle"),
    ("teddy bear", "toy car", "toy blocks"),
    ("toy blocks", "cardboard box", "book"),
    ("dumbbell", "fitness equipment", "ball", "scale"),
    ("suitcase", "cardboard box", "backpack"),
    ("vacuum cleaner", "bucket", "trash can"),
)


@cache
def lookalikes(label: str) -> tuple[str, ...]:
    """Classes that this one is taken for, sorted; empty where nothing is known to look like it.

    >>> "cup" in lookalikes("mug")
    True
    """
    return tuple(sorted({other for group in _ALIKE if label in group for other in group} - {label}))
