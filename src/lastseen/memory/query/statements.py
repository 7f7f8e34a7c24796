"""What people tell a memory, as a value: "this is the pantry", "keys live on the hook"; deterministic, no model.

A sentence is sorted by its form; what fits no form is refused, never guessed at (docs/telling.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lastseen.encoders.words import tokens
from lastseen.errors import InvalidValue

StatementKind = Literal["room", "region", "home", "object", "note"]
LONGEST = 500
"""Characters of a sentence that may be told."""
_ARTICLE = r"(?:(?:the|a|an|my|our|your|his|her|some) )?"
_WHERE = (
    r"(?:(?:up)?on|on top of|in|inside|into|within|under|underneath|below|beneath|near|next to|beside|by|close to|at)"
)
_LIVES = r"(?:lives?|belongs?|go(?:es)?|(?:is|are) (?:kept|usually|always|stored))"
_PUT = r"(?:put|placed|left|moved|laid|stored)"
_IS = rf"(?:(?:is|are)(?: now)?|stands?|lies|lie|(?:was|were) {_PUT})"
_NOTE = re.compile(r"\s*(?:note|remember)(?:\s+that)?\s*[:,]?\s+(?P<text>\S.*)", re.IGNORECASE | re.DOTALL)
_FORMS: tuple[tuple[StatementKind, str], ...] = (
    ("region", rf"th(?:is|at) (?:area|region|corner|part|spot) is (?:called )?{_ARTICLE}(?P<name>.+)"),
    ("room", rf"(?:this|here)(?: room| place)? is (?:called )?{_ARTICLE}(?P<name>.+)"),
    ("room", rf"(?:call|rename) (?P<room>this(?: room| place)?|room \d+) (?:to |as )?{_ARTICLE}(?P<name>.+)"),
    ("room", rf"(?P<room>room \d+) is (?:called )?{_ARTICLE}(?P<name>.+)"),
    ("room", r"(?:call|rename) the (?P<room>.+?) (?:to |as |into )(?:the )?(?P<name>.+)"),
    ("room", r"(?:call|rename) the (?P<room>.+?) (?:the|my|our) (?P<name>.+)"),
    (
        "home",
        rf"{_ARTICLE}(?P<name>.+?) {_LIVES} (?P<where>{_WHERE} .+)",
    ),
    ("object", rf"there(?: is| are|s| s) {_ARTICLE}(?P<name>.+?) (?P<where>here|{_WHERE} .+)"),
    ("object", rf"there(?: is| are|s| s) {_ARTICLE}(?P<name>.+)"),
    (
        "object",
        rf"(?:i|we|you)(?: have| ve)? {_PUT} {_ARTICLE}(?P<name>.+?) (?P<where>here|{_WHERE} .+)",
    ),
    (
        "object",
        rf"{_ARTICLE}(?P<name>.+?) {_IS} (?P<where>here|{_WHERE} .+)",
    ),
)
_PATTERNS = [(kind, re.compile(form)) for kind, form in _FORMS]


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says: the ``name`` of a place or thing, ``where`` in words, and for a name which ``room``.

    ``definite`` is a thing that may be remembered already: "the mug is on the table", not "there is a mug".
    """

    kind: StatementKind
    name: str
    where: str = ""
    room: str = ""
    definite: bool = False


def parse_statement(text: str) -> Statement:
    """Read what is told; a sentence of no known form raises.

    >>> parse_statement("The keys live on the hook.")
    Statement(kind='home', name='keys', where='on the hook', room='', definite=True)
    """
    if len(text) > LONGEST:
        raise InvalidValue(
            "tell", f"{text[:40]}...", f"is longer than {LONGEST} characters", remedy="tell less at once"
        )
    note = _NOTE.fullmatch(text)
    if note is not None:
        return Statement("note", note["text"].strip())
    words = " ".join(tokens(text))
    for kind, pattern in _PATTERNS:
        found = pattern.fullmatch(words)
        if found is not None:
            parts = found.groupdict()
            where = re.sub(r"^(?:into|within)\b", "in", parts.get("where") or "")
            definite = re.match(r"(?:there|an?|some)\b", words) is None
            return Statement(kind, parts["name"], where, parts.get("room") or "", definite)
    remedy = "tell it as: there is a kettle on the stove; keys live on the hook; this is the pantry; note: ..."
    raise InvalidValue("tell", text, "is not understood", remedy=remedy)
