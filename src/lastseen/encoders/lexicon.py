"""The default text encoder: meaning from a hand-written lexicon, with word overlap for what it does not know.

``household.txt`` has the classes of a home: a group is ``group | words for its use`` and lines of
``class = other names``; ``~`` joins classes that people mix up (cup and mug). ``uses.txt`` has what people ask for by
its use, where that fits fewer classes than the whole group.

Every class has a dimension of its own, shares one with its group and one with the class that people mix it up with.
So "couch" is "sofa", "cup" is near "mug" and "somewhere to sit" reaches every seat. Unknown words are hashed, so a
detector's own labels still find themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.colors import COLORS
from lastseen.encoders.words import parse, singular, tokens
from lastseen.errors import InvalidValue

_HERE = Path(__file__).parent
HOUSEHOLD = "\n" + (_HERE / "household.txt").read_text(encoding="utf-8")
USES: dict[str, tuple[str, ...]] = {
    use: tuple(names.split(", "))
    for use, names in (line.split(" = ") for line in (_HERE / "uses.txt").read_text(encoding="utf-8").splitlines())
}
"""The classes that serve a use."""

_DIM = 512
_CLASS_ROOM, _GROUP_ROOM, _PAIR_ROOM = 320, 32, 16
_HASH_START = _CLASS_ROOM + _GROUP_ROOM + _PAIR_ROOM + len(COLORS)
# squares add to 1: two classes of one group have cosine 0.44, confusable ones 0.75, a use and its class 0.66 or more
_GROUP_SHARE, _PAIR_SHARE = 0.66, 0.56
_COLOR_WEIGHT = 0.6
_UNKNOWN_WEIGHT = 0.6


class LexiconEncoder:
    """Household words and colours as unit vectors of 512 numbers; deterministic, no download.

    >>> red, cup = LexiconEncoder().encode_text(["red mug", "cup"])
    """

    dim = _DIM

    @property
    def name(self) -> str:
        """Name and hash of the lexicon: editing the lexicon makes another encoder."""
        return f"lexicon-{_fingerprint()}"

    def encode_text(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text."""
        if not texts:
            return np.zeros((0, _DIM), dtype=np.float32)
        return np.stack([_encode(text) for text in texts])

    def encode_image(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Words only: always an error."""
        raise InvalidValue("image", len(images), "cannot be read by the lexicon", remedy="use encoder 'color-shape'")


@cache
def classes() -> dict[str, tuple[tuple[str, ...], str]]:
    """Every class with its names (itself first) and its group, in the order written."""
    table: dict[str, tuple[tuple[str, ...], str]] = {}
    group = ""
    for line in HOUSEHOLD.strip().splitlines():
        if "|" in line:
            group = line.split("|")[0].strip()
        elif line.strip():
            left, _, right = line.partition("=")
            name = left.partition("~")[0].strip()
            table[name] = ((name, *(other.strip() for other in right.split(","))), group)
    return table


@cache
def confusable() -> dict[str, str]:
    """Classes that people mix up (a cup and a mug): each to the one key the two share."""
    joined: dict[str, str] = {}
    for line in HOUSEHOLD.splitlines():
        if "~" in line:
            one, _, other = line.partition("=")[0].partition("~")
            pair = sorted((one.strip(), other.strip()))
            joined[one.strip()] = joined[other.strip()] = "/".join(pair)
    return joined


@cache
def group_uses() -> dict[str, str]:
    """Words of use and the group each belongs to; the first group that claims a word has it."""
    words: dict[str, str] = {}
    for line in HOUSEHOLD.splitlines():
        if "|" in line:
            group, _, uses = line.partition("|")
            for use in uses.split():
                words.setdefault(use, group.strip())
    return words


def classes_named(text: str) -> tuple[str, ...]:
    """The lexicon's classes that a phrase names or, where it names none, those that fit the use it describes."""
    named, _ = _match(parse(text).words)
    return tuple(named) or _serving(text)


@cache
def _fingerprint() -> str:
    text = HOUSEHOLD + repr(sorted(USES.items())) + repr((_GROUP_SHARE, _PAIR_SHARE, _COLOR_WEIGHT, _UNKNOWN_WEIGHT))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def _phrases() -> dict[tuple[str, ...], str]:
    """Names as word tuples; a class's own name beats another class's synonym."""
    table: dict[tuple[str, ...], str] = {}
    for name, (names, _) in classes().items():
        for other in names[1:]:
            table.setdefault(tuple(singular(word) for word in tokens(other)), name)
    for name in classes():
        table[tuple(singular(word) for word in tokens(name))] = name
    return table


@cache
def _class_vectors() -> dict[str, NDArray[np.float32]]:
    names = list(classes())
    groups = list(dict.fromkeys(group for _, group in classes().values()))
    pairs = sorted(set(confusable().values()))
    assert len(names) <= _CLASS_ROOM
    assert len(groups) <= _GROUP_ROOM
    assert len(pairs) <= _PAIR_ROOM
    vectors = {}
    for i, name in enumerate(names):
        vector = np.zeros(_DIM, dtype=np.float32)
        vector[_CLASS_ROOM + groups.index(classes()[name][1])] = _GROUP_SHARE
        pair = confusable().get(name)
        pair_share = _PAIR_SHARE if pair else 0.0
        if pair:
            vector[_CLASS_ROOM + _GROUP_ROOM + pairs.index(pair)] = pair_share
        vector[i] = np.sqrt(1.0 - _GROUP_SHARE**2 - pair_share**2)
        vectors[name] = vector
    return vectors


@cache
def _longest() -> int:
    """Words of the longest phrase."""
    return max(len(phrase) for phrase in _phrases())


def _match(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Classes named, longest phrase first, and the words left over."""
    named: list[str] = []
    rest: list[str] = []
    longest = _longest()
    i = 0
    while i < len(words):
        for length in range(min(longest, len(words) - i), 0, -1):
            name = _phrases().get(words[i : i + length])
            if name is not None:
                named.append(name)
                i += length
                break
        else:
            rest.append(words[i])
            i += 1
    return named, rest


def _uses(text: str) -> list[tuple[str, ...]]:
    """For each word of use in a text, the classes that serve it."""
    served: list[tuple[str, ...]] = []
    for token in tokens(text):
        for form in _stems(token):
            if form in USES:
                served.append(USES[form])
                break
            if form in group_uses():
                group = group_uses()[form]
                served.append(tuple(name for name, (_, own) in classes().items() if own == group))
                break
    return served


def _serving(text: str) -> tuple[str, ...]:
    """The classes that serve all uses a text speaks of; where none does, those of its most particular use."""
    uses = _uses(text)
    if not uses:
        return ()
    shared = tuple(name for name in uses[0] if all(name in use for use in uses[1:]))
    return shared or min(uses, key=len)


def _stems(token: str) -> list[str]:
    forms = [token, singular(token)]
    if token.endswith("ing") and len(token) > 5:
        stem = token[:-3]
        forms += [stem, stem + "e", stem[:-1]] if stem[-1:] == stem[-2:-1] else [stem, stem + "e"]
    return forms


def _encode(text: str) -> NDArray[np.float32]:
    parsed = parse(text)
    named, rest = _match(parsed.words)
    vector = np.zeros(_DIM, dtype=np.float32)
    served = () if named else _serving(text)
    if named:
        # English puts the head last ("coffee table book"), so earlier nouns only colour the meaning
        for depth, name in enumerate(reversed(named)):
            vector += _class_vectors()[name] * np.float32(0.5**depth)
    if served:
        total = np.sum([_class_vectors()[name] for name in served], axis=0)
        vector += total / np.float32(np.linalg.norm(total))
    else:
        for word in rest:
            vector += _hashed(word) * np.float32(_UNKNOWN_WEIGHT)
    for color in parsed.colors:
        vector[_CLASS_ROOM + _GROUP_ROOM + _PAIR_ROOM + COLORS.index(color)] += _COLOR_WEIGHT
    if not vector.any():
        vector = _hashed(" ".join(tokens(text)))
    return (vector / np.float32(np.linalg.norm(vector))).astype(np.float32)


@cache
def _hashed(word: str) -> NDArray[np.float32]:
    """Three dimensions with signs picked by the word's hash: different words are nearly at right angles."""
    digest = hashlib.sha256(word.encode()).digest()
    vector = np.zeros(_DIM, dtype=np.float32)
    for i in range(3):
        place = _HASH_START + int.from_bytes(digest[4 * i : 4 * i + 3], "big") % (_DIM - _HASH_START)
        vector[place] += 1.0 if digest[4 * i + 3] & 1 else -1.0
    norm = float(np.linalg.norm(vector))
    if norm == 0.0:
        vector[_HASH_START] = norm = 1.0
    return vector / np.float32(norm)
