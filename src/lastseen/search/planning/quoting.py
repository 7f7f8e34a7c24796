"""Text from outside made safe to show and to store: one line, no control characters, no more than so long.

Labels, tags and model answers come from files, cameras and servers. In a prompt they stand in quotes, so that a
label which reads like an order stays a label.
"""

from __future__ import annotations

import json
import unicodedata

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str, *, limit: int) -> str:
    r"""One line without control characters, cut with an ellipsis where it is longer than ``limit``.

    >>> clean("a\x00 b\n c", limit=80)
    'a b c'
    """
    safe = "".join(" " if unicodedata.category(each) in _UNSAFE else each for each in text)
    line = " ".join(safe.split())
    return line if len(line) <= limit else line[: max(0, limit - 1)].rstrip() + "…"


def quote(text: str, *, limit: int) -> str:
    """Cleaned text in double quotes, quotes inside it escaped; letters of any script stay readable."""
    return json.dumps(clean(text, limit=limit), ensure_ascii=False)
