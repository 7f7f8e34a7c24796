"""The detector of a search: a model, or a function of the user's, and what one that is asked is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.perception.detectors import WithHousehold, open_named_detector
from tests.perception.test_onnx_detector import frame


class Asked:
    """Notes what it is asked for."""

    def __init__(self) -> None:
        self.targets: list[str] = []

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        self.targets = list(targets)
        return []


def made() -> Asked:
    return Asked()


def broken() -> Asked:
    raise RuntimeError("no camera")


def a_number() -> int:
    return 3


def test_a_detector_that_is_asked_is_asked_for_the_goal_first_and_each_name_once() -> None:
    inner = Asked()
    WithHousehold(inner, ("bed", "sofa")).detect(frame(), ("Sofa", "red mug"))
    assert inner.targets == ["Sofa", "red mug", "bed"]


def test_goal_and_household_fit_into_one_question() -> None:
    settings = Settings().grounding
    assert len(settings.household.split(",")) + 1 <= settings.names_at_once


def test_a_function_of_the_users_makes_the_detector() -> None:
    assert isinstance(open_named_detector(f"{__name__}:made"), Asked)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("gone", "cannot be imported"),
        ("broken", "cannot be made"),
        ("a_number", "gave something of type int"),
    ],
)
def test_a_function_that_makes_none_is_one_clear_line(function: str, problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem):
        open_named_detector(f"{__name__}:{function}")


def test_what_is_no_detector_is_refused() -> None:
    with pytest.raises(InvalidValue, match="is no detector"):
        open_named_detector("nothing.txt")
