"""Pages of the docs site that nobody writes by hand: command line, REST, settings, file format, events, examples.

mkdocs calls ``on_files`` (see mkdocs.yml). Each page comes from the code it tells of, so it cannot fall behind.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_MARKUP = re.compile(r"\[/?(?:bold|dim|italic)\]")
_NAMED_PAGE = re.compile(r"docs/([a-z0-9-]+)\.md")
TABLES = {
    "anchors": "Poses on the robot's path that places are made of.",
    "crops": "Pictures of objects (JPEG).",
    "embeddings": "The mean embedding of an object and those of distinct views.",
    "events": "What happened to objects, with the evidence.",
    "facts": "What the memory was told.",
    "floor": "Which floor was seen free or occupied, in tiles of a storey.",
    "frames": "In which map the poses of each session are, and how that is known.",
    "keyframes": "Pictures of what the camera saw, where they are kept.",
    "meta": "Facts about the file, such as its encoder.",
    "objects": "One row an object, as it is now.",
    "outbox": "Changes that the index of many robots has not taken yet.",
    "path": "Where the robot went.",
    "places": "Rooms and corridors on the robot's path.",
    "sessions": "Every opening for writing: robot and clocks.",
    "surface": "The coloured surface of the home, in blocks.",
    "versions": "What was known of an object at earlier times.",
    "viewpoints": "Spots from which an object was seen.",
    "views": "Depth images kept to judge what a place looked like before.",
    "walls": "Where walls were seen, in tiles of a storey.",
}
"""What each table of a memory file holds."""


def on_files(files: Any, *, config: Any) -> Any:
    """Add the made pages to those in docs/."""
    from mkdocs.structure.files import File

    pages = {
        "reference/api.md": api(),
        "reference/cli.md": command_line(),
        "reference/rest.md": rest(),
        "reference/settings.md": settings(),
        "reference/file-format.md": file_format(),
        "reference/events.md": events(),
        "examples.md": examples(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Lead links to files outside of docs/ to where the site has them, and name pages as the menu does."""
    if "/" in page.file.src_uri:
        return markdown
    titles = dict(_titles(config["nav"]))
    markdown = re.sub(r"\[([a-z0-9-]+\.md)\]\(\1", lambda link: f"[{titles[link[1]]}]({link[1]}", markdown)
    markdown = re.sub(r"\[([^\]]+)\]\(\.\./examples/[^)]+\)", r"[\1](examples.md)", markdown)
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"`\1`", markdown)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Make a link of the page that a docstring or a help text names."""
    up = "../" * page.file.src_uri.count("/")
    return _NAMED_PAGE.sub(lambda name: f'<a href="{up}{name[1]}.html">{name[1]}</a>', html) if up else html


def _titles(entries: list[Any]) -> Iterator[tuple[str, str]]:
    """File and title of every page of the menu."""
    for entry in entries:
        for title, inside in entry.items():
            if isinstance(inside, str):
                yield inside, title
            else:
                yield from _titles(inside)


def api() -> str:
    """Every public name, from its docstring."""
    import lastseen

    parts = ["# Python", "", "What `import lastseen` gives: `lastseen.Memory` and so on.", ""]
    for name in sorted(lastseen.__all__):
        value = getattr(lastseen, name)
        where = f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else None
        parts += [f"::: {where}", ""] if where else []
    return "\n".join(parts)


def command_line() -> str:
    """Every command with its arguments and options."""
    import typer

    from lastseen.cli.main import app

    lines = ["# Command line", "", "`lastseen COMMAND --help` prints the same.", ""]
    for path, command in _commands(typer.main.get_command(app), "lastseen"):
        lines += [f"## {path}", "", _plain(command.help or ""), ""]
        shown = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
        if shown:
            lines += ["| option | what |", "|---|---|"]
        for one in shown:
            is_option = one.param_type_name == "option"
            names = ", ".join((*one.opts, *one.secondary_opts)) if is_option else (one.metavar or one.name.upper())
            told = _plain(getattr(one, "help", "") or "").replace("|", "\\|").replace("\n", " ")
            lines.append(f"| `{names}` | {told} |")
        lines.append("")
    return "\n".join(lines)


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for name, one in sorted(command.commands.items()):
            yield from _commands(one, f"{path} {name}")
    else:
        yield path, command


def rest() -> str:
    """Every route of the server, from its OpenAPI document."""
    from lastseen.memory.memory import Memory
    from lastseen.server.app import create_app
    from lastseen.server.connections import Connections
    from lastseen.server.security import Access
    from lastseen.server.service import Service

    with Memory.open() as memory:
        access = Access(token=None, host="127.0.0.1", port=8765, allowed=())
        schema = create_app(Service(memory), access, Connections(64)).openapi()
    lines = [
        "# REST",
        "",
        "Made from `/openapi.json`; [the server's page](../server.md) explains the shapes and who may ask.",
        "",
    ]
    for path, methods in sorted(schema["paths"].items()):
        for method, one in methods.items():
            lines += [f"## {method.upper()} {path}", "", _cell(one.get("description", "")), ""]
            given = one.get("parameters", [])
            if given:
                lines += ["| parameter | in | what |", "|---|---|---|"]
                lines += [f"| `{p['name']}` | {p['in']} | {_cell(_described(p))} |" for p in given]
                lines.append("")
            answers = ", ".join(sorted(one["responses"]))
            lines += [f"Answers: {answers}.", ""]
    return "\n".join(lines)


def settings() -> str:
    """Every setting with default, unit and reason."""
    from lastseen.config import Settings, describe

    lines = ["# Settings", "", "`lastseen config` prints these as TOML; give the file back with `--settings`.", ""]
    section = ""
    for row in describe(Settings()):
        group, _, name = row.name.rpartition(".")
        if group != section:
            section = group
            lines += ["", f"## {group}", "", "| setting | default | why |", "|---|---|---|"]
        lines.append(f"| `{name}` | `{_cell(repr(row.default))}` {_cell(row.unit)} | {_cell(row.why)} |")
    return "\n".join(lines)


def file_format() -> str:
    """The tables of a memory file."""
    from lastseen.memory.store.journal.schema import expected_schema, newest

    tables = sorted((name, sql) for kind, name, _, sql in expected_schema(newest()) if kind == "table")
    lines = [
        "# File format",
        "",
        (
            f"A memory file is one SQLite database (WAL, synchronous=FULL), version {newest()} of our own "
            "(`user_version`), marked by `application_id`. Older files are brought to the newest version when they "
            "are opened for writing, and read as they are otherwise. Every row carries a checksum of all its values; "
            "`lastseen check FILE` compares them, and `lastseen salvage` saves what is whole."
        ),
        "",
    ]
    for name, sql in tables:
        if not name.startswith("sqlite_"):
            lines += [f"## {name}", "", TABLES[name], "", "```sql", _a_column_a_line(sql), "```", ""]
    return "\n".join(lines)


def events() -> str:
    """What may happen to an object, from the enumeration itself."""
    from lastseen.memory.objects import EventKind

    lines = [
        "# Events",
        "",
        "`memory.subscribe(function)` calls a function with each; `/ws` and `lastseen changes` tell the same.",
        "",
        "| event | what happened |",
        "|---|---|",
    ]
    told = dict(line.split(": ", 1) for line in (inspect.getdoc(EventKind) or "").splitlines() if ": " in line)
    lines += [f"| `{kind.value}` | {_cell(told[kind.value].replace('``', '`'))} |" for kind in EventKind]
    return "\n".join([*lines, "", "The rules behind each: [object memory](../object-memory.md)."])


def examples() -> str:
    """Every script of examples/, with what it says about itself."""
    lines = ["# Examples", "", "Each runs as it stands; tests run them.", ""]
    for path in sorted((ROOT / "examples").glob("*.py")):
        source = path.read_text(encoding="utf-8")
        told = ast.get_docstring(ast.parse(source)) or ""
        title = told.partition("\n")[0].rstrip(".")
        lines += [f"## {path.stem.replace('_', ' ')}", "", title + ".", "", "```python", source.rstrip(), "```", ""]
    return "\n".join(lines)


def _a_column_a_line(sql: str) -> str:
    """A CREATE TABLE statement with its columns below each other."""
    head, body, tail = re.fullmatch(r"([^(]+)\((.*)\)([^)]*)", sql, re.DOTALL).groups()  # type: ignore[union-attr]
    columns = re.split(r",\s*(?![^(]*\))", body.strip())
    return f"{head}(\n" + ",\n".join(f"  {column.strip()}" for column in columns) + f"\n){tail}"


def _plain(text: str) -> str:
    return _MARKUP.sub("`", text) if "[bold]" in text else text


def _described(parameter: dict[str, Any]) -> str:
    """What a parameter is; of a type that several routes share, its schema says so."""
    return str(parameter.get("description") or parameter["schema"].get("description", ""))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
