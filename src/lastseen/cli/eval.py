"""``lastseen eval``: does memory help, and by how much?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lastseen.cli.options import AsJson, current_settings
from lastseen.cli.text import print_json, print_table, progress_bar
from lastseen.errors import InvalidValue

if TYPE_CHECKING:
    from lastseen.evaluation.questions import Tally
    from lastseen.evaluation.runner import Evaluation

app = typer.Typer(
    no_args_is_help=True,
    help="Measure searches against each other.\n\nExample: [bold]lastseen eval objectnav --out results[/bold]",
)

Out = Annotated[Path, typer.Option(help="The directory for results; an interrupted run goes on in it.")]
Arms = Annotated[
    str, typer.Option(help="Arms separated by commas; all, or ablation: context and it without each part.")
]
Backend = Annotated[
    str | None, typer.Option(help="The planner's model: offline, gemini, openai; default: planner.backend.")
]
Policy = Annotated[str, typer.Option(help="Who walks to a pixel: geometric, or pixelnav:CHECKPOINT.")]
Jobs = Annotated[int, typer.Option(help="Processes; the results are the same for any number.")]
Report = Annotated[bool, typer.Option("--report", help="Also write report.html.")]


def _arms(text: str) -> tuple[str, ...]:
    """The names of the arms in a list with commas, each once and known."""
    from lastseen.evaluation.arms import arms_of

    return tuple(arm.name for arm in arms_of([name.strip() for name in text.split(",") if name.strip()]))


@app.command("objectnav")
def objectnav(
    out: Out,
    episodes: Annotated[int, typer.Option(help="How many episodes, one home each.")] = 20,
    seed: Annotated[int, typer.Option(help="The first seed: below 10000 to tune, from 10000 to report.")] = 0,
    arms: Arms = "frontier,random,no_context,context,oracle",
    jobs: Jobs = 1,
    engine: Annotated[
        str, typer.Option(help="processes, or ray: on the cluster of RAY_ADDRESS, or --jobs of this machine.")
    ] = "processes",
    backend: Backend = None,
    policy: Policy = "geometric",
    scene: Annotated[str, typer.Option(help="generated, or npz:FILE or graph:FILE for one home.")] = "generated",
    report: Report = False,
) -> None:
    """Run arms over ObjectNav episodes and write summary.json with intervals and paired differences.

    Example: [bold]lastseen eval objectnav --episodes 20 --arms no_context,context --out results[/bold]
    """
    from lastseen.evaluation.runner import Plan

    settings = current_settings()
    plan = Plan(
        seed=seed,
        episodes=episodes,
        arms=_arms(arms),
        settings=settings,
        backend=backend or settings.planner.backend,
        scene=scene,
        policy=policy,
    )
    _run(plan, out, jobs=jobs, engine=engine, report=report)


@app.command("habitat")
def habitat(
    python: Annotated[
        Path, typer.Option(help="The interpreter of your Habitat environment: ENV/bin/python.", show_default=False)
    ],
    out: Out,
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
    arms: Arms = "frontier,no_context,pixelnav,context",
    backend: Backend = None,
    policy: Policy = "geometric",
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
    jobs: Jobs = 1,
    report: Report = False,
) -> None:
    """Run arms over Habitat's ObjectNav episodes; Habitat itself judges them (docs/habitat.md).

    Example: [bold]lastseen eval habitat --python ~/habitat/bin/python --detector grounding-dino --out results[/bold]
    """
    from lastseen.evaluation.habitat.dataset import Dataset
    from lastseen.evaluation.habitat.plan import HabitatPlan, close_worker
    from lastseen.perception.detectors import open_named_detector

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
        arms=_arms(arms),
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
        _run(plan, out, jobs=jobs, report=report)
    finally:
        close_worker()


@app.command("hints")
def hints(
    results: Annotated[Path, typer.Argument(help="The directory of an evaluation.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Print how much NO_PROGRESS tells: how often no new place follows within 20 steps, with it and without it.

    Example: [bold]lastseen eval hints results[/bold]
    """
    from lastseen.evaluation.arms import ARMS
    from lastseen.evaluation.metrics import hint_figures
    from lastseen.evaluation.runner import EPISODES_FILE, read_records

    file = results / EPISODES_FILE
    if not file.exists():
        raise InvalidValue(
            "results", str(results), f"has no {EPISODES_FILE}", remedy="give the --out of an evaluation"
        )
    by_arm: dict[str, list[dict[str, Any]]] = {}
    for record in read_records(file):
        by_arm.setdefault(record["arm"], []).append(record)
    figures = {name: hint_figures(by_arm[name]) for name in ARMS if name in by_arm}
    figures = {name: found for name, found in figures.items() if found["calls"]}
    if as_json:
        print_json(figures)
    elif figures:
        print_hints(figures)
    else:
        typer.echo("no arm of this run was given a navigation context and walked on for 20 steps after a call")


