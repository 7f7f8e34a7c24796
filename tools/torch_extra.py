"""Decides whether torch may be installed here.

Where pip finds a CPU build it takes a few hundred MB, elsewhere gigabytes of GPU libraries. This asks pip for its
plan without installing, and prints the requirement, or says on stderr why not and ends with 1:

    if requirement=$(python tools/torch_extra.py); then python -m pip install "$requirement"; fi
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUIREMENT = "torch==2.13.0"
"""Pinned exactly, so that a CPU build of this version is taken where one is offered."""
LIMIT_MB = 600
"""A CPU build and what it needs come to about 250 MB; the smallest GPU build is beyond 1,500."""
TIMEOUT_S = 90.0
GPU_PREFIXES = ("nvidia-", "cuda-", "triton", "pytorch-triton", "amd-", "rocm", "intel-sycl", "onemkl-sycl")
GPU_LABELS = ("cu", "rocm", "xpu")
_MB = 1_000_000
_POLL_S = 0.1
_HEAD_TIMEOUT_S = 10.0

Size = Callable[[str], int | None]
"""Bytes behind an address; None when it cannot be told."""


@dataclass(frozen=True)
class Verdict:
    """Whether to install, and why or why not."""

    install: bool
    reason: str


def judge(report: Mapping[str, Any], *, size: Size, limit_mb: float = LIMIT_MB) -> Verdict:
    """Read pip's installation report (its format 1) and decide; nothing left to install is a yes."""
    plan: list[dict[str, Any]] = report.get("install", [])
    versions = {_name(item): str(item["metadata"]["version"]) for item in plan}
    gpu = sorted(name for name in versions if name.startswith(GPU_PREFIXES))
    label = versions.get("torch", "").partition("+")[2]
    if label.startswith(GPU_LABELS):
        gpu.insert(0, f"torch {versions['torch']}")
    if gpu:
        return Verdict(False, f"pip would take a GPU build: {', '.join(gpu[:3])}")
    sizes = {_name(item): size(item["download_info"]["url"]) for item in plan}
    known = sum(value for value in sizes.values() if value is not None) / _MB
    if known > limit_mb:
        return Verdict(False, f"pip would fetch {known:.0f} MB, more than {limit_mb:.0f}")
    if "torch" in sizes and sizes["torch"] is None and label != "cpu":
        return Verdict(False, f"the size of torch {versions['torch']} cannot be told before fetching it")
    return Verdict(True, f"a CPU build, {known:.0f} MB in {len(plan)} packages" if plan else "installed already")


def size_of(url: str) -> int | None:
    """The size of a local file, or what a server says about a remote one without sending it."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        path = Path(urllib.request.url2pathname(parts.path))
        return path.stat().st_size if path.is_file() else None
    if parts.scheme not in {"http", "https"}:
        return None
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=_HEAD_TIMEOUT_S) as answer:
            length = answer.headers.get("Content-Length")
    except (urllib.error.URLError, OSError):
        return None
    return int(length) if length and length.isdigit() else None


def ask_pip(
    command: Sequence[str], *, limit_mb: float = LIMIT_MB, timeout: float = TIMEOUT_S
) -> dict[str, Any] | str:
    """Run a dry run of pip and return its report, or the reason why there is none.

    Some versions of pip fetch every file even in a dry run, therefore it is ended when its scratch folder outgrows
    the limit as well as when it takes too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, errors = Path(folder) / "report.json", Path(folder) / "errors.txt"
        scratch = Path(folder) / "scratch"
        scratch.mkdir()
        with errors.open("wb") as stream:
            process = subprocess.Popen(
                [*command, "--report", str(report)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                env=_environment(scratch),
            )
            try:
                stopped = _watch(process, scratch, limit_mb=limit_mb, timeout=timeout)
            finally:
                process.kill()
                process.wait()
        if stopped:
            return stopped
        if process.returncode != 0 or not report.is_file():
            lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            said = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
            return f"pip found no way to install it: {said[-1] if said else f'exit code {process.returncode}'}"
        loaded: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return loaded


def _environment(scratch: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def _watch(process: subprocess.Popen[bytes], scratch: Path, *, limit_mb: float, timeout: float) -> str | None:
    """Wait for a process; end it and say why when it fetches too much or takes too long."""
    end = time.monotonic() + timeout
    while True:
        try:
            process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            pass
        else:
            return None
        fetched = _bytes_below(scratch) / _MB
        late = time.monotonic() > end
        if late or fetched > limit_mb:
            return f"pip gave no plan within {timeout:g} s" if late else f"pip fetches more than {limit_mb:.0f} MB"


def _bytes_below(folder: Path) -> int:
    total = 0
    # pip removes files and folders while they are counted; os.walk passes over a folder that is gone
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"]).lower().replace("_", "-")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: the requirement on stdout and 0, or the reason on stderr and 1."""
    parser = argparse.ArgumentParser(description="print the torch to install, or why not to")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that would get it")
    parser.add_argument("--requirement", default=REQUIREMENT)
    parser.add_argument("--constraint", help="a constraints file that pip is to respect")
    parser.add_argument("--limit-mb", type=float, default=LIMIT_MB)
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="seconds that pip may take for its plan")
    options = parser.parse_args(arguments)
    command = [options.python, "-m", "pip", "install", "--dry-run", "--quiet", options.requirement]
    if options.constraint:
        command += ["--constraint", options.constraint]
    answer = ask_pip(command, limit_mb=options.limit_mb, timeout=options.timeout)
    verdict = (
        Verdict(False, answer) if isinstance(answer, str) else judge(answer, size=size_of, limit_mb=options.limit_mb)
    )
    if not verdict.install:
        print(f"torch is left out: {verdict.reason}", file=sys.stderr)
        return 1
    print(options.requirement)
    return 0


if __name__ == "__main__":
    sys.exit(main())
