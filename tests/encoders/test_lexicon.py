from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.encoders.lexicon import USES, LexiconEncoder, classes, classes_named
from lastseen.errors import InvalidValue
from lastseen.protocols import Encoder
from lastseen.sim.catalog import CLASSES

ENCODER = LexiconEncoder()


def cosine(one: str, other: str) -> float:
    a, b = ENCODER.encode_text([one, other])
    return float(a @ b)


def test_it_is_an_encoder() -> None:
    assert isinstance(ENCODER, Encoder)


@given(st.lists(st.text(max_size=40), max_size=4))
def test_every_text_gives_a_unit_row(texts: list[str]) -> None:
    rows = ENCODER.encode_text(texts)
    assert rows.shape == (len(texts), ENCODER.dim)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("one", "other"), [("couch", "sofa"), ("tv", "television"), ("fridge", "refrigerator"), ("coffee_mugs", "mug")]
)
def test_synonyms_are_equal(one: str, other: str) -> None:
    assert cosine(one, other) == pytest.approx(1.0, abs=1e-5)


def test_a_cup_is_near_a_mug_and_a_bottle_is_not() -> None:
    assert cosine("cup", "mug") > 0.7
    assert cosine("bottle", "mug") < 0.5


def test_colour_and_class_both_count() -> None:
    assert cosine("red mug", "red mug") > cosine("red mug", "mug") > cosine("red mug", "blue mug")
    assert cosine("red mug", "blue mug") > cosine("red mug", "red bowl")


@pytest.mark.parametrize(
    ("use", "label"),
    [
        ("somewhere to sit", "stool"),
        ("something to drink from", "mug"),
        ("a place to sleep", "bed"),
        ("what tells the time", "clock"),
        ("something to sweep with", "broom"),
    ],
)
def test_words_of_use_reach_the_classes_that_serve_it(use: str, label: str) -> None:
    assert cosine(use, label) > 0.6
    assert cosine(use, "door") < 0.2


def test_two_uses_together_name_what_serves_both() -> None:
    assert cosine("where food stays cold", "fridge") > 0.6
    assert cosine("something to boil water", "kettle") > 0.6


def test_every_class_of_the_simulated_homes_has_a_meaning_of_its_own() -> None:
    labels = sorted(CLASSES)
    named = {label: classes_named(label) for label in labels}
    assert all(len(names) == 1 for names in named.values()), named
    rows = ENCODER.encode_text(labels)
    alike = [(labels[i], labels[j]) for i, j in np.argwhere(np.triu(rows @ rows.T > 0.6, k=1)).tolist()]
    assert alike == []


def test_a_class_named_outranks_its_use() -> None:
    assert classes_named("reading lamp") == ("lamp",)


def test_an_unknown_label_finds_itself_by_its_words() -> None:
    assert cosine("flux capacitor", "flux capacitor") == pytest.approx(1.0, abs=1e-5)
    assert cosine("capacitor", "flux capacitor") > 0.6
    assert abs(cosine("zorble", "flux capacitor")) < 0.4


def test_every_use_names_known_classes() -> None:
    unknown = {name for names in USES.values() for name in names} - set(classes())
    assert not unknown


def test_no_name_belongs_to_two_classes() -> None:
    owners: dict[str, str] = {}
    for name, (names, _) in classes().items():
        for other in names:
            assert owners.setdefault(other, name) == name, other


def test_vectors_are_the_same_in_another_process() -> None:
    code = (
        "import hashlib; from lastseen.encoders import open_encoder; e = open_encoder('lexicon');"
        "print(e.name, hashlib.sha256(e.encode_text(['red mug', 'zorble couch']).tobytes()).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, env={"PYTHONHASHSEED": seed, **_path()}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def _path() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path)}


def test_it_reads_no_images() -> None:
    with pytest.raises(InvalidValue, match="color-shape"):
        ENCODER.encode_image([np.zeros((2, 2, 3), np.uint8)])
