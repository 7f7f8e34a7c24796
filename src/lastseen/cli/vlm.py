"""``lastseen vlm``: try the models of both roles before a robot depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastseen.cli.options import current_settings

if TYPE_CHECKING:
    from lastseen.config import Settings
    from lastseen.search.planning.model_call import ModelAnswer

app = typer.Typer(
    no_args_is_help=True,
    help="The vision-language models: planner and scene analyzer.\n\nExample: [bold]lastseen vlm check[/bold]",
)


@app.callback()
def _group() -> None:
    """The vision-language models: planner and scene analyzer.

    Example: [bold]lastseen vlm check[/bold]
    """


@app.command("check")
def check(
    planner: Annotated[str | None, typer.Option("--planner", help="Instead of the setting planner.backend.")] = None,
    scene: Annotated[str | None, typer.Option("--scene", help="Instead of the setting scene.backend.")] = None,
) -> None:
    """Make one call per role and print what came back, how long it took and how many tokens it cost.

    A role that gives no usable answer ends the command with 1, and its reason is printed.

    Examples: [bold]lastseen vlm check[/bold], [bold]lastseen vlm check --planner gemini[/bold]
    """
    from dataclasses import replace

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
    from lastseen.errors import LastseenError

    try:
        name, answered = ask(settings)
    except LastseenError as error:
        typer.echo(f"{role}: {error}")
        return False
    typer.echo(f"{role} {name}: {_spent(answered, settings)}")
    for failure in answered.failures:
        typer.echo(f"  {failure.reason}: {failure.message}")
    typer.echo("  no usable answer" if answered.answer is None else f"  {answered.answer}")
    return answered.answer is not None


def _spent(answered: ModelAnswer[Any], settings: Settings) -> str:
    """Seconds, tokens and cost of all attempts; a model that does not count its tokens says so."""
    seconds = sum(attempt.seconds for attempt in answered.attempts)
    calls = len(answered.attempts)
    used = [attempt.usage for attempt in answered.attempts if attempt.usage is not None]
    said = f"{seconds:.2f} s in {calls} call{'s' if calls != 1 else ''}"
    if not used:
        return f"{said}, tokens not counted"
    prompt, output = sum(each.prompt_tokens for each in used), sum(each.output_tokens for each in used)
    dollars = (prompt * settings.planner.input_price + output * settings.planner.output_price) / 1e6
    return f"{said}, {prompt} + {output} tokens, {dollars:.6f} USD"


def _ask_planner(settings: Settings) -> tuple[str, ModelAnswer[Any]]:
    from lastseen.search.panorama import stitch, view_angles
    from lastseen.search.planning.plan import VlmPlanner
    from lastseen.search.planning.prompt import View, planner_prompt
    from lastseen.vlm import open_backend

    backend = open_backend(settings.planner.backend, settings.planner)
    angles = view_angles(settings.panorama.views)
    views = [View(float(angle), (("door", 0.8),) if angle == 90 else (), 2.0) for angle in angles]
    prompt = planner_prompt("mug", "none", views)
    return backend.name, VlmPlanner(backend, settings).ask(prompt, [stitch(_pictures(len(angles)))])


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
