"""A person who only uses the mouse can do everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from web.browser.driver import BIRDS, OpenPage
from web.browser.hands import RECORD, Mouse
from web.browser.journeys import JOURNEYS


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_everything_is_done_with_the_mouse_alone(browser: Any, name: str, tmp_path: Path) -> None:
    journey = JOURNEYS[name]
    with journey.state.shown(browser, tmp_path) as tab:
        journey.walk(Mouse(tab))
        assert tab.errors == []


@pytest.mark.slow
def test_every_command_is_reached_with_the_mouse_alone(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    titles: dict[str, str] = tab.page.evaluate(RECORD)
    assert len(titles) > 70
    hands = Mouse(tab)
    for title in titles.values():
        hands.command(title)
    assert tab.page.evaluate("window.ran") == list(titles)
