"""``lastseen find, ask, tell, facts``: questions to a memory file, and what people tell it.

Tables for people, one line an object; ``--json`` for programs, with every field.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lastseen.cli.memory import POSITION, check_file, open_memory, what
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
from lastseen.cli.text import age_text, position_text, print_json, print_note, print_table, say, time_text

if TYPE_CHECKING:
    from lastseen.memory.object import Object


def find(
    text: Annotated[str, typer.Argument(help="What to look for, in words.", show_default=False)],
    *,
    memory: MemoryFile = DEFAULT_FILE,
    near: Annotated[str | None, typer.Option("--near", help="A place as x,y,z in metres.")] = None,
    radius: Annotated[float | None, typer.Option("--radius", help="Metres around --near; default 3.")] = None,
    label: Label = None,
    since: Annotated[str | None, typer.Option("--since", help="Last seen at or after: date or memory time.")] = None,
    before: Annotated[str | None, typer.Option("--before", help="Last seen before: date or memory time.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Answer from what was known then.")] = None,
    tentative: Tentative = False,
    removed: Removed = False,
    k: Annotated[int | None, typer.Option("-k", help="At most this many hits.")] = None,
    index: IndexAddress = None,
    robots: Annotated[
        str | None, typer.Option("--robots", help="Ask the shared index: all, or a robot's name.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="The encoder of this memory's image embeddings, as clip:FOLDER.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find a thing, or be told why not.

    With [bold]--index[/bold] the shared index answers, for this robot unless [bold]--robots[/bold] says otherwise;
    then a memory file is not needed.

    Examples: [bold]lastseen find "red mug"[/bold], [bold]lastseen find "red mug" --near 1,2,0 --radius 2[/bold],
    [bold]lastseen find "red mug" --index milvus://host:19530/home --robots all[/bold]
    """
    if index is None:
        check_file(memory)
    settings = current_settings(index=index)
    if index is not None and robots is None:
        robots = settings.store.robot
    from lastseen.server import queries
    from lastseen.server.parameters import parse_point
    from lastseen.server.serializers import answer_json

    with open_memory(memory, settings=settings, image_encoder=encoder, missing_ok=index is not None) as opened:
        print_note(opened.names_only())
        answer = queries.find(
            opened,
            text,
            near=parse_point("--near", near),
            radius=radius,
            label=label,
            since=since,
            before=before,
            as_of=as_of,
            include_tentative=tentative,
            include_removed=removed,
            robots=robots,
            k=k,
        )
    if as_json:
        print_json(answer_json(answer))
    else:
        say(f"{answer.status.replace('_', ' ')}: {answer.reason}")
        # the past is told from its own end, the present from now
        now = None if as_of is not None else datetime.now(UTC)
        _print_hits(answer.fitting, now)
        if answer.closest:
            typer.echo("closest, but not it:")
            _print_hits(answer.closest, now)
    if answer.status == "not_found":
        raise typer.Exit(1)


def ask(
    question: Annotated[str, typer.Argument(help="A question in words.", show_default=False)],
    memory: MemoryFile = DEFAULT_FILE,
    model: Annotated[
        str | None, typer.Option("--model", help="A language model that words and phrases: openai:MODEL, gemini.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question: where, when, how many, how often, what is in or on something, what changed, what is missing.

    A [bold]--model[/bold] may word the question and phrase the answer; what it says without evidence is cut.

    Examples: [bold]lastseen ask "how many chairs are in the kitchen?"[/bold],
    [bold]lastseen ask --model openai:qwen2.5 "any idea where my keys went?"[/bold]
    """
    with open_memory(memory) as opened:
        from lastseen.server.serializers import reply_json

        reply = opened.ask(question, model=model)
        found = reply_json(opened, reply)
    if as_json:
        print_json(found)
    else:
        say(reply.phrased or reply.sentence)
        print_note(f"{reply.cut} of the model's sentences had no evidence and were cut" if reply.cut else None)
        print_note(reply.model_error)
    if reply.status == "not_remembered":
        raise typer.Exit(1)


def _print_hits(hits: Sequence[Object], now: datetime | None) -> None:
    """The place, score and age of each; ``--json`` has the date too.

    The age is the time from the last sighting to ``now`` where the session has a date: a file that is asked a day
    later says a day. Without a date, or without ``now``, it counts to the newest frame.
    """
    rows = [
        [
            hit.id,
            what(hit),
            hit.place or "unknown",
            position_text(hit.position),
            f"{hit.score or 0.0:.2f}",
            age_text(_age(hit, now)) if hit.provenance == "seen" else hit.provenance,
        ]
        for hit in hits
    ]
    if rows:
        columns = ["id", "what", "place", POSITION, "score", "age"]
        print_table(columns, rows, right=["score", "age"], whole=["id", POSITION, "age"], cut=["what", "place"])


def _age(hit: Object, now: datetime | None) -> float:
    if now is None or hit.last_seen is None:
        return hit.age
    # a robot's clock may be ahead of this one
    return max((now - hit.last_seen).total_seconds(), 0.0)


def tell(
    text: Annotated[str, typer.Argument(help="What to remember, in words.", show_default=False)],
    *,
    memory: MemoryFile = DEFAULT_FILE,
    position: Annotated[str | None, typer.Option("--position", help="Where it is, as x,y,z in metres.")] = None,
    extent: Annotated[str | None, typer.Option("--extent", help="Size of a thing, as x,y,z in metres.")] = None,
    outline: Annotated[
        str | None, typer.Option("--outline", help='Corners of a room or region: "0,0 4,0 4,3 0,3".')
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell a memory what it has not seen: a thing, a room or region, where a thing belongs, a note.

    Examples: [bold]lastseen tell "there is a kettle on the stove"[/bold], [bold]lastseen tell "keys live on the
    hook"[/bold], [bold]lastseen tell "this is the pantry" --outline "0,0 2,0 2,3"[/bold]
    """
    check_file(memory)
    from lastseen.server.parameters import parse_outline, parse_point
    from lastseen.server.serializers import fact_json

    corners = None if outline is None else parse_outline("--outline", outline)
    with open_memory(memory, read_only=False) as opened:
        fact = opened.tell(
            text,
            position=parse_point("--position", position),
            extent=parse_point("--extent", extent),
            outline=corners,
        )
        found = fact_json(opened.browse.clock, fact)
    if as_json:
        print_json(found)
    else:
        about = f" ({fact.object_id})" if fact.object_id is not None else ""
        say(f"{fact.id}: {fact.kind}{about}: {fact.text}")


def facts(memory: MemoryFile = DEFAULT_FILE, as_json: AsJson = False) -> None:
    """List what a memory was told.

    Example: [bold]lastseen facts[/bold]
    """
    with open_memory(memory) as opened:
        clock, found = opened.browse.clock, opened.facts()
    if as_json:
        from lastseen.server.serializers import fact_json

        print_json([fact_json(clock, fact) for fact in found])
        return
    if not found:
        typer.echo('nothing was told yet; for example: lastseen tell "the keys belong in the hall"')
        return
    rows = [[one.id, one.kind, one.provenance, time_text(one.wall, one.time), one.text] for one in found]
    print_table(["id", "kind", "provenance", "told (UTC)", "text"], rows)
