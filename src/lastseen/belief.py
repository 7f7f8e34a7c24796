"""The belief of a search and the hypotheses about it: plain dicts with a schema, so that a log is the state."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from lastseen import schemas

TargetStatus = Literal["searching", "visible", "likely_in_memory", "unreachable", "done"]
NextAction = Literal["approach", "explore", "rotate", "goto_node", "ask_clarification", "stop"]


class Candidate(TypedDict):
    """A memory node worth trying; only the id and the score, never the node itself."""

    node_id: int
    score: float


class NavigationGoal(TypedDict):
    """Where a hypothesis wants to go: a known node, or a heading in degrees, positive to the left."""

    node_id: NotRequired[int]
    heading_deg: NotRequired[float]


class Hypothesis(TypedDict):
    """What a model proposes; data to be checked, never an order."""

    target_status: TargetStatus
    action: NextAction
    confidence: float
    rationale: str
    navigation_goal: NotRequired[NavigationGoal | None]
    constraints: NotRequired[list[str]]
    clarification_question: NotRequired[str | None]


class BeliefState(TypedDict):
    """The one state of a search; docs/interface-contract.md says who may set which field."""

    goal_text: str
    target_status: TargetStatus
    current_node_id: int | None
    candidate_nodes: list[Candidate]
    active_constraints: list[str]
    last_hypothesis: Hypothesis | None
    rejection_reason: str | None
    next_action: NextAction | None
    visible_streak: int
    missed_streak: int
    last_seen_step: int | None
    last_seen_stamp: float | None
    last_seen_node_id: int | None


def new_belief(goal_text: str) -> BeliefState:
    """The belief at the start of a search: nothing seen, nothing retrieved.

    >>> new_belief("red mug")["target_status"]
    'searching'
    """
    return BeliefState(
        goal_text=goal_text,
        target_status="searching",
        current_node_id=None,
        candidate_nodes=[],
        active_constraints=[],
        last_hypothesis=None,
        rejection_reason=None,
        next_action=None,
        visible_streak=0,
        missed_streak=0,
        last_seen_step=None,
        last_seen_stamp=None,
        last_seen_node_id=None,
    )


def validate_belief(belief: object) -> None:
    """Raise ``InvalidValue`` that names the first field of a belief that breaks its schema."""
    schemas.validate("belief_state", belief)


def validate_hypothesis(hypothesis: object) -> None:
    """Raise ``InvalidValue`` that names the first field of a hypothesis that breaks its schema."""
    schemas.validate("hypothesis", hypothesis)
