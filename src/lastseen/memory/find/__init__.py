"""Searching memory: which rows may answer, how well each fits, and whether the best deserves to be believed."""

from lastseen.memory.find.judge import Thresholds, judge
from lastseen.memory.find.region import Region, select
from lastseen.memory.find.wording import Wording

__all__ = ["Region", "Thresholds", "Wording", "judge", "select"]
