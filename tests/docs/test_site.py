"""The documentation site builds without a warning, fetches nothing, and describes everything public.

``make site`` names the site that it has built in ARCWISE_SITE; otherwise the tests build it, if Sphinx is
installed.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from arcwise.optional import is_installed

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "docs" / "site" / "build.py"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if built := os.environ.get("ARCWISE_SITE"):
        return ROOT / built
    if missing := [name for name in ("sphinx", "myst_parser", "furo") if not is_installed(name)]:
        pytest.skip(f"needs {', '.join(missing)}: make site")
    output = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(BUILD), str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


class Page(HTMLParser):
    """What a page links to and loads, its anchors, and its pictures without a description."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.undescribed: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in pairs}
        self.anchors.add(attributes.get("id", ""))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag in ("script", "img", "iframe") and "src" in attributes:
            self.loaded.append(attributes["src"])
        if tag == "link" and attributes.get("rel") in ("stylesheet", "preload", "preconnect", "icon"):
            self.loaded.append(attributes["href"])
        if tag == "img" and not attributes.get("alt"):
            self.undescribed.append(attributes["src"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_markdown_page_is_in_the_site(site: Path) -> None:
    pages = [path for path in ROOT.glob("docs/**/*.md") if "site" not in path.relative_to(ROOT).parts]
    assert len(pages) > 40
    for path in [*pages, ROOT / "benchmarks" / "RESULTS.md", ROOT / "CHANGELOG.md"]:
        assert (site / path.relative_to(ROOT).with_suffix(".html")).exists(), path


def test_every_link_leads_to_a_page_and_its_section(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(unquote(link))
            if re.match(r"[a-z]+:", target):
                continue
            file = (path.parent / target).resolve() if target else path
            if not file.exists() or (anchor and file in pages and anchor not in pages[file].anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {source for page in pages.values() for source in page.loaded}
    assert {
        source for source in loaded if re.match(r"[a-z]+:|//", source) and not source.startswith("data:")
    } == set()
    sheets = [
        path
        for path in site.rglob("*.css")
        if re.search(r"@import|url\([\"']?(?:https?:)?//", path.read_text())
    ]
    assert sheets == []


def test_every_page_names_an_icon(pages: dict[Path, Page]) -> None:
    """Otherwise browsers ask the host for /favicon.ico."""
    missing = [
        path.name
        for path in pages
        if not re.search(r'<link rel="[a-z ]*icon" href="[^"]*icon\.svg"', path.read_text())
    ]
    assert missing == []


def test_every_picture_has_a_description(pages: dict[Path, Page]) -> None:
    assert {path.name: page.undescribed for path, page in pages.items() if page.undescribed} == {}


def test_the_landing_page_has_three_doors_and_the_reading_order(site: Path) -> None:
    text = (site / "index.html").read_text("utf-8")
    assert len(re.findall(r'class="door ', text)) == 3
    menu = re.findall(r'class="reference internal" href="docs/([a-z-]+/[a-z-]+)\.html', text)
    listed = re.findall(
        r"\]\(([a-z-]+/[a-z-]+)\.md\)",
        (ROOT / "docs/README.md").read_text("utf-8").partition("\n## Tutorials")[2],
    )
    order = list(dict.fromkeys(listed))
    assert [page for page in dict.fromkeys(menu[menu.index(order[0]) :]) if page in order] == order


def test_the_reference_describes_everything_public(site: Path) -> None:
    """Every name of every module that declares ``__all__`` has an entry, and functions show their types."""
    sys.path.insert(0, str(BUILD.parent))
    try:
        build = importlib.import_module("build")
    finally:
        sys.path.pop(0)
    ids = {anchor for path in (site / "api").glob("*.html") for anchor in Page(path).anchors}
    documented = {anchor.rpartition(".")[2] for anchor in ids}
    missing = []
    for name in build.public_modules():
        if name == "arcwise.torch" and not is_installed("torch"):
            continue
        module = importlib.import_module(name)
        missing += [f"{name}.{public}" for public in build.public_names(module) if public not in documented]
    assert missing == []
    page = (site / "api" / "arcwise.inference.html").read_text("utf-8")
    assert "Constraints" in page
    assert re.search(r'id="arcwise\.inference\.TreeDistribution\.sample".*?seed.*?int', page, re.DOTALL)


def test_signatures_are_python_and_docstrings_are_ours(site: Path) -> None:
    """A default such as <factory> makes Sphinx break a signature within brackets."""
    text = "".join(path.read_text("utf-8") for path in (site / "api").glob("*.html"))
    assert re.findall(r"&lt;(?:factory|function)[^;]*;", text) == []
    assert "Alias for field number" not in text


def test_code_has_colours_of_its_own_in_the_dark(site: Path) -> None:
    """furo writes them when a build ends well; without them light code stands on a light ground."""
    sheet = (site / "_static" / "pygments.css").read_text("utf-8")
    assert "prefers-color-scheme: dark" in sheet
    assert 'body[data-theme="dark"] .highlight' in sheet


def test_search_finds_words_of_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    assert "calibr" in index
    assert "docs/tutorials/parse-your-text" in index
