from __future__ import annotations

import numpy as np
import pytest

from lastseen.detection import Detection
from lastseen.errors import InvalidValue


def test_a_detection_names_its_likeliest_label() -> None:
    assert Detection((0, 0, 4, 4), 0.9, {"cup": 0.2, "mug": 0.7}).label == "mug"


@pytest.mark.parametrize(
    ("box", "score", "message"),
    [
        ((4, 0, 4, 4), 0.5, r"detection\.box = .*is empty or not finite; give left, top, right, bottom"),
        ((0, 0, float("nan"), 4), 0.5, r"detection\.box"),
        ((0, 0, 4, 4), 7.0, r"detection\.score = 7\.0: must lie in 0 to 1; apply the sigmoid"),
    ],
)
def test_bad_data_is_named(box: tuple[float, float, float, float], score: float, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Detection(box, score)


def test_a_mask_must_be_boolean() -> None:
    with pytest.raises(InvalidValue, match=r"detection\.mask = .*2-D bool array; use mask > 0"):
        Detection((0, 0, 1, 1), 0.5, mask=np.zeros((2, 2), np.uint8))
