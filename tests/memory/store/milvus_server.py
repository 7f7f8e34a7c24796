"""A real Milvus for the tests: the standalone binary of the ``milvus`` package, on free ports.

It listens on all interfaces whatever it is told, so it runs in a network namespace where that is allowed.

The binary is started directly and ended by SIGKILL on its own pid: its wrapper cannot rebind a port right after a
kill, and SIGTERM can hang for minutes.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from tests.memory.store.namespace import Namespace


class MilvusServer:
    """One server on one data folder; it can be killed and started again on the same ports."""

    def __init__(
        self, folder: Path, namespace: Namespace | None = None, *, options: Mapping[str, object] | None = None
    ) -> None:
        self.folder = folder
        self._options = dict(options or {})
        self.host = "127.0.0.1" if namespace is None else namespace.address
        self._before = [] if namespace is None else namespace.command
        self.ports: dict[str, int] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self._unpack()

    @property
    def address(self) -> str:
        """Where it answers, as host:port."""
        return f"{self.host}:{self.ports['proxy_port']}"

    def start(self, *, limit: float = 300.0) -> None:
        """Start and wait until it says that it is healthy; one that ends at once is started again."""
        end = time.monotonic() + limit
        self._run()
        while time.monotonic() < end:
            assert self.process is not None
            if self.process.poll() is not None:
                time.sleep(2.0)
                self._run()
            try:
                with urllib.request.urlopen(f"http://{self.host}:{self.ports['metrics']}/healthz", timeout=5) as page:
                    if b"OK" in page.read():
                        return
            except OSError:
                time.sleep(0.3)
        raise TimeoutError(f"milvus did not start within {limit} s; see {self.folder / 'out.log'}")

    def kill(self) -> None:
        """SIGKILL, on its own pid."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _run(self) -> None:
        environment = {
            **os.environ,
            "DEPLOY_MODE": "STANDALONE",
            "METRICS_PORT": str(self.ports["metrics"]),
            "MILVUS_RUN_DIR": str(self.folder / "run"),
            "LD_LIBRARY_PATH": str(self.folder / "bin"),
        }
        with (self.folder / "out.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._before, str(self.folder / "bin" / "milvus"), "run", "standalone"],
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
            )

    def _unpack(self) -> None:
        spec = find_spec("milvus")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        data = Path(next(iter(spec.submodule_search_locations))) / "data"
        for name in ("bin", "run", "configs", "data", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for packed in (data / "bin").glob("*.lzma"):
            target = self.folder / "bin" / packed.stem
            with lzma.open(packed) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
            target.chmod(0o755)
        paths = {
            "etcd_log_path": self.folder / "logs" / "etcd.log",
            "etcd_data_dir": self.folder / "data" / "etcd.data",
            "local_storage_dir": self.folder / "data",
            "rocksmq_data_dir": self.folder / "data" / "rocksmq",
            "system_log_path": self.folder / "logs",
        }
        self.ports["metrics"] = self._free_port()

        def fill(match: re.Match[str]) -> str:
            key, _, default = (part.strip() for part in match[1].partition(":"))
            key = key.partition("(")[0].strip()
            if key.endswith("_port"):
                return str(self.ports.setdefault(key, self._free_port()))
            return str(self._options.get(key, paths.get(key, default)))

        text = re.sub(r"\{\{(.*?)\}\}", fill, (data / "config.yaml.template").read_text(encoding="utf-8"))
        # its interim index loses filtered rows of small segments
        text = re.sub(r"(interimIndex:[^\n]*\n\s*enableIndex:) true", r"\1 false", text)
        (self.folder / "configs" / "milvus.yaml").write_text(text, encoding="utf-8")
        shutil.copy(data / "glog.conf", self.folder / "configs" / "glog.conf")

    def _free_port(self) -> int:
        """One below those that outgoing connections draw from: its own would take a port before it is bound."""
        start = 20_000 + os.getpid() * 37 % 10_000
        for port in range(start, 32_000):
            with socket.socket() as probe:
                if port not in self.ports.values() and probe.connect_ex((self.host, port)) != 0:
                    return port
        raise RuntimeError("no port is free between 20000 and 32000")
