from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.cli.main import main
from lastseen.memory.nodes import retrieval, seed_demo_store


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    return int(caught.value.code or 0)


def test_a_search_tells_every_step_and_the_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nodes, log = tmp_path / "nodes.json", tmp_path / "steps.jsonl"
    seed_demo_store().save_json(nodes)
    assert run("search", "red mug", "--memory", str(nodes), "--log", str(log), "--seed", "3") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("found after")
    assert len(log.read_text().splitlines()) == len(said) - 1


def test_the_outcome_as_json_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "piano", "--json", "--constraint", "avoid: bathroom") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["status"] == "not_found"
    assert outcome["belief"]["active_constraints"] == ["avoid: bathroom"]


def test_settings_are_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "lastseen.toml"
    file.write_text("[search]\nmax_steps = 1\n")
    run("--settings", str(file), "search", "piano", "--json")
    assert json.loads(capsys.readouterr().out)["steps"] == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--backend", "oracle"], "error: backend = 'oracle'"),
        (["--memory", "none.json"], "error: nodes file = 'none.json'"),
        (["--constraint", "be nice"], "error: constraint = 'be nice'"),
    ],
)
def test_what_is_wrong_is_one_line(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "mug", *words) == 1
    assert capsys.readouterr().err.startswith(problem)


def test_the_self_check_passes_and_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("self-check") == 0
    monkeypatch.setattr(retrieval, "cosine_to_score", lambda cosine: cosine)
    assert run("self-check") == 1
    assert "FAIL  score_mapping" in capsys.readouterr().out
