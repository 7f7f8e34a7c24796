"""The words that the query parser knows: relations, ranks, numbers, sizes, storeys, rooms (docs/search.md)."""

from __future__ import annotations

import re
from typing import Literal

from lastseen.encoders.words import tokens, word_set
from lastseen.memory.query.times import NUMBERS

Kind = Literal[
    "closest",
    "farthest",
    "leftmost",
    "rightmost",
    "between",
    "on",
    "under",
    "above",
    "in",
    "near",
    "next to",
    "far",
    "left",
    "right",
    "front",
    "behind",
]
VIEWED = ("left", "right", "front", "behind")
"""Relations that are true as seen from somewhere."""
Size = Literal["big", "small"]
ALL = -1
"""The number of a thing that is asked for in all its examples."""
STOREYS = {
    "upstairs": "upstairs",
    "downstairs": "downstairs",
    "ground floor": "on the ground floor",
    "top floor": "on the top floor",
    "this floor": "on this floor",
}
"""Storeys that a question may name, and as what phrase; "first floor" is another one on each side of an ocean."""
SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
CONNECTORS: dict[str, Kind | Literal["not known"]] = {
    **dict.fromkeys(("closest to", "nearest to", "nearest", "closest"), "closest"),
    **dict.fromkeys(
        (
            *("farthest from", "furthest from", "most distant from", "farthest away from", "furthest away from"),
            *("most far from", "most remote from"),
        ),
        "farthest",
    ),
    **dict.fromkeys(("between", "in between", "in the middle of"), "between"),
    **dict.fromkeys(("on", "on top of", "atop", "upon", "onto"), "on"),
    **dict.fromkeys(("under", "underneath", "beneath", "below"), "under"),
    **dict.fromkeys(("above", "over"), "above"),
    **dict.fromkeys(("in", "inside", "inside of", "within", "at"), "in"),
    **dict.fromkeys(("near", "near to", "close to", "around", "not far from"), "near"),
    **dict.fromkeys(("next to", "beside", "besides", "by", "adjacent to", "alongside"), "next to"),
    **dict.fromkeys(("far from", "far away from", "away from"), "far"),
    **{
        f"{lead}{side} {of}": side
        for side in SIDES
        for lead in ("", "to the ", "on the ")
        for of in ("of", "side of")
    },
    **dict.fromkeys(("in front of",), "front"),
    **dict.fromkeys(("behind", "in back of", "at the back of"), "behind"),
    **dict.fromkeys(
        (
            *(
                "opposite",
                "across from",
                "facing",
                "against",
                "outside",
                "with",
                "without",
                "in the corner of",
                "along",
            ),
            *("from", "bigger than", "larger than", "smaller than", "taller than", "than"),
        ),
        "not known",
    ),
}
STOREY = re.compile(
    r"(?:(?:that|which|is|are|s) )*(?P<not>not |isn )?(?:on |in |at )?(?:the )?"
    rf"(?P<name>{'|'.join(STOREYS)})(?= |$)"
)
FROM_SIDE = re.compile(
    r"(?:(?:that|which|is|are|s) )*(?P<not>not |isn )?(?:the )?(?:(?P<rank>\w+) )?(?:one )?from (?:the )?"
    r"(?P<side>left|right)(?: side| hand side)?(?= |$)"
)
SEEN_FROM = re.compile(
    r"(?:(?:as |when )?(?:seen|viewed|looked at|looking) )?from "
    r"(?P<robot>(?:here|me|you|where (?:you|i|we) (?:are|am)|the robot)(?= |$))?"
)
MOST_WORDS = max(len(words.split()) for words in CONNECTORS)
RANKS = {
    word: rank
    for words in ("first second third fourth fifth sixth seventh eighth", "1st 2nd 3rd 4th 5th 6th 7th 8th")
    for rank, word in enumerate(words.split(), start=1)
}
ORDINALS = {rank: word for word, rank in reversed(RANKS.items())}
COUNTS = {**NUMBERS, "both": 2, "all": ALL, "every": ALL, "each": ALL}
SIZES: dict[str, Size] = {
    **dict.fromkeys(("big", "large", "huge", "bigger", "larger", "biggest", "largest"), "big"),
    **dict.fromkeys(("small", "little", "tiny", "smaller", "smallest"), "small"),
}
VERBS = word_set("standing lying sitting located placed found kept hanging resting mounted positioned situated")
ANYTHING = word_set("thing things object objects item items stuff something anything one ones")
ASIDE = word_set("my our your his her their who whose whom because if when while and or but so")
"""Words after a noun at which what is said of the thing ends."""
WHO = word_set("i we you he she they")
LINKS = word_set("that which who is are was were be its it s there")
QUALITIES = word_set(
    "old new nice clean dirty empty full open closed broken wooden wood metal plastic ceramic leather tall "
    "short long round square heavy soft hard warm cold hot"
)
"""What is said of things and is not remembered: an answer names it."""
ROOMS = word_set(
    "kitchen bathroom bedroom garage office study hall hallway corridor pantry basement attic cellar balcony "
    "garden toilet nursery entrance lounge den library workshop kitchenette entryway foyer terrace patio "
    "stairwell closet washroom restroom lobby playroom sunroom"
)
SAME_ROOM = {
    "hallway": "corridor",
    "hall": "corridor",
    "lounge": "living room",
    "washroom": "bathroom",
    "restroom": "bathroom",
    "toilet": "bathroom",
    "study": "office",
    "sitting room": "living room",
    "family room": "living room",
    "entryway": "entrance",
    "foyer": "entrance",
}


def room_name(name: str) -> str:
    """The name under which a room is compared: hallway is corridor, a lounge is a living room."""
    plain = " ".join(tokens(name))
    return SAME_ROOM.get(plain, plain)
