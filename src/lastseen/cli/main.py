"""The ``lastseen`` command: puts the groups together, shows settings, and turns errors into one clear line."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen import __version__
from lastseen.cli import ask, files, memory, models, search, serve, sim, source
from lastseen.cli import eval as evaluate
from lastseen.cli.options import AsJson, current_settings, settings_file
from lastseen.cli.text import print_json
from lastseen.errors import LastseenError, SettingsError

if TYPE_CHECKING:
    from lastseen.config.section import Described

STOPPED = 130
_COLLECT_EVERY = 50_000
"""New objects between searches for garbage: Python's 700 are meant for programs that load little."""

app = typer.Typer(
    name="lastseen",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="A robot's memory of what it saw, where and when, and the search that uses it.",
    epilog="Errors are one line; add [bold]--debug[/bold] before the command for the traceback.",
)
_COMMANDS: tuple[Callable[..., None], ...] = (
    *(sim.demo, ask.find, ask.ask, ask.tell, ask.facts),
    *(memory.objects, memory.history, memory.changes, memory.export, memory.reindex, memory.forget, memory.stats),
    *(memory.draw_map, memory.import_home),
    *(files.backup, files.check, files.salvage, files.thin, files.align, files.merge, files.sessions),
    *(source.run, source.record, source.doctor),
)
for _command in _COMMANDS:
    app.command({"draw_map": "map", "import_home": "import"}.get(_command.__name__, _command.__name__))(_command)
# what follows --ros-args is for ROS
app.command("ros2", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(serve.ros2)
app.add_typer(sim.app)
app.add_typer(search.log_app, name="log")
app.add_typer(models.app, name="models")
app.add_typer(evaluate.app, name="eval")
app.add_typer(models.vlm_app, name="vlm")
app.command("search")(search.search)
app.command("self-check")(search.self_check)
app.command("serve")(serve.serve)
app.command("mcp")(serve.mcp)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    _debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings", envvar="LASTSEEN_SETTINGS", help="A TOML file of settings; see `lastseen config`."
        ),
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    settings_file.set(settings)


@app.command()
def version() -> None:
    """Print the version and nothing else.

    Example: [bold]lastseen version[/bold]
    """
    typer.echo(__version__)


@app.command("config")
def show_settings(
    section: Annotated[str | None, typer.Option("--section", help="Show this section only.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show every setting as TOML that can be edited and given back.

    Examples: [bold]lastseen config > lastseen.toml[/bold], [bold]lastseen config --section association[/bold]
    """
    from lastseen.config import describe

    rows = [row for row in describe(current_settings()) if section is None or row.name.startswith(f"{section}.")]
    if not rows:
        raise SettingsError("--section", section, "is not a section", remedy="run `lastseen config` for all")
    groups: dict[str, dict[str, Described]] = {}
    for row in rows:
        group, _, name = row.name.rpartition(".")
        groups.setdefault(group, {})[name] = row
    if as_json:
        print_json({group: {name: row.value for name, row in named.items()} for group, named in groups.items()})
        return
    for number, (group, named) in enumerate(groups.items()):
        typer.echo(f"{chr(10) if number else ''}[{group}]")
        for name, row in named.items():
            unit = f" [{row.unit}]" if row.unit else ""
            # text, numbers, booleans and lists of text are written alike in JSON and TOML
            typer.echo(f"# {row.why}{unit}\n{name} = {json.dumps(row.value)}")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: exit code 0 for success, 1 for a lastseen error, 2 for wrong usage, 130 for Ctrl-C."""
    words = sys.argv[1:] if arguments is None else arguments
    # modules are no garbage: looking for it while they load costs a short command a tenth of its time
    gc.set_threshold(_COLLECT_EVERY)
    try:
        code = app(words, prog_name="lastseen", standalone_mode=False)
    except LastseenError as error:
        if "--debug" in words:
            raise
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        if "--debug" in words:
            raise
        typer.echo(f"error: {error.filename or 'system'}: {error.strerror or error}; check the path", err=True)
        sys.exit(1)
    except typer.Abort:
        typer.echo("nothing was done", err=True)
        sys.exit(1)
    except typer.TyperException as error:
        sys.exit(_print_usage_error(error))
    if code == STOPPED:
        typer.echo("stopped; what was written is kept", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _print_usage_error(error: typer.TyperException) -> int:
    """Say what is wrong with the words in one line, and where the right ones stand; returns the exit code."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        # no word at all is a question, and help is the answer; Typer gives this class no public name
        typer.echo(str(error), err=True)
        return 2
    message = " ".join(error.format_message().split()).rstrip(".")
    path = "lastseen" if context is None else context.command_path
    typer.echo(f"error: {message[:1].lower()}{message[1:]}; see: {path} --help", err=True)
    return 2


if __name__ == "__main__":
    main()
