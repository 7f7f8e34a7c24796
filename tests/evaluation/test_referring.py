"""Statements about generated rooms: the thing meant is found, false ones are refused for the right reason."""

from __future__ import annotations

import csv
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.errors import InvalidValue
from lastseen.evaluation.referring import evaluate

CLASSES = ("chair", "table", "sofa", "lamp", "bookcase", "plant")
COLORS = ("red", "green", "blue", "white", "black")


def write_room(folder: Path, seed: int) -> None:
    """A room of turned boxes, and statements whose truth follows from their centres."""
    draw = random.Random(seed)
    things: list[dict[str, Any]] = []
    while len(things) < 14:
        center = (draw.uniform(0, 8), draw.uniform(0, 6), 0.5)
        if all(math.dist(center, other["center"]) > 1.2 for other in things):
            label = CLASSES[len(things) % len(CLASSES)]
            things.append({"label": label, "center": center, "color": draw.choice(COLORS)})
    columns = ["object_id", "region_id", "raw_label", "nyu_label", *(f"object_bbox_c{axis}" for axis in "xyz")]
    columns += [*(f"object_bbox_{axis}length" for axis in "xyz"), "object_bbox_heading"]
    columns += ["object_color_scheme1", "object_color_scheme_percentage1"]
    folder.mkdir()
    with (folder / "object_result.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for number, thing in enumerate(things):
            sizes = [draw.uniform(0.3, 0.8) for _ in range(3)]
            row = [number, 0, thing["label"], thing["label"], *thing["center"], *sizes, draw.uniform(-3, 3)]
            writer.writerow([*row, thing["color"], 0.9])
    statements = {}
    for anchor in (one for one in things if one["label"] == "lamp"):
        same = [one for one in things if one["label"] == "lamp" and one["color"] == anchor["color"]]
        if len(same) > 1:
            continue
        for label in ("chair", "sofa"):
            near = sorted(
                (one for one in things if one["label"] == label),
                key=lambda one: math.dist(one["center"], anchor["center"]),
            )
            ranked = {"closest to": near[0], "second closest to": near[1], "farthest from": near[-1]}
            for said, target in ranked.items():
                text = f"the {label} that is {said} the {anchor['color']} lamp"
                statements[text] = [
                    {
                        "target_index": str(things.index(target)),
                        "relation": said,
                        "false_statements": {
                            "false_target_class": text.replace(label, "piano"),
                            "false_anchors": {
                                "anchor1": {
                                    "false_anchor_class": text.replace("lamp", "bathtub"),
                                    "false_anchor_color": text.replace(anchor["color"], "purple"),
                                }
                            },
                        },
                    }
                ]
    (folder / "referential_statements.json").write_text(json.dumps({"regions": {"0": statements}}))


@pytest.mark.parametrize("seed", range(4))
def test_statements_of_a_generated_room(tmp_path: Path, seed: int) -> None:
    write_room(tmp_path / "room", seed)
    score = evaluate(tmp_path / "room")
    assert score.statements >= 6
    assert score.true_right == score.statements, score.wrong
    assert score.false_refused == score.false_statements == 3 * score.statements
    assert score.false_reason_right == score.false_statements, score.wrong


def test_the_command_prints_what_is_compared(tmp_path: Path) -> None:
    write_room(tmp_path / "room", 1)
    result = CliRunner().invoke(app, ["eval", "referring", str(tmp_path / "room"), "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)
    assert found["true_right"] == found["statements"]
    assert {"false_statements", "false_refused", "false_reason_right", "by_relation"} <= set(found)


def test_a_folder_of_another_layout_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"object_result\.csv"):
        evaluate(tmp_path)
    (tmp_path / "object_result.csv").write_text("object_id\n1\n")
    with pytest.raises(InvalidValue, match="cannot be read"):
        evaluate(tmp_path)
