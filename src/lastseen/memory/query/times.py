"""Times in words: "yesterday", "in the last ten minutes", "since this morning".

A day is a day of UTC. They are counted from the newest frame of the memory, never from the clock of whoever asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

_UNITS = {
    **dict.fromkeys(("second", "seconds"), 1.0),
    **dict.fromkeys(("minute", "minutes", "min"), 60.0),
    **dict.fromkeys(("hour", "hours"), 3600.0),
    **dict.fromkeys(("day", "days"), 86400.0),
    **dict.fromkeys(("week", "weeks"), 604800.0),
    **dict.fromkeys(("month", "months"), 2592000.0),
}
NUMBERS = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}
"""Number words from two on; "one" is left to whoever asks, as it may stand for a thing."""
_COUNTS = {
    **NUMBERS,
    "a": 1,
    "an": 1,
    "one": 1,
    "twelve": 12,
    "twenty": 20,
    "thirty": 30,
    "half": 0.5,
    "few": 5,
    "couple": 2,
}
_PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (0, 24)}
"""Hours of the day (UTC) that a part of it begins and ends at."""
_RECENT = 900.0
"""Seconds that "recently" reaches back."""
_FORMS = (
    r"(?P<since>since )?(?P<day>today|yesterday|tonight)(?: (?P<part>morning|afternoon|evening|night))?",
    r"(?P<since>since )?this (?P<part>morning|afternoon|evening)",
    r"(?P<since>since )?last (?P<part>night)",
    r"(?:in |within |during |over |for )?(?:the )?(?:last|past) (?:(?P<count>\w+) )?(?P<unit>UNIT)",
    r"(?P<since>since )?(?P<count>\w+) (?P<unit>UNIT) ago",
    r"(?P<recent>recently|lately|just now)",
)
_UNIT = "|".join(sorted(_UNITS, key=len, reverse=True))
_PATTERNS = [re.compile(form.replace("UNIT", _UNIT) + r"(?= |$)") for form in _FORMS]


@dataclass(frozen=True, slots=True)
class TimeTerm:
    """A time as it was said: a day (0 today, 1 yesterday) with hours, or seconds back from now."""

    words: str
    open_ended: bool
    days: int | None = None
    hours: tuple[int, int] = (0, 24)
    seconds: float | None = None

    def bounds(self, now: datetime) -> tuple[datetime, datetime | None]:
        """From when, and before when (None: until now), counted from ``now``."""
        if self.seconds is not None:
            return now - timedelta(seconds=self.seconds), None
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=self.days or 0)
        start = midnight + timedelta(hours=self.hours[0])
        return start, None if self.open_ended else midnight + timedelta(hours=self.hours[1])


def match_time(words: list[str], at: int) -> tuple[TimeTerm, int] | None:
    """A time that begins at a word, and where the words after it begin; None where none does."""
    text = " ".join(words[at : at + 8])
    for pattern in _PATTERNS:
        found = pattern.match(text)
        if found is None:
            continue
        said, groups = found.group(0), found.groupdict()
        after = at + len(said.split())
        if groups.get("recent"):
            return TimeTerm(said, open_ended=True, seconds=_RECENT), after
        if groups.get("unit"):
            count = groups.get("count") or "one"
            number = float(count) if count.isdecimal() and len(count) < 7 else _COUNTS.get(count)
            if number is None:
                continue
            return TimeTerm(said, open_ended=True, seconds=number * _UNITS[groups["unit"]]), after
        part = groups.get("part")
        days = 1 if groups.get("day") == "yesterday" or said.endswith("last night") else 0
        hours = _PARTS[part] if part else (18, 24) if groups.get("day") == "tonight" else (0, 24)
        if said.endswith("last night"):
            hours = (18, 30)
        open_ended = bool(groups.get("since")) or (days == 0 and not part)
        return TimeTerm(said, open_ended=open_ended, days=days, hours=hours), after
    return None
