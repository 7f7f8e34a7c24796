"""The doctor: samples a source and says what is wrong with it, by trying what would be right."""

from lastseen.sources.doctor.examine import examine
from lastseen.sources.doctor.report import Check, Report, Verdict

__all__ = ["Check", "Report", "Verdict", "examine"]
