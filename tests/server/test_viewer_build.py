"""The page in the package is the one that the sources in web/ give: a forgotten build is found without node."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
VIEWER = ROOT / "src" / "lastseen" / "server" / "viewer"


def stamp_of(folder: Path) -> str:
    """The same recipe as web/stamp.mjs: every file by name, with the digest of what is in it."""
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "node_modules" not in path.parts
    )
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0".encode())
        digest.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return digest.hexdigest()


@pytest.mark.skipif(not WEB.is_dir(), reason="the sources of the page are not here")
def test_the_page_was_built_from_these_sources() -> None:
    told = (VIEWER / "BUILD").read_text().strip()
    assert told == stamp_of(WEB), "build it as CONTRIBUTING.md says"


def test_the_page_loads_only_its_own_files_and_no_inline_script() -> None:
    page = (VIEWER / "index.html").read_text()
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in page
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert addresses
    assert all(address.startswith("./") and (VIEWER / address).is_file() for address in addresses)
    assert re.search(r"<script(?![^>]*\bsrc=)", page) is None


def test_the_licence_of_what_is_built_in_travels_with_it() -> None:
    assert "three.js authors" in (VIEWER / "THREE-LICENSE.txt").read_text()


@pytest.mark.skipif(not WEB.is_dir(), reason="the sources of the page are not here")
def test_the_lock_file_names_no_package_host() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
