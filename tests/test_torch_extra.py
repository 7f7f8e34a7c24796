"""Whether torch may be installed is decided from pip's plan, before anything large is fetched."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tools import torch_extra

MB = 1_000_000


def plan(**versions: str) -> dict[str, Any]:
    """A report as pip writes it, for these packages."""
    return {
        "version": "1",
        "install": [
            {
                "download_info": {"url": f"https://index.invalid/{name}.whl", "archive_info": {}},
                "metadata": {"name": name.replace("_", "-"), "version": version},
            }
            for name, version in versions.items()
        ],
    }


def sizes(**mb: float) -> torch_extra.Size:
    return lambda url: int(mb[Path(url).stem] * MB) if Path(url).stem in mb else None


def test_a_small_cpu_build_is_taken() -> None:
    verdict = torch_extra.judge(plan(torch="2.13.0+cpu", sympy="1.14"), size=sizes(torch=196, sympy=6))
    assert verdict.install
    assert verdict.reason == "a CPU build, 202 MB in 2 packages"


def test_a_build_without_a_label_is_taken_when_it_is_small() -> None:
    assert torch_extra.judge(plan(torch="2.13.0"), size=sizes(torch=80)).install


@pytest.mark.parametrize(
    "report",
    [
        plan(torch="2.13.0", nvidia_cublas_cu12="12.8", triton="3.6"),
        plan(torch="2.13.0", triton="3.6"),
        plan(torch="2.13.0+cu128"),
        plan(torch="2.13.0+rocm6.4"),
    ],
)
def test_a_gpu_build_is_refused_whatever_its_size(report: dict[str, Any]) -> None:
    verdict = torch_extra.judge(report, size=lambda _: 1)
    assert not verdict.install
    assert "GPU build" in verdict.reason


def test_folders_that_pip_removes_while_they_are_counted_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").write_bytes(b"12345")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "wheel").write_bytes(b"1")
    scandir = os.scandir

    def vanishing(path: str) -> Any:
        if Path(path).name == "gone":
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert torch_extra._bytes_below(tmp_path) == 5


def test_a_large_plan_is_refused() -> None:
    verdict = torch_extra.judge(plan(torch="2.13.0"), size=sizes(torch=880))
    assert not verdict.install
    assert verdict.reason == "pip would fetch 880 MB, more than 600"


def test_an_unknown_size_is_refused_unless_the_build_says_cpu() -> None:
    assert not torch_extra.judge(plan(torch="2.13.0"), size=sizes()).install
    assert torch_extra.judge(plan(torch="2.13.0+cpu"), size=sizes()).install


def test_nothing_left_to_install_is_a_yes() -> None:
    assert torch_extra.judge(plan(), size=sizes()).install


def test_the_size_of_a_local_file_is_read_and_a_dead_server_gives_none(tmp_path: Path) -> None:
    wheel = tmp_path / "torch-2.13.0+cpu.whl"
    wheel.write_bytes(b"12345")
    assert torch_extra.size_of(wheel.as_uri()) == 5
    assert torch_extra.size_of((tmp_path / "other.whl").as_uri()) is None
    assert torch_extra.size_of("http://127.0.0.1:9/torch.whl") is None
    assert torch_extra.size_of("git+ssh://somewhere/torch") is None


def python(code: str) -> list[str]:
    """Something that is called like pip: its report's path is the last argument."""
    return [sys.executable, "-c", code]


def test_the_report_of_pip_is_read() -> None:
    write = "import sys, pathlib; pathlib.Path(sys.argv[-1]).write_text('{\"install\": []}')"
    assert torch_extra.ask_pip(python(write)) == {"install": []}


def test_a_pip_that_finds_nothing_is_quoted() -> None:
    fail = "import sys; sys.exit('WARNING: a\\nERROR: No matching distribution found\\nhint: none')"
    assert torch_extra.ask_pip(python(fail)) == (
        "pip found no way to install it: ERROR: No matching distribution found"
    )


def test_a_pip_that_takes_too_long_is_ended() -> None:
    said = torch_extra.ask_pip(python("import time; time.sleep(60)"), timeout=0.3)
    assert said == "pip gave no plan within 0.3 s"


def test_a_pip_that_fetches_too_much_is_ended() -> None:
    fetch = "import tempfile, time; open(tempfile.mkstemp()[1], 'wb').write(bytes(3_000_000)); time.sleep(60)"
    assert torch_extra.ask_pip(python(fetch), limit_mb=2, timeout=30) == "pip fetches more than 2 MB"


@pytest.fixture
def local_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all pip may install from, with one small wheel in it."""
    with zipfile.ZipFile(tmp_path / "smalltorch-1.0-py3-none-any.whl", "w") as wheel:
        info = "smalltorch-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: smalltorch\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("local_index")
def test_the_command_prints_the_requirement(capsys: pytest.CaptureFixture[str]) -> None:
    assert torch_extra.main(["--requirement", "smalltorch==1.0"]) == 0
    assert capsys.readouterr().out == "smalltorch==1.0\n"


@pytest.mark.usefixtures("local_index")
def test_the_command_says_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert torch_extra.main(["--requirement", "smalltorch==2.0"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "torch is left out: pip found no way to install it: ERROR: No matching" in said.err
