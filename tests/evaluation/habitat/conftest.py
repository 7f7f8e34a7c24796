"""Tests named ``test_lab_*`` need habitat-lab, which has an environment of its own: ``make habitat`` runs them."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

from tests.evaluation.habitat.placeholders import stand_in

collect_ignore_glob: list[str] = []
try:
    version("habitat-lab")
except PackageNotFoundError:
    collect_ignore_glob.append("test_lab_*.py")
else:
    stand_in()
    with warnings.catch_warnings():
        # habitat-lab and gym are told off by newer versions of their own dependencies; no fault of ours
        warnings.simplefilter("ignore")
        import habitat  # noqa: F401
