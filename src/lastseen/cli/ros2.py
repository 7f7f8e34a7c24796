"""``lastseen ros2``: the memory as a node of ROS 2."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import Annotated

import typer

from lastseen.cli.options import (
    DEFAULT_FILE,
    IndexAddress,
    MemoryFile,
    OptionsFile,
    PerceptionOptions,
    SourceChanges,
    current_settings,
    with_perception_options,
)
from lastseen.errors import InvalidValue


@with_perception_options
def ros2(
    context: typer.Context,
    *,
    memory: MemoryFile = DEFAULT_FILE,
    options: OptionsFile = None,
    change: SourceChanges = None,
    perception_options: PerceptionOptions,
    index: IndexAddress = None,
    boxes: Annotated[
        str, typer.Option("--detections-3d", help="A vision_msgs/Detection3DArray topic in place of images.")
    ] = "",
    localization: Annotated[
        str,
        typer.Option("--localization", help="A PoseWithCovarianceStamped topic: not localized, not written."),
    ] = "",
    drive: Annotated[
        bool, typer.Option("--drive", help="Let the action search move the robot; without, it is a dry run.")
    ] = False,
    zenoh: Annotated[
        str | None,
        typer.Option("--zenoh", help="Without ROS, over this Zenoh router: robot:7447, with ?domain=5."),
    ] = None,
    manual: Annotated[
        bool, typer.Option("--no-autostart", help="Wait for a lifecycle manager to configure and activate.")
    ] = False,
) -> None:
    """Run the memory as a node of ROS 2: reads the camera, publishes objects, answers services. See docs/ros2.md.

    What follows --ros-args goes to ROS: remaps, parameters, parameter files.

    Example: [bold]lastseen ros2 --memory home.lastseen --ros-args -p use_sim_time:=true[/bold]
    """
    from lastseen.ros2.memory_node import NodeOptions
    from lastseen.sources.options import SourceOptions

    source = (SourceOptions() if options is None else SourceOptions.load(options)).with_words(change or [])
    source.check_taken("ros2")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    node = NodeOptions(
        memory=memory,
        settings=perception_options.applied_to(current_settings(index=index)),
        source=source,
        open_models=perception_options.open_models,
        detections_3d_topic=boxes,
        localization_topic=localization,
        drive=drive,
    )
    if zenoh is not None:
        from lastseen.ros2.memory_node import run_without_ros
        from lastseen.sources.ros.zenoh_graph import ZenohTransport

        if context.args or manual:
            raise InvalidValue(
                "--zenoh", zenoh, "takes no words of ROS", remedy="leave out --ros-args, --no-autostart"
            )
        with closing(ZenohTransport(zenoh)) as transport:
            run_without_ros(node, transport)
        return
    from lastseen.ros2.rclpy_node import run_node

    run_node(node, context.args, autostart=not manual)
