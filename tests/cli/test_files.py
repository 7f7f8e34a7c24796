"""``lastseen align``: where one memory file lies in another. Backup, check and salvage are tested with the store."""

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
