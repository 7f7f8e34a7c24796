"""What changed in a home beside what the memory says has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from lastseen.memory.objects import Event, EventKind, ObjectMemory, State
from lastseen.memory.objects.store import Newness
from lastseen.sim.change import Change
from lastseen.sim.home import STRUCTURE_ID, Thing
from support.ledger import Ledger

KINDS = ("moved", "removed", "added")


def what_can_be_known(
    made: Sequence[Change], known: set[int], seen_after: set[int]
) -> tuple[set[tuple[str, int]], dict[int, int]]:
    """The changes a memory can tell, by kind and thing, and which added thing passes for which removed one.

    A thing known before and seen after at another place has moved; one known before and not seen after is gone from
    where it was; one not known before that stands somewhere new was added there. A twin added while its like was
    removed is a move to anyone who was not there.
    """
    edits = [edit for change in made for edit in change.edits]
    removed = [edit.before for edit in edits if edit.after is None and edit.before and edit.before.id in known]
    passes_for: dict[int, int] = {}
    for edit in edits:
        if edit.before is None and edit.after is not None and edit.after.id in seen_after:
            like = next((one for one in removed if _twins(one, edit.after)), None)
            if like is not None:
                passes_for[edit.after.id] = like.id
                removed.remove(like)
    truth: set[tuple[str, int]] = set()
    for edit in edits:
        thing = edit.thing_id
        if edit.before is None or thing not in known:
            if edit.after is not None and thing in seen_after and thing not in passes_for:
                truth.add(("added", thing))
        else:
            moved = (edit.after is not None and thing in seen_after) or thing in passes_for.values()
            truth.add(("moved" if moved else "removed", thing))
    return truth, passes_for


def _twins(one: Thing, other: Thing) -> bool:
    return (one.label, one.color) == (other.label, other.color) and np.allclose(
        sorted(one.extent), sorted(other.extent), atol=0.05
    )


def judge(
    memory: ObjectMemory,
    ledger: Ledger,
    events: Sequence[Event],
    made: Sequence[Change],
    *,
    known: set[int],
    at: float,
) -> Counter[str]:
    """True, false and missed claims by kind about what changed at a time, and claims about things left alone."""
    seen_after = {thing for thing, sights in ledger.things.items() if sights.long_enough(at)}
    truth, passes_for = what_can_be_known(made, known, seen_after)
    store = memory.store
    moved_ids = {event.object_id for event in events if event.kind is EventKind.MOVED and event.stamp >= at}
    claims: set[tuple[str, int]] = set()
    for row in store.live().tolist():
        object_id, state = store.id(row), store.state[row]
        thing = ledger.owner(object_id)
        thing = passes_for.get(thing, thing)
        if object_id in moved_ids and state == State.CONFIRMED:
            claims.add(("moved", thing))
        elif state > State.CONFIRMED and thing != STRUCTURE_ID:
            # to find that what was imagined is not there is no claim about a thing
            claims.add(("removed", thing))
        elif state == State.CONFIRMED and store.newness[row] == Newness.FREE and store.first_seen[row] >= at:
            claims.add(("added", thing))
    touched = {edit.thing_id for change in made for edit in change.edits}
    counts: Counter[str] = Counter()
    for kind in KINDS:
        said = {thing for what, thing in claims if what == kind}
        true = {thing for what, thing in truth if what == kind}
        counts[f"{kind}_true"], counts[f"{kind}_false"] = len(said & true), len(said - true)
        counts[f"{kind}_missed"] = len(true - said)
    counts["unchanged_claimed"] = len({thing for _, thing in claims if thing not in touched})
    return counts


def f1(counts: Counter[str], *kinds: str) -> float | None:
    """The harmonic mean of precision and recall of the claims of these kinds; None without any."""
    true = sum(counts[f"{kind}_true"] for kind in kinds)
    wrong = sum(counts[f"{kind}_false"] + counts[f"{kind}_missed"] for kind in kinds)
    return 2 * true / (2 * true + wrong) if true + wrong else None
