"""axe finds nothing in any state of the annotation page, light and dark, wide and on a phone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from arcwise.optional import is_installed
from web.browser.driver import Tab
from web.browser.states import PHONE, STATES, WIDE, State

UNSURE = {"color-contrast", "hidden-content", "label-content-name-mismatch"}
"""Rules that cannot judge gradients, closed menus and buttons with a sign for a name."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"]


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    if not is_installed("axe_playwright_python"):
        pytest.skip("needs axe-core: pip install 'arcwise[test-browser]'")
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


def violations(tab: Tab) -> list[str]:
    """What axe objects to, with the places."""
    answer: dict[str, Any] = tab.page.evaluate(f"() => axe.run(document, {{ runOnly: {RULES} }})")
    unsure = [rule for rule in answer["incomplete"] if rule["id"] not in UNSURE]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in [*answer["violations"], *unsure]
        for node in rule["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, state in STATES.items() if state.size == WIDE and not state.dark]
)
def test_axe_finds_nothing(browser: Any, axe: str, name: str, tmp_path: Path) -> None:
    with STATES[name].shown(browser, tmp_path) as tab:
        tab.page.evaluate(axe)
        tab.page.emulate_media(reduced_motion="reduce")
        problems = violations(tab)
        tab.page.emulate_media(color_scheme="dark")
        problems += violations(tab)
        tab.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        problems += violations(tab)
        assert tab.errors == []
        assert problems == [], "\n".join(problems)


def test_axe_finds_a_button_without_a_name(browser: Any, axe: str, tmp_path: Path) -> None:
    state = State(STATES["blank"].conllu, STATES["blank"].act, model=False, word=None)
    with state.shown(browser, tmp_path) as tab:
        tab.page.evaluate(axe)
        tab.page.evaluate("document.querySelector('header').append(document.createElement('button'))")
        assert any(problem.startswith("button-name") for problem in violations(tab))
