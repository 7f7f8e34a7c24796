from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.memory.places import is_corridor, normalize_scene_type


@pytest.mark.parametrize(
    ("said", "compared"),
    [
        ("Kitchen", "kitchen"),
        ("Kitchen.", "kitchen"),
        ("living-room", "living room"),
        ("LIVING_ROOM!", "living room"),
        ("  dining   room\n", "dining room"),
        ("Hallway", "corridor"),
        ("upstairs hallway.", "upstairs corridor"),
        ("hallways", "hallways"),
        ("주방.", "주방"),
        ("Küche", "küche"),
        ("room 101", "room 101"),
        ("kid's room", "kids room"),
        ("...", ""),
    ],
)
def test_normalisation(said: str, compared: str) -> None:
    assert normalize_scene_type(said) == compared


@pytest.mark.parametrize("said", ["corridor", "Hallway", "long corridor", "corridors"])
def test_corridor_is_told_by_its_name(said: str) -> None:
    assert is_corridor(said)
    assert not is_corridor("kitchen")


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalize_scene_type(text)
    assert normalize_scene_type(once) == once


@given(st.text(max_size=40))
def test_only_letters_digits_and_single_spaces_are_left(text: str) -> None:
    result = normalize_scene_type(text)
    assert all(character.isalpha() or character.isdigit() or character == " " for character in result)
    assert result == " ".join(result.split())


@given(st.text(alphabet=st.characters(categories=["Ll", "Lo"]), min_size=1, max_size=20))
def test_no_letter_of_any_script_is_dropped_for_punctuation(text: str) -> None:
    assert normalize_scene_type(f"«{text}».") == normalize_scene_type(text)
