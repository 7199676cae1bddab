"""The browser of the page tests, which are skipped with a reason where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from arcwise.optional import is_installed
from web.browser.driver import CHROMIUM, OpenPage, Tab


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    for library in ("starlette", "uvicorn", "playwright"):
        if not is_installed(library):
            pytest.skip(f"needs {library}: pip install 'arcwise[web,test-browser]'")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: install it, or set ARCWISE_CHROMIUM to where it is")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[OpenPage]:
    """``open_page(conllu, model=False, beside=None, at=1, **context)``: a tab of the page over ``a.conllu``.

    The test fails if a script of the page raises an error.
    """
    from web.browser.here import served_here

    with ExitStack() as stack:
        tabs: list[Tab] = []

        def opened(
            conllu: str, *, model: bool = False, beside: str | None = None, at: int = 1, **context: Any
        ) -> Tab:
            path, other = tmp_path / "a.conllu", tmp_path / "b.conllu"
            path.write_text(conllu, "utf-8")
            if beside is not None:
                other.write_text(beside, "utf-8")
            own = stack.enter_context(
                served_here(path, model=model, beside=None if beside is None else other)
            )
            made = browser.new_context(viewport={"width": 1300, "height": 850}, **context)
            stack.callback(made.close)
            tabs.append(Tab(made, own, at=at))
            return tabs[-1]

        yield opened
        for tab in tabs:
            assert tab.errors == []
