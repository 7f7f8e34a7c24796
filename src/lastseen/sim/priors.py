"""Which furniture stands in which room, and which small things lie where.

Source: our own common sense about European and North American homes, written down by hand. The shape of the table
(room type -> furniture with a rule; support -> small things with a weight) follows the practice of procedural
scene generators such as ProcTHOR; none of the figures is taken or learnt from a data set, so scenes from elsewhere
stay an independent test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from lastseen.errors import InvalidValue


class Rule(StrEnum):
    """Where a piece of furniture goes."""

    WALL = "wall"
    """Its back to a wall, anywhere along it."""
    MIDDLE_OF_WALL = "middle of wall"
    CORNER = "corner"
    CENTRE = "centre"
    """In the room, as far from the walls as it goes."""
    RUN = "run"
    """Side by side with the run before it along a wall: kitchens."""
    BESIDE = "beside"
    """Next to another, with the same back line: nightstands."""
    AROUND = "around"
    """On the sides of another, facing it: chairs at a table."""
    BEFORE = "before"
    """In front of another: the coffee table, the chair at a desk."""
    FLANKING = "flanking"
    """At the sides of another, turned towards it: armchairs at the coffee table."""
    OPPOSITE = "opposite"
    """At the wall that another looks at: the television's stand."""
    ON = "on"
    """On top of another, facing the same way."""
    OVER = "over"
    """On the wall above another: the mirror over the basin."""
    HUNG = "hung"
    """On any free wall at eye height."""
    UNDERFOOT = "underfoot"
    """Flat in free floor; furniture placed later may stand on it."""
    AT_DOOR = "at door"
    """Flat before the front door, or else before another door."""


@dataclass(frozen=True, slots=True)
class Furnishing:
    """One row: what, where, how many (drawn from ``count``), how often, and whether a room is refused without."""

    label: str
    rule: Rule
    target: str = ""
    count: tuple[int, int] = (1, 1)
    chance: float = 1.0
    essential: bool = False


_ROW = re.compile(rf"([a-z ]+?)(!?) ({'|'.join(Rule)})((?: [a-z]+)*)(?: (\d)-(\d))?(?: (0\.\d+))?")


def _furnishings(text: str) -> dict[str, tuple[Furnishing, ...]]:
    """Rows by room type: ``corridor: plant corner 0-2; shelf wall 0.3;``; only a room's first row names it."""
    found: dict[str, tuple[Furnishing, ...]] = {}
    for row in (" ".join(each.split()) for each in text.split(";") if each.strip()):
        room, _, words = row.rpartition(": ")
        match = _ROW.fullmatch(words)
        if match is None:
            raise InvalidValue("FURNISHINGS", row, "is no row", remedy="class rule target count or chance")
        label, must, rule, target, least, most, chance = match.groups()
        count = (int(least), int(most)) if least else (1, 1)
        made = Furnishing(label, Rule(rule), target.strip(), count, float(chance or 1.0), essential=bool(must))
        room = room or next(reversed(found))
        found[room] = (*found.get(room, ()), made)
    return found


def _numbers(text: str) -> dict[str, float]:
    """Names with their numbers: ``mug 3, wine glass 1.5``."""
    pairs = (" ".join(item.split()).rsplit(" ", 1) for item in text.split(","))
    return {name: float(number) for name, number in pairs}


def _table(text: str) -> dict[str, dict[str, float]]:
    """Rows of a name and numbers: ``stove: pot 2, pan 2; toilet: candle 0.5;``."""
    rows = (row.split(":") for row in text.split(";") if row.strip())
    return {name.strip(): _numbers(numbers) for name, numbers in rows}


