"""Settings of the ObjectNav evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Evaluation(Section):
    """Episodes, cameras and what counts as success."""

    goals: str = setting(
        "chair, bed, plant, toilet, tv, sofa",
        why="the six classes of the HM3D ObjectNav challenge; separated by commas",
    )
    image_width: int = setting(160, unit="px", low=16, why="small: an evaluation renders a hundred thousand frames")
    image_height: int = setting(120, unit="px", low=16, why="4:3, as the camera")
    level: str = setting(
        "typical",
        choices=("perfect", "good", "typical", "bad"),
        why="of detector, depth, pose and wheels: what a home robot has",
    )
    poses: str = setting(
        "actions",
        choices=("actions", "localizer"),
        why="what the frames of a search carry: poses that its actions add up to, or a localizer's at that level",
    )
    viewpoint_tolerance: float = setting(
        0.1, unit="m", low=0.0, why="ObjectNav: stopped at most this far from a viewpoint of the goal"
    )
    lost_distance: float = setting(
        3.0, unit="m", low=0.0, why="how wrong a wrong start pose is at least: another room, not a bad fix"
    )
    changes: int = setting(
        6, unit="things", low=0, why="moved between the earlier visit and the search: a busy week of a household"
    )
