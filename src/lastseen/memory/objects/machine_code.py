"""Where machine code comes from and where it is kept: one folder of the user's cache per state of the sources.

Code and numbers of several files go into the machine code of one function, and the compiler itself looks at the time
of one file only; so the folder is named after all of them. Nothing about keeping may stop a frame: what cannot be
read is compiled anew, what cannot be written is compiled in every process.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
_SOURCES = (*sorted(Path(__file__).parent.glob("*.py")), *sorted(_ROOT.glob("config/*.py")), _ROOT / "observation.py")
STATES_KEPT = 4
"""Folders of other states of the sources that stay: a user has one, a developer a few."""
_KNOWN: set[type] = set()
_DAMAGED = (
    OSError,
    EOFError,
    pickle.UnpicklingError,
    AttributeError,
    ImportError,
    LookupError,
    TypeError,
    ValueError,
)
"""What reading a file that a power cut or a full disk left behind may raise."""


def jit(owner: object, function: Callable[..., Any], *, fastmath: bool) -> Callable[..., Any]:
    """Compile a function when it is first called, or take what was compiled before.

    ``owner`` is what other compiled functions find under the function's name; it has a method ``compile``.
    """
    import numba
    from numba.extending import typeof_impl

    if type(owner) not in _KNOWN:
        # other functions that are compiled find the owner where they call the function
        typeof_impl.register(type(owner))(lambda one, _: one.compile()._numba_type_)
        _KNOWN.add(type(owner))
    folder, config = own_folder(), vars(numba.config)
    # where a function keeps its machine code is settled when it is decorated
    before, config["CACHE_DIR"] = config["CACHE_DIR"], folder or config["CACHE_DIR"]
    try:
        dispatcher: Any = numba.njit(function, cache=folder is not None, error_model="numpy", fastmath=fastmath)
    finally:
        config["CACHE_DIR"] = before
    if folder is not None:
        # no public way leads there: the compiler lets a file that it cannot read stop the caller
        dispatcher._cache = _Forgiving(dispatcher._cache)
    made: Callable[..., Any] = dispatcher
    return made


class _Forgiving:
    """The compiler's own cache, except that a damaged or full disk only costs time."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *args: Any) -> Any:
        """What was kept for a signature; None where there is nothing, or nothing that can be read."""
        try:
            return self._cache.load_overload(*args)
        except _DAMAGED:
            return None

    def save_overload(self, *args: Any) -> None:
        """Keep what was compiled, over what may be damaged."""
        try:
            self._cache.save_overload(*args)
        except _DAMAGED:
            self._start_anew(*args)

    def _start_anew(self, *args: Any) -> None:
        try:
            self._cache.flush()
            self._cache.save_overload(*args)
        except _DAMAGED:
            return


def _digest() -> str:
    digest = hashlib.sha256()
    for file in _SOURCES:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


# now and not at the first call: these are the sources that this process has read
_STATE = _digest()


@functools.cache
def _cache_home(told: str | None) -> Path | None:
    try:
        return Path(told or Path("~/.cache").expanduser())
    except RuntimeError:
        # a user without a home
        return None


def own_folder() -> str | None:
    """Where machine code is kept; None where nothing can be written, or others could write as well."""
    home = _cache_home(os.environ.get("XDG_CACHE_HOME"))
    if home is None:
        return None
    folder = home / "lastseen" / "compiled" / _STATE
    try:
        if not folder.exists():
            if sys.stderr.isatty():
                print("compiling the object memory for this processor: some 15 s, only this once", file=sys.stderr)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _forget_old_states(folder)
        owner = folder.stat()
    except OSError:
        return None
    # machine code is run as it is found: only this user may have put it there
    own = owner.st_uid == os.getuid() and not owner.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return str(folder) if own and os.access(folder, os.W_OK) else None


def _forget_old_states(folder: Path) -> None:
    others = [other for other in folder.parent.iterdir() if other != folder]
    for other in sorted(others, key=lambda one: one.stat().st_mtime)[:-STATES_KEPT]:
        shutil.rmtree(other, ignore_errors=True)
