"""Random poses and cameras for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from lastseen.geometry import Intrinsics, Pose3D

coordinates = st.floats(-50, 50, allow_subnormal=False)
points = st.tuples(coordinates, coordinates, coordinates).map(np.array)
quaternions = (
    st.tuples(*[st.floats(-1, 1, allow_subnormal=False)] * 4)
    .map(np.array)
    .filter(lambda q: np.linalg.norm(q) > 1e-2)
    .map(lambda q: q / np.linalg.norm(q))
)
poses = st.builds(Pose3D.from_quaternion, points, quaternions)
cameras = st.builds(
    Intrinsics,
    fx=st.floats(50, 2000),
    fy=st.floats(50, 2000),
    cx=st.floats(0, 640),
    cy=st.floats(0, 480),
    width=st.integers(2, 1280),
    height=st.integers(2, 960),
)
