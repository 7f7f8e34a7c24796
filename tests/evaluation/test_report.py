"""The report is one page that loads nothing."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from lastseen.evaluation.report import bars, path_picture, steps_curve, write_report
from lastseen.evaluation.summary import summarize
from tests.evaluation.records import record

CONFIG = {
    "episodes": 2,
    "seed": 0,
    "scene": "generated",
    "backend": "offline",
    "settings": {"evaluation.level": "typical"},
}


def page(tmp_path: Path) -> str:
    records = [record("context", 0), record("context", 1, success=False, goal="<b>bed"), record("no_context", 0)]
    return write_report(tmp_path, records, summarize(records, CONFIG)).read_text(encoding="utf-8")


def test_it_has_every_table_and_the_paths(tmp_path: Path) -> None:
    text = page(tmp_path)
    for title in ("Arms", "Paired differences", "Causes of failure", "Paths"):
        assert f"<h2>{title}</h2>" in text
    assert text.count("<polyline") == 3


def test_it_loads_nothing_and_quotes_what_came_from_outside(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert "http" not in text
    assert "<script" not in text
    assert "<b>bed" not in text


def test_plots_are_well_formed() -> None:
    figure = {"mean": 0.5, "low": 0.4, "high": 0.6}
    for drawn in (
        bars({"context": figure}),
        steps_curve({"context": [record("context", 0)]}),
        path_picture(record("context", 0)),
    ):
        assert ElementTree.fromstring(drawn).tag == "svg"
