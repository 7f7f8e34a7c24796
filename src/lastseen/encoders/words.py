"""Reading a short household phrase: which words name the thing, which name its colour, which mean nothing.

Queries come from people ("the red mug on the table, please") and labels from detectors ("coffee_mug"); both are
brought to the same plain words here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lastseen.encoders.colors import COLOR_WORDS

_WORD = re.compile(r"[^\W_]+")


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for lists that are easier read as one."""
    return frozenset(text.split())


_STOP_WORDS = word_set(
    "a an the my your our his her their its this that these those some any please find look for get bring show me "
    "fetch go to where is are was were be i we you it do does did could would want need have has there of and "
    "or one ones thing things object objects item items stuff something somewhere anything anywhere place spot "
    "kind piece bit very really nice old new big small large little tiny huge tall short long empty full clean "
    "dirty wooden wood metal plastic ceramic leather colored coloured colour color last seen"
)
_PLACE_WORDS = word_set(
    "on in under near beside behind at by inside next from above below with underneath against outside"
)
_NOUNS_TOO = word_set("orange rose gold cherry oak lemon peach lime olive chocolate cream salmon walnut mint")
_MAKES_COLOR = word_set("one ones thing things object objects item items colored coloured color colour")
_ASKING = word_set("you i we they he she it")
_SHADES = word_set("dark light pale bright deep pastel")
_PLURALS = {
    "knives": "knife",
    "shelves": "shelf",
    "loaves": "loaf",
    "scarves": "scarf",
    "leaves": "leaf",
    "people": "person",
    "children": "child",
    "men": "man",
    "women": "woman",
    "feet": "foot",
    "mice": "mouse",
}
# words that end in s and are one thing, or that mean another thing without it
_NOT_PLURAL = word_set(
    "glasses sunglasses eyeglasses spectacles scissors jeans trousers pants shorts headphones earphones clothes "
    "keys series lens bus gas stairs binoculars pliers tongs blinds drawers christmas"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A phrase as plain words: the ones that name the thing, in order, and the basic colours named.

    ``plain`` is the phrase as it was said, without its colours and without the place that follows.
    """

    words: tuple[str, ...]
    colors: tuple[str, ...]
    plain: str = ""


def tokens(text: str) -> list[str]:
    """Lower-case words of letters and digits of any script; underscores and hyphens part words."""
    return _WORD.findall(text.lower())


def is_filler(word: str) -> bool:
    """Whether a word names neither a thing nor a colour: articles, requests, relations."""
    return word in _STOP_WORDS or word in _PLACE_WORDS


def singular(word: str) -> str:
    """The singular of an English noun, by rule; words that are no plurals stay as they are."""
    if word in _PLURALS:
        return _PLURALS[word]
    if len(word) <= 3 or word in _NOT_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zzes", "toes")):
        return word[:-2]
    return word[:-1]


def parse(text: str) -> Parsed:
    """Split a phrase into naming words and colours, leaving out filler and the place that follows "on" or "in".

    >>> parse("the red mugs on the wooden table, please")
    Parsed(words=('mug',), colors=('red',), plain='the mugs')
    """
    found = tokens(text)
    words: list[str] = []
    colors: list[str] = []
    plain: list[str] = []
    for i, word in enumerate(found):
        if word in _PLACE_WORDS and (words or colors):
            break
        following = found[i + 1] if i + 1 < len(found) else ""
        if (word in _SHADES and following in COLOR_WORDS) or (word == "can" and following in _ASKING):
            continue
        if word in COLOR_WORDS and _is_color(word, following):
            if COLOR_WORDS[word] not in colors:
                colors.append(COLOR_WORDS[word])
            continue
        plain.append(word)
        if word not in _STOP_WORDS and word not in _PLACE_WORDS:
            words.append(singular(word))
    return Parsed(tuple(words), tuple(colors), " ".join(plain))


def _is_color(word: str, following: str) -> bool:
    """An orange is a fruit unless a thing follows that it can colour: "orange mug", "the orange one"."""
    if word not in _NOUNS_TOO:
        return True
    if following in _MAKES_COLOR:
        return True
    return bool(following) and following not in _PLACE_WORDS and following not in _STOP_WORDS
