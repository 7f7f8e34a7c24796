"""Settings of the offline model: the weights by which it compares directions."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Offline(Section):
    """The rule-based planner; scores add up per view, and the choice among views is a seeded softmax."""

    goal_score: float = setting(0.3, low=0.0, high=1.0, why="a detection below this is as often wrong as right")
    room_weight: float = setting(2.0, low=0.0, why="a view of the right kind of room outweighs open floor")
    full_evidence: float = setting(
        1.5,
        unit="summed scores",
        low=0.01,
        why="two sure things tell a room; one doubtful one hardly sways the choice",
    )
    repeat_factor: float = setting(
        0.6,
        low=0.0,
        high=1.0,
        why="each time a kind of room was gone for in vain, the next of its kind is worth less",
    )
    free_weight: float = setting(1.0, low=0.0, why="open floor is where something new can be seen")
    free_range: float = setting(4.0, unit="m", low=0.1, why="more free floor than a room is deep tells no more")
    unknown_free: float = setting(2.0, unit="m", low=0.0, why="half of that, where depth is not told")
    least_free: float = setting(0.6, unit="m", low=0.0, why="less than a robot and a step: the way is barred")
    barred_penalty: float = setting(4.0, low=0.0, why="more than any room is worth")
    door_bonus: float = setting(0.5, low=0.0, why="a door leads elsewhere; half of open floor")
    candidate_weight: float = setting(12.0, low=0.0, why="memory that saw the thing beats common sense about rooms")
    candidate_floor: float = setting(
        0.5, low=0.0, high=1.0, why="an unrelated node scores about 0.4: scores below this tell nothing"
    )
    sighting_weight: float = setting(12.0, low=0.0, why="the target itself, seen in this search, comes first")
    unexplored_weight: float = setting(
        8.0, low=0.0, why="what was not seen yet may hold the target, what was seen did not"
    )
    unexplored_range: float = setting(
        3.0, unit="m", low=0.1, why="how much farther than the nearest edge one is worth half as much"
    )
    opening: float = setting(
        1.0, unit="m", low=0.1, why="a doorway: narrower edges are mostly corners behind furniture; worth half"
    )
    looks_share: float = setting(
        0.4,
        low=0.0,
        high=1.0,
        why="how much a view's looks count where edges are known: it shows what was seen already",
    )
    explored_penalty: float = setting(
        1.5, low=0.0, why="a direction without an unexplored edge, where memory knows of some elsewhere"
    )
    blocked_penalty: float = setting(3.0, low=0.0, why="a way that was blocked is seldom open the second time")
    tried_penalty: float = setting(1.0, low=0.0, why="each time a way was walked from here without finding the goal")
    tried_most: float = setting(
        3.0, low=0.0, why="as much as a blocked way: the one door of a room may be gone through again"
    )
    visited_penalty: float = setting(0.2, unit="per anchor", low=0.0, why="five anchors cost as much as open floor")
    visited_most: float = setting(1.5, low=0.0, why="so that a way back through a known room stays possible")
    swing_penalty: float = setting(2.0, low=0.0, why="ABABA: neither of the last two places once more")
    temperature: float = setting(0.25, low=0.001, why="a clear winner is taken, near ties are broken by the seed")
