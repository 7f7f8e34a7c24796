"""Cassettes: an evaluation that was recorded is replayed to the byte, without the models it was made with."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("embreex")

from lastseen.config import settings_from_mapping
from lastseen.errors import BackendError, InvalidValue
from lastseen.evaluation.runner import EPISODES_FILE, Plan, run
from lastseen.evaluation.summary import SUMMARY_FILE, summarize, write_summary


def evaluated(out: Path, *, planner: str, scene: str) -> dict[str, bytes]:
    settings = settings_from_mapping({"search": {"max_steps": 30}, "scene": {"backend": scene}})
    plan = Plan(seed=4, episodes=1, arms=("no_context", "context"), settings=settings, backend=planner)
    write_summary(out, summarize(run(plan, out), plan.config()))
    return {name: (out / name).read_bytes() for name in (EPISODES_FILE, SUMMARY_FILE, "config.json")}


def test_a_recorded_evaluation_is_replayed_to_the_byte(tmp_path: Path) -> None:
    tapes = f"{tmp_path}/tapes/"
    recorded = evaluated(tmp_path / "a", planner=f"record:{tapes}:mock:mixed", scene=f"record:{tapes}:offline")
    replayed = evaluated(tmp_path / "b", planner=f"recorded:{tapes}", scene=f"recorded:{tapes}")
    names = {file.name for file in Path(tapes).iterdir()}
    assert names == {f"4-{arm}-{role}.jsonl" for arm in ("no_context", "context") for role in ("planner", "scene")}
    assert replayed == recorded


def test_a_directory_without_cassettes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"^cassette = .*: holds none; record the run first"):
        evaluated(tmp_path / "out", planner=f"recorded:{tmp_path}/none/", scene="offline")


@pytest.mark.parametrize("role", ["planner", "scene"])
def test_a_question_that_was_never_recorded_ends_the_run_and_records_nothing(tmp_path: Path, role: str) -> None:
    tapes = tmp_path / "tapes"
    evaluated(tmp_path / "a", planner=f"record:{tapes}/:mock:mixed", scene=f"record:{tapes}/:mock")
    for tape in tapes.glob(f"*-{role}.jsonl"):
        tape.write_text(tape.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(BackendError, match="never heard this question; record the run again"):
        evaluated(tmp_path / "b", planner=f"recorded:{tapes}/", scene=f"recorded:{tapes}/")
    assert (tmp_path / "b" / EPISODES_FILE).read_text(encoding="utf-8") == ""


def test_a_model_that_answers_prose_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastseen.evaluation.arm_search._told", set())
    evaluated(tmp_path / "a", planner="mock:garbage", scene="offline")
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "mock:garbage gave no usable answer in" in line
