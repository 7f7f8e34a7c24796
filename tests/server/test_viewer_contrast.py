"""Every text of the page can be read on its ground in both themes: contrast by WCAG 2.1, from the style sheet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CSS = Path(__file__).parents[2] / "web" / "src" / "styles" / "theme.css"
TEXT, GRAPHIC = 4.5, 3.0
"""The least contrast of level AA: of text, and of what is no text but tells something."""

GROUNDS = ("surface", "raised")
INKS = ("text", "muted", "accent", "danger")
STATES = ("state-confirmed", "state-tentative", "state-stale", "state-missing", "robot")


def colours(theme: str) -> dict[str, str]:
    """The colours of a theme by name; what the light one does not set is as in the dark one."""
    css = CSS.read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^:root(\[data-theme=\"light\"\])? \{(.*?)^\}", css, flags=re.M | re.S))
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[""]))
    if theme == "light":
        found |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks['[data-theme="light"]']))
    return found


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_is_the_most() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("ink", INKS)
def test_text_can_be_read_on_every_ground(theme: str, ink: str) -> None:
    found = colours(theme)
    assert min(contrast(found[ink], found[ground]) for ground in GROUNDS) >= TEXT


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize(
    ("ink", "ground"), [("on-accent", "accent"), ("on-accent", "danger"), ("sky", "text")], ids="on ".join
)
def test_text_can_be_read_on_buttons_and_notices(theme: str, ink: str, ground: str) -> None:
    found = colours(theme)
    assert contrast(found[ink], found[ground]) >= TEXT


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("ink", STATES)
def test_the_sign_of_a_state_stands_out_from_its_ground(theme: str, ink: str) -> None:
    found = colours(theme)
    assert min(contrast(found[ink], found[ground]) for ground in GROUNDS) >= GRAPHIC
