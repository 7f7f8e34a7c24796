"""Searching memory: which rows may answer, how well each fits, and whether the best deserves to be believed."""

from lastseen.memory.query.judge import Thresholds, judge
from lastseen.memory.query.region import Region, select
from lastseen.memory.query.wording import Wording

__all__ = ["Region", "Thresholds", "Wording", "judge", "select"]
