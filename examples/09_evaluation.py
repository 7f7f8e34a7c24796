"""Evaluate: one episode of the ObjectNav benchmark with and without memory (extra ``sim``).

python examples/09_evaluation.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from lastseen.cli.main import main

out = Path(mkdtemp()) / "run"
try:
    main(["eval", "objectnav", "--episodes", "1", "--arms", "no_context,context", "--out", str(out)])
except SystemExit as end:
    print("exit code", end.code)
for written in sorted(path for path in out.rglob("*") if path.is_file()):
    print(written.relative_to(out))
