"""Exports of hostile labels: no formula in any spreadsheet, and the files stay what they are."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np

from lastseen.memory.export import WRITERS, home_tree, read_home

FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
CONTROL = (";", ",", "|", '"', "'", " ", "\t", "\r", "\n", "\x00", "\u2028", "\x85", "\x0b", "\u202e")
MARKS = (*FORMULA, *CONTROL, "mug", "cmd|' /C calc'!A0", "HYPERLINK(1)", "<script>", "end_header")


def facts(number: int, label: str | None) -> dict[str, object]:
    return {
        "id": f"obj-{number}",
        "label": label,
        "position": [-1.0, 0.5, 2.0],
        "extent": [0.1, 0.1, 0.1],
        "hits": 3,
        "stability": 0.5,
        "state": "confirmed",
        "place": label,
        "first_seen": None,
        "last_seen": None,
    }


def test_hostile_labels_stay_text_in_every_export(tmp_path: Path, soak: int) -> None:
    rng = np.random.default_rng(0)
    labels = ["".join(rng.choice(MARKS, int(rng.integers(0, 7)))) for _ in range(300 * soak)]
    objects = [facts(number, label) for number, label in enumerate([*labels, None, ""])]
    home = home_tree(objects, [], [(0.0, 0.0), (2.0, 0.0)])
    for ending, write in WRITERS.items():
        write(tmp_path / f"out{ending}", home)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["objects"] == objects
    # and they come back as they were
    assert [one["label"] for one in read_home(tmp_path / "out.json")["objects"]] == [*labels, None, ""]
    assert len(read_home(tmp_path / "out.dsg.json")["objects"]) == len(objects)
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert len(text.split("\n")) == len(objects) + 2
    for row in csv.DictReader(text.splitlines()):
        # by whatever mark a spreadsheet cuts its cells
        for cell in re.split(r"[,;|\"\t]", row["label"]):
            assert not cell.lstrip().startswith(FORMULA), row
    ply = (tmp_path / "out.ply").read_text(encoding="utf-8").splitlines()
    assert ply.count("end_header") == 1
    assert len(ply) == ply.index("end_header") + 1 + 20 * len(objects)
