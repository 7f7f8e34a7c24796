"""Which classes a detector takes for each other: things of alike shape, size and place."""

from __future__ import annotations

from functools import cache

_ALIKE = (
    ("mug", "cup", "glass", "bowl", "can", "jar"),
    ("bottle", "vase", "jar", "can", "soap dispenser", "shampoo"),
    ("plate", "bowl", "tray", "tableware"),
    ("pot", "pan", "kettle", "bowl"),
    ("kettle", "coffee maker", "toaster", "blender"),
    ("knife", "fork", "spoon", "kitchen utensils", "scissors", "pen"),
    ("chair", "armchair", "stool", "office chair", "bench"),
    ("sofa", "armchair", "bed", "bench", "ottoman"),
    ("table", "desk", "dining table", "kitchen table", "coffee table", "balcony table", "side table"),
    ("nightstand", "side table", "cabinet", "dresser", "drawer"),
    ("cabinet", "wardrobe", "dresser", "bookshelf", "kitchen cabinet", "shoe rack", "tv cabinet", "shelf"),
    ("refrigerator", "wardrobe", "washing machine", "dryer", "dishwasher"),
    ("oven", "microwave", "stove", "dishwasher", "washing machine", "dryer", "cooking bench"),
    ("tv", "monitor", "picture", "mirror", "board", "window"),
    ("laptop", "monitor", "tablet", "book", "keyboard"),
    ("phone", "remote", "tablet", "wallet", "game controller"),
    ("remote", "phone", "game controller", "keys", "mouse"),
    ("keys", "wallet", "watch", "glasses", "coins"),
    ("book", "magazine", "notebook", "box", "tablet"),
    ("backpack", "handbag", "suitcase", "bag", "laundry basket"),
    ("pillow", "cushion", "blanket", "towel", "teddy bear"),
    ("blanket", "towel", "carpet", "rug", "curtain"),
    ("shoes", "slippers", "boots"),
    ("plant", "vase", "flower", "lamp"),
    ("lamp", "floor lamp", "table lamp", "chandelier", "candle"),
    ("toilet", "sink", "bathtub", "bidet", "trash can"),
    ("trash can", "laundry basket", "bucket", "box", "vase"),
    ("picture", "photo frame", "poster", "mirror", "clock"),
    ("apple", "orange", "lemon", "tomato", "ball"),
    ("banana", "lemon", "bread"),
    ("umbrella", "broom", "mop", "vacuum cleaner"),
    ("toothbrush", "toothpaste", "pen", "comb", "soap"),
    ("teddy bear", "doll", "toy", "pillow"),
    ("dumbbell", "fitness equipment", "ball"),
)


@cache
def lookalikes(label: str) -> tuple[str, ...]:
    """Classes that this one is taken for, sorted; empty where nothing is known to look like it.

    >>> "cup" in lookalikes("mug")
    True
    """
    return tuple(sorted({other for group in _ALIKE if label in group for other in group} - {label}))
