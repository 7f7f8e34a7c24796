"""``lastseen objects, history, changes, export, map, reindex, forget, stats``: a memory file from the shell.

Tables for people, one line an object; ``--json`` for programs, with every field.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.options import (
    DEFAULT_FILE,
    AsJson,
    IndexAddress,
    Label,
    MemoryFile,
    Removed,
    Tentative,
    current_settings,
)
from lastseen.cli.text import counted, evidence_text, minute_text, position_text, print_json, print_table, time_text
from lastseen.errors import InvalidValue, JournalMissing

if TYPE_CHECKING:
    from lastseen.config import Settings
    from lastseen.memory.memory import Memory
    from lastseen.memory.object import Object

POSITION, SEEN = "x y z (m)", "last seen (UTC)"
_SENDING = 600.0
"""Seconds that `reindex` waits for a shared index to take everything; the rest is sent by the next run."""


def objects(
    memory: MemoryFile = DEFAULT_FILE,
    label: Label = None,
    tentative: Tentative = False,
    removed: Removed = False,
    surfaces: Annotated[bool, typer.Option("--surfaces", help="List floor, walls and table tops instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what is remembered.

    Example: [bold]lastseen objects --tentative[/bold]
    """
    with open_memory(memory) as opened:
        from lastseen.observation import OBJECT, SURFACE

        kind = SURFACE if surfaces else OBJECT
        states = opened.states(label, kind=kind, include_tentative=tentative, include_removed=removed)
        found = opened.browse.described(states)
    if as_json:
        from lastseen.server.serializers import listed_object_json

        print_json([listed_object_json(one, state) for one, state in zip(found, states, strict=True)])
        return
    rows = [
        [
            one.id,
            what(one),
            "-" if one.place in (None, "unknown") else str(one.place),
            position_text(one.position),
            str(one.hits),
            minute_text(one.last_seen, one.last_seen_memory_time),
        ]
        for one in found
    ]
    columns = ["id", "what", "place", POSITION, "hits", SEEN]
    print_table(columns, rows, right=["hits"], whole=["id", POSITION, SEEN], cut=["what", "place"])


def history(
    object_id: Annotated[str, typer.Argument(metavar="ID", help="For example obj-7.", show_default=False)],
    memory: MemoryFile = DEFAULT_FILE,
    as_json: AsJson = False,
) -> None:
    """Tell where an object was and what happened to it.

    Example: [bold]lastseen history obj-7[/bold]
    """
    with open_memory(memory) as opened:
        entries, clock = opened.history(object_id), opened.browse.clock
    if as_json:
        from lastseen.server.serializers import history_json

        print_json([history_json(clock, entry) for entry in entries])
        return
    rows = [
        [
            time_text(entry.wall, entry.stamp),
            entry.kind,
            entry.label or "-",
            entry.state or "-",
            evidence_text(entry.kind, entry.evidence)
            if entry.position is None
            else f"at {position_text(entry.position)}",
        ]
        for entry in entries
    ]
    print_table(
        ["when (UTC)", "what", "label", "state", "details"],
        rows,
        whole=["when (UTC)", "what"],
        cut=["label", "details"],
    )


