"""A network of its own for a server that listens on all interfaces: only this machine can reach it.

One pair of virtual interfaces leads in, with a link-local address at each end; nothing is routed further.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess

_MADE = itertools.count()
"""Two servers of one process need two names: one that fails to be made takes away what has its name."""


class Namespace:
    """A network namespace with one way in; needs root and the command ``ip``."""

    def __init__(self, name: str, network: int, ip: str) -> None:
        self.name = name
        self._ip = ip
        self.address = f"169.254.{network}.2"
        outside = f"v{name}"
        try:
            self._run("netns", "add", name)
            self._run("link", "add", outside, "type", "veth", "peer", "name", "inside", "netns", name)
            self._run("addr", "add", f"169.254.{network}.1/30", "dev", outside)
            self._run("link", "set", outside, "up")
            self._run("-n", name, "addr", "add", f"{self.address}/30", "dev", "inside")
            self._run("-n", name, "link", "set", "inside", "up")
            self._run("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError:
            self.close()
            raise

    @classmethod
    def make(cls) -> Namespace | None:
        """A new one, or None where that is not allowed."""
        ip = shutil.which("ip")
        if os.geteuid() != 0 or ip is None:
            return None
        try:
            number = next(_MADE)
            return cls(f"lst{os.getpid()}n{number}", 1 + (os.getpid() + 101 * number) % 250, ip)
        except subprocess.CalledProcessError:
            return None

    @property
    def command(self) -> list[str]:
        """What goes before a command so that it runs inside, under the same process id."""
        return [self._ip, "netns", "exec", self.name]

    def close(self) -> None:
        """Take it away; its interfaces go with it, once nothing runs inside."""
        subprocess.run([self._ip, "netns", "del", self.name], check=False, capture_output=True)

    def _run(self, *words: str) -> None:
        subprocess.run([self._ip, *words], check=True, capture_output=True)
