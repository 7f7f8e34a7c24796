"""The wheel that users get: built, installed alone on every Python we name, and honest about what an extra is for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**clean, "HOME": str(cwd)},
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build")
    out = tmp_path_factory.mktemp("wheel")
    built = run(sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT, cwd=out)
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr[-2000:]
    return next(out.glob("lastseen-*.whl"))


def python_of(version: str) -> str | None:
    """The interpreter of a version: on the path, or pyenv's."""
    found = sorted((Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions").glob(f"{version}.*"))
    # pyenv's shims on the path do not know which version is meant in another home
    return str(found[-1] / "bin" / "python") if found else shutil.which(f"python{version}")


@pytest.mark.parametrize("version", PYTHONS)
def test_the_bare_wheel_works_and_says_what_an_extra_is_for(wheel: Path, version: str, tmp_path: Path) -> None:
    python = python_of(version)
    if python is None or run(python, "-c", "import venv", cwd=tmp_path).returncode:
        pytest.skip(f"Python {version} is not on this machine")
    made = run(python, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    inside = tmp_path / "env" / "bin"
    installed = run(inside / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr[-2000:]
    told = run(inside / "lastseen", "version", cwd=tmp_path)
    assert told.stdout.strip() == wheel.name.split("-")[1]
    code = (
        "import lastseen\n"
        "with lastseen.open('home.lastseen') as memory:\n"
        "    memory.tell('there is a kettle', position=(1.0, 2.0, 0.9))\n"
        "    print(memory.find('kettle').status)\n"
    )
    found = run(inside / "python", "-c", code, cwd=tmp_path)
    assert found.stdout.strip() == "found", found.stderr[-2000:]
    served = run(inside / "lastseen", "serve", "home.lastseen", cwd=tmp_path)
    assert served.returncode == 1
    assert "lastseen[server]" in served.stderr
