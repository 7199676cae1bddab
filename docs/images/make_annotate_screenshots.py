"""Screenshots of every state of the annotation page, to look at after a change of its looks.

``python docs/images/make_annotate_screenshots.py FOLDER [NAME …]`` writes FOLDER/NAME.png for each state of
``tests/web/browser/states.py``: light and dark, wide, narrow and as narrow as a phone, at 200 % zoom,
right-to-left, 120 words, 5,000 sentences, each menu, dialog and panel. It needs Chromium (ARCWISE_CHROMIUM,
or on the PATH) and ``pip install 'arcwise[web,test-browser]'``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(folder: Path, names: list[str]) -> None:
    """Make all of them, or those named."""
    sys.path[:0] = [str(ROOT / "tests")]
    from playwright.sync_api import sync_playwright

    from web.browser.driver import CHROMIUM
    from web.browser.states import STATES

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in names or list(STATES):
            with tempfile.TemporaryDirectory() as made, STATES[name].shown(browser, Path(made)) as tab:
                tab.page.wait_for_timeout(500)
                tab.page.screenshot(path=str(folder / f"{name}.png"), animations="disabled")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
