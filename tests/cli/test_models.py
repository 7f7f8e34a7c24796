from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lastseen.cli.main import app, main
from lastseen.models import catalogue, pull
from lastseen.models.catalogue import Model
from lastseen.perception.vocabulary import household_list, read_words


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LASTSEEN_MODELS", str(tmp_path))
    return tmp_path


def test_the_list_says_licence_size_and_what_is_here(folder: Path) -> None:
    (folder / "dfine-s" / "onnx").mkdir(parents=True)
    for file in catalogue.known_model("dfine-s").files:
        (folder / "dfine-s" / file.path).write_bytes(b"")
    said = json.loads(CliRunner().invoke(app, ["models", "list", "--json"]).stdout)
    rows = {row["name"]: row for row in said["models"]}
    assert rows["dfine-s"]["present"] is True
    assert rows["clip"]["present"] is False
    assert rows["clip"]["licence"] == "MIT"
    assert rows["sam"]["sha256"] == "unknown: needs --trust"
    table = CliRunner().invoke(app, ["models", "list"], env={"COLUMNS": "160"}).stdout
    assert "Apache-2.0" in table
    assert str(folder) in table.replace("\n", "")


def test_a_pull_says_where_the_model_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(model: Model, *, trust: bool, progress: pull.Progress) -> Path:
        for file in model.files:
            progress(file.path, file.size, file.size)
        return folder / model.name

    monkeypatch.setattr(pull, "pull", fetched)
    done = CliRunner().invoke(app, ["models", "pull", "dfine-s"])
    assert done.stdout.strip() == f"dfine-s (Apache-2.0) is in {folder / 'dfine-s'}"


@pytest.mark.parametrize(("name", "told"), [("yolo", "choose one of clip"), ("sam", "add --trust")])
def test_what_cannot_be_pulled_is_one_line(name: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["models", "pull", name])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_the_names_can_be_printed_and_read_back(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(CliRunner().invoke(app, ["models", "names"]).stdout)
    assert read_words(tmp_path / "mine.yaml") == household_list()
