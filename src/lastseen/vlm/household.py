"""Which things one expects in which room: the common sense of the offline model.

Source: compiled by hand in the manner of the room-by-room inventory checklists that home insurers hand out, where
each room has a list of what is usually in it and of what may be. It knows nothing of any simulator or test home.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

SOURCE = "room-by-room home inventory checklists, compiled by hand"

UNKNOWN = "unknown"
_MOST_NAMED = 10
"""Things that a place is remembered by."""
_USUAL = 3.0
_POSSIBLE = 1.0

# room: (usually in it, possibly in it)
_CHECKLIST: dict[str, tuple[str, str]] = {
    "kitchen": (
        """
        refrigerator, stove, oven, microwave, sink, kettle, toaster, pan, pot, plate, bowl, mug, knife, fork,
        spoon, cutting board, dish rack, dishwasher, coffee machine, blender, spatula, bottle, glass, apple,
        bread, cereal box, can, tray, counter, cooker hood, tea pot, jar, salt shaker
        """,
        """
        chair, table, dining table, bin, stool, cabinet, shelf, towel, banana, clock, plant, cup holder, apron,
        basket, phone
        """,
    ),
    "dining room": (
        """
        dining table, dining chair, table cloth, wine glass, candle, placemat, sideboard, vase, serving bowl,
        plate
        """,
        """
        chair, table, bowl, fork, knife, glass, bottle, fruit bowl, rug, painting, cabinet, lamp, mug, bookshelf,
        plant, clock
        """,
    ),
    "living room": (
        """
        sofa, television, coffee table, armchair, remote control, cushion, bookshelf, rug, fireplace, speaker,
        tv stand, game console, curtain, ottoman
        """,
        """
        lamp, plant, painting, book, vase, blanket, magazine, clock, laptop, glass, mug, toy, piano, guitar,
        phone, cat, side table, basket, picture frame, dining table, chair, cabinet, shelf, desk
        """,
    ),
    "bedroom": (
        """
        bed, pillow, wardrobe, nightstand, dresser, blanket, mattress, alarm clock, teddy bear, hanger, bedside
        lamp
        """,
        """
        lamp, mirror, book, curtain, rug, chair, armchair, laundry basket, slippers, phone, glasses, jewelry box, box,
        toy, shirt, hat, backpack, desk, television, tv stand, shelf, bookshelf, painting, plant, clock, laptop
        """,
    ),
    "bathroom": (
        """
        toilet, bathtub, shower, toilet paper, toothbrush, toothpaste, soap, shampoo, bath mat, washbasin, towel
        rack, scale, hair dryer, toilet brush, soap dispenser
        """,
        """
        sink, mirror, towel, bin, laundry basket, cabinet, sponge, comb, perfume, candle, plant, shelf, lamp, rug,
        curtain, washing machine
        """,
    ),
    "office": (
        """
        desk, office chair, laptop, monitor, keyboard, computer mouse, printer, computer, file cabinet, desk
        lamp, stapler, notebook, pen, whiteboard, pencil, scissors
        """,
        """
        book, bookshelf, shelf, lamp, mug, plant, headphones, paper, bin, box, clock, backpack, phone, glasses, globe,
        chair, armchair, painting, rug, cabinet, sofa
        """,
    ),
    "laundry room": (
        "washing machine, dryer, laundry basket, detergent, ironing board, iron, drying rack",
        "sink, bucket, mop, broom, towel, hanger, shirt, vacuum cleaner, box, shelf",
    ),
    "corridor": (
        "door, console table, picture, painting, stairs, runner",
        "mirror, shoes, shoe rack, coat rack, rug, bench, keys, lamp, shelf, plant, cabinet, clock",
    ),
    "entrance": (
        "coat rack, shoe rack, shoes, umbrella stand, umbrella, key bowl, doormat, coat",
        "console table, mirror, bench, keys, hat, bag, backpack, door, painting, rug, lamp, cabinet",
    ),
    "garage": (
        "car, bicycle, toolbox, ladder, workbench, hammer, drill, screwdriver, lawn mower, tire",
        "box, bucket, broom, shelf, ball, helmet, paint can, skateboard, suitcase",
    ),
    "storage room": (
        "box, suitcase, vacuum cleaner, broom, mop, shelf, bucket, ladder",
        "toolbox, basket, can, bottle, ball, paint can, umbrella, iron, bag",
    ),
    "children's room": (
        "toy, teddy bear, crib, doll, ball, toy car, bunk bed, blocks",
        "bed, desk, book, chair, rug, pillow, backpack, shelf, box, lamp, wardrobe, globe",
    ),
    "balcony": (
        "plant pot, watering can, deck chair, railing",
        "plant, table, chair, bicycle, broom, drying rack",
    ),
}

_SAME = {
    "couch": "sofa",
    "tv": "television",
    "fridge": "refrigerator",
    "cup": "mug",
    "closet": "wardrobe",
    "potted plant": "plant",
    "houseplant": "plant",
    "trash can": "bin",
    "garbage can": "bin",
    "trash bin": "bin",
    "remote": "remote control",
    "bookcase": "bookshelf",
    "cell phone": "phone",
    "cellphone": "phone",
    "computer monitor": "monitor",
    "teapot": "tea pot",
    "frying pan": "pan",
    "saucepan": "pot",
    "picture": "painting",
    "doorway": "door",
    "teddy": "teddy bear",
    "night stand": "nightstand",
    "bedside table": "nightstand",
    "mouse": "computer mouse",
    "shoe": "shoes",
    "key": "keys",
    "washbasin": "sink",
    "door mat": "doormat",
    "photo frame": "picture frame",
    "tv cabinet": "tv stand",
    "handbag": "bag",
}

ESSENTIAL = {
    "kitchen": frozenset({"stove", "oven", "refrigerator", "sink", "microwave", "dishwasher"}),
    "dining room": frozenset({"dining table", "table"}),
    "living room": frozenset({"sofa", "television", "armchair", "coffee table"}),
    "bedroom": frozenset({"bed", "mattress"}),
    "bathroom": frozenset({"toilet", "bathtub", "shower", "sink"}),
    "office": frozenset({"desk"}),
    "laundry room": frozenset({"washing machine", "dryer"}),
    "garage": frozenset({"car", "workbench", "bicycle"}),
    "children's room": frozenset({"bed", "crib", "bunk bed", "toy"}),
}
"""Of these a room of the kind has at least one: without any it is likely another room."""
ROOMS = tuple(sorted(_CHECKLIST))


def _strengths() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for room, lists in _CHECKLIST.items():
        for names, strength in zip(lists, (_USUAL, _POSSIBLE), strict=True):
            for name in names.split(","):
                table.setdefault(_SAME.get(name.strip(), name.strip()), {})[room] = strength
    return table


_TABLE = _strengths()


@lru_cache(maxsize=4096)
def rooms_of(thing: str) -> dict[str, float]:
    """How strongly each room is expected to hold a thing, summing to 1; empty for things it never heard of.

    A name it does not know is tried by its last words: a red mug is a mug.
    """
    words = thing.lower().split()
    for start in range(len(words)):
        name = " ".join(words[start:])
        known = _TABLE.get(_SAME.get(name, name))
        if known is not None:
            total = sum(known.values())
            return {room: strength / total for room, strength in sorted(known.items())}
    return {}


def is_one_of(label: str, things: frozenset[str]) -> bool:
    """Whether a label names one of some things, synonyms levelled: a kitchen sink is a sink."""
    return _head(label) in things


def same_thing(label: str, target: str) -> bool:
    """Whether a label names the kind of thing that is looked for: the same head noun, synonyms levelled.

    >>> same_thing("mug", "red mug"), same_thing("cup", "mug"), same_thing("mug rack", "mug")
    (True, True, False)
    """
    return bool(_head(label)) and _head(label) == _head(target)


def _head(name: str) -> str:
    words = name.lower().split()
    for start in range(len(words)):
        known = _SAME.get(" ".join(words[start:]), " ".join(words[start:]))
        if known in _TABLE:
            return known
    return words[-1] if words else ""


def room_beliefs(labels: Sequence[tuple[str, float]]) -> dict[str, float]:
    """How likely each room is, from what is seen in it; empty where nothing tells."""
    evidence = dict.fromkeys(ROOMS, 0.0)
    for label, score in labels:
        for room, strength in rooms_of(label).items():
            evidence[room] += score * strength
    total = sum(evidence.values())
    return {room: value / total for room, value in evidence.items()} if total > 0.0 else {}


def likely_room(labels: Sequence[tuple[str, float]]) -> str | None:
    """The likeliest room; ties go to the alphabetically first."""
    beliefs = room_beliefs(labels)
    return best(beliefs) if beliefs else None


def describe_scene(labels: Sequence[tuple[str, float]]) -> tuple[str, tuple[str, ...], str]:
    """The likeliest room or "unknown", what it is remembered by, and a sentence; empty where nothing tells."""
    room = likely_room(labels) or UNKNOWN
    objects = tuple(sorted({label for label, _ in labels})[:_MOST_NAMED])
    named = with_article("place" if room == UNKNOWN else room)
    held = f" with {', '.join(objects[:3])}" if objects else ""
    sentence = f"{named[:1].upper()}{named[1:]}{held}."
    return room, objects, sentence if room != UNKNOWN or objects else ""


def with_article(noun: str) -> str:
    """A noun as a sentence has it: a kitchen, an office."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def best(values: Mapping[str, float]) -> str:
    """The name of the highest value; ties go to the alphabetically first."""
    return min(values, key=lambda name: (-values[name], name))
