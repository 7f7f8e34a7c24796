"""Settings of the doctor: when data from outside is called wrong."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Doctor(Section):
    """When data is called wrong. The bars are set so that a clean recording passes with room to spare."""

    max_frames: int = setting(60, unit="frames", low=4, why="six stretches of ten: enough to judge, seconds to read")
    stretch: int = setting(10, unit="frames", low=2, why="frames in a row, so that neighbours show the same things")
    spacing: float = setting(0.2, unit="s", low=0.0, why="between sampled frames: a hand-held camera moves visibly")
    points: int = setting(1500, unit="points", low=50, why="depth points re-projected per pair; medians are stable")
    max_pair_turn: float = setting(25.0, unit="deg", low=1.0, why="pairs turned further apart overlap too little")
    min_overlap: float = setting(0.1, low=0.0, high=1.0, why="share of points that must land in the other image")
    error_floor: float = setting(0.002, unit="share of depth", low=1e-6, why="sensor noise: better is luck")
    fault_gain: float = setting(
        1.6, low=1.0, why="another convention is named when it lowers the error by this; wrong ones cost 2 and more"
    )
    same_fit: float = setting(
        1.25, low=1.0, why="two conventions whose errors differ by less cannot be told apart by this motion"
    )
    unexplained_error: float = setting(
        0.05, unit="share of depth", low=0.0, why="poses that leave more than this under every convention are wrong"
    )
    max_scale_error: float = setting(
        0.35, unit="log ratio", low=0.0, why="a depth scale off by 40 % is a unit; less is calibration"
    )
    max_focal_error: float = setting(
        0.18, unit="log ratio", low=0.0, why="intrinsics off by 20 % are of another image"
    )
    max_delay: float = setting(0.06, unit="s", low=0.0, why="two frames of a 30 Hz camera are normal")
    depth_range_low: float = setting(0.08, unit="m", low=0.0, why="no depth camera sees a median nearer than this")
    depth_range_high: float = setting(60.0, unit="m", low=0.0, why="nor one farther: a unit is wrong")
    empty_depth: float = setting(0.05, low=0.0, high=1.0, why="fewer valid pixels than this leave nothing to lift")
    sparse_depth: float = setting(0.25, low=0.0, high=1.0, why="under this the sensor is too near, far or in the sun")
    static_distance: float = setting(
        0.002, unit="m", low=0.0, why="a pose that moves less while images change is stuck"
    )
    static_turn: float = setting(0.2, unit="deg", low=0.0, why="the same for turns")
    jump_error: float = setting(0.06, unit="share of depth", low=0.0, why="neighbours normally agree to 1 or 2 %")
    jump_ratio: float = setting(6.0, low=1.0, why="a jump stands out this far from the usual error of neighbours")
    jump_speed: float = setting(5.0, unit="m/s", low=0.0, why="no home robot or walking hand moves this fast")
    jump_distance: float = setting(0.3, unit="m", low=0.0, why="shorter steps are noise of a fast tracker")
    max_bad_frames: float = setting(
        0.1, low=0.0, high=1.0, why="share of frames that may be lost before it is a fault"
    )
    up_share: float = setting(0.06, low=0.0, high=1.0, why="share of surface that floors and tables show at least")
    up_gain: float = setting(2.0, low=1.0, why="another axis must carry this much more upward surface")
    shift_height: int = setting(240, unit="px", low=60, why="height at which colour and depth edges are compared")
    max_shift: float = setting(
        4.5, unit="px at that height", low=0.0, why="2 % of the image; loose mounts stay below"
    )
    shift_gain: float = setting(1.4, low=1.0, why="how far the best shift must stand out from no shift and the rest")
    min_two_sided: float = setting(
        0.4, low=0.0, high=1.0, why="share of surface seen from two view bins under which few objects get confirmed"
    )
