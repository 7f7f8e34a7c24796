from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import lastseen
from lastseen.config import settings_from_mapping
from lastseen.config.settings import Settings
from tests.cli.commands import lastseen as command


def test_version_prints_the_version() -> None:
    assert command("version").stdout == command("--version").stdout == f"{lastseen.__version__}\n"


def test_help_lists_the_commands_without_a_heavy_import() -> None:
    code = (
        "import sys\nfrom lastseen.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "assert not {'numpy', 'scipy', 'PIL', 'faiss', 'trimesh'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "config" in done.stdout


def test_wrong_usage_exits_with_two() -> None:
    assert command("no-such-command").returncode == 2


def test_an_error_is_one_line_and_exits_with_one() -> None:
    done = command("--settings", "no-such-file.toml", "config")
    assert done.returncode == 1
    assert done.stderr.startswith("error: settings file = 'no-such-file.toml': cannot be read")
    assert done.stderr.count("\n") == 1


def test_debug_shows_the_traceback() -> None:
    done = command("--debug", "--settings", "no-such-file.toml", "config")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_config_prints_toml_that_gives_the_same_settings_back() -> None:
    assert settings_from_mapping(tomllib.loads(command("config").stdout)) == Settings()


def test_config_prints_json_of_one_section() -> None:
    assert json.loads(command("config", "--section", "localization", "--json").stdout) == {
        "localization": {"radius": 1.5}
    }


def test_an_unknown_section_is_named() -> None:
    done = command("config", "--section", "nothing")
    assert (done.returncode, done.stderr.startswith("error: --section = 'nothing'")) == (1, True)


@pytest.mark.parametrize("words", [["config", "--help"], ["version", "--help"]])
def test_each_command_explains_itself(words: list[str]) -> None:
    assert command(*words).returncode == 0


def test_config_reads_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[localization]\nradius = 2.0\n")
    assert "radius = 2.0" in command("--settings", str(file), "config", "--section", "localization").stdout
