"""A person who only uses the keyboard can do everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from web.browser.hands import Keyboard
from web.browser.journeys import JOURNEYS


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_everything_is_done_with_the_keyboard_alone(browser: Any, name: str, tmp_path: Path) -> None:
    journey = JOURNEYS[name]
    with journey.state.shown(browser, tmp_path) as tab:
        journey.walk(Keyboard(tab))
        assert tab.errors == []
