"""Which kind of question a sentence is, by its first words, and what is left of it for the query parser."""

from __future__ import annotations

import re
from typing import Literal

from lastseen.encoders.words import tokens

Kind = Literal[
    "where",
    "when",
    "since when",
    "how often",
    "how many",
    "what is there",
    "is it there",
    "what changed",
    "what is missing",
    "been there",
    "rooms",
    "home",
    "told",
    "not understood",
]
_LONGEST = 500
"""Characters of a question that are read."""
_LEAD = re.compile(r"^(?:(?:please|hey|ok|robot|can you|could you|tell me|do you know|say)\s+)+")
_STATES = re.compile(
    r"\b(open|opened|closed|shut|locked|unlocked|switched|turned (?:on|off)|running|broken|dirty|clean|full|empty|"
    r"hot|cold|wet|dry|charged|awake|asleep)\b"
)
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("how often", r"how\ (often | many\ times) (\ (have|did|do))? (\ (you|we))? (\ ever)? (\ (seen|see|saw))?"),
    ("how many", r"(how\ many | count | (the\ )? number\ of)"),
    ("since when", r"(since\ when | how\ long) (\ (has|have|is|are|was))? (\ there)? (\ been)?"),
    (
        "told",
        (
            r"what\ (was|were|did|have|do) (\ (i|you|we))? (\ been)? \ (told|tell|know|noted|note|written)"
            r" (\ (you|me|us))? (\ (about|of))?"
        ),
    ),
    ("home", r"where\ (do|does|should) (?=\ .*\ (live|belong|go)$)"),
    (
        "when",
        r"when (\ (did|was|were|have|is))? (\ (you|we))? (\ last)? (\ (see|saw|seen|observe))? (\ last)?",
    ),
    (
        "what is missing",
        (
            r"(what|which\ things?) (\ (is|are|s|was|were|has|have))? (\ been)?"
            r" \ (missing|gone|disappeared|vanished|removed)"
        ),
    ),
    (
        "what changed",
        (
            r"(what|which\ things?) (\ (is|are|s|was|were|has|have))? (\ been)?"
            r" \ (changed|different|new|moved|appeared|happened)"
        ),
    ),
    (
        "rooms",
        (
            r"(what|which|list|name|show) (\ me)? (\ all)? (\ the)? \ rooms"
            r" (\ (are\ there|do\ (you|we)\ (know|have|remember)|(have|did)\ you\ (seen|see|been\ (in|to))))?$"
        ),
    ),
    (
        "what is there",
        (
            r"(what|which\ things?|list\ (everything|all\ things?)) (\ (things?|objects?))?"
            r" (\ do\ you\ (see|know|remember) | \ can\ you\ see)? (\ (is|are|s|stands|lies|was))? (\ there)?"
            r" (?=\ (in|on|under|near|next|beside|inside|around|at|between|by|above|below|close|upstairs"
            r" | downstairs)\b)"
        ),
    ),
    (
        "is it there",
        (
            r"(is|are|was)\ there (\ still)? | do\ (you|we) (\ still)? \ (see|have|know|remember)"
            r" | (have|did)\ you (\ ever)? \ (seen|see)"
        ),
    ),
    ("been there", r"(have|were|did)\ you (\ ever)? (\ (been|go|visit|visited))?"),
    (
        "where",
        (
            r"where (\ (is|are|s|was|were|did|do|can|have))? (\ (i|you|we))? (\ (find|put|leave|left|see|keep|seen))?"
            r" | which (\ one)? (\ (is|are))? | what\ colou?r (\ (is|are))? | find | show\ me"
        ),
    ),
    ("is it there", r"is | are"),
    (
        "not understood",
        r"what | why | who | whose | how | should | will | would | shall | may | does | do | can | could",
    ),
)
"""Forms of each kind in the order in which they are tried; spaces that count are escaped."""
_PATTERNS = [(kind, re.compile(rf"(?:{form})(?=\ |$)", re.VERBOSE)) for kind, form in _KINDS]


def sort_question(question: str) -> tuple[Kind, str]:
    """The kind of a question and the words after those that tell it; a bare thing asks where it is.

    >>> sort_question("How many chairs are in the kitchen?")
    ('how many', 'chairs are in the kitchen')
    """
    words = _LEAD.sub("", " ".join(tokens(question[:_LONGEST])))
    for kind, pattern in _PATTERNS:
        found = pattern.match(words)
        if found is not None:
            return kind, words[found.end() :].strip()
    return "where", words


def asked_state(question: str) -> str | None:
    """A state that a question asks of a thing ("is the door open"); None where it asks none."""
    words = " ".join(tokens(question[:_LONGEST]))
    found = None if re.match(r"(is|are) there\b", words) else _STATES.search(words)
    return None if found is None else found.group(0)
