"""From scores to an answer: found, ambiguous, or not found, and why.

The best of a bad lot is no answer. A score must reach what its kind of query needs; and when several things fit
equally well, and stand apart, the answer says so instead of picking one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache

import numpy as np

from lastseen.encoders.lexicon import classes
from lastseen.encoders.words import Parsed, singular, tokens
from lastseen.memory.object import Answer, Object
from lastseen.memory.query.filter import Filter, select
from lastseen.memory.query.ranker import MARGIN, MOST_RANKED, NameRanker, Ranking
from lastseen.memory.query.snapshot import Snapshot

_SAME_SPOT = 0.3
"""Metres within which two entries lead a robot to one place: the association radius."""
_TYPO = 0.8
"""Likeness from which an unknown word is taken for a known one that was misspelt: one letter in five or six."""
_SHORTEST_TYPO = 4
"""Letters below which a misspelt word is like too many others."""

_LIKENESS = (
    (0.8, "is almost like it, but not enough"),
    (0.5, "is only a little like it"),
    (-np.inf, "is hardly like it"),
)
"""Words for a score by its share of what is needed: people read no scores."""


def judge(
    snapshot: Snapshot,
    ranking: Ranking,
    *,
    asked: str,
    k: int,
    why_not: Callable[[], str],
    several: bool = False,
) -> Answer:
    """The verdict on ranked rows, beside the k best; ``why_not`` is asked for the reason only when nothing fits.

    Several that fit equally well are ``ambiguous``, unless ``several`` were asked for.
    """
    fitting = sum(score >= ranking.accept for score in ranking.scores)
    pairs = ranking.pairs()[: k if several else max(min(fitting, MOST_RANKED), k)]
    hits = [snapshot.object(row, score) for row, score in pairs]
    if not fitting:
        return Answer("not_found", why_not(), tuple(hits[:k]), ranking.accept)
    total = sum(score >= max(ranking.accept, ranking.scores[0] - MARGIN) for score in ranking.scores)
    if several and fitting > 1:
        more = f", {k} of them listed" if fitting > k else ""
        return Answer("found", f"{fitting} things fit {asked}{more}", tuple(hits), ranking.accept, total=total)
    equal = [hit for hit in hits[: min(fitting, MOST_RANKED)] if _score(hit) >= _score(hits[0]) - MARGIN]
    apart = _apart(equal)
    listed = tuple(hits[:k])
    if len(apart) == 1:
        how = " by appearance" if ranking.rows[0] in ranking.by_appearance else ""
        note = " (not seen lately)" if hits[0].stale else ""
        reason = f"{hits[0].label or 'something'} fits {asked}{how}{note}"
        return Answer("found", reason, listed, ranking.accept, total=total)
    kinds = ", ".join(dict.fromkeys(hit.label or "something" for hit in apart))
    more = f", {k} of them listed" if len(apart) > k else ""
    reason = f"{len(apart)} things fit {asked} equally well ({kinds}){more}"
    return Answer("ambiguous", reason, listed, ranking.accept, total=total)


def why_no_embedding_fits(snapshot: Snapshot, ranking: Ranking, limits: Filter, *, asked: str) -> str:
    """Why an image or an embedding was not found."""
    if not len(snapshot.table):
        return "memory is empty"
    if not ranking.rows:
        return f"nothing remembered {limits.in_words()} has an image embedding that is like {asked}"
    best = snapshot.object(ranking.rows[0], ranking.scores[0])
    return f"nothing remembered looks like {asked}: the nearest, {best.label or best.id}, {_likeness(ranking)}"


def why_no_name_fits(
    snapshot: Snapshot, ranking: Ranking, limits: Filter, *, names: NameRanker, phrase: Parsed, asked: str
) -> str:
    """Say what stood in the way: another place, not confirmed, gone, another colour, or nothing like it."""
    table = snapshot.table
    if not len(table):
        return "memory is empty"
    rows = select(table, Filter(include_tentative=True, include_removed=True))
    scores = names.scores(table, rows, phrase)
    fits = scores >= names.accept
    if fits.any():
        best = snapshot.object(int(rows[int(np.argmax(scores))]), float(scores.max()))
        name = best.label or "something"
        if np.isin(rows[fits], select(table, _state_alone(limits))).any():
            if limits.limits_more_than_state:
                return f"{name} is remembered, but not {limits.in_words()}"
            return f"{name} is called so, but does not look like {asked}"
        if best.state in ("missing", "removed"):
            return f"{name} was remembered as {best.id}, but its place was seen empty"
        return f"{name} was seen but is not confirmed; ask with include_tentative"
    if not phrase.words:
        return f"nothing remembered is {' and '.join(phrase.colors)}"
    meaning = names.meaning(table, rows, phrase)
    nearest = snapshot.object(int(rows[int(np.argmax(meaning))]), float(meaning.max()))
    if phrase.colors and _score(nearest) >= names.accept:
        seen = nearest.color or "of another colour"
        return f"{nearest.label or 'it'} is remembered, but {seen}, not {' and '.join(phrase.colors)}"
    meant = did_you_mean(phrase, table.label_names)
    hint = "" if meant is None else f"; did you mean {meant!r}?"
    if not any(table.label(row) for row in rows.tolist()):
        found = "" if not ranking.rows else f", and what looks nearest {_likeness(ranking)}"
        return f"none of the {len(rows)} things remembered has a name{found}{hint}"
    if ranking.rows:
        best = snapshot.object(ranking.rows[0], ranking.scores[0])
        name = best.label or best.id
        return f"nothing remembered is like {asked}: the nearest, {name}, {_likeness(ranking)}{hint}"
    return f"nothing remembered is like {asked}{hint}"


def _likeness(ranking: Ranking) -> str:
    """How like what was asked the best of a bad lot is; the figures stand beside the hits."""
    share = ranking.scores[0] / ranking.accept if ranking.accept > 0.0 else 0.0
    return next(words for least, words in _LIKENESS if share >= least)


def did_you_mean(phrase: Parsed, labels: Sequence[str]) -> str | None:
    """The phrase with misspelt words put right, by the names that are known.

    None where none is misspelt, or where another word is known neither: half a phrase is no name.
    """
    own = {singular(word) for label in labels for word in tokens(label)}
    known = own | _household_words()
    meant, changed = [], False
    for word in phrase.words:
        near: list[str] = []
        if word not in known and len(word) >= _SHORTEST_TYPO:
            near = get_close_matches(word, sorted(own), n=1, cutoff=_TYPO) or get_close_matches(
                word, sorted(known), n=1, cutoff=_TYPO
            )
        if word not in known and not near:
            return None
        meant.append(near[0] if near else word)
        changed = changed or bool(near)
    return " ".join([*phrase.colors, *meant]) if changed else None


@cache
def _household_words() -> frozenset[str]:
    return frozenset(singular(word) for names, _ in classes().values() for name in names for word in tokens(name))


def _state_alone(limits: Filter) -> Filter:
    return replace(limits, near=None, radius=None, within=None, label=None, since=None, before=None, fresh_after=None)


def _score(hit: Object) -> float:
    return 0.0 if hit.score is None else hit.score


def _apart(hits: Sequence[Object]) -> list[Object]:
    """Those that stand apart from all better ones; of one spot only the best counts."""
    spots = np.array([hit.position for hit in hits])
    near = np.linalg.norm(spots[:, None] - spots[None], axis=2) <= _SAME_SPOT
    taken = np.zeros(len(hits), dtype=bool)
    apart = []
    for at, hit in enumerate(hits):
        if not taken[at]:
            taken |= near[at]
            apart.append(hit)
    return apart
