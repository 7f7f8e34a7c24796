from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from lastseen.cli.main import app
from lastseen.cli.options import PerceptionOptions
from lastseen.errors import InvalidValue


@pytest.mark.parametrize("command", ["run", "serve"])
def test_run_and_serve_take_every_option_of_perception(command: str) -> None:
    taken = get_command(app).commands[command].params  # type: ignore[attr-defined]
    assert set(PerceptionOptions.__slots__) <= {one.name for one in taken}


def test_what_was_given_is_told_in_the_words_of_the_command_line() -> None:
    assert PerceptionOptions(look_for="mug", segment=True).given() == {"--segment": True, "--look-for": "mug"}
    assert PerceptionOptions().given() == {}


@pytest.mark.parametrize(("detector", "segment"), [(None, False), ("x.onnx", True)])
def test_options_that_contradict_each_other_are_refused(detector: str | None, segment: bool) -> None:
    with pytest.raises(InvalidValue, match=r"--labels|--segment"):
        PerceptionOptions(detector=detector, labels=Path("labels.txt"), segment=segment).check()


def test_a_list_of_names_needs_an_encoder_that_reads_words() -> None:
    with pytest.raises(InvalidValue, match="add --encoder clip"):
        PerceptionOptions(vocabulary=Path("mine.yaml")).check()
