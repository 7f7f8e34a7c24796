from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.cli.main import main


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("embreex", reason="needs the extra sim")
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit) as stop:
        main(["demo", "--out", str(tmp_path)])
    assert stop.value.code == 1
    assert "is not an empty folder; name a new one" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
