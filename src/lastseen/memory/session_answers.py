"""What answers say of the map that their positions are in, and of a session that is in quarantine."""

from __future__ import annotations

from dataclasses import replace

from lastseen.memory.object import Answer, Known

NOT_FROM_HERE = "That is remembered, but where it is from here is not known yet."


def with_alignment(answer: Answer, known: Known) -> Answer:
    """An answer that says whether its positions are in the map that the newest session is in."""
    if known == "aligned":
        return answer
    hits = tuple(replace(hit, alignment=known) for hit in answer.hits)
    reason = f"{answer.reason} ({NOT_FROM_HERE})" if known == "unknown" and hits else answer.reason
    return replace(answer, hits=hits, reason=reason, alignment=known)


def both(prefix: str, now: Answer, before: Answer) -> Answer:
    """What a session in quarantine sees now, then what was remembered before it and cannot be placed from here."""
    seen = replace(now, hits=tuple(replace(hit, id=prefix + hit.id) for hit in now.hits))
    before = with_alignment(before, "unknown")
    if now.status == "not_found":
        return before if before.status != "not_found" else seen
    if before.status == "not_found":
        return seen
    reason = f"{seen.reason}; {len(before.fitting)} more remembered from before, where from here is not known yet"
    return replace(seen, reason=reason, hits=(*seen.hits, *before.fitting))


def prefix_of(session: int) -> str:
    """What the ids of a session in quarantine begin with."""
    return f"session-{session}/"
