"""kill -9 at any moment loses nothing acknowledged, and what is left can be opened and searched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.memory.store.crash_writer import PER_BATCH
from tests.memory.store.records import make_record, same

from lastseen.config import Settings
from lastseen.memory.store.store import LongTermStore


def write_until_killed(path: Path, *, seed: int, delay: float) -> int:
    """Let a process write, kill it after a while, and return the last batch it acknowledged (-1 for none)."""
    command = [sys.executable, "-m", "tests.memory.store.crash_writer", str(path), str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    output = process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    output += process.stdout.read()
    process.stdout.close()
    process.wait()
    # only a whole line is an acknowledgement
    lines = output[: output.rfind("\n") + 1].splitlines()
    return max((int(line.split()[1]) for line in lines), default=-1)


@pytest.mark.slow
def test_every_acknowledged_upsert_survives_kill_9(tmp_path: Path, soak: int) -> None:
    path, rng = tmp_path / "home.lastseen", np.random.default_rng(0)
    for _ in range(10 * soak):
        acknowledged = write_until_killed(path, seed=7, delay=float(rng.uniform(0.0, 0.15)))
        store, _ = LongTermStore.open(path, Settings())
        held = {record.id: record for record in store.journal.objects()}
        for number in range(1, (acknowledged + 1) * PER_BATCH + 1):
            assert same(held[f"obj-{number}"], make_record(number, seed=7, dim=32))
        batches, part = divmod(len(held) - 1, PER_BATCH)
        assert part == 0, "a batch is there whole or not at all"
        assert held["obj-0"].hits == batches
        assert store.main is not None
        assert store.main.keys() == sorted(held)
        for number in rng.integers(0, len(held), 5).tolist():
            look = held[f"obj-{number}"].embedding
            assert look is not None
            assert store.main.search(look, k=1)[0].score == pytest.approx(1.0, abs=1e-5)
        store.close()
