"""``lastseen ros2``: the memory as a lifecycle node on rclpy.

Parameters mirror the settings (``association.radius``) and the source's options (``source.color_topic``); they are
read when the node is configured. Services and typed events are there where ``lastseen_interfaces`` is built; the JSON
topics always are.
"""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lastseen.config import settings_from_mapping
from lastseen.config.section import describe
from lastseen.errors import InvalidValue, LastseenError, SourceError
from lastseen.ros2.calls import FIELDS, RESPONSES, response_tree
from lastseen.ros2.driving import NUMBERS, Limits, parse_zones, zone_text
from lastseen.ros2.memory_node import TICK, MemoryNode, NodeOptions
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import message_class, to_message, to_tree

# first: where there is no ROS, it says what helps
from lastseen.sources.ros.rclpy_graph import THREADS, RclpyTransport  # isort: split

import rclpy
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions

OWN_PARAMETERS = tuple(
    one.name for one in dataclasses.fields(NodeOptions) if isinstance(one.default, bool | str | float)
)
"""Fields of ``NodeOptions`` that are parameters of the same name; ``memory`` is one too."""


class LastseenNode(LifecycleNode):  # type: ignore[misc]
    """The lifecycle node; what it does in each state stands in ``MemoryNode``."""

    def __init__(self, options: NodeOptions) -> None:
        super().__init__("lastseen")
        self._given = options
        self._transport = RclpyTransport(self)
        self.memory_node = MemoryNode(self._transport, name=self.get_name(), node=self)
        self._together = ReentrantCallbackGroup()
        self._offered: list[Any] = []
        self._search_action: Any = None
        self._declare()
        # a clock of its own: a bag that is paused stops /clock, and the node still answers for its state
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(TICK, self._tick, callback_group=MutuallyExclusiveCallbackGroup(), clock=steady)

    def on_configure(self, state: Any) -> Any:
        """Read the parameters, open the memory, offer the services."""
        del state
        try:
            self.memory_node.configure(self._options())
        except LastseenError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._offer_services()
        self._offer_search()
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: Any) -> Any:
        """Begin to read and publish."""
        self.memory_node.activate()
        return super().on_activate(state)

    def on_deactivate(self, state: Any) -> Any:
        """Stop reading; displays are cleared."""
        self.memory_node.deactivate()
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> Any:
        """Close the memory and withdraw the services."""
        del state
        self._close()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: Any) -> Any:
        """The same, from any state."""
        return self.on_cleanup(state)

    def on_error(self, state: Any) -> Any:
        """Go back to unconfigured: nothing that was written is lost."""
        return self.on_cleanup(state)

    def _close(self) -> None:
        for service in self._offered:
            self.destroy_service(service)
        self._offered.clear()
        if self._search_action is not None:
            self._search_action.destroy()
            self._search_action = None
        self.memory_node.cleanup()
        self._transport.close()

    def _tick(self) -> None:
        try:
            self.memory_node.tick()
        except Exception as error:  # noqa: BLE001
            self.get_logger().error(f"publishing failed: {type(error).__name__}: {error}")

    def _declare(self) -> None:
        """Declare a parameter for every setting and option; whole numbers are welcome where any number is."""
        given = self._given
        values: dict[str, tuple[object, str]] = {"memory": (str(given.memory or ""), "the memory file")}
        values |= {name: (getattr(given, name), "see docs/ros2.md") for name in OWN_PARAMETERS}
        values |= {f"limits.{name}": (getattr(given.limits, name), "see docs/ros2.md") for name in NUMBERS}
        values["limits.keep_out"] = ([zone_text(zone) for zone in given.limits.keep_out], "see docs/ros2.md")
        for prefix, section in (("", given.settings), ("source.", given.source)):
            values |= {one.name: (one.value, one.why) for one in describe(section, prefix=prefix)}
        for name, (value, why) in values.items():
            plain = list(value) if isinstance(value, tuple) else value
            self.declare_parameter(name, plain, ParameterDescriptor(description=why, dynamic_typing=True))
        self.add_on_set_parameters_callback(self._on_parameters)

    def _on_parameters(self, parameters: Any) -> Any:
        """Refuse changes while configured: a memory is opened with its settings."""
        if self.memory_node.memory is None or all(one.name == "use_sim_time" for one in parameters):
            return SetParametersResult(successful=True)
        return SetParametersResult(successful=False, reason="deactivate and clean up the node first")

    def _options(self) -> NodeOptions:
        def value(name: str) -> Any:
            return self.get_parameter(name).value

        tree: dict[str, Any] = {}
        for one in describe(self._given.settings):
            section, _, name = one.name.rpartition(".")
            tree.setdefault(section, {})[name] = _typed(value(one.name), one.value)
        source = SourceOptions(
            **{one.name: _typed(value(f"source.{one.name}"), one.value) for one in describe(self._given.source)}
        )
        memory = value("memory")
        if not isinstance(memory, str):
            raise InvalidValue("memory", memory, "must be text", remedy="give the path of a file")
        return dataclasses.replace(
            self._given,
            memory=Path(memory) if memory else None,
            settings=settings_from_mapping(tree),
            source=source,
            limits=Limits(
                **{name: value(f"limits.{name}") for name in NUMBERS},
                keep_out=parse_zones(value("limits.keep_out") or ()),
            ),
            **{name: value(name) for name in OWN_PARAMETERS},
        )

    def _offer_services(self) -> None:
        try:
            # last_seen is answered by LastSeen
            kinds = {
                name: message_class(f"lastseen_interfaces/srv/{name.title().replace('_', '')}") for name in FIELDS
            }
        except ImportError:
            topic = self.resolve_topic_name(RESPONSES)
            self.get_logger().info(f"lastseen_interfaces is not built: no services, but the same as JSON on {topic}")
            return
        for name, kind in kinds.items():

            def answer(request: Any, response: Any, name: str = name) -> Any:
                tree = response_tree(name, self.memory_node.call(name, to_tree(request)))
                return to_message(type(response), tree)

            self._offered.append(self.create_service(kind, f"~/{name}", answer, callback_group=self._together))

    def _offer_search(self) -> None:
        try:
            kind = message_class("lastseen_interfaces/action/Search")
        except ImportError:
            return

        def execute(handle: Any) -> Any:
            def feedback(tree: dict[str, Any]) -> None:
                handle.publish_feedback(to_message(kind.Feedback, tree))

            goal = handle.request
            tree = self.memory_node.search(
                goal.goal,
                drive=goal.drive,
                max_steps=goal.max_steps,
                feedback=feedback,
                cancelled=lambda: handle.is_cancel_requested,
            )
            if handle.is_cancel_requested:
                handle.canceled()
            elif tree["status"] == "stopped":
                handle.abort()
            else:
                handle.succeed()
            return to_message(kind.Result, tree)

        self._search_action = ActionServer(
            self,
            kind,
            "~/search",
            execute,
            callback_group=self._together,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )


