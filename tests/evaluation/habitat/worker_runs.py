"""Plans whose worker runs the stand-in, in this Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lastseen.config import settings_from_mapping
from lastseen.detection import Detection
from lastseen.evaluation.habitat.dataset import Dataset
from lastseen.evaluation.habitat.plan import HabitatPlan
from lastseen.frame import Frame
from tests.evaluation.habitat import stand_in

PLUGIN = str(Path(stand_in.__file__))
SETTINGS = settings_from_mapping({"search": {"max_steps": 16}})
DETECTOR = f"{__name__}:blind"


class Blind:
    """Sees nothing."""

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        return []


def blind() -> Blind:
    return Blind()


def plan(out: Path, **changes: Any) -> HabitatPlan:
    given: dict[str, Any] = {
        "python": sys.executable,
        "dataset": Dataset(plugins=(PLUGIN,)),
        "detector": DETECTOR,
        "settings": SETTINGS,
        "episodes": 1,
        "arms": ("no_context", "context"),
        "log": out / "habitat.log",
    }
    return HabitatPlan(**{**given, **changes})
