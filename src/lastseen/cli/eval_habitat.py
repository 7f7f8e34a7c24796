"""``lastseen eval habitat``: the same comparison on Habitat's ObjectNav episodes, in an environment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lastseen.cli.options import current_settings


def habitat(
    python: Annotated[
        Path, typer.Option(help="The interpreter of your Habitat environment: ENV/bin/python.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The directory for results; an interrupted run goes on in it.")],
    detector: Annotated[
        str,
        typer.Option(
            help="Finds things: a model's file, folder or name (docs/models.md), or package.module:function.",
            show_default=False,
        ),
    ],
    masks: Annotated[str | None, typer.Option(help="Outlines by SAM: its folder, or sam.")] = None,
    dataset: Annotated[str, typer.Option(help="hm3d (episodes v1), hm3d_v2 or mp3d.")] = "hm3d_v2",
    split: Annotated[str, typer.Option(help="Which split of it.")] = "val",
    data_path: Annotated[
        str | None, typer.Option(help="The episodes, with {split} in it; default: where Habitat expects them.")
    ] = None,
    scenes_dir: Annotated[str | None, typer.Option(help="The folder of the scenes; default: Habitat's.")] = None,
    scene_dataset: Annotated[
        str | None, typer.Option(help="The scene dataset configuration; default: what the episodes name.")
    ] = None,
    episodes: Annotated[int, typer.Option(help="How many episodes.")] = 20,
    first: Annotated[int, typer.Option(help="The number of the first, from 0 in the dataset's order.")] = 0,
    arms: Annotated[
        str, typer.Option(help="Arms separated by commas; ablation: context and it without each part.")
    ] = "frontier,no_context,pixelnav,context",
    backend: Annotated[
        str | None, typer.Option(help="The planner's model: offline, gemini, openai; default: planner.backend.")
    ] = None,
    policy: Annotated[
        str, typer.Option(help="Who walks to a pixel: geometric, or pixelnav:CHECKPOINT.")
    ] = "geometric",
    poses: Annotated[
        str, typer.Option(help="gps: Habitat's, which ObjectNav gives every agent; actions: dead reckoning.")
    ] = "gps",
    width: Annotated[int, typer.Option(help="Pixels of the cameras across.")] = 640,
    height: Annotated[int, typer.Option(help="Pixels of the cameras down.")] = 480,
    override: Annotated[
        list[str] | None, typer.Option("--set", help="An override of Habitat's configuration; may be given again.")
    ] = None,
    plugin: Annotated[
        list[Path] | None, typer.Option(help="A Python file that registers simulators or sensors in Habitat.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Workers; the results are the same for any number.")] = 1,
    report: Annotated[bool, typer.Option("--report", help="Also write report.html.")] = False,
) -> None:
    """Run arms over Habitat's ObjectNav episodes; Habitat itself judges them (docs/habitat.md).

    Example: [bold]lastseen eval habitat --python ~/habitat/bin/python --detector grounding-dino --out results[/bold]
    """
    from lastseen.cli.eval_text import run_and_print
    from lastseen.evaluation.arms import arms_of
    from lastseen.evaluation.habitat.dataset import Dataset
    from lastseen.evaluation.habitat.plan import HabitatPlan, close_worker
    from lastseen.perception.named_detector import open_named_detector

    settings = current_settings()
    plan = HabitatPlan(
        python=str(python.expanduser()),
        dataset=Dataset(
            name=dataset,
            split=split,
            data_path=data_path,
            scenes_dir=scenes_dir,
            scene_dataset=scene_dataset,
            width=width,
            height=height,
            overrides=tuple(override or ()),
            plugins=tuple(str(path.resolve()) for path in plugin or ()),
        ),
        detector=detector,
        masks=masks,
        settings=settings,
        episodes=episodes,
        seed=first,
        arms=tuple(arm.name for arm in arms_of([name.strip() for name in arms.split(",") if name.strip()])),
        backend=backend or settings.planner.backend,
        policy=policy,
        poses=poses,  # type: ignore[arg-type]  # the plan refuses others
        log=out / "habitat.log",
    )
    # a model that cannot be used is told before Habitat is started
    open_named_detector(detector, masks=masks, settings=settings)
    try:
        plan = plan.opened()
        if jobs > 1:
            close_worker()
        run_and_print(plan, out, jobs=jobs, report=report)
    finally:
        close_worker()
