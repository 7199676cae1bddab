"""A page of results shows what its recorded cells say and the present code computes, or says that it does
not."""

import importlib
from pathlib import Path

import pytest
from experiments.page import PAGES, RESULTS, STALE, banner, cell_file, page_hash, stale_pages
from measuring.sources import code_hash


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_written_from_current_cells_or_says_that_it_is_old(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without treebanks and cache: with them, a cell could be computed here."""
    monkeypatch.delenv("ARCWISE_TREEBANKS", raising=False)
    monkeypatch.setenv("ARCWISE_CACHE", str(tmp_path / "empty"))
    text = (RESULTS / f"{name}.md").read_text()
    if name in stale_pages():
        stale = stale_pages()[name]
        assert text.startswith(banner(stale["commits"])), f"{name}.md needs the banner of an old page"
        body = text.removeprefix(banner(stale["commits"]))
        assert page_hash(body) == stale["page"], f"{name}.md was edited by hand"
        return
    importlib.import_module(f"experiments.{name}").main(["--report", "--output", str(tmp_path)])
    assert (tmp_path / f"{name}.md").read_text() == text, (
        f"{name}.md differs from what its cells say: python -m experiments.{name} --report"
    )
    for kind in {cell.kind for cell in cell_file(name)}:
        assert f"{kind} `{code_hash(kind)}`" in text


def test_every_page_is_listed_and_every_listed_page_exists() -> None:
    assert {path.stem for path in RESULTS.glob("*.md")} == set(PAGES)
    assert stale_pages().keys() <= set(PAGES)
    assert STALE.parent == RESULTS
