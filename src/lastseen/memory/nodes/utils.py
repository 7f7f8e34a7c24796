"""How text becomes words: one rule for goals and nodes, and for whether retrieval runs at all."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Lower-case words without punctuation, in order, repeats kept; an underscore belongs to a word.

    >>> tokenize("  The RED mug, please! ")
    ['the', 'red', 'mug', 'please']
    >>> tokenize("?!...")
    []
    """
    return _PUNCTUATION.sub("", text.lower().strip()).split()
