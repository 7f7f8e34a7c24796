"""A detector that errs like a real one: it reads the instance ids of a rendered frame and spoils what they say.

It gives boxes, masks, labels and scores and nothing else: no instance id, no truth, no order but the score's. Misses,
confusions and false positives depend on size, range and occlusion, and are drawn from (seed, frame id, instance).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.sim.home import STRUCTURE_ID, Home, Thing
from lastseen.sim.mesh import Mesh
from lastseen.sim.render import View
from lastseen.sim.senses import DETECTOR, DetectorFigures, Level

_REFERENCE_WIDTH = 640.0
"""Pixels: detectors bring images to about this width, so sizes are judged at it."""
_SPREAD = 0.45
"""How gradually recall falls with size, in doublings of the side: nearly all to nearly none over about two."""
_STREAM, _FALSE_STREAM = 11, 12
_ALIKE = [
    line.split(", ") for line in Path(__file__).with_name("lookalikes.txt").read_text(encoding="utf-8").splitlines()
]
"""Groups of classes that a detector takes for each other: things of alike shape, size and place."""
_NAMED_SHARE = 0.1
"""Share of a mask from which a thing that the detection names is what was detected: thin things fill little of it."""


@cache
def lookalikes(label: str) -> tuple[str, ...]:
    """Classes that this one is taken for, sorted; empty where nothing is known to look like it.

    >>> "cup" in lookalikes("mug")
    True
    """
    return tuple(sorted({other for group in _ALIKE if label in group for other in group} - {label}))


class Truth(Protocol):
    """Where the detector finds the ids behind a frame: a ``SimEnvironment`` is one."""

    @property
    def home(self) -> Home:
        """The home as it is now."""

    def view_of(self, frame: Frame) -> View:
        """What was rendered for a frame."""

    def true_pose(self, frame: Frame) -> Pose3D:
        """Where the camera really was."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    """One thing in one image, as it truly is."""

    thing: Thing
    mask: NDArray[np.bool_]
    top: int
    left: int
    pixels: int
    distance: float
    visible: float


class SimulatedDetector:
    """Implements ``lastseen.protocols.Detector`` on rendered frames; targets change nothing.

    Its vocabulary is fixed: the classes of the home and what they are taken for.
    """

    knows_people = True
    """There are none in these homes."""

    def __init__(self, truth: Truth, *, level: Level | str = Level.TYPICAL, seed: int = 0) -> None:
        self.truth = truth
        self.level = Level.of(level)
        self.seed = seed

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:  # noqa: ARG002
        """What a detector of this level would say about a recent frame of the environment, best score first."""
        figures = DETECTOR[self.level]
        found = []
        for sighting in self._sightings(frame, figures.min_pixels):
            rng = np.random.default_rng([self.seed, _STREAM, frame.id, sighting.thing.id])
            chance = recall(figures, sighting, width=frame.intrinsics.width)
            if rng.random() < chance:
                found.append(self._detection(sighting, chance, figures, frame.rgb.shape[:2], rng))
        found += self._false_positives(frame, figures)
        return sorted((one for one in found if one is not None), key=lambda one: (-one.score, one.box))

    def _sightings(self, frame: Frame, min_pixels: int) -> list[_Sighting]:
        view, home = self.truth.view_of(frame), self.truth.home
        camera = self.truth.true_pose(frame).inverse()
        sightings = []
        for index, window in enumerate(ndimage.find_objects(view.ids)):
            key = index + 1
            if window is None or key == STRUCTURE_ID or key not in home.things:
                continue
            mask = view.ids[window] == key
            pixels = int(mask.sum())
            if pixels < min_pixels:
                continue
            thing = home.thing(key)
            visible = pixels_share(thing, camera, frame, mask)
            distance = float(np.nanmedian(view.depth[window][mask]))
            sightings.append(_Sighting(thing, mask, window[0].start, window[1].start, pixels, distance, visible))
        return sightings

    def _detection(
        self,
        sighting: _Sighting,
        chance: float,
        figures: DetectorFigures,
        shape: tuple[int, ...],
        rng: np.random.Generator,
    ) -> Detection | None:
        mask = np.zeros(shape, dtype=np.bool_)
        height, width = sighting.mask.shape
        mask[sighting.top : sighting.top + height, sighting.left : sighting.left + width] = sighting.mask
        mask = _jittered(mask, figures.mask_jitter, rng)
        score = min(max(chance + figures.score_noise * float(rng.standard_normal()), 0.05), 1.0)
        labels = self._labels(sighting.thing.label, figures, rng)
        return _from_mask(mask, score, labels, figures.box_jitter, rng)

    def _labels(self, label: str, figures: DetectorFigures, rng: np.random.Generator) -> dict[str, float]:
        """Scores per label: mostly the right one first, at times one that looks like it, seldom any other."""
        if figures.confusion == 0.0:
            return {label: 1.0}
        alike = lookalikes(label) or tuple(other for other in self.truth.home.labels() if other != label)
        best = label
        if alike and rng.random() < figures.confusion:
            best = alike[int(rng.integers(len(alike)))]
        sure = float(rng.beta(8.0, 2.0 + 10.0 * figures.confusion))
        sure = max(sure, 0.4)
        scores = {best: sure}
        others = [one for one in (label, *alike) if one != best][:2]
        for share, other in zip((0.6, 0.3), others, strict=False):
            scores[other] = (1.0 - sure) * share
        return {name: round(value, 4) for name, value in scores.items()}

    def _false_positives(self, frame: Frame, figures: DetectorFigures) -> list[Detection | None]:
        """False positives: blobs anywhere in the image with a likely name and mostly a low score."""
        rng = np.random.default_rng([self.seed, _FALSE_STREAM, frame.id])
        names = self.truth.home.labels()
        blobs: list[Detection | None] = []
        for _ in range(int(rng.poisson(figures.false_positives)) if names else 0):
            height, width = frame.rgb.shape[:2]
            side = width * float(rng.uniform(0.03, 0.2))
            x, y = float(rng.uniform(0, width)), float(rng.uniform(0, height))
            tall = float(rng.uniform(0.6, 1.6))
            row, column = np.ogrid[0:height, 0:width]
            blob = ((column - x) / (side / 2)) ** 2 + ((row - y) / (side * tall / 2)) ** 2 <= 1.0
            label = names[int(rng.integers(len(names)))]
            score = float(rng.beta(3.0, 5.0))
            blobs.append(_from_mask(blob, max(score, 0.05), {label: round(score, 4)}, 0.0, rng))
        return blobs


def source_of(home: Home, ids: NDArray[np.integer[Any]], detection: Detection) -> int:
    """The thing a detection is of: one that it names and that shows in its mask, else what fills most of the mask."""
    assert detection.mask is not None
    counts = np.bincount(ids[detection.mask])
    named = [
        thing
        for thing in np.flatnonzero(counts >= _NAMED_SHARE * counts.sum()).tolist()
        if thing in home.things and home.things[thing].label in detection.labels
    ]
    return max(named, key=lambda thing: (counts[thing], -thing)) if named else int(counts.argmax())


def recall(figures: DetectorFigures, sighting: _Sighting, *, width: int) -> float:
    """The chance that a thing of this size, range and visible share is detected."""
    chance = figures.recall
    if figures.half_size > 0.0:
        side = math.sqrt(sighting.pixels) * _REFERENCE_WIDTH / width
        chance *= _rising(math.log2(side / figures.half_size) / _SPREAD)
    if math.isfinite(figures.half_range):
        chance *= _rising((figures.half_range - sighting.distance) / 0.6)
    if figures.half_visible > 0.0:
        chance *= _rising((sighting.visible - figures.half_visible) / 0.08)
    return chance


def pixels_share(thing: Thing, T_camera_world: Pose3D, frame: Frame, mask: NDArray[np.bool_]) -> float:
    """How much of a thing's extent is visible, 0 to 1: seen box over the box of the whole thing.

    It is the geometric mean with the same share of the box within the image, so being cut off counts half. That is
    lenient on purpose: detectors learn from photographs that cut things off at their edges and from random crops of
    them, while hidden things are what their misses are made of. At level typical a thing of which the edge leaves a
    tenth has 0.70 of the chance of a whole one, one of which other things leave a tenth 0.13.
    """
    camera = frame.intrinsics
    points = T_camera_world.transform(thing.pose.transform(_outline(thing.mesh)))
    ahead = points[points[:, 2] > 0.05]
    if len(ahead) < len(points):
        # partly behind the camera: all that is certain is that much of it is cut off, and that it is close by and
        # large in the picture; the size of what is seen is judged elsewhere, so a sliver gains nothing by this
        return 0.5
    pixels = camera.project(ahead)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    seen = mask.shape[1] * mask.shape[0]
    whole = min(1.0, seen / _box_area(low, high))
    # what the image's edge cuts off costs less than what other things hide: a bed that fills the picture is a bed
    size = np.array([camera.width, camera.height], dtype=np.float64)
    framed = min(1.0, seen / _box_area(np.clip(low, 0.0, size), np.clip(high, 0.0, size)))
    return math.sqrt(whole * framed)


def _box_area(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
    sides = np.maximum(high - low + 1.0, 1.0)
    return float(sides[0] * sides[1])


@lru_cache(maxsize=4096)
def _outline(mesh: Mesh) -> NDArray[np.float32]:
    """The farthest vertices of a mesh in 26 directions: its outline from anywhere, nearly."""
    farthest = (mesh.vertices @ _DIRECTIONS.T).argmax(axis=0)
    return mesh.vertices[np.unique(farthest)]


_DIRECTIONS = np.array(
    [[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], dtype=np.float32
)


def _rising(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(value, -40.0), 40.0)))


def _jittered(mask: NDArray[np.bool_], pixels: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask shifted and grown or shrunk by about this many pixels; left as it is where nothing would remain."""
    if pixels == 0.0:
        return mask
    down, across, grown = (round(float(value)) for value in rng.normal(0.0, pixels, 3))
    moved = np.zeros_like(mask)
    height, width = mask.shape
    moved[max(down, 0) : height + min(down, 0), max(across, 0) : width + min(across, 0)] = mask[
        max(-down, 0) : height + min(-down, 0), max(-across, 0) : width + min(-across, 0)
    ]
    if grown > 0:
        moved = ndimage.binary_dilation(moved, iterations=grown)
    elif grown < 0:
        moved = ndimage.binary_erosion(moved, iterations=-grown)
    return moved if moved.any() else mask


def _from_mask(
    mask: NDArray[np.bool_], score: float, labels: dict[str, float], jitter: float, rng: np.random.Generator
) -> Detection | None:
    """A detection around a mask, its box jittered by a share of its sides and kept on the image."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    left, right, top, bottom = columns[0], columns[-1] + 1, rows[0], rows[-1] + 1
    shift = jitter * rng.standard_normal(4) * [right - left, right - left, bottom - top, bottom - top]
    height, width = mask.shape
    x0, x1 = np.clip([left + shift[0], right + shift[1]], 0.0, width)
    y0, y1 = np.clip([top + shift[2], bottom + shift[3]], 0.0, height)
    if x1 - x0 < 1.0 or y1 - y0 < 1.0:
        x0, x1, y0, y1 = left, right, top, bottom
    box = (round(float(x0), 2), round(float(y0), 2), round(float(x1), 2), round(float(y1), 2))
    return Detection(box, round(score, 4), labels, mask)
