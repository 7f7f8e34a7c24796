"""Which of the topics of a robot are the camera: found by type, content and neighbourhood, unless they are named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lastseen.errors import SourceError
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import CAMERA_INFO, DETECTIONS, IMAGES, POSES, TEXT

LISTED = 30
"""Topics named in an error at most."""

DETECTIONS_TEXT = "/lastseen/detections"
"""Detections as lines of ``detections.jsonl``, with masks; what ``lastseen record`` writes beside the boxes."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic; ``depth`` is True for depth images, False for colour, None for all else and where it is not known."""

    name: str
    type: str
    count: int = 1
    depth: bool | None = None
    frame: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The topics that make up the camera; empty where there is none."""

    color: Topic
    depth: Topic
    color_info: str
    depth_info: str
    pose: str
    detections: str
    detections_text: str


def choose(topics: Iterable[Topic], options: SourceOptions) -> Chosen:
    """Pick the camera's topics; names in the options hold, and a name that is not there is an error."""
    known = sorted(topics, key=lambda topic: topic.name)
    infos = [topic for topic in known if topic.type == CAMERA_INFO]
    color = _image(known, options.color_topic, "color_topic", lambda one: one.depth is False, _color_rank)
    depth = _image(known, options.depth_topic, "depth_topic", lambda one: one.depth is True, _depth_rank)
    poses = [topic for topic in known if topic.type in POSES]
    boxes = [topic for topic in known if topic.type == DETECTIONS]
    texts = [topic for topic in known if topic.type == TEXT and topic.name == DETECTIONS_TEXT]
    color_info = _beside(color, infos, options.color_info_topic, "color_info_topic")
    return Chosen(
        color,
        depth,
        color_info,
        _beside(depth, infos, options.depth_info_topic, "depth_info_topic") or color_info,
        _named(poses, options.pose_topic, "pose_topic") or _first(poses, _pose_rank),
        _named(boxes, options.detections_topic, "detections_topic") or _first(boxes, lambda one: (-one.count,)),
        texts[0].name if texts and not options.detections_topic else "",
    )


def _image(
    known: list[Topic],
    name: str,
    option: str,
    fits: Callable[[Topic], bool],
    rank: Callable[[Topic], tuple[object, ...]],
) -> Topic:
    images = [topic for topic in known if topic.type in IMAGES]
    wanted = _named(images, name, option)
    if wanted:
        return next(topic for topic in images if topic.name == wanted)
    fitting = [topic for topic in images if fits(topic) and topic.count > 0]
    if not fitting:
        what = option.removesuffix("_topic").replace("color", "colour")
        there = (
            ", ".join(f"{topic.name} ({topic.type}, {topic.count})" for topic in known[:LISTED]) or "no topic at all"
        )
        there += f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
        remedy = f"name one with {option}" if images else "record an Image or CompressedImage topic too"
        raise SourceError(option, "", f"finds no {what} image among {there}", remedy=remedy)
    return min(fitting, key=lambda topic: (*rank(topic), topic.name))


def _named(topics: list[Topic], name: str, option: str) -> str:
    if name and all(topic.name != name for topic in topics):
        there = ", ".join(topic.name for topic in topics) or "none"
        raise SourceError(option, name, "is no topic of this type here", remedy=f"there are: {there}")
    return name


def _first(topics: list[Topic], rank: Callable[[Topic], tuple[object, ...]]) -> str:
    return min(topics, key=lambda topic: (*rank(topic), topic.name)).name if topics else ""


def _color_rank(topic: Topic) -> tuple[object, ...]:
    # a camera that has colour in its name is meant; an infrared or fisheye one is not
    odd = any(word in topic.name for word in ("infra", "fisheye", "/left", "/right", "debug", "overlay"))
    named = any(word in topic.name for word in ("color", "rgb"))
    return odd, not named, -topic.count


def _depth_rank(topic: Topic) -> tuple[object, ...]:
    registered = any(word in topic.name for word in ("aligned", "registered"))
    return not registered, -topic.count


def _pose_rank(topic: Topic) -> tuple[object, ...]:
    return POSES.index(topic.type), -topic.count


def _beside(image: Topic, infos: list[Topic], name: str, option: str) -> str:
    """The CameraInfo of an image: its sibling, else one of its frame, else the only one."""
    if name:
        return _named(infos, name, option)
    folder = image.name
    for _ in range(2):
        folder = folder.rpartition("/")[0]
        # RealSense's own bags keep it in a folder of its own
        names = {f"{folder}/camera_info", f"{folder}/info/camera_info"}
        sibling = next((topic.name for topic in infos if topic.name in names), "")
        if sibling:
            return sibling
    framed = [topic.name for topic in infos if topic.frame and topic.frame == image.frame]
    if framed:
        return framed[0]
    return infos[0].name if len(infos) == 1 else ""
