"""What a call cost in tokens: an optional word from a backend, written to timing.jsonl and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.vlm.protocol import Backend


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the server counted them."""

    prompt_tokens: int
    output_tokens: int


def usage_of(backend: Backend) -> Usage | None:
    """The usage of a backend's last call; None for backends that do not count."""
    usage = getattr(backend, "last_usage", None)
    return usage if isinstance(usage, Usage) else None
