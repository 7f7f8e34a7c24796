"""The doctor: samples a source, tries conventions on it, and reports which options would correct it."""

from lastseen.sources.doctor.examine import examine
from lastseen.sources.doctor.report import Check, Report, Verdict

__all__ = ["Check", "Report", "Verdict", "examine"]
