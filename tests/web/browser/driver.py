"""The page of ``arcwise annotate`` in a real browser, over a real server."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from web.served import Process

OpenPage = Callable[..., Any]
"""The fixture ``open_page``."""

CHROMIUM = os.environ.get("ARCWISE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
EXPECTED = ("Failed to load resource",)
"""What the console may say: answers that are no success are told to the user by the page itself."""


def rows(*words: str, sent_id: str = "s1", text: str | None = None, extra: tuple[str, ...] = ()) -> str:
    """A sentence as CoNLL-U, written as ``form/UPOS/head/label``; ``extra``: comments."""
    parts = [word.split("/") for word in words]
    lines = [f"# sent_id = {sent_id}", f"# text = {text or ' '.join(part[0] for part in parts)}", *extra]
    lines += [f"{at}\t{f}\t_\t{u}\t_\t_\t{h}\t{d}\t_\t_" for at, (f, u, h, d) in enumerate(parts, 1)]
    return "\n".join(lines) + "\n\n"


TELESCOPE = rows(
    *("I/PRON/_/_", "saw/VERB/_/_", "the/DET/_/_", "man/NOUN/_/_", "with/ADP/_/_", "a/DET/_/_"),
    *("telescope/NOUN/_/_", "in/ADP/_/_", "the/DET/_/_", "garden/NOUN/_/_", "./PUNCT/_/_"),
    sent_id="telescope",
)
"""Ambiguous for every parser."""
GARDEN = rows(
    "The/DET/_/_",
    "old/ADJ/_/_",
    "gardener/NOUN/_/_",
    "planted/VERB/0/root",
    "three/NUM/_/_",
    "trees/NOUN/_/_",
    "./PUNCT/_/_",
    sent_id="garden",
)
BIRDS = rows("Birds/NOUN/2/nsubj", "sing/VERB/0/root", "songs/NOUN/2/obj", sent_id="birds")


class Tab:
    """One window of the page, with what a test does and asks."""

    def __init__(self, context: Any, process: Process, *, at: int = 1) -> None:
        self.process = process
        self.errors: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(8000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._console)
        self.page.goto(f"{process.address}#{at}")
        self.ready()

    def _console(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith(EXPECTED):
            self.errors.append(message.text)

    def ready(self) -> None:
        """Wait until the page has its sentence."""
        self.page.wait_for_selector("html[data-ready]")
        self.page.evaluate("async () => { window.own = await window.arcwise; }")

    def settled(self) -> None:
        """Wait until the server has answered every change."""
        self.page.wait_for_function("() => !own.state.waiting.length && !own.state.busy && !own.state.moving")

    def press(self, *keys: str) -> None:
        """Keys one after the other, then wait for the server."""
        for key in keys:
            self.page.keyboard.press(key)
        self.settled()

    @contextlib.contextmanager
    def late(self, *calls: str) -> Iterator[None]:
        """Calls of the API (as a pattern: ``**/undo``) reach the server only at the end."""
        held: list[Any] = []
        open_again = False

        def met(route: Any) -> None:
            if open_again:
                route.continue_()
            else:
                held.append(route)

        for call in calls:
            self.page.route(call, met)
        yield
        for _ in range(400):  # as long as anything else is waited for
            if held:
                break
            self.page.wait_for_timeout(20)
        assert held, "nothing was asked"
        open_again = True
        for route in held:
            route.continue_()
        self.settled()
        for call in calls:
            self.page.unroute(call)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def row(self, row: str, *columns: str, sentence: int | None = None) -> Any:
        """What the server has of a row: one field, or several."""
        number = self.number if sentence is None else sentence
        found = next(r for r in self.process.sentence(number)["rows"] if r["id"] == row)
        values = [found[column] for column in columns]
        return values[0] if len(values) == 1 else values

    @property
    def number(self) -> int:
        return int(self.page.evaluate("own.state.number"))

    @property
    def selected(self) -> str:
        return str(self.page.evaluate("own.state.selected"))

    def select(self, row: str) -> None:
        self.page.evaluate("(row) => own.editor.select(row)", row)

    def word(self, row: str) -> Any:
        return self.page.locator(f"#word-{row.replace('.', chr(92) + '.')}")

    def arc(self, row: str) -> Any:
        return self.page.locator(f'.arc[data-arc="{row}"]')

    def text(self, row: str) -> str:
        """What stands at a word: its form, tag, number and marks."""
        return str(self.word(row).text_content())

    def said(self) -> str:
        """What the line at the foot of the page says."""
        return str(self.page.locator("#message").inner_text())

    def heard(self) -> str:
        """What the live region says."""
        return str(self.page.locator("#live").text_content())

    def command(self, name: str) -> None:
        """A command by its name, from the list of commands."""
        self.page.keyboard.press(":")
        self.page.wait_for_selector(".picker")
        self.type(name)
        self.page.keyboard.press("Enter")


def written(path: Path) -> list[list[str]]:
    """The rows of a file."""
    return [line.split("\t") for line in path.read_text("utf-8").splitlines() if line and line[0] != "#"]
