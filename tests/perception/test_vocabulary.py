from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from lastseen.config.perception import Vocabulary as Rules
from lastseen.encoders.lexicon import classes
from lastseen.errors import InvalidValue
from lastseen.perception.pipeline import Perception
from lastseen.perception.vocabulary import (
    Namer,
    WordList,
    household_list,
    household_text,
    parse_words,
    read_words,
)
from tests.perception.test_segment import look

WORDS = ("mug", "cup", "chair", "wall")


class Words:
    """An encoder whose texts are axes of a small space, and whose pictures are all the same."""

    name = "clip-test"
    dim = 5

    def __init__(self, seen: Sequence[float] = (1.0, 0.0, 0.0, 0.0, 0.0)) -> None:
        self._seen = np.array(seen, dtype=np.float32)

    def encode_text(self, texts: Sequence[str]) -> NDArray[np.float32]:
        names = [text.removeprefix("a photo of a ") for text in texts]
        return np.stack([np.eye(5, dtype=np.float32)[WORDS.index(name)] for name in names])

    def encode_image(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return np.stack([self._seen] * len(images)) if images else np.zeros((0, 5), np.float32)


def named(*look_vector: float, rules: Rules | None = None) -> dict[str, float]:
    namer = Namer(Words(), WordList(WORDS[:3], WORDS[3:]), settings=rules)
    return namer.name([np.array(look_vector, dtype=np.float32)])[0]


def test_the_nearest_name_is_given_with_its_share() -> None:
    assert named(0.1, 0.1, 0.9, 0.0, 0.4) == {"chair": pytest.approx(1.0)}


def test_what_fits_nothing_is_unknown() -> None:
    assert named(0.05, 0.0, 0.1, 0.0, 0.99) == {}


def test_two_names_that_fit_alike_are_unknown() -> None:
    assert named(0.3, 0.0, 0.3, 0.0, 0.9) == {}


def test_names_that_people_mix_up_do_not_stand_in_each_others_way() -> None:
    assert named(0.3, 0.3, 0.1, 0.0, 0.9) == {"mug": pytest.approx(0.5), "cup": pytest.approx(0.5)}


def test_background_is_recognised_and_not_named() -> None:
    assert named(0.1, 0.0, 0.0, 0.5, 0.8) == {}


def test_no_looks_give_no_names() -> None:
    assert Namer(Words(), WordList(WORDS)).name([]) == []


def test_a_template_without_a_place_for_the_name_is_refused() -> None:
    with pytest.raises(InvalidValue, match="template"):
        Namer(Words(), WordList(WORDS), settings=Rules(template="a photo"))


def test_things_of_a_frame_get_names() -> None:
    seen = Words((0.0, 0.0, 0.9, 0.0, 0.4))
    perception = Perception(encoder=seen, namer=Namer(seen, WordList(WORDS)))
    assert perception.names_things
    labels = {observation.label for observation in perception.perceive(look(textured=True)).observations}
    assert labels == {"chair"}
    assert "name" in perception.cpu_ms


def test_the_shipped_list_names_every_class_that_the_lexicon_knows() -> None:
    words = household_list()
    assert set(words.names) == set(classes())
    assert words.background


def test_the_list_is_yaml_to_everyone_else() -> None:
    whole = yaml.safe_load(household_text())
    assert WordList(tuple(whole["names"]), tuple(whole["background"])) == household_list()


@pytest.mark.parametrize(
    "text",
    [
        "- mug\n- tea cup  # the small ones\n",
        "---\nnames:\n  - mug\n\n  - tea cup\n",
        "names:\n- 'mug'\n- \"tea cup\"\n- mug\n",
        "background: # nothing\nnames:\n  - mug\n  - tea cup",
    ],
)
def test_lists_that_people_write_are_read(text: str) -> None:
    assert parse_words(text, source="mine").names == ("mug", "tea cup")


@pytest.mark.parametrize(
    "text",
    ["mug\n", "- mug: big\n", "- [mug, cup]\n", "- &a mug\n", "- |\n", "things:\n  - mug\n", "-\n", "- !x mug\n"],
)
def test_what_is_more_than_a_list_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(InvalidValue, match="line 1 of mine"):
        parse_words(text, source="mine")


def test_an_empty_list_a_missing_file_and_a_contradiction_are_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="has 0 names"):
        parse_words("# nothing\n", source="mine")
    with pytest.raises(InvalidValue, match="cannot be read"):
        read_words(tmp_path / "none.yaml")
    with pytest.raises(InvalidValue, match="name and background"):
        parse_words("names:\n- mug\nbackground:\n- mug\n", source="mine")
