"""Votes of pairs of like things for a turn and a shift, refined and judged by how much better they fit than chance.

Two things of a session and two like things of the map that lie as far apart and as high vote for one transform. The
transforms with the most votes are refined with all things that then lie near a like one, and each is judged by the
evidence of every thing of the session: how much likelier it is to find such a thing just there in the same home than
anywhere in another. Things that stand close together move together and count less than things far apart; a thing
that is missing counts against. Nothing is random, so the same two maps get the same answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.alignment.landmarks import Landmarks, likeness
from lastseen.memory.alignment.surface import Fit, SurfacePoints, fits, same_place
from lastseen.memory.alignment.transform import FrameTransform

Status = Literal["aligned", "ambiguous", "not_aligned"]

LEAST_SCORE = 10.0
"""Nats of evidence that are needed at least, however few the things."""
LARGE_MAPS, SMALL_MAPS = (2.0, 2.6), (-13.0, 4.7)
"""What is needed of n things in a map of m, as a + b ln(nm), the lesser of both: the more pairings there are, the
more of them agree by chance, and in small maps chance has little to work with. Chosen so that none of 6,000 pairs
of parts of 6 to 150 things passes (generated homes of seeds 3000 to 3029 and 3100 to 3129, a third of them the same
furniture set differently): of maps of 35 things each the luckiest reached 19 where 20 are needed, of 13 things each
9 where 11 are."""
LEAST_MATCHES, LEAST_SPOTS = 4, 3
"""Things met again, and spots apart that they stand at: two spots fit in too many ways."""
LEAST_SHARE = 0.34
"""Share of the session's things, of those that lie within the map, that must be met again; some always moved."""
MARGIN = 8.0
"""Nats by which the best must be ahead of the next place it could be, and no more than half of what is needed at all;
below, both are said."""
LARGEST_TURN, WITH_MORE = 0.025, 0.035
"""Radians, standard deviation of the turn: known worse, things 8 m away would be put 20 cm off. Of fewer than six
things met again it is itself known badly; with six or more the second holds."""
MOST_POINTS, LEAST_TELLING = 40_000, 200
"""Points of a surface at most, some 60 square metres of it, and telling ones at least, for it to tell a place: larger
ones hold things enough, and of a few points too many look alike by chance."""
ALIKE, NEXT_ALIKE = 0.45, 0.6
"""Share of the telling surface that must look alike, and of that share what the next place may reach. Of 112 pairs of
parts of generated homes that are not the same, whose walls and furniture are plain, the best reached 0.31."""
PATTERNED, ALIKE_PATTERNED = 0.5, 0.36
"""Share of patterned points from which a smaller share is enough: large plain patches look alike by chance, and as a
whole, patterned ones point by point. Of real recordings 0.57 to 0.80 are patterned, of generated homes 0.32 to 0.41;
of 300 pairs of real rooms that are not the same the best reached 0.27, parts of one recording reach 0.40 to 0.85."""
LEAST_SEEN, LEAST_SPREAD = 0.5, 0.6
"""Share of the telling surface that must lie where the other has looked, and metres that what looks alike must be
spread over: one piece of furniture stands in many rooms."""
SURFACE_EVIDENCE, SURFACE_DEVIATIONS = 12.0, (0.02, 0.03, 0.03, 0.03)
"""Nats that a surface which looks alike counts, and the standard deviations of yaw (rad), x, y and z (m) that it
tells: half a cube of it."""
AS_MANY = 0.8
"""Share of the best's things that, met again elsewhere too, make that place as good: one thing that the map has not
seen there does not tell two equal rooms apart."""
_CANDIDATES = 16
"""Like things of the map that each thing of the session is paired with at most."""
_VOTERS = 48
"""Things of the session that vote, the most telling ones first: more agree with them or do not count."""
_LIKE_ENOUGH = 0.15
"""Likeness from which two things may be one."""
_SHORTEST, _LONGEST = 0.8, 8.0
"""Metres between the two things of a pair: nearer ones say little of the turn, farther ones drift apart."""
_SPAN_ERROR = 0.3
"""Metres by which the distances of one pair may differ in two maps."""
_YAW_BIN, _XY_BIN = math.radians(6.0), 0.5
"""Sizes of the cells that are voted in, in radians and metres."""
_HYPOTHESES = 24
"""Transforms that are refined."""
_NEAR = (0.8, 0.6, 0.45, 0.45)
"""Metres within which a like thing is taken for the same, in each round of refining."""
NEAR = _NEAR[-1]
"""The last of them: two maps of one thing lie no farther apart."""
_SPREAD = 0.2
"""Metres, standard deviation of one thing's position in two maps, drift included."""
_SAME_SPOT = 1.2
"""Metres within which things share their evidence, each further one counting ``_SHARED`` of the one before."""
_SHARED = 0.7
_PRESENT = 0.6
"""Share of things that are still there on a later visit and are seen."""
_CLUTTER = 0.3
"""Likeness spread over what the map does not hold: a thing like nothing here is not evidence."""
_MISSED = 0.5 * math.log(1.0 - _PRESENT)
"""Nats for a thing that is missing where the map was looked at."""
_DIFFERENT = (0.5, math.radians(10.0))
"""Metres and radians from which two transforms are two places."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way in which the session may lie in the map.

    ``pairs`` are the ids met again, session's and map's; ``score`` is in nats, ``share`` the share of the session's
    things within the map that were met again, ``spots`` how many places apart they stand at. ``deviations`` are the
    standard deviations of yaw (rad) and x, y, z (m).
    """

    transform: FrameTransform
    score: float
    pairs: tuple[tuple[str, str], ...]
    spots: int
    share: float
    deviations: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Whether and where a session lies in a map, and why that is said; the best candidates come first."""

    status: Status
    reason: str
    candidates: tuple[Candidate, ...] = field(default=())

    @property
    def transform(self) -> FrameTransform | None:
        """From the session's frame to the map's; None unless aligned."""
        return self.candidates[0].transform if self.status == "aligned" else None


def needed_of(things: int, known: int) -> float:
    """Nats of evidence that are needed to align so many things with a map of so many."""
    pairings = math.log(max(things * known, 1))
    return max(LEAST_SCORE, min(a + b * pairings for a, b in (LARGE_MAPS, SMALL_MAPS)))


def judge(transform: FrameTransform, session: Landmarks, known: Landmarks) -> Candidate:
    """What speaks for one given way in which a session may lie in a map."""
    return _judge(transform, session, known, likeness(session, known))


def align(session: Landmarks, known: Landmarks) -> Alignment:
    """Find where a session lies in a known map.

    Args:
        session: Things in the session's own frame, z up.
        known: Things of the map.

    Returns:
        aligned with the transform, ambiguous with the places it could be, or not_aligned; always with the reason.
    """
    found = _by_things(session, known)
    if found.status == "not_aligned" and session.surface is not None and known.surface is not None:
        return _by_surface(session, known, found, session.surface(), known.surface())
    return found


def _by_surface(
    session: Landmarks, known: Landmarks, by_things: Alignment, mine: SurfacePoints, theirs: SurfacePoints
) -> Alignment:
    """Where the surface of a session lies on that of a map, for places with too few things to tell."""
    if max(len(mine), len(theirs)) > MOST_POINTS:
        return by_things
    if any(len(one.telling) < LEAST_TELLING for one in (mine, theirs)):
        return by_things
    first, *rivals = _places(fits(mine, theirs, also=tuple(each.transform for each in by_things.candidates)), mine)
    best = _with_surface(first, session, known)
    next_alike = max((fit.alike for fit in rivals), default=0.0)
    if _holds_others(first.transform, session.named(), known.named()):
        return by_things
    least = ALIKE_PATTERNED if min(mine.patterned, theirs.patterned) >= PATTERNED else ALIKE
    if first.seen < LEAST_SEEN or first.alike < least or first.spread < LEAST_SPREAD:
        return by_things
    met = f"{first.alike:.0%} of the telling surface that both saw looks alike ({next_alike:.0%} elsewhere)"
    if next_alike > NEXT_ALIKE * first.alike:
        others_too = [_with_surface(fit, session, known) for fit in rivals if fit.alike > NEXT_ALIKE * first.alike]
        reason = f"{met}: {len(others_too)} other place(s) look as well like it"
        return Alignment("ambiguous", reason, (best, *others_too))
    return Alignment("aligned", f"{met}, {len(best.pairs)} of {len(session)} things are met again", (best,))


def _holds_others(transform: FrameTransform, session: Landmarks, known: Landmarks) -> bool:
    """Whether something else stands there, however it looks: too few things with a name are met again.

    Things without one are pieces of the same surface, cut as each walk saw it, and tell nothing of their own.
    """
    return min(len(session), len(known)) >= LEAST_SPOTS and judge(transform, session, known).share < LEAST_SHARE


def _places(found: list[Fit], session: SurfacePoints) -> list[Fit]:
    """The best fit at each place, in their order."""
    places: list[Fit] = []
    for fit in found:
        if not any(same_place(fit.transform, other.transform, session) for other in places):
            places.append(fit)
    return places


def _with_surface(fit: Fit, session: Landmarks, known: Landmarks) -> Candidate:
    """A place that the surface tells, with the things met again there."""
    if not len(session) or not len(known):
        return Candidate(fit.transform, SURFACE_EVIDENCE, (), 0, 0.0, SURFACE_DEVIATIONS)
    judged = judge(fit.transform, session, known)
    score = max(judged.score, 0.0) + SURFACE_EVIDENCE
    return replace(judged, score=score, deviations=SURFACE_DEVIATIONS)


def _by_things(session: Landmarks, known: Landmarks) -> Alignment:
    fewest = min(len(session), len(known))
    if fewest < LEAST_MATCHES:
        whose = "the session" if len(session) <= len(known) else "the map"
        return Alignment("not_aligned", f"{whose} holds {fewest} things, {LEAST_MATCHES} are needed to tell")
    alike = likeness(session, known)
    found: list[Candidate] = []
    for transform in _hypotheses(session, known, alike):
        refined = _refine(transform, session, known, alike)
        if refined is not None and all(apart(refined, each.transform) for each in found):
            found.append(_judge(refined, session, known, alike))
    found.sort(key=lambda each: (-each.score, each.transform.yaw))
    if not found:
        return Alignment("not_aligned", "no two things lie as two like things of the map do")
    best, needed = found[0], needed_of(len(session), len(known))
    margin = min(MARGIN, needed / 2.0)
    rivals = [
        each
        for each in found[1:]
        if (best.score - each.score < margin or len(each.pairs) >= AS_MANY * len(best.pairs))
        and _is_elsewhere(each, best)
    ]
    met = f"{len(best.pairs)} of {len(session)} things are met again at {best.spots} spots"
    status: Status = "not_aligned"
    if best.score < needed:
        reason = f"{met}: evidence {max(best.score, 0.0):.0f}, {needed:.0f} is needed"
    elif len(best.pairs) < LEAST_MATCHES or best.spots < LEAST_SPOTS:
        reason = f"{met}, {LEAST_MATCHES} at {LEAST_SPOTS} spots are needed"
    elif best.share < LEAST_SHARE:
        reason = f"{met}, only {best.share:.0%} of those that should be there"
    elif best.deviations[0] > (LARGEST_TURN if len(best.pairs) < LEAST_MATCHES + 2 else WITH_MORE):
        reason = f"{met}, too close together to tell the turn: +-{math.degrees(best.deviations[0]):.1f} degrees"
    elif rivals:
        status, reason = "ambiguous", f"{met}, but {len(rivals)} other place(s) fit as well"
    else:
        status, reason = "aligned", f"{met}, evidence {best.score:.0f} of {needed:.0f} needed"
    return Alignment(status, reason, (best, *rivals) if status == "ambiguous" else (best,))


def _hypotheses(session: Landmarks, known: Landmarks, alike: NDArray[np.float64]) -> list[FrameTransform]:
    """The transforms that most pairs of like things vote for, the most votes first."""
    # a thing that is like few others tells most
    telling = np.argsort(-alike.max(axis=1) / (alike.sum(axis=1) + _CLUTTER), kind="stable")[:_VOTERS]
    best = np.argsort(-alike[telling], axis=1, kind="stable")[:, :_CANDIDATES]
    mine, theirs = session.positions[telling], known.positions
    rows, columns = np.triu_indices(len(telling), 1)
    spans = np.linalg.norm(mine[rows, :2] - mine[columns, :2], axis=1)
    fits = (spans >= _SHORTEST) & (spans <= _LONGEST)
    rows, columns, spans = rows[fits], columns[fits], spans[fits]
    if not len(rows):
        return []
    # every candidate of the one end with every candidate of the other: (pairs, k, k)
    ends, others = best[rows], best[columns]
    start = theirs[ends][:, :, None]
    way = theirs[others][:, None, :] - start
    weight = alike[telling[rows][:, None], ends][:, :, None] * alike[telling[columns][:, None], others][:, None, :]
    own = mine[columns] - mine[rows]
    agree = np.abs(np.hypot(way[..., 0], way[..., 1]) - spans[:, None, None]) <= _SPAN_ERROR
    agree &= np.abs(way[..., 2] - own[:, 2][:, None, None]) <= _SPAN_ERROR
    agree &= weight >= _LIKE_ENOUGH**2
    pair, first, second = np.nonzero(agree)
    if not len(pair):
        return []
    yaw = np.arctan2(way[pair, first, second, 1], way[pair, first, second, 0]) - np.arctan2(
        own[pair, 1], own[pair, 0]
    )
    middle = (mine[rows[pair]] + mine[columns[pair]]) / 2.0
    goal = start[pair, first, 0] + way[pair, first, second] / 2.0
    cosine, sine = np.cos(yaw), np.sin(yaw)
    x = goal[:, 0] - (cosine * middle[:, 0] - sine * middle[:, 1])
    y = goal[:, 1] - (sine * middle[:, 0] + cosine * middle[:, 1])
    z = goal[:, 2] - middle[:, 2]
    return _fullest_cells(yaw, np.stack([x, y, z], axis=1), weight[pair, first, second])


def _fullest_cells(
    yaw: NDArray[np.float64], shift: NDArray[np.float64], weight: NDArray[np.float64]
) -> list[FrameTransform]:
    """The weighted means of the fullest cells; two grids half a cell apart, so that no peak falls between cells."""
    peaks: list[tuple[float, FrameTransform]] = []
    turns = round(2.0 * math.pi / _YAW_BIN)
    for half in (0.0, 0.5):
        cells = np.stack(
            [
                np.floor(yaw % (2.0 * math.pi) / _YAW_BIN + half).astype(np.int64) % turns,
                np.floor(shift[:, 0] / _XY_BIN + half).astype(np.int64),
                np.floor(shift[:, 1] / _XY_BIN + half).astype(np.int64),
            ],
            axis=1,
        )
        _, number = np.unique(cells, axis=0, return_inverse=True)
        number = number.ravel()
        votes = np.bincount(number, weights=weight)
        for cell in np.argsort(-votes, kind="stable")[:_HYPOTHESES].tolist():
            inside = number == cell
            share = weight[inside] / votes[cell]
            angle = math.atan2(float(share @ np.sin(yaw[inside])), float(share @ np.cos(yaw[inside])))
            peaks.append((float(votes[cell]), FrameTransform(angle, *(share @ shift[inside]).tolist())))
    peaks.sort(key=lambda peak: (-peak[0], peak[1].yaw))
    return [transform for _, transform in peaks[: 2 * _HYPOTHESES]]


def _refine(
    transform: FrameTransform, session: Landmarks, known: Landmarks, alike: NDArray[np.float64]
) -> FrameTransform | None:
    """The transform by all things that lie near a like one under it; None where fewer than three do."""
    for near in _NEAR:
        mine, theirs = _matches(transform, session, known, alike, near)
        if len(mine) < 3:
            return None
        weights = alike[mine, theirs]
        transform = FrameTransform.fit(session.positions[mine], known.positions[theirs], weights)
    return transform


def _matches(
    transform: FrameTransform, session: Landmarks, known: Landmarks, alike: NDArray[np.float64], near: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the session and of the map that are each other's best within ``near`` metres."""
    gaps = np.linalg.norm(transform.apply(session.positions)[:, None] - known.positions[None], axis=2)
    fit = np.where((gaps <= near) & (alike >= _LIKE_ENOUGH), alike * np.exp(-0.5 * (gaps / _SPREAD) ** 2), 0.0)
    best = fit.argmax(axis=1)
    rows = np.arange(len(session))
    mutual = (fit[rows, best] > 0.0) & (fit.argmax(axis=0)[best] == rows)
    return rows[mutual], best[mutual]


