"""Settings of the simulated world: the robot's body, the light, the navigation grid and the clock."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Robot(Section):
    """The body that moves through a home; its steps are those of dead reckoning."""

    radius: float = setting(0.18, unit="m", low=0.01, high=1.0, why="LoCoBot, the robot of the ObjectNav tasks")
    camera_height: float = setting(0.88, unit="m", low=0.05, high=3.0, why="LoCoBot's camera, as in ObjectNav")
    look_angle: float = setting(30.0, unit="deg", low=1.0, high=90.0, why="one look action, as in ObjectNav")
    look_limit: float = setting(60.0, unit="deg", low=0.0, high=90.0, why="two looks up or down: ceiling to feet")
    step_over: float = setting(0.05, unit="m", low=0.0, why="wheels pass carpets and thresholds lower than this")
    slide: bool = setting(True, why="Habitat lets a blocked forward slide along the wall; false stops dead")


@dataclass(frozen=True, kw_only=True)
class Camera(Section):
    """The simulated RGB-D camera."""

    width: int = setting(256, unit="px", low=8, high=4096, why="enough for a mug at 3 m, cheap to ray cast")
    height: int = setting(192, unit="px", low=8, high=4096, why="4:3, as depth cameras have")
    horizontal_fov: float = setting(79.0, unit="deg", low=10.0, high=150.0, why="LoCoBot's camera in ObjectNav")
    step_time: float = setting(
        0.5, unit="s of frame time per action", low=0.001, why="0.25 m in half a second, a robot's indoor pace"
    )


@dataclass(frozen=True, kw_only=True)
class Light(Section):
    """A sun, a lamp on the robot and light from everywhere; the three add up to about 1 on a lit wall."""

    ambient: float = setting(0.52, low=0.0, high=1.0, why="no corner of a home by day is black")
    sun: float = setting(0.27, low=0.0, high=1.0, why="tells the faces of a box apart by direction")
    headlight: float = setting(0.26, low=0.0, high=1.0, why="tells curved surfaces apart whatever the sun does")


@dataclass(frozen=True, kw_only=True)
class Navigation(Section):
    """The grid on which paths and geodesic distances are found."""

    cell: float = setting(0.05, unit="m", low=0.01, high=0.5, why="ten cells across a narrow doorway's free width")
    view_distance: float = setting(
        1.0, unit="m", low=0.1, why="ObjectNav: a viewpoint lies within one metre of the object"
    )
