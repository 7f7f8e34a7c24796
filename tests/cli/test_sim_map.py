from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from lastseen.cli.main import main


def call(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def test_sim_map_draws_a_house(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "house.png"
    assert call("sim", "map", "--seed", "7", "--rooms", "4", "--scale", "30", out) == 0
    assert "house-7, 4 rooms" in capsys.readouterr().out
    with Image.open(out) as image:
        assert image.format == "PNG"


def test_sim_map_draws_a_scene_graph(tmp_path: Path, shared_data: Path) -> None:
    scene = shared_data / "virtualhome_graphs" / "TestScene2.json.gz"
    assert call("sim", "map", "--graph", scene, "--scale", "20", tmp_path / "scene.png") == 0


@pytest.mark.parametrize(
    "words", [("--rooms", "0"), ("--seed", "-3"), ("--graph", "nowhere.json"), ("--graph", "x.json", "--rooms", "4")]
)
def test_sim_map_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert call("sim", "map", *words, tmp_path / "house.png") == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "house.png").exists()
