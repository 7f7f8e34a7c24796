"""Settings of the low-level policy: from a goal pixel to discrete actions, and the check of a stop."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Policy(Section):
    """The geometric pixel policy."""

    cell: float = setting(0.1, unit="m", low=0.02, high=0.5, why="a doorway of 0.9 m is nine cells wide")
    window: float = setting(
        7.0,
        unit="m",
        low=2.0,
        why="half width of the local map; a waypoint lies at most 4 m away, detours included",
    )
    robot_radius: float = setting(0.18, unit="m", low=0.0, why="the ObjectNav agent of Habitat")
    obstacle_low: float = setting(
        0.12, unit="m", low=0.0, why="above floor noise at 4 m; lower things are carpets and thresholds"
    )
    floor_slope: float = setting(
        0.03,
        low=0.0,
        high=0.2,
        why="metres per metre added to it: one degree of tilt error lifts the floor so much",
    )
    obstacle_high: float = setting(0.95, unit="m", low=0.1, why="just over the robot's height of 0.88 m")
    min_points: int = setting(
        2, unit="pixels", low=1, why="pixels of one look that must fall on a cell: a single one is a stray"
    )
    max_range: float = setting(4.5, unit="m", low=0.5, why="beyond it depth noise blurs walls by more than a cell")
    max_waypoint: float = setting(4.0, unit="m", low=0.25, why="about one room: look again before the next")
    waypoint_reached: float = setting(0.3, unit="m", low=0.05, why="little more than one forward step")
    max_actions: int = setting(32, unit="actions", low=1, why="PixelNav stops at its 33rd prediction")
    max_collisions: int = setting(4, unit="collisions", low=1, why="per waypoint; then it is out of reach from here")
    roi_half_angle: float = setting(
        20.0, unit="deg", low=1.0, high=90.0, why="a view is 30 degrees of the panorama, plus a margin on each side"
    )


@dataclass(frozen=True, kw_only=True)
class Explored(Section):
    """The coarse map of a walk from which unexplored edges are told."""

    cell: float = setting(0.2, unit="m", low=0.05, high=1.0, why="dead reckoning is no better; a door is four cells")
    window: float = setting(18.0, unit="m", low=5.0, why="half width: the far end of a home from any start in it")


@dataclass(frozen=True, kw_only=True)
class PixelNav(Section):
    """The PixelNav network; its checkpoints were trained with these values, so other ones cost accuracy."""

    image_size: int = setting(224, unit="px", low=32, high=512, why="the side its trunks were trained at")
    goal_mask_side: int = setting(
        17, unit="px", low=1, why="odd, so that the goal pixel is its middle; drawn before the image is resized"
    )
    collision_logit: float = setting(-1.0, why="the forward logit after a collision; seldom the largest")
    stop_at_prediction: int = setting(
        33, unit="predictions", low=1, high=64, why="forced; the network has no more than 64 history slots"
    )
    device: str = setting("auto", why="where it runs: auto is cuda where there is one, else cpu; or cuda:1, mps")


@dataclass(frozen=True, kw_only=True)
class Stop(Section):
    """When a stop is believed."""

    views: int = setting(2, unit="views", low=1, why="one detection may be false; two consecutive ones seldom are")
    reach: float = setting(
        0.9, unit="m", low=0.0, why="ObjectNav succeeds within 1 m; the rest is for depth and pose noise"
    )
    min_score: float = setting(0.4, low=0.0, high=1.0, why="a stop ends the episode: weaker detections do not count")
    trust_planner: bool = setting(
        False,
        why="true: a stop of the policy at a goal that the planner flagged ends the search and nothing else does; "
        "sightings on the way change nothing, as in PixelNav's loop",
    )
    confirm_flag: bool = setting(
        False, why="true: with trust_planner, a flag counts only where the detector finds the goal in the chosen view"
    )
