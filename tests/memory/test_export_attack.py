"""Exports of hostile labels: no formula in any spreadsheet, and the files stay what they are."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np

from lastseen.memory.export import WRITERS

FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
CONTROL = (";", ",", "|", '"', "'", " ", "\t", "\r", "\n", "\x00", "\u2028", "\x85", "\x0b", "\u202e")
MARKS = (*FORMULA, *CONTROL, "mug", "cmd|' /C calc'!A0", "HYPERLINK(1)", "<script>", "end_header")


def facts(number: int, label: str | None) -> dict[str, object]:
    return {
        "id": f"obj-{number}",
        "label": label,
        "xyz_world": [-1.0, 0.5, 2.0],
        "extent": [0.1, 0.1, 0.1],
        "hits": 3,
        "stability": 0.5,
        "state": "confirmed",
        "stale": False,
        "first_seen": 0.0,
        "last_seen": 1.0,
    }


def test_hostile_labels_stay_text_in_every_export(tmp_path: Path, soak: int) -> None:
    rng = np.random.default_rng(0)
    labels = ["".join(rng.choice(MARKS, int(rng.integers(0, 7)))) for _ in range(300 * soak)]
    objects = [facts(number, label) for number, label in enumerate([*labels, None, ""])]
    for ending, write in WRITERS.items():
        write(tmp_path / f"out{ending}", objects)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == objects
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert len(text.split("\n")) == len(objects) + 2
    for row in csv.DictReader(text.splitlines()):
        # by whatever mark a spreadsheet cuts its cells
        for cell in re.split(r"[,;|\"\t]", row["label"]):
            assert not cell.lstrip().startswith(FORMULA), row
    ply = (tmp_path / "out.ply").read_text(encoding="utf-8").splitlines()
    assert ply.count("end_header") == 1
    assert len(ply) == ply.index("end_header") + 1 + 20 * len(objects)