def _judge(transform: FrameTransform, session: Landmarks, known: Landmarks, alike: NDArray[np.float64]) -> Candidate:
    placed = transform.apply(session.positions)
    mine, theirs = _matches(transform, session, known, alike, _NEAR[-1])
    low, high = known.positions.min(axis=0), known.positions.max(axis=0)
    area = max(float(np.prod(high[:2] - low[:2])), 4.0)
    flat = np.sum((placed[:, None, :2] - known.positions[None, :, :2]) ** 2, axis=2) / _SPREAD**2
    high_off = (placed[:, None, 2] - known.positions[None, :, 2]) ** 2 / _SPREAD**2
    density = np.exp(-0.5 * (flat + high_off)) / (2.0 * math.pi * _SPREAD**2)
    expected = np.sum(alike * density, axis=1) / (np.sum(alike, axis=1) + _CLUTTER)
    evidence = np.log(_PRESENT * area * expected + 1.0 - _PRESENT)
    met = np.zeros(len(session), dtype=bool)
    met[mine] = True
    # the map knows of no more than it looked at: what lies beyond its things is neither for nor against
    within = np.all((placed[:, :2] >= low[:2] - _NEAR[0]) & (placed[:, :2] <= high[:2] + _NEAR[0]), axis=1)
    within &= np.abs(placed[:, 2] - np.clip(placed[:, 2], low[2], high[2])) <= _NEAR[0]
    score = float(_MISSED * np.count_nonzero(within & ~met))
    counted: list[int] = []
    spots = 0
    for row in sorted(mine.tolist(), key=lambda row: (-evidence[row], row)):
        near = sum(math.dist(placed[row, :2], placed[other, :2]) < _SAME_SPOT for other in counted)
        score += max(float(evidence[row]), 0.0) * _SHARED**near
        spots += near == 0
        counted.append(row)
    share = len(mine) / max(int(np.count_nonzero(within | met)), 1)
    pairs = tuple(
        (session.ids[one], known.ids[other]) for one, other in zip(mine.tolist(), theirs.tolist(), strict=True)
    )
    return Candidate(transform, score, pairs, spots, share, _deviations(placed[mine], known.positions[theirs]))


def _deviations(placed: NDArray[np.float64], target: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Standard deviations of yaw, x, y and z that the scatter of the matches leaves."""
    if not len(placed):
        return (math.pi, math.inf, math.inf, math.inf)
    count = len(placed)
    gaps = placed - target
    spread = max(_SPREAD / 2.0, float(np.sqrt(np.mean(np.sum(gaps[:, :2] ** 2, axis=1) / 2.0))))
    arm = float(np.sum((placed[:, :2] - placed[:, :2].mean(axis=0)) ** 2))
    shift = spread / math.sqrt(count)
    return (spread / math.sqrt(max(arm, 1e-6)), shift, shift, shift)


def _is_elsewhere(one: Candidate, best: Candidate) -> bool:
    """Whether a candidate pairs other things than the best: with the same it is the same place, fitted worse."""
    return 2 * len(set(one.pairs) & set(best.pairs)) < len(one.pairs)


def apart(one: FrameTransform, other: FrameTransform) -> bool:
    """Whether two transforms put the session at two places."""
    metres, radians = _DIFFERENT
    return one.angle_to(other) > radians or math.dist((one.x, one.y), (other.x, other.y)) > metres
