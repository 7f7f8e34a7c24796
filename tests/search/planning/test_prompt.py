from __future__ import annotations

import json

from lastseen.search.planning.prompt import (
    PLANNER_SYSTEM_PROMPT,
    View,
    clean,
    planner_prompt,
    quote,
    say_views,
    scene_prompt,
)


def test_the_system_prompt_forces_the_format_and_states_the_prohibitions() -> None:
    for word in ("goal_flag", "angle", "discovered_context", "goal_scene_type", "why", "-180", "Prohibited"):
        assert word in PLANNER_SYSTEM_PROMPT


def test_static_place_facts_are_not_to_be_repeated() -> None:
    assert "no repetition of the descriptions or object lists of known places" in PLANNER_SYSTEM_PROMPT


def test_the_prompt_holds_target_views_and_context() -> None:
    prompt = planner_prompt("red mug", "here: step 0", [View(0.0, (("sofa", 0.9),), 2.0)])
    assert prompt.startswith(PLANNER_SYSTEM_PROMPT)
    assert prompt.split("\n\n")[-3:] == [
        'TARGET: "red mug"',
        'VIEWS\nview 0 deg: "sofa" 0.90; free 2.0 m',
        "NAVIGATION CONTEXT\nhere: step 0",
    ]


def test_views_are_listed_from_left_to_right() -> None:
    lines = say_views([View(0.0), View(-90.0), View(90.0)]).splitlines()
    assert [line.split(":")[0] for line in lines] == ["view +90 deg", "view 0 deg", "view -90 deg"]


def test_a_scene_prompt_holds_the_views() -> None:
    assert scene_prompt([View(0.0, (("bed", 0.5),))]).endswith('view 0 deg: "bed" 0.50')


def test_quoting_cuts_cleans_and_escapes() -> None:
    assert quote('say "hi"\n', limit=80) == '"say \\"hi\\""'
    assert json.loads(quote('say "hi"', limit=80)) == 'say "hi"'
    assert len(clean("x" * 99, limit=10)) == 10
    assert clean("한국어 \u202eabc", limit=80) == "한국어 abc"