@app.command("referring")
def referring(
    folder: Annotated[Path, typer.Argument(help="A folder in the layout of IRef-VLA.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Put statements that point at one thing, and false ones, to a memory of their room.

    Example: [bold]lastseen eval referring arkit_room --json[/bold]
    """
    from lastseen.evaluation.referring import evaluate

    score = evaluate(folder)
    if as_json:
        print_json(score.to_json())
        return
    typer.echo(f"true statements: {score.true_right} of {score.statements} point at the right thing")
    typer.echo(
        f"false statements: {score.false_refused} of {score.false_statements} refused, "
        f"{score.false_reason_right} with the right reason"
    )
    for name, counts in sorted(score.by_relation.items()):
        typer.echo(f"  {name}: {counts['right']} of {counts['asked']}")


@app.command("questions")
def questions(
    seed: Annotated[int, typer.Option(help="The first home: 600 to 619 to report, 620 to 639 to tune.")] = 600,
    homes: Annotated[int, typer.Option(help="How many homes.", min=1)] = 2,
    level: Annotated[str, typer.Option(help="Senses: perfect, good or typical.")] = "typical",
    minutes: Annotated[float, typer.Option(help="Minutes of walking on each of two days.")] = 4.0,
    as_json: AsJson = False,
) -> None:
    """Let a robot live in generated homes for two days and ask its memory questions of 24 kinds.

    Example: [bold]lastseen eval questions --homes 2 --level perfect[/bold]
    """
    from lastseen.evaluation.questions import evaluate
    from lastseen.sim.senses import Level

    Level.of(level)
    score = evaluate(range(seed, seed + homes), level=level, minutes=minutes)
    if as_json:
        print_json(score.to_json())
        return

    def row(kind: str, tally: Tally) -> list[str]:
        right, refused = f"{tally.enough_right}/{tally.enough}", f"{tally.unseen_refused}/{tally.unseen}"
        partly = f"{tally.partly_refused}/{tally.partly}"
        return [kind, right, refused, partly, f"{tally.right}/{tally.asked}", f"{tally.blind}/{tally.asked}"]

    rows = [row(kind, score.by_kind[kind]) for kind in sorted(score.by_kind)]
    rows += [row("all", score.total()), row("changes", score.total(changes=True))]
    rows += [row(f"  {kind}", score.changes[kind]) for kind in sorted(score.changes)]
    columns = ["right, seen enough", "refused, unseen", "true or refused, seen in part", "right of all", "blind"]
    print_table(["kind", *columns], rows)


def _run(plan: Evaluation, out: Path, *, jobs: int, engine: str = "processes", report: bool) -> None:
    """Run what is missing of a plan, write summary.json (and report.html), and print what came of it."""
    from rich.progress import TimeRemainingColumn

    from lastseen.evaluation.runner import TIMING_FILE, run
    from lastseen.evaluation.summary import summarize, write_summary

    done: dict[str, list[bool]] = {}
    with progress_bar(TimeRemainingColumn()) as bar:
        task = bar.add_task("episodes", total=len(plan.seeds) * len(set(plan.arms)))

        def count(record: dict[str, Any]) -> None:
            done.setdefault(record["arm"], []).append(record["success"])
            rates = "  ".join(f"{arm} {sum(found) / len(found):.2f}" for arm, found in done.items())
            bar.update(task, advance=1, description=f"SR  {rates}")

        records = run(plan, out, jobs=jobs, engine=engine, progress=count)
    summary = summarize(records, plan.config())
    write_summary(out, summary)
    for line in summary["verdict"]:
        typer.echo(line)
    print_summary(summary)
    typer.echo(f"wrote {out / 'summary.json'}")
    typer.echo(f"wrote {out / TIMING_FILE}: calls, seconds, tokens and cost")
    if report:
        from lastseen.evaluation.report import write_report

        typer.echo(f"wrote {write_report(out, records, summary)}")


def print_summary(summary: dict[str, Any]) -> None:
    """Print the means of every arm, and the differences between arms on the same episodes."""
    arms = summary["arms"].items()
    columns = ["arm", "SR", "SR 95 %", "SPL", "SPL 95 %", "SoftSPL", "steps", "calls"]
    print_table(
        columns,
        [
            [
                name,
                _mean(figures["sr"]),
                _span(figures["sr"]),
                _mean(figures["spl"]),
                _span(figures["spl"]),
                _mean(figures["soft_spl"]),
                f"{figures['steps']['mean']:.0f}",
                _mean(figures["planner_calls"]),
            ]
            for name, figures in arms
        ],
        title="ObjectNav: means, with bootstrap intervals",
        right=columns[1:],
    )
    keys = {"ABABA": "ababa", "STUCK": "stuck", "no progress": "no_progress", "revisited m2": "revisited_m2"}
    print_table(
        ["arm", *keys],
        [[name, *(_mean(figures[key]) for key in keys.values())] for name, figures in arms],
        title="Going in circles: means per episode",
        right=list(keys),
    )
    if summary["paired"]:
        _print_pairs(summary["paired"])


def print_hints(figures: dict[str, dict[str, Any]]) -> None:
    """Print what the hints of each arm told."""
    columns = ["arm", "calls", "STUCK", "said", "with", "without", "difference"]
    print_table(
        columns,
        [
            [
                name,
                str(found["calls"]),
                _share(found["stuck"]),
                _share(found["no_progress"]),
                _share(found["no_new_place_with_no_progress"]),
                _share(found["no_new_place_without"]),
                "-" if found["difference"] is None else _signed(found["difference"], 2),
            ]
            for name, found in figures.items()
        ],
        title="NO_PROGRESS said, and calls without a new place in the next 20 steps",
        right=columns[1:],
    )


def _print_pairs(paired: dict[str, dict[str, Any]]) -> None:
    figures = [("spl", "SPL", 3), ("ababa", "ABABA", 2), ("no_progress", "no progress", 2)]
    figures += [("unique_place_ratio", "unique places", 3)]
    print_table(
        ["pair", "figure", "mean difference (95 %)"],
        [
            [pair.replace("_minus_", " minus ") if key == "spl" else "", title, _signed(found[key], digits)]
            for pair, found in paired.items()
            for key, title, digits in figures
        ],
        title="Paired over the same episodes",
        right=["mean difference (95 %)"],
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _signed(figure: dict[str, float], digits: int) -> str:
    return f"{figure['mean']:+.{digits}f} ({figure['low']:+.{digits}f} to {figure['high']:+.{digits}f})"


def _mean(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.2f}"


def _span(figure: dict[str, float]) -> str:
    return f"{figure['low']:.2f}-{figure['high']:.2f}"
