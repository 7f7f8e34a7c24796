"""Tests named ``test_lab_*`` need the Python of an environment with habitat-lab: ``make habitat`` names it."""

from __future__ import annotations

import os

collect_ignore_glob: list[str] = []
if not os.environ.get("LASTSEEN_HABITAT_PYTHON"):
    collect_ignore_glob.append("test_lab_*.py")
