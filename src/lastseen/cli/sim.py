"""``lastseen sim`` and ``lastseen demo``: homes to look at, walk through and record."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.options import current_settings
from lastseen.cli.text import counted, progress_bar
from lastseen.errors import InvalidValue, MissingExtra

if TYPE_CHECKING:
    from lastseen.config import Settings
    from lastseen.sim.home import Home

app = typer.Typer(
    name="sim",
    no_args_is_help=True,
    help="Simulated homes: draw them, walk them, record them.\n\n"
    "Example: [bold]lastseen sim map --seed 7 house.png[/bold]",
)
Rooms = Annotated[int | None, typer.Option("--rooms", help="4 to 12; left out, the seed decides.")]
GraphFile = Annotated[Path | None, typer.Option("--graph", help="This VirtualHome scene instead.")]
NpzFile = Annotated[Path | None, typer.Option("--npz", help="This house of triangles instead.")]


@app.command("map")
def draw(
    out: Annotated[Path, typer.Argument(help="The picture to write: .png, .jpg or .webp.")],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same house.")] = 7,
    rooms: Rooms = None,
    graph: GraphFile = None,
    npz: NpzFile = None,
    path: Annotated[bool, typer.Option("--path/--no-path", help="Draw the path of a walk that sees it all.")] = True,
    scale: Annotated[float, typer.Option("--scale", help="Pixels to a metre.")] = 80.0,
) -> None:
    """Draw a home from above with its rooms, furniture and things, and a walk through it.

    Example: [bold]lastseen sim map --seed 7 house.png[/bold]
    """
    from lastseen.sim.coverage import tour_path
    from lastseen.sim.topdown import save_map

    settings = current_settings()
    home = _chosen_home(seed, settings, rooms=rooms, graph=graph, npz=npz)
    save_map(home, out, scale=scale, path=tour_path(home, settings, seed=seed) if path else None)
    typer.echo(f"{out}: {home.name}, {counted(len(home.rooms), 'room')}, {counted(len(home.things), 'thing')}")


@app.command("record")
def record(
    out: Annotated[Path, typer.Argument(help="The folder to write; an unfinished recording there is finished.")],
    seed: Annotated[int, typer.Option("--seed", help="House, path, noise and changes all follow from it.")] = 7,
    minutes: Annotated[float, typer.Option("--minutes", help="Frame time to record.")] = 2.0,
    level: Annotated[str, typer.Option("--level", help="perfect, good, typical or bad senses.")] = "typical",
    changes: Annotated[
        int, typer.Option("--changes", help="How many things are moved, taken or brought on the way.")
    ] = 0,
    rooms: Rooms = None,
    graph: GraphFile = None,
    npz: NpzFile = None,
) -> None:
    """Walk through a home and write colour, depth, poses, detections and the truth.

    Ctrl-C stops it; the same command goes on where it was. Example: [bold]lastseen sim record --seed 7 out[/bold]
    """
    from rich.progress import TimeRemainingColumn

    from lastseen.sim.recording import record as write
    from lastseen.sim.walk import WalkPlan

    settings = current_settings()
    plan = WalkPlan(minutes, seed=seed, level=level, changes=changes)
    home = _chosen_home(seed, settings, rooms=rooms, graph=graph, npz=npz)
    with progress_bar(TimeRemainingColumn()) as bar:
        task = bar.add_task(home.name, total=None)
        write(
            home,
            plan,
            out,
            settings=settings,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    typer.echo(f"{out}: {home.name}, {minutes:g} min at level {level}")


def _chosen_home(
    seed: int, settings: Settings, *, rooms: int | None = None, graph: Path | None = None, npz: Path | None = None
) -> Home:
    """The home that the options name; options that name two are refused."""
    from lastseen.sim.generate import generate_home
    from lastseen.sim.home import Home

    if sum(given is not None for given in (npz, graph, rooms)) > 1:
        raise InvalidValue(
            "--npz, --graph, --rooms", (npz, graph, rooms), "do not go together", remedy="give one of them"
        )
    if graph is not None:
        return Home.from_graph(graph)
    if npz is not None:
        return Home.from_npz(npz)
    return generate_home(seed, rooms=rooms, settings=settings.homes)


@app.command("ros2", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def ros2(
    context: typer.Context,
    robot: Annotated[str, typer.Argument(help="The robot: sim://7, with ?level=good&rooms=5&start=1.")] = "sim://7",
    nav2: Annotated[bool, typer.Option("--nav2/--no-nav2", help="Offer the NavigateToPose action.")] = True,
) -> None:
    """Run a simulated robot on the ROS 2 graph: camera, tf, odometry and detections; docs/ros2.md.

    Example: [bold]lastseen sim ros2 sim://7[/bold]
    """
    from lastseen.ros2.sim_robot import run_sim_robot

    run_sim_robot(robot, current_settings(), context.args, nav2=nav2)


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A new or empty folder for its memory, maps and log.", show_default="a temporary one"
        ),
    ] = None,
) -> None:
    """Walk a simulated home, remember it, and search it from memory after something was moved.

    Example: [bold]lastseen demo --out story[/bold]
    """
    if find_spec("embreex") is None:
        # before the first of its steps, which would do without
        raise MissingExtra("lastseen demo", extra="sim")
    from lastseen.cli.demo import run_demo

    if out is None:
        out = Path(tempfile.mkdtemp(prefix="lastseen-demo-"))
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidValue("--out", str(out), "is not an empty folder", remedy="name a new one")
    out.mkdir(parents=True, exist_ok=True)
    run_demo(out)
