from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.config import load, settings_from_mapping
from lastseen.errors import SettingsError


def test_without_file_and_environment_the_defaults_hold() -> None:
    assert load(environment={}) == settings_from_mapping({})


def test_a_toml_file_goes_over_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "lastseen.toml"
    file.write_text('[association]\nradius = 0.5\n[labels]\nignore = ["cat"]\n')
    settings = load(file, environment={})
    assert settings.association.radius == 0.5
    assert settings.labels.ignore == ("cat",)
    assert settings.promotion.min_hits == 2


def test_the_environment_goes_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lastseen.toml"
    file.write_text("[places]\ndwell = 4\nupdate_period = 10\n")
    settings = load(file, environment={"LASTSEEN__PLACES__DWELL": "5", "OTHER": "x"})
    assert (settings.places.dwell, settings.places.update_period) == (5, 10)


def test_plain_text_in_the_environment_needs_no_quotes() -> None:
    assert load(environment={"LASTSEEN__PLANNER__BACKEND": "gemini"}).planner.backend == "gemini"


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"assocation": {"radius": 1.0}}, r"assocation = .*did you mean association\?"),
        (
            {"association": {"radus": 1.0}},
            r"association\.radus = 1\.0: is not a setting; did you mean association\.radius\?",
        ),
        ({"radius": 1.0}, r"radius = 1\.0: is not a setting; did you mean"),
        ({"zzzz": 1}, r"zzzz = 1: is not a setting; see `lastseen config`"),
        ({"association": 3}, r"association = 3: is a section; write it as \[association\]"),
        ({"association": {"radius": "wide"}}, r"association\.radius = 'wide': must be a number"),
        ({"association": {"radius": -1.0}}, r"association\.radius = -1\.0: is outside 0\.01 to 5\.0"),
        ({"association": {"radius": float("nan")}}, r"association\.radius = nan: must be finite"),
        ({"promotion": {"min_hits": 2.5}}, r"promotion\.min_hits = 2\.5: must be a whole number"),
        ({"promotion": {"min_hits": True}}, r"promotion\.min_hits = True: must be a whole number"),
        ({"places": {"reenter": 1}}, r"places\.reenter = 1: must be true or false"),
        ({"labels": {"ignore": [1]}}, r"labels\.ignore = \(1,\): must be a list of text"),
        ({"dead_reckoning": {"forward_step": -0.1}}, r"dead_reckoning\.forward_step = -0\.1: is outside"),
    ],
)
def test_what_does_not_fit_is_named_with_a_remedy(tree: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings_from_mapping(tree)


def test_an_unknown_variable_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"places\.dwel = 3: is not a setting; did you mean places\.dwell\?"):
        load(environment={"LASTSEEN__PLACES__DWEL": "3"})


def test_a_variable_below_a_single_value_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("places = 3\n")
    with pytest.raises(SettingsError, match="goes below a single value"):
        load(file, environment={"LASTSEEN__PLACES__DWELL": "3"})


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path / "none.toml", environment={})
    broken = tmp_path / "broken.toml"
    broken.write_text("[association\n")
    with pytest.raises(SettingsError, match="is not TOML"):
        load(broken, environment={})


DEEP = ["a = " + "[" * 5000 + "]" * 5000, "a" + ".a" * 5000 + " = 1", "[store]\nrobot = {a = {b = 1}}"]


@pytest.mark.parametrize("text", DEEP, ids=["arrays", "tables", "a table for a value"])
def test_a_nested_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(SettingsError):
        load(path, environment={})


@pytest.mark.parametrize("setting", ["association.radius", "server.port", "promotion.min_hits"])
def test_a_number_without_end_is_refused_in_one_line(tmp_path: Path, setting: str) -> None:
    section, name = setting.split(".")
    (tmp_path / "lastseen.toml").write_text(f"[{section}]\n{name} = 0x{'F' * 6000}\n")
    with pytest.raises(SettingsError, match="too long to show: must be finite; the default is"):
        load(tmp_path / "lastseen.toml", environment={})


def test_a_nested_variable_is_refused_in_one_line() -> None:
    with pytest.raises(SettingsError):
        load(environment={"LASTSEEN__STORE__KEEP_CROPS": "[" * 5000})
