from __future__ import annotations

import numpy as np

from lastseen.perception.boxes import corners


def test_corners_of_a_box_given_by_its_middle() -> None:
    np.testing.assert_allclose(corners(np.array([[0.5, 0.5, 0.2, 0.4]])), [[0.4, 0.3, 0.6, 0.7]])