def run_node(options: NodeOptions, arguments: list[str], *, autostart: bool = True) -> None:
    """Run the node until Ctrl-C or a shutdown of ROS; what was seen is on disk when this returns.

    Args:
        options: As given on the command line; parameters override them.
        arguments: Those of ROS: ``--ros-args -r __ns:=/robot1 -p use_sim_time:=true``.
        autostart: Configure and activate at once, without a lifecycle manager.
    """
    with ros_program(arguments, lambda: LastseenNode(options), threads=THREADS) as (node, executor):
        try:
            if autostart and (
                node.trigger_configure() != TransitionCallbackReturn.SUCCESS
                or node.trigger_activate() != TransitionCallbackReturn.SUCCESS
            ):
                raise SourceError("node", node.get_name(), "could not be started", remedy="see the line above")
            executor.spin()
        finally:
            node.memory_node.cleanup()


@contextmanager
def ros_program(arguments: list[str], make_node: Callable[[], Any], *, threads: int) -> Iterator[tuple[Any, Any]]:
    """A node and its executor on the graph until Ctrl-C, SIGTERM or a shutdown of ROS.

    The signals end the program, not ROS: the last messages are still to be sent.
    """
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    node = make_node()
    executor = MultiThreadedExecutor(num_threads=threads)
    executor.add_node(node)
    try:
        yield node, executor
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()


def _typed(value: Any, like: object) -> Any:
    """A parameter in the type of its setting: arrays come as lists, an empty one as None; what does not fit stays."""
    if isinstance(like, tuple) and (value is None or isinstance(value, Iterable)) and not isinstance(value, str):
        return tuple(value or ())
    return (
        float(value) if isinstance(like, float) and isinstance(value, int) and not isinstance(value, bool) else value
    )