FURNISHINGS = _furnishings("""
    living room: sofa! middle of wall; tv stand! opposite sofa; tv! on tv stand; rug before sofa 0.6;
        coffee table before sofa 0.9; armchair flanking coffee table 0-2; side table beside sofa 0.6;
        dining table centre 0.4; chair around dining table 2-4; bookshelf wall 0-2; armchair corner 0.35;
        cabinet wall 0.6; shelf wall 0.4; plant corner 1-3; floor lamp corner 0.7; picture hung 1-3; clock hung 0.3;
    kitchen: fridge! run; kitchen counter run; stove! run; kitchen counter run; kitchen sink! run; dishwasher run 0.7;
        kitchen counter run 0-2; dining table centre 0.5; kitchen island centre 0.3; chair around dining table 2-4;
        stool around kitchen island 1-3; trash can corner 0.8; shelf wall 0.4; clock hung 0.6; plant corner 0.2;
    dining room: dining table! centre; chair around dining table 4-6; cabinet middle of wall 0.8; bookshelf wall 0.3;
        plant corner 0-2; floor lamp corner 0.3; picture hung 1-2; clock hung 0.3;
    bedroom: bed! middle of wall; pillow on bed 1-2; nightstand beside bed 1-2; wardrobe wall 0.9; dresser wall 0.6;
        desk wall 0.3; chair before desk; monitor on desk 0.3; tv stand opposite bed 0.2; tv on tv stand;
        shelf wall 0.3; armchair corner 0.2; plant corner 0.3; floor lamp corner 0.25; laundry basket corner 0.3;
        picture hung 0-2; mirror hung 0.4; rug underfoot 0.2;
    bathroom: bathtub corner 0.5; toilet! wall; sink! wall; shower corner 0.85; mirror over sink 0.9;
        cabinet wall 0.3; laundry basket corner 0.4; trash can corner 0.4; bath mat before bathtub 0.8;
        bath mat before shower 0.6; bath mat before sink 0.4;
    office: desk! wall; office chair before desk; monitor on desk 0.7; bookshelf wall 1-2; shelf wall 0.5;
        armchair corner 0.3; plant corner 0.6; trash can corner 0.6; floor lamp corner 0.4; picture hung 0-2;
        clock hung 0.4; rug underfoot 0.2;
    laundry room: washing machine! run; dryer run 0.7; shelf wall 0.8; laundry basket corner 1-2;
        ironing board wall 0.5;
    entrance: shoe rack wall 0.9; coat rack corner 0.8; console table wall 0.6; bench wall 0.4; mirror hung 0.7;
        door mat at door 0.9;
    storage room: shelf wall 1-2; bookshelf wall 1-2; cabinet wall 0.5;
    corridor: console table wall 0.6; shoe rack wall 0.3; shelf wall 0.3; plant corner 0-2; door mat at door 0.5;
        picture hung 1-3;
""")
"""What stands in a room of each type, in the order in which it is placed.

A row is a class, a rule and what the rule refers to, then how many (``0-2``: drawn evenly; else one) or how likely
(``0.6``); ``!`` marks what a room is refused without.
"""
FRONT = _numbers("""
    wardrobe 0.6, dresser 0.6, fridge 0.8, stove 0.8, kitchen sink 0.8, kitchen counter 0.8, dishwasher 0.8, sink 0.6,
    toilet 0.5, bookshelf 0.6, shelf 0.6, cabinet 0.6, desk 0.8, washing machine 0.7, dryer 0.7, shower 0.5,
    bathtub 0.5, tv stand 0.6, sofa 0.45, armchair 0.45, shoe rack 0.5, console table 0.5, bench 0.5, nightstand 0.3,
    bed 0.4
""")
"""Metres in front of a thing that stay free of other furniture, so that it can be used and seen."""
ON_SUPPORT = _table("""
    dining table: mug 3, plate 4, bowl 3, glass 3, bottle 2, wine glass 1, vase 2, candle 1.5, apple 1, orange 1,
        banana 1, bread 1, laptop 0.7, phone 1, keys 0.7, book 0.7, magazine 0.7, potted flower 1, tray 0.7,
        glasses 0.5, wallet 0.4, milk carton 0.7, cereal box 0.7, tablet 0.4;
    coffee table: remote 4, book 3, magazine 3, mug 2, phone 1.5, glass 1, candle 1.5, vase 1, glasses 1, laptop 0.8,
        tablet 0.8, game controller 1.5, bowl 0.7, keys 0.8, tray 0.7;
    side table: table lamp 2.5, book 2, mug 1.5, phone 1, glasses 1, potted flower 1, remote 1;
    nightstand: table lamp 3, book 2.5, phone 2, glasses 1.5, watch 1.5, glass 1, mug 0.8, bottle 0.6,
        photo frame 1.2, headphones 0.6, wallet 0.5;
    tv stand: remote 2, game controller 1.5, speaker 2, router 1, photo frame 1.2, vase 0.7, potted flower 0.7,
        headphones 0.5;
    desk: laptop 2.5, keyboard 2, mouse 2, book 2, mug 2, phone 1, pencil cup 2, headphones 1.2, table lamp 1.2,
        clipboard 1, printer 0.6, glasses 0.7, tablet 0.7, bottle 0.8, keys 0.5, photo frame 0.6;
    kitchen counter: kettle 1.5, toaster 1.5, coffee maker 1.5, microwave 1.2, knife block 1.2, cutting board 1.2,
        mug 2.5, bottle 2, bread 1, apple 0.8, orange 0.6, banana 0.8, plate 1, bowl 1.2, pot 0.8, pan 0.6,
        milk carton 0.8, cereal box 0.8, glass 1, basket 0.4, keys 0.3;
    kitchen island: bowl 1.5, apple 1, orange 1, banana 1, mug 1.5, wine glass 1.5, bottle 1.5, cutting board 1.2,
        plate 1.2, phone 0.6, tablet 0.5, tray 0.8;
    kitchen sink: soap bottle 2.5, glass 1, mug 1.5, bowl 0.7;
    stove: pot 2, pan 2, kettle 0.7;
    dishwasher: microwave 1, toaster 1, kettle 1, plate 1, mug 1, bread 0.7;
    bookshelf: book 6, vase 1.2, photo frame 1.5, potted flower 1, speaker 0.8, candle 0.7, basket 0.8,
        teddy bear 0.4, headphones 0.3, magazine 1;
    shelf: book 3, vase 1, basket 1.2, photo frame 1, potted flower 1.2, bottle 0.6, toy car 0.6, candle 0.7, hat 0.6,
        speaker 0.5;
    cabinet: vase 1.5, photo frame 1.5, candle 1.2, potted flower 1.2, book 1, bowl 0.8, keys 0.8, table lamp 0.8,
        speaker 0.6, wine glass 0.5;
    dresser: photo frame 1.5, candle 0.7, hat 1, handbag 0.8, watch 1, wallet 0.8, vase 0.8, hair dryer 0.6, book 0.8,
        table lamp 0.8, teddy bear 0.5, keys 0.5;
    console table: keys 4, wallet 2, phone 1, vase 1.2, hat 1, glasses 0.8, potted flower 1, handbag 0.8,
        photo frame 0.8, router 0.5;
    shoe rack: shoes 6, slippers 2, keys 0.5, hat 0.7, basket 0.5;
    bench: backpack 2, handbag 2, hat 1.2, shoes 0.3, umbrella 1;
    bed: blanket 1.5, book 0.6, teddy bear 1, laptop 0.5, phone 0.6, towel 0.3, backpack 0.3, remote 0.3;
    sofa: pillow 5, blanket 1.2, remote 0.9, book 0.6, magazine 0.5, game controller 0.4, teddy bear 0.3, tablet 0.3;
    armchair: pillow 2.5, blanket 1, book 0.8, magazine 0.5;
    chair: backpack 0.4, towel 0.2, handbag 0.4, pillow 0.4;
    sink: soap bottle 3, toothbrush 3, hair dryer 0.8, towel 0.6, glass 0.4;
    toilet: toilet paper 3, candle 0.5;
    washing machine: detergent 3, basket 1, towel 1.2;
    dryer: detergent 1, towel 2, basket 1;
    ironing board: iron 4, towel 1;
""")
"""Weights of the small things that lie on a support, by its class."""
IN_ROOM = _table("""
    shelf in kitchen: bowl 2, plate 2, mug 2, bottle 1.5, cereal box 1.5, pot 1, basket 1, potted flower 0.7;
    shelf in laundry room: detergent 3, towel 3, basket 1.5, soap bottle 1, iron 1;
    shelf in storage room: cardboard box 3, basket 1.5, detergent 1, toy blocks 0.7, hat 0.5;
    bookshelf in storage room: cardboard box 2, basket 2, towel 1, toy car 0.7, book 0.7, detergent 0.7;
    cabinet in bathroom: towel 3, soap bottle 1.5, toilet paper 2, candle 1, hair dryer 1;
    cabinet in storage room: cardboard box 2, basket 1, iron 0.6, bucket 0.5;
""")
"""What a support of these rooms holds instead of what its class usually does."""
ON_FLOOR = _table("""
    living room: backpack 1, ball 1, toy car 1, toy blocks 1, guitar 1, slippers 1, basket 0.7, fan 0.6, handbag 0.4;
    kitchen: basket 1, cardboard box 0.6;
    dining room: backpack 0.5, toy car 0.4, fan 0.4;
    bedroom: shoes 2, slippers 2, backpack 1.5, suitcase 0.8, ball 0.5, teddy bear 0.7, dumbbell 0.7, guitar 0.4,
        fan 0.5, toy blocks 0.5;
    bathroom: scale 2, slippers 0.7, bucket 0.5, basket 0.5;
    office: backpack 1.5, cardboard box 1, dumbbell 0.6, fan 0.7, handbag 0.5;
    laundry room: bucket 1.5, vacuum cleaner 1, detergent 0.7, basket 1;
    entrance: shoes 2.5, umbrella 1.5, backpack 1, suitcase 0.4;
    storage room: vacuum cleaner 2, suitcase 2, cardboard box 3, bucket 1, ball 0.7, dumbbell 0.5;
    corridor: shoes 1, umbrella 0.5, cardboard box 0.3;
""")
"""Weights of the small things that lie on the floor, by room type."""
ONE_ROOM = _numbers("""
    book 14, plate 6, glass 4, mug 4, bowl 3, bottle 4, wine glass 4, pillow 6, shoes 4, towel 4, cardboard box 4,
    basket 3, photo frame 3, potted flower 3, candle 3, apple 3, orange 3, microwave 1, kettle 1, toaster 1,
    coffee maker 1, printer 1, router 1, iron 1, vacuum cleaner 1, guitar 1, scale 1, monitor 1, keyboard 1, mouse 1,
    fan 1, tray 1, knife block 1, bread 1, laptop 1, tablet 1, hair dryer 1, umbrella 1
""")
"""How many of a class one room may hold, where it is not ``USUAL_IN_ONE_ROOM``."""
USUAL_IN_ONE_ROOM = 2

DENSITY = _numbers("""
    bookshelf 7, shelf 4.5, shoe rack 4, bed 1.4, sofa 1.8, armchair 1.5, chair 0.7, stove 3, sink 9, toilet 6,
    nightstand 9, kitchen sink 6
""")
"""Small things to a square metre of support, before the clutter factor."""
USUAL_DENSITY = 4.0
FLOOR_THINGS = (0, 2)
"""How many small things lie on the floor of a room, drawn evenly."""
