"""The rules that make the comparison fair, as far as code can hold them."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import lastseen.vlm
from lastseen.evaluation import arm_search, episode_run
from lastseen.search import search
from lastseen.sim import priors
from lastseen.vlm import household, offline

VLM = Path(lastseen.vlm.__file__).parent


def _imports(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_the_offline_planner_reads_prompts_and_knows_no_world() -> None:
    """Everything it imports of lastseen is settings, errors and its own reading of text."""
    allowed = {"lastseen.config", "lastseen.errors", "lastseen.vlm"}
    for name in ("offline.py", "prompt_reading.py", "household.py"):
        ours = {module for module in _imports(VLM / name) if module.startswith("lastseen")}
        assert all(any(module.startswith(each) for each in allowed) for module in ours), (name, ours)


def test_what_the_planner_knows_of_rooms_is_not_what_the_generator_places() -> None:
    assert "priors" not in (VLM / "household.py").read_text(encoding="utf-8")
    assert "inventory checklists" in (household.__doc__ or "")
    assert "checklist" not in inspect.getsource(priors)
    placed = _placed()
    known = {
        label: {room for room, share in household.rooms_of(label).items() if share > 0.0}
        for label in placed
        if household.rooms_of(label)
    }
    same = sum(known[label] == placed[label] for label in known)
    assert len(known) >= 10
    assert same / len(known) < 0.5


def test_the_choice_is_a_softmax_of_one_temperature_for_all_arms() -> None:
    source = inspect.getsource(offline.OfflineBackend)
    assert source.count("_softmax_choice(") == 1
    assert "temperature" not in inspect.getsource(episode_run)


def test_every_searching_arm_runs_the_same_loop_policy_detector_and_budget() -> None:
    """One place builds the search; nothing in it asks which arm it is but for its words and its chooser."""
    source, wired = inspect.getsource(arm_search.search_arm), inspect.getsource(search.Search)
    assert source.count(" Search(") == 1
    assert inspect.getsource(episode_run.run_arm).count("SimulatedDetector(") == 1
    for part in ("SearchLoop(", "open_policy(", "RobotWorld("):
        assert wired.count(part) == 1
    assert "arm.name" not in source
    assert "arm.name" not in inspect.getsource(episode_run.run_arm)


def _placed() -> dict[str, set[str]]:
    """Which rooms the generator puts each class in, read from its own table whatever its shape."""
    found: dict[str, set[str]] = {}
    for name, value in vars(priors).items():
        if name.startswith("__") or not isinstance(value, dict):
            continue
        for room, entries in value.items():
            words = _words(entries)
            for word in words:
                found.setdefault(word, set()).add(str(getattr(room, "value", room)).replace("_", " "))
    return found


def _words(value: object) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {word for pair in value.items() for part in pair for word in _words(part)}
    if isinstance(value, list | tuple | set | frozenset):
        return {word for part in value for word in _words(part)}
    if hasattr(value, "__dataclass_fields__"):
        return {word for name in value.__dataclass_fields__ for word in _words(getattr(value, name))}
    return set()
