"""Settings of the moving path: dead reckoning, anchors, places, patterns."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class DeadReckoning(Section):
    """What each action does to the pose when nothing but the action is known."""

    forward_step: float = setting(0.25, unit="m", low=0.0, why="as Habitat moves")
    turn_angle: float = setting(30.0, unit="deg", low=0.0, high=180.0, why="as Habitat turns")
    trust_collisions: bool = setting(
        False, why="every forward advances the pose; true holds still when the robot reports a bump"
    )


@dataclass(frozen=True, kw_only=True)
class Places(Section):
    """When anchors and places are made."""

    update_period: int = setting(20, unit="steps", low=1, why="the scene is analyzed this often")
    dwell: int = setting(3, unit="analyses", low=1, why="so many analyses in a row must agree on a new place")
    anchor_forward_steps: int = setting(
        2, unit="forward steps", low=1, why="an anchor every half metre of a straight path"
    )
    detect_branches: bool = setting(False, why="true makes an anchor where depth shows a door or a fork")
    reenter: bool = setting(True, why="a place left and found again is one place; without it ABABA never fires")
    reenter_window: int = setting(8, unit="places", low=1, why="how many recent places can be re-entered")
    max_jump: float = setting(
        2.0,
        unit="m",
        low=0.1,
        why="between two frames of a recording: farther is a lost pose or a cut, and no way that was walked",
    )
    same_anchor: float = setting(
        0.25,
        unit="m",
        low=0.0,
        why="half the way between two anchors: nearer, an anchor of an earlier walk in the same map is this one",
    )
    max_description: int = setting(240, unit="characters", low=20, why="one or two short sentences per place")


@dataclass(frozen=True, kw_only=True)
class Localization(Section):
    """Which other anchors may be the same spot: a hint for the planner, never a merge."""

    radius: float = setting(1.5, unit="m", low=0.0, why="to be tuned to the drift of the robot")


@dataclass(frozen=True, kw_only=True)
class Patterns(Section):
    """When exploration counts as going nowhere."""

    stuck_window: int = setting(10, unit="steps", low=1, why="so many steps in one place are STUCK")
    no_progress_window: int = setting(20, unit="policy steps", low=1, why="one place update period")
    no_progress_distance: float = setting(
        0.5, unit="m", low=0.0, why="two forward steps: less in a whole window is no progress"
    )


@dataclass(frozen=True, kw_only=True)
class Branches(Section):
    """When a depth image shows a door or a junction."""

    band: float = setting(
        0.1, unit="of the image height", low=0.0, high=1.0, why="rows around the horizon: above tables, below lamps"
    )
    jump: float = setting(1.0, unit="m", low=0.0, why="how much farther an opening reaches than its two edges")
    min_width: float = setting(0.5, unit="m", low=0.0, why="narrower gaps lead nowhere a robot fits")
    max_width: float = setting(2.0, unit="m", low=0.0, why="wider gaps are the room itself")
    reach: float = setting(3.0, unit="m", low=0.0, why="a door farther off than this is not a branch yet")
