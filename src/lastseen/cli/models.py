"""``lastseen models`` and ``vlm``: which models are here, how to fetch one, and a try of those that answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastseen.cli.options import AsJson, current_settings
from lastseen.cli.text import counted, print_json, print_table, say
from lastseen.errors import LastseenError

if TYPE_CHECKING:
    from lastseen.config import Settings
    from lastseen.search.planning.model_call import ModelAnswer

app = typer.Typer(
    no_args_is_help=True,
    help="Detectors and encoders: list the known ones, download one by its name.\n\n"
    "Example: [bold]lastseen models list[/bold]",
)
vlm_app = typer.Typer(
    no_args_is_help=True,
    help="The vision-language models: planner and scene analyzer.\n\nExample: [bold]lastseen vlm check[/bold]",
)


@app.command("list")
def list_known(as_json: AsJson = False) -> None:
    """List the models known by name: what for, licence, size, and whether they are here.

    Example: [bold]lastseen models list[/bold]
    """
    from lastseen.models.catalogue import CATALOGUE
    from lastseen.models.folder import is_present, models_folder

    folder = models_folder()
    rows = [
        {
            "name": model.name,
            "use": model.use,
            "licence": model.licence,
            "bytes": model.size,
            "sha256": "known" if model.verified else "unknown: needs --trust",
            "present": is_present(model.name, folder=folder),
        }
        for model in CATALOGUE.values()
    ]
    if as_json:
        print_json({"folder": str(folder), "models": rows})
        return
    print_table(
        ["model", "use", "licence", "MB", "sha256", "here"],
        [
            [
                str(row["name"]),
                str(row["use"]),
                str(row["licence"]),
                f"{int(str(row['bytes'])) / 1e6:,.0f}",
                "known" if row["sha256"] == "known" else "needs --trust",
                "yes" if row["present"] else "no",
            ]
            for row in rows
        ],
        right=["MB"],
        whole=["model", "licence", "sha256", "here"],
    )
    say(f"they lie in {folder} (LASTSEEN_MODELS changes that)")


@app.command("pull")
def fetch(
    name: Annotated[str, typer.Argument(help="A name of `lastseen models list`.", show_default=False)],
    *,
    trust: Annotated[
        bool, typer.Option("--trust", help="Take files whose sha256 is not known as they come, and remember it.")
    ] = False,
) -> None:
    """Fetch a model over https, check it, and put it in the models folder; goes on where it stopped.

    Example: [bold]lastseen models pull dfine-s[/bold]
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    from lastseen.models.catalogue import known_model
    from lastseen.models.pull import pull

    model = known_model(name)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def show(path: str, done: int, total: int) -> None:
        # the bar starts with the first byte: an error before it stays one line
        bar.start()
        if path not in tasks:
            tasks[path] = bar.add_task(path)
        bar.update(tasks[path], completed=done, total=total)

    try:
        home = pull(model, trust=trust, progress=show)
    finally:
        if tasks:
            bar.stop()
    typer.echo(f"{name} ({model.licence}) is in {home}")


@app.command("names")
def print_names() -> None:
    """Print the list of names that things may get by their appearance, to edit a copy of.

    Example: [bold]lastseen models names > mine.yaml[/bold]
    """
    from lastseen.perception.vocabulary import household_text

    typer.echo(household_text(), nl=False)


@vlm_app.callback()
def _group() -> None:
    """Keep ``check`` a command of a group, though it is the only one."""


@vlm_app.command("check")
def check(
    planner: Annotated[str | None, typer.Option("--planner", help="Instead of the setting planner.backend.")] = None,
    scene: Annotated[str | None, typer.Option("--scene", help="Instead of the setting scene.backend.")] = None,
) -> None:
    """Make one call per role and print what came back, how long it took and how many tokens it cost.

    A role that gives no usable answer ends the command with 1, and its reason is printed.

    Examples: [bold]lastseen vlm check[/bold], [bold]lastseen vlm check --planner gemini[/bold]
    """
    settings = current_settings()
    settings = replace(
        settings,
        planner=replace(settings.planner, backend=planner or settings.planner.backend),
        scene=replace(settings.scene, backend=scene or settings.scene.backend),
    )
    fine = [_checked("planner", _ask_planner, settings), _checked("scene analyzer", _ask_scene, settings)]
    if not all(fine):
        raise typer.Exit(1)


def _checked(role: str, ask: Callable[[Settings], tuple[str, ModelAnswer[Any]]], settings: Settings) -> bool:
    try:
        name, answered = ask(settings)
    except LastseenError as error:
        say(f"{role}: {error}")
        return False
    typer.echo(f"{role} {name}: {_spent(answered, settings)}")
    for failure in answered.failures:
        say(f"  {failure.reason}: {failure.message}", indent="  ")
    say("  no usable answer" if answered.answer is None else f"  {_told(answered.answer)}", indent="  ")
    return answered.answer is not None


def _told(answer: Any) -> str:
    """A plan or a scene in words."""
    from lastseen.search.planning.plan import Plan

    if isinstance(answer, Plan):
        seen = "the goal is in view" if answer.goal_flag else "the goal is not in view"
        context = answer.discovered_context
        return f"{seen}; go {answer.angle:+.0f} deg, toward {context.goal_scene_type!r}: {context.why}"
    return f"{answer.scene_type}: {answer.description}"


def _spent(answered: ModelAnswer[Any], settings: Settings) -> str:
    """Seconds, tokens and cost of all attempts; a model that does not count its tokens says so."""
    seconds = sum(attempt.seconds for attempt in answered.attempts)
    used = [attempt.usage for attempt in answered.attempts if attempt.usage is not None]
    said = f"{seconds:.2f} s in {counted(len(answered.attempts), 'call')}"
    if not used:
        return f"{said}, tokens not counted"
    prompt, output = sum(each.prompt_tokens for each in used), sum(each.output_tokens for each in used)
    dollars = (prompt * settings.planner.input_price + output * settings.planner.output_price) / 1e6
    return f"{said}, {prompt} + {output} tokens, {dollars:.6f} USD"


def _ask_planner(settings: Settings) -> tuple[str, ModelAnswer[Any]]:
    from lastseen.search.panorama import stitch, view_angles
    from lastseen.search.planning.plan import plan_client
    from lastseen.search.planning.prompt import View, planner_prompt
    from lastseen.vlm import open_backend

    backend = open_backend(settings.planner.backend, settings.planner)
    angles = view_angles(settings.panorama.views)
    views = [View(float(angle), (("door", 0.8),) if angle == 90 else (), 2.0) for angle in angles]
    prompt = planner_prompt("mug", "none", views)
    return backend.name, plan_client(backend, settings).ask(prompt, [stitch(_pictures(len(angles)))])


def _ask_scene(settings: Settings) -> tuple[str, ModelAnswer[Any]]:
    from lastseen.search.planning.prompt import View, scene_prompt
    from lastseen.search.planning.scene import ModelSceneAnalyzer, scene_role
    from lastseen.vlm import open_backend

    backend = open_backend(settings.scene.backend, scene_role(settings))
    prompt = scene_prompt([View(0.0, (("stove", 0.9), ("fridge", 0.8)))])
    return backend.name, ModelSceneAnalyzer(backend, settings).ask(prompt, _pictures(1))


def _pictures(count: int) -> Sequence[Any]:
    import numpy as np

    from lastseen.vlm import EncodedImage

    grey = EncodedImage.from_rgb(np.full((120, 160, 3), 128, dtype=np.uint8))
    return [grey] * count