def changes(
    memory: MemoryFile = DEFAULT_FILE,
    since: Annotated[str | None, typer.Option("--since", help="From this date or memory time on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell what changed: what appeared, moved, went missing or came back.

    Example: [bold]lastseen changes --since 120[/bold]
    """
    with open_memory(memory) as opened:
        from lastseen.server.parameters import parse_time

        found, clock = opened.what_changed(parse_time("--since", since)), opened.browse.clock
    if as_json:
        from lastseen.server.serializers import change_json

        print_json([change_json(clock, change) for change in found])
        return
    rows = [
        [
            time_text(change.wall, change.stamp),
            change.kind,
            change.object_id,
            change.label or "-",
            evidence_text(change.kind, change.evidence),
        ]
        for change in found
    ]
    print_table(
        ["when (UTC)", "what", "id", "label", "details"],
        rows,
        whole=["when (UTC)", "what", "id"],
        cut=["label", "details"],
    )


def export(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[MEMORY] OUT",
            help="A file to write: .json, .csv, .ply, .geojson or .dsg.json; the memory may stand before it.",
            show_default=False,
        ),
    ],
    memory: MemoryFile = DEFAULT_FILE,
    tentative: Tentative = False,
) -> None:
    """Write objects and rooms to a file for other programs, by its ending; see docs/export.md.

    Examples: [bold]lastseen export home.ply[/bold], [bold]lastseen export home.lastseen home.json[/bold]
    """
    *before, out = files
    if len(before) > 1:
        raise InvalidValue("files", " ".join(map(str, files)), "are too many", remedy="give a memory and one file")
    memory = before[0] if before else memory
    check_file(memory)
    from lastseen.memory.export import home_tree, write_home, writer_of
    from lastseen.server.serializers import object_json

    # a name of no kind is refused before the memory is read
    writer_of(out)
    with open_memory(memory) as opened:
        objects = [
            {**object_json(one), "label_scores": one.label_scores, "extent": one.extent or (0.0, 0.0, 0.0)}
            for one in opened.objects(include_tentative=tentative)
        ]
        path = [(x, y) for _, x, y, _ in opened.space.path.points]
        write_home(out, home_tree(objects, [asdict(room) for room in opened.rooms()], path))
    typer.echo(f"wrote {counted(len(objects), 'object')} to {out}")


def import_home(
    file: Annotated[Path, typer.Argument(help="A home.json of ours, or a scene graph of spark-dsg.")],
    memory: MemoryFile = DEFAULT_FILE,
) -> None:
    """Tell a memory the objects and rooms of a file; what the robot sees later corrects them. See docs/export.md.

    Example: [bold]lastseen import home.json --memory new.lastseen[/bold]
    """
    from lastseen.memory.export import import_facts, read_home
    from lastseen.memory.memory import Memory

    home = read_home(file)
    with Memory.open(memory, settings=current_settings()) as opened:
        taken, refused = import_facts(opened, home)
    for line in refused:
        typer.echo(f"left out {line}", err=True)
    typer.echo(f"told {memory} {counted(taken, 'thing')} of {file}")


def draw_map(
    out: Annotated[Path, typer.Argument(help="The picture to write: .png, .jpg or .webp.", show_default=False)],
    memory: MemoryFile = DEFAULT_FILE,
) -> None:
    """Draw the memory from above: explored floor, objects, and arrows for what moved.

    Example: [bold]lastseen map home.png[/bold]
    """
    if out.suffix.lower() not in (".png", ".jpg", ".webp"):
        raise InvalidValue("out", str(out), "is no picture's name", remedy="name it .png, .jpg or .webp")
    with open_memory(memory) as opened:
        from lastseen.memory.map_image import draw_memory

        draw_memory(opened, title=memory.name).save(out)
    typer.echo(f"wrote {out}")


def reindex(
    memory: MemoryFile = DEFAULT_FILE,
    encoder: Annotated[str, typer.Option("--encoder", help="What embeds the pictures anew.")] = "color-shape",
    index: IndexAddress = None,
    as_json: AsJson = False,
) -> None:
    """Make the embeddings of all objects anew from their stored pictures, with another encoder.

    A shared index is then sent everything again.

    Example: [bold]lastseen reindex --encoder clip[/bold]
    """
    from lastseen.encoders import open_encoder
    from lastseen.memory.store.journal.opening import inspect
    from lastseen.memory.store.reindex import reindex as run

    inspect(memory)
    settings = current_settings(index=index)
    done = run(memory, open_encoder(encoder, settings.encoding), settings=settings)
    if settings.store.index != "faiss":
        with open_memory(memory, settings=settings, read_only=False) as opened:
            sent = opened.shared.outbox is not None and opened.shared.outbox.settle(_SENDING)
            state = opened.shared.state() or {}
        if not sent:
            typer.echo(f"{state.get('queued')} wait for {state.get('address')}: {state.get('error')}", err=True)
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(
        f"{counted(done.encoded, 'object')} encoded with {done.encoder}; {done.without_pictures} lack a picture"
    )


def forget(
    object_id: Annotated[str | None, typer.Argument(metavar="[ID]", help="For example obj-7 or fact-2.")] = None,
    memory: MemoryFile = DEFAULT_FILE,
    before: Annotated[
        str | None, typer.Option("--before", help="All not seen since this date or memory time.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an object or a fact, or all not seen or told since a time, for good.

    Examples: [bold]lastseen forget obj-7[/bold], [bold]lastseen forget --before 2026-01-01T00:00Z[/bold]
    """
    from lastseen.server.parameters import parse_time

    if (object_id is None) == (before is None):
        raise InvalidValue(
            "forget", object_id, "takes an id or --before, one of them", remedy="lastseen forget obj-7"
        )
    moment = parse_time("--before", before)
    with open_memory(memory, read_only=False) as opened:
        # before anybody is asked whether to delete it
        if object_id is not None and all(fact.id != object_id for fact in opened.facts()):
            opened.object(object_id)
        if not yes:
            typer.confirm(f"Delete {object_id or f'all not seen since {before}'} from {memory} for good?", abort=True)
        ids = opened.forget(object_id, before=moment)
    if as_json:
        print_json({"forgotten": ids} | ({"not_yet_wiped": ids.not_yet} if ids.not_yet else {}))
        return
    typer.echo(f"forgot {len(ids)}: {', '.join(ids)}" if ids else "nothing to forget")
    for reason in ids.not_yet:
        typer.echo(f"not yet wiped: {reason}; it completes by itself")


def stats(memory: MemoryFile = DEFAULT_FILE, as_json: AsJson = False) -> None:
    """Show what a memory holds, and what it takes on disk and in RAM.

    Example: [bold]lastseen stats[/bold]
    """
    with open_memory(memory) as opened:
        facts = opened.stats()
    if as_json:
        print_json(facts)
        return
    for title, unit in (("counts", ""), ("disk", " B"), ("ram", " B")):
        rows = [[name, f"{value:,}{unit}"] for name, value in facts[title].items()]
        print_table([title, "value"], rows, right=["value"])
    typer.echo(f"encoder of words: {facts['encoder']}, of images: {facts['image_encoder'] or 'none yet'}")
    shared = facts["shared_index"]
    if shared is not None:
        waiting = f"{shared['queued']:,} changes wait" if shared["queued"] else "all changes sent"
        typer.echo(f"shared index {shared['address']}: {waiting}{': ' + shared['error'] if shared['error'] else ''}")


def check_file(path: Path) -> None:
    """Refuse a memory file that is not there, before anything heavy is loaded."""
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise JournalMissing(path, f"{problem}; give a memory file, as `lastseen run SOURCE --memory FILE` makes one")


def open_memory(
    path: Path,
    *,
    settings: Settings | None = None,
    read_only: bool = True,
    image_encoder: str | None = None,
    missing_ok: bool = False,
) -> Memory:
    """Open a memory file that must be there, or else one in RAM: a command about a memory never makes a file."""
    if not missing_ok:
        check_file(path)
    from lastseen.memory.memory import Memory

    chosen = settings or current_settings()
    if missing_ok and not path.exists():
        return Memory.open(None, settings=chosen, image_encoder=image_encoder)
    return Memory.open(path, settings=chosen, read_only=read_only, image_encoder=image_encoder)


def what(one: Object) -> str:
    """An object in words: its colour and label, and its state where it is not simply there."""
    words = (None if one.name == one.label else "maybe", one.color, one.label or "thing")
    named = " ".join(filter(None, words))
    return named if one.state == "confirmed" else f"{named} ({one.state})"
