"""``lastseen serve``, ``mcp`` and ``ros2``: a memory for pages, agents and robots."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from lastseen.cli.text import print_note
from lastseen.errors import InvalidValue, MissingExtra

if TYPE_CHECKING:
    from lastseen.config import Settings
    from lastseen.perception.pipeline import Perception
    from lastseen.server.live import Runner
    from lastseen.server.service import Service
    from lastseen.sources.base import RecordSource


@with_perception_options
def serve(
    file: Annotated[
        Path | None,
        typer.Argument(
            envvar="LASTSEEN_MEMORY", help="The memory file; made when missing.", show_default=str(DEFAULT_FILE)
        ),
    ] = None,
    *,
    forget: Annotated[bool, typer.Option("--no-memory", help="A memory that ends with this process.")] = False,
    source: Annotated[str | None, typer.Option("--source", help="Follow a folder, a bag or an address.")] = None,
    phone: Annotated[
        bool, typer.Option("--phone", help="Follow a phone: a page for its browser, in the home network.")
    ] = False,
    options: OptionsFile = None,
    change: SourceChanges = None,
    perception_options: PerceptionOptions,
    index: IndexAddress = None,
    demo: Annotated[bool, typer.Option("--demo", help="Walk a simulated home live.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which home the demo walks.")] = 7,
    host: Annotated[str | None, typer.Option("--host", help="Another address than 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="A file whose first line is the token.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No token, even beyond this machine.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Another name this server is reached by.")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Change nothing in the file; follow whoever writes it.")
    ] = False,
    robot: Annotated[
        str | None,
        typer.Option("--robot", help="Who searches when the page asks: sim://7, or package.module:function."),
    ] = None,
    allow_reset: Annotated[
        bool, typer.Option("--allow-reset", help="Let token holders forget every object, after a backup.")
    ] = False,
) -> None:
    """Serve a memory: page, REST, live events and MCP on one address.

    Examples: [bold]lastseen serve home.lastseen[/bold], [bold]lastseen serve --demo[/bold]
    """
    if file is None and not forget and not demo:
        file = DEFAULT_FILE
    elif forget:
        file = None
    if phone:
        if demo or source is not None:
            raise InvalidValue("--phone", source or "--demo", "is another source", remedy="give one of them")
        source = "phone://"
    if robot is not None and (demo or source is not None or read_only):
        raise InvalidValue(
            "--robot", robot, "feeds the memory itself", remedy="leave --demo, --source, --read-only out"
        )
    if demo and source is not None:
        raise InvalidValue("--demo", source, "does not go with --source", remedy="give one of them")
    if read_only and (demo or source is not None or file is None):
        raise InvalidValue("--read-only", True, "needs a file and no source", remedy="leave it out")
    if source is None:
        for option, value in {"--options": options, "--set": change, **perception_options.given()}.items():
            # --encoder also reads a file
            if value and option != "--encoder":
                raise InvalidValue(option, str(value), "is about a source, and there is none", remedy="add --source")
    token = _token(token_file)
    if robot is not None and not robot.startswith("sim://") and token is None:
        raise InvalidValue(
            "--robot",
            robot,
            "is real, and moves for token holders only",
            remedy="give --token-file or LASTSEEN_TOKEN",
        )
    if allow_reset and (token is None or file is None or read_only):
        raise InvalidValue(
            "--allow-reset", True, "needs a memory file and a token", remedy="give --token-file or LASTSEEN_TOKEN"
        )
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "websockets")):
        simulates = demo or any((given or "").startswith("sim://") for given in (source, robot))
        # both at once: who installs one must not be told of the other then
        lacks_simulator = simulates and find_spec("embreex") is None
        raise MissingExtra("lastseen serve", extra="server,sim" if lacks_simulator else "server")
    from lastseen.server.run import Running, listen, signals_taken

    settings = perception_options.applied_to(current_settings(index=index))
    opening: Callable[[], RecordSource] | None = None
    scheme = ""
    if source is not None:
        from lastseen.sources import open_source
        from lastseen.sources.registry import scheme_of

        scheme, _ = scheme_of(source)
        opening = partial(open_source, source, options, changes=change or (), settings=settings)
    with contextlib.ExitStack() as stack:
        # before any file is opened or made: an address that cannot be had must leave no trace
        listening = listen(
            host=host or settings.server.host,
            port=settings.server.port if port is None else port,
            token=token,
            insecure=insecure,
            allowed=tuple(allow_host or ()),
        )
        stack.callback(listening.close)
        greeting = ""
        if opening is not None and scheme == "phone":
            # bound now, as the address above: it is shown before anybody can use it
            opened = stack.enter_context(opening())
            opening, greeting = (lambda: opened), opened.greeting
        running: Running | None = None

        def stop() -> None:
            if running is None:
                # opening may take long, and nothing was taken yet
                raise KeyboardInterrupt
            running.stop()

        # before the memory, so that it is left after it: a second Ctrl-C must not cut the writing short
        stack.enter_context(signals_taken(stop))
        is_new = file is not None and not file.exists()
        service, runner = _service(
            stack,
            settings,
            file=file,
            opening=opening,
            demo=seed if demo else None,
            perception_options=perception_options,
            read_only=read_only,
        )
        if robot is not None:
            from lastseen.search.robot import open_robot
            from lastseen.server.searching import RobotRunner, ServedSearch

            service.search = ServedSearch("simulated" if robot.startswith("sim://") else "real")
            runner = RobotRunner(service, open_robot(robot, service.settings), service.search)
        service.allow_reset = allow_reset
        running = Running(service, listening)
        typer.echo(f"lastseen serves {_what(file, is_new=is_new, read_only=read_only)}")
        # a token of the user's own is a secret that logs must not hold; one made here has to be told once
        typer.echo(f"page: {running.address.page if token is None else f'{running.address.base}/viewer/'}")
        agents = f"{running.address.base}/mcp" if find_spec("mcp") else "pip install 'lastseen[mcp]'"
        typer.echo(f"API:  {running.address.base}/openapi.json, MCP: {agents}")
        if greeting:
            typer.echo(greeting)
        if runner is not None:
            runner.start()
            stack.callback(runner.stop)
        running.serve()
    typer.echo("stopped; everything is on disk" if file is not None and not read_only else "stopped")


def mcp(
    file: Annotated[Path, typer.Argument(envvar="LASTSEEN_MEMORY", help="The memory file.")] = DEFAULT_FILE,
    index: IndexAddress = None,
) -> None:
    """Answer an agent over stdio; the file may be written by another process meanwhile.

    Example: [bold]lastseen mcp home.lastseen[/bold]
    """
    if find_spec("mcp") is None:
        raise MissingExtra("lastseen mcp", extra="mcp")
    from lastseen.server.live import FreshFile
    from lastseen.server.mcp_server import create_mcp

    fresh = FreshFile(file, current_settings(index=index))
    print_note(fresh.note)
    try:
        create_mcp(fresh.caught_up).run("stdio")
    finally:
        fresh.close()


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
        with contextlib.closing(ZenohTransport(zenoh)) as transport:
            run_without_ros(node, transport)
        return
    from lastseen.ros2.rclpy_node import run_node

    run_node(node, context.args, autostart=not manual)


def _service(
    stack: contextlib.ExitStack,
    settings: Settings,
    *,
    file: Path | None,
    opening: Callable[[], RecordSource] | None,
    demo: int | None,
    perception_options: PerceptionOptions,
    read_only: bool,
) -> tuple[Service, Runner | None]:
    """The service of what was asked for, and what feeds it."""
    from lastseen.encoders import open_encoder
    from lastseen.memory.memory import Memory
    from lastseen.search.planning.scene import open_analyzer
    from lastseen.server.live import FileRunner, FreshFile, SourceRunner
    from lastseen.server.service import Service

    if read_only and file is not None:
        fresh = FreshFile(file, settings, encoder=perception_options.encoder)
        stack.callback(fresh.close)
        print_note(fresh.note)
        return fresh.service, FileRunner(fresh)
    if demo is not None:
        from lastseen.encoders.color_shape import ColorShapeEncoder
        from lastseen.server.demo import Demo, demo_settings

        memory = stack.enter_context(
            Memory.open(file, settings=demo_settings(settings), image_encoder=ColorShapeEncoder.name)
        )
        if memory.sessions():
            raise InvalidValue("--demo", str(file), "holds a memory already", remedy="give a new file, or none")
        service = Service(memory, mode="demo")
        return service, Demo(service, seed=demo)
    # before the file: a model that cannot be used makes none
    encoder, perception_of = None, None
    if opening is not None:
        encoder, perception_of = perception_options.open_models(settings)
    elif perception_options.encoder is not None:
        encoder = open_encoder(perception_options.encoder, settings.encoding)
    analyzer = open_analyzer(settings)
    memory = stack.enter_context(Memory.open(file, settings=settings, image_encoder=encoder, scene_analyzer=analyzer))
    if opening is None or perception_of is None:
        print_note(memory.names_only())
        return Service(memory, mode="file", image_encoder=memory.image_encoder), None

    def opened() -> tuple[RecordSource, Perception]:
        source = opening()
        return source, perception_of(source)

    # the source itself is opened when the server runs
    service = Service(memory, mode="source", image_encoder=encoder)
    return service, SourceRunner(service, opened)


def _what(file: Path | None, *, is_new: bool, read_only: bool) -> str:
    """What is served, in words."""
    if file is None:
        return "a memory that ends with this process"
    if is_new:
        return f"{file} (new, empty memory)"
    return f"{file} (read only, kept up with whoever writes it)" if read_only else str(file)


def _token(path: Path | None) -> str | None:
    """The token from a file or the environment; never from an argument, which other users could read."""
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise InvalidValue("--token-file", str(path), "is no text", remedy="one line of text") from error
        return lines[0].strip() if lines else ""
    return os.environ.get("LASTSEEN_TOKEN") or None
