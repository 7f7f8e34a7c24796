"""Where compiled code is kept: a private folder of the user's cache, one per state of the sources.

Code and constants of several files go into one compiled function, and numba itself compares one file only; so the
folder is named after the content of all of them, and code of other sources is never found. Machine code is run as it
is found: the folder is used only where nobody else can have put anything into it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import sys
import time
from pathlib import Path

STATES_KEPT = 4
"""Folders of other states of the sources that stay although nothing used them lately: a user has one, a developer a
few."""
IN_USE = 24 * 3600.0
"""Seconds since its last use in which a folder stays: other checkouts and processes of this user may run from it."""
TOUCH_EVERY = 600.0
"""Seconds after which a use is noted again."""
_PACKAGE = Path(__file__).parents[2]
_log = logging.getLogger(__name__)


def _digest() -> str | None:
    """Names the state of all sources whose code or constants are compiled; None where they cannot be read."""
    digest = hashlib.sha256()
    folders = (_PACKAGE / "memory" / "objects", _PACKAGE / "config")
    try:
        for file in (
            *(file for folder in folders for file in sorted(folder.glob("*.py"))),
            _PACKAGE / "observation.py",
        ):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    except OSError:
        return None
    return digest.hexdigest()[:16]


# now and not at the first call: these are the sources that this process has read
_STATE = _digest()


def code_folder() -> str | None:
    """The folder to keep compiled code in, made if need be; None where code must be compiled in every process.

    It is ``lastseen/compiled/STATE`` in ``XDG_CACHE_HOME`` or ``~/.cache``. It must belong to this user and be
    writable by nobody else, and every folder above it must belong to this user or to root and be writable by nobody
    else, or have the sticky bit. Links above the cache are resolved first; below it none is followed.
    """
    if _STATE is None:
        return None
    try:
        home = Path(os.path.realpath(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()))
        folder = home / "lastseen" / "compiled" / _STATE
        new = not folder.exists()
        if new:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unsafe = next((each for each in (folder, *folder.parents) if not _is_private(each, own=each == folder)), None)
        if unsafe is not None:
            _log.warning("compiled code is not kept: %s is a link, or others can write there", unsafe)
            return None
        if new:
            if sys.stderr.isatty():
                print("compiling the object memory for this processor: some 15 s, only this once", file=sys.stderr)
            _remove_old_states(folder)
        elif time.time() - folder.stat().st_mtime > TOUCH_EVERY:
            os.utime(folder)
    except (OSError, RuntimeError):
        # nothing can be made there, or the user has no home
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def _is_private(folder: Path, *, own: bool) -> bool:
    """Whether nobody but this user and root can change what a folder holds; ``own``: nor root own it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ({os.getuid()} if own else {os.getuid(), 0}):
        return False
    by_others = bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return not by_others or (not own and bool(found.st_mode & stat.S_ISVTX))


def _remove_old_states(folder: Path) -> None:
    since = time.time() - IN_USE
    used = {other: other.lstat().st_mtime for other in folder.parent.iterdir() if other != folder}
    unused = sorted((other for other in used if used[other] < since), key=lambda other: used[other])
    for other in unused[:-STATES_KEPT]:
        shutil.rmtree(other, ignore_errors=True)
