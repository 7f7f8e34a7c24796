from __future__ import annotations

import json
import random
from typing import Any

import pytest

from lastseen.config import Settings, settings_from_mapping
from lastseen.errors import BackendError, InvalidValue, PlanError
from lastseen.search.planning.prompt import View
from lastseen.search.planning.scene import ModelSceneAnalyzer, open_analyzer, parse_scene
from lastseen.vlm.mock import ScriptedBackend

GOOD: dict[str, Any] = {
    "scene_type": "Kitchen.",
    "objects": ["stove", "sink", "stove"],
    "description": "A kitchen.",
}


def changed(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def test_a_scene_is_read_as_the_model_wrote_it() -> None:
    scene = parse_scene(json.dumps(GOOD))
    assert (scene.scene_type, scene.objects, scene.description) == ("Kitchen.", ("stove", "sink"), "A kitchen.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kitchen", "not_json"),
        ("[]", "not_object"),
        ("{}", "missing_field"),
        (changed(scene_type=3), "wrong_type"),
        (changed(scene_type="..."), "blank"),
        (changed(objects="stove"), "wrong_type"),
        (changed(objects=[1]), "wrong_type"),
        (changed(description=None), "wrong_type"),
    ],
)
def test_an_unfit_answer_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(PlanError) as error:
        parse_scene(text)
    assert error.value.reason == reason


def test_one_retry_and_then_the_scene_stays_unknown() -> None:
    analyzer = ModelSceneAnalyzer(ScriptedBackend(["?", json.dumps(GOOD), "?", "?"]))
    assert analyzer.analyze([View(0.0)]) is not None
    assert analyzer.analyze([View(0.0)]) is None
    assert (dict(analyzer.failures), dict(analyzer.given_up)) == ({"not_json": 3}, {"not_json": 1})


def test_a_server_that_is_down_leaves_the_scene_unknown() -> None:
    down = BackendError("server", "is down", remedy="wait")
    assert ModelSceneAnalyzer(ScriptedBackend([down, down])).analyze([View(0.0)]) is None


def test_fuzzed_answers_give_a_scene_or_none_and_never_an_exception(soak: int) -> None:
    rng = random.Random(3)
    text = json.dumps(GOOD)
    count = 500 * soak
    answers = []
    for _ in range(2 * count):
        at = rng.randrange(len(text))
        answers.append(rng.choice([text[:at], text[:at] + chr(rng.randrange(0x110000)) + text[at + 1 :], text]))
    analyzer = ModelSceneAnalyzer(ScriptedBackend(answers))
    scenes = [analyzer.analyze([]) for _ in range(count)]
    assert all(scene is None or scene.scene_type.strip() for scene in scenes)
    assert None in scenes


def test_the_settings_name_the_analyzer() -> None:
    assert open_analyzer(Settings()).name == "offline"
    asked = open_analyzer(settings_from_mapping({"scene": {"backend": "mock"}}))
    assert isinstance(asked, ModelSceneAnalyzer)
    assert asked.name == "mock:valid"
    with pytest.raises(InvalidValue, match="backend = 'oracle'"):
        open_analyzer(settings_from_mapping({"scene": {"backend": "oracle"}}))
