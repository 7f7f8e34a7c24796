"""``lastseen align`` and ``merge``: how two memory files belong together; the others are tested with the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.cli.main import main
from lastseen.memory.memory import Memory
from tests.memory.homes import Item, walk

HOME = tuple(
    Item(label, color, xyz)
    for label, color, xyz in (
        ("mug", "red", (0.0, 0.0, 0.8)),
        ("bowl", "white", (1.3, 0.2, 0.8)),
        ("chair", "green", (-1.5, -1.0, 0.4)),
        ("sofa", "blue", (2.0, 2.0, 0.4)),
        ("lamp", "white", (-2.0, 1.6, 1.1)),
        ("plant", "green", (0.4, -2.2, 0.5)),
        ("book", "red", (2.4, -1.2, 0.7)),
        ("clock", "white", (-0.6, 2.5, 1.2)),
    )
)


def moved(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The room in a frame that is turned by a quarter and shifted."""
    return tuple(Item(each.label, each.color, (-each.xyz[1] + 0.5, each.xyz[0] - 0.3, each.xyz[2])) for each in items)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    code = ended.value.code
    return (code if isinstance(code, int) else 0), capsys.readouterr().out


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    homes = {"home": HOME, "later": moved(HOME), "other": moved(HOME)[:3]}
    for name, items in homes.items():
        walk(Memory.open(tmp_path / name), items=items).close()
    return tmp_path / "home", tmp_path / "later", tmp_path / "other"


def test_a_memory_in_another_frame_is_aligned(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    home, later, other = files
    code, text = run(capsys, "align", later, home)
    assert code == 0, text
    assert text.startswith("aligned: 8 of 8 things are met again")
    assert "turn -90" in text or "turn -89" in text
    code, text = run(capsys, "align", later, home, "--json")
    answer = json.loads(text)
    assert (code, answer["status"], len(answer["candidates"][0]["pairs"])) == (0, "aligned", 8)
    code, text = run(capsys, "align", other, home)
    assert code == 1
    assert text == "not aligned: the session holds 3 things, 4 are needed to tell\n"


def test_two_memories_of_one_home_are_merged_and_others_refused(
    files: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, later, other = files
    code, text = run(capsys, "merge", home, later, "-o", tmp_path / "both")
    assert code == 0, text
    assert f"wrote {tmp_path / 'both'} in the map of {home}" in text
    assert "met again: 8" in text
    with Memory.open(tmp_path / "both", read_only=True) as memory:
        assert len(memory.objects()) == 8
    code, _ = run(capsys, "merge", home, other, "-o", tmp_path / "none")
    assert (code, (tmp_path / "none").exists()) == (1, False)


def test_sessions_are_listed_undone_and_aligned_again(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    home = files[0]
    with Memory.open(home) as memory:
        walk(memory, count=14, items=moved(HOME))
    code, text = run(capsys, "sessions", "--memory", home)
    assert code == 0, text
    assert [line.split()[-1] for line in text.splitlines()[2:]]
    assert "aligned" in text
    code, text = run(capsys, "sessions", "--memory", home, "--undo", 2)
    assert (code, text.startswith("session 2 is in quarantine again")) == (0, True)
    code, text = run(capsys, "sessions", "--memory", home, "--align", 2)
    assert (code, text) == (0, "session 2 is aligned: 8 met again, 0 added\n")
    code, text = run(capsys, "sessions", "--memory", home, "--json")
    assert [one["state"] for one in json.loads(text)["sessions"]] == ["first", "aligned"]
    with Memory.open(home, read_only=True) as memory:
        assert len(memory.objects()) == 8
    code, _ = run(capsys, "sessions", "--memory", home, "--align", 2)
    assert code == 1
