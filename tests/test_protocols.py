"""Users plug in classes of their own: a class fits by its members, without inheriting anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.protocols import Detector, Environment, Source


class OwnCamera:
    def frames(self) -> Iterator[Frame]:
        yield from ()

    def close(self) -> None: ...


class OwnDetector:
    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        return []


def test_a_class_with_the_members_fits() -> None:
    source: Source = OwnCamera()
    detector: Detector = OwnDetector()
    assert isinstance(source, Source)
    assert isinstance(detector, Detector)
    assert not isinstance(source, Environment)
