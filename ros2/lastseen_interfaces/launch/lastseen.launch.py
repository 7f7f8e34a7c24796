"""Starts the memory as a node: ``ros2 launch lastseen_interfaces lastseen.launch.py memory:=home.lastseen``.

lastseen is a Python package and no ROS package, so its command is started, not an executable of a package. It must be
on PATH, in an environment that sees rclpy.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """One process with the parameters of a file; every setting may stand in it."""
    defaults = PathJoinSubstitution([FindPackageShare("lastseen_interfaces"), "launch", "lastseen.yaml"])
    arguments = [
        DeclareLaunchArgument("memory", default_value="home.lastseen", description="The memory file."),
        DeclareLaunchArgument("namespace", default_value="/", description="The robot's namespace."),
        DeclareLaunchArgument("use_sim_time", default_value="false", description="True for a bag with --clock."),
        DeclareLaunchArgument("params_file", default_value=defaults, description="Parameters of the node."),
    ]
    command = [
        *("lastseen", "ros2", "--memory", LaunchConfiguration("memory")),
        *("--ros-args", "-r", ["__ns:=", LaunchConfiguration("namespace")]),
        *("-p", ["use_sim_time:=", LaunchConfiguration("use_sim_time")]),
        *("--params-file", LaunchConfiguration("params_file")),
    ]
    return LaunchDescription([*arguments, ExecuteProcess(cmd=command, output="screen", sigterm_timeout="10")])
