"""The docs site builds without a broken link, has a page for every one of ours, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return out


def test_every_page_is_in_the_menu(site: Path) -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in menu]
    assert missing == []
    assert all((site / page.with_suffix(".html").name).is_file() for page in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("api", "include_tentative"),
        ("cli", "lastseen search"),
        ("rest", "/search/semantic"),
        ("settings", "stale_after"),
        ("file-format", "CREATE TABLE objects"),
        ("events", "it was missing or removed, and is seen again"),
    ],
)
def test_the_reference_is_made_from_the_code(site: Path, page: str, told: str) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "reference" / f"{page}.html").read_text(encoding="utf-8"))
    assert told in text.replace("\n", " ")


def test_a_page_that_a_help_text_names_is_a_link(site: Path) -> None:
    text = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert 'href="../models.html">models</a>' in text
    assert not re.search(r"docs/[a-z-]+\.md", text)


def test_a_page_is_named_as_in_the_menu_not_as_a_file(site: Path) -> None:
    for page in site.glob("*.html"):
        assert not re.search(r">[a-z-]+\.md</a>", page.read_text(encoding="utf-8")), page.name


def test_every_link_of_the_made_pages_leads_somewhere(site: Path) -> None:
    for page in (site / "reference").glob("*.html"):
        for target in re.findall(r'href="([^"#:]+\.html)', page.read_text(encoding="utf-8")):
            assert (page.parent / target).resolve().is_file(), (page.name, target)


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loading = re.compile(
        r'<(?:script|img|iframe)[^>]+src="https?:|<link[^>]+(?:stylesheet|preconnect)[^>]+href="https?:'
    )
    for page in site.rglob("*.html"):
        assert not loading.search(page.read_text(encoding="utf-8")), page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:", style.read_text(encoding="utf-8")), style.name
