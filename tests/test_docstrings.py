"""Examples in docstrings are promises: they run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import lastseen
from lastseen.errors import MissingExtra

NEED_ROS = {"lastseen.ros2.rclpy_node", "lastseen.ros2.sim_robot", "lastseen.sources.ros.rclpy_graph"}
"""Modules that import rclpy, which is in an environment of its own: tests/ros2 runs them there."""
MODULES = sorted({module.name for module in pkgutil.walk_packages(lastseen.__path__, "lastseen.")} - NEED_ROS)


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_the_examples_in_its_docstrings_hold(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except MissingExtra as error:
        pytest.skip(str(error))
    assert module.__doc__, f"{name} says nothing about why it exists"
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0
