"""A person who only uses the mouse can do everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from web.browser.hands import Mouse
from web.browser.journeys import JOURNEYS


@pytest.mark.slow
@pytest.mark.parametrize("name", JOURNEYS)
def test_everything_is_done_with_the_mouse_alone(browser: Any, name: str, tmp_path: Path) -> None:
    journey = JOURNEYS[name]
    with journey.state.shown(browser, tmp_path) as tab:
        journey.walk(Mouse(tab))
        assert tab.errors == []
