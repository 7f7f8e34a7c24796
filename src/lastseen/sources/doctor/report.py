"""What the doctor found: one check per row, with a verdict, a figure and what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from lastseen.sources.options import SourceOptions


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    """True and worth knowing, but the data can be used."""
    FAULT = "fault"
    """Memory built from this data would be wrong."""
    UNSURE = "cannot tell"
    """This recording cannot decide it; the reason says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One row: ``changes`` are the source options that correct a fault, where options can."""

    name: str
    verdict: Verdict
    figure: str
    remedy: str = ""
    changes: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """All checks in a fixed order, the options with every correction applied, and what the source says of itself."""

    address: str
    frames: int
    checks: tuple[Check, ...]
    options: SourceOptions
    notes: tuple[str, ...] = ()

    @property
    def faults(self) -> list[str]:
        """Names of the checks that failed, in order."""
        return [check.name for check in self.checks if check.verdict is Verdict.FAULT]

    @property
    def warnings(self) -> list[str]:
        """Names of the checks that warn, in order."""
        return [check.name for check in self.checks if check.verdict is Verdict.WARN]

    def check(self, name: str) -> Check:
        """The row of this name."""
        return next(check for check in self.checks if check.name == name)

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "source": self.address,
            "frames": self.frames,
            "faults": self.faults,
            "warnings": self.warnings,
            "options": self.options.changed(),
            "notes": list(self.notes),
            "checks": [asdict(check) for check in self.checks],
        }
