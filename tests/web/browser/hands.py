"""Two people at the page: one has only a mouse, the other only a keyboard."""

from __future__ import annotations

import re
from typing import Any

from web.browser.driver import Tab

TITLES = "own.actions.map((action) => [action.title, action.keys[0] ?? ''])"
MOST_TABS = 160
RECORD = """() => {
  window.ran = [];
  const recorded = own.actions.filter(({ id }) => id !== "more" && id !== "commands");
  for (const action of recorded) action.run = () => window.ran.push(action.id);
  return Object.fromEntries(recorded.map((action) => [action.id, action.title]));
}"""
"""Makes all commands only record their names, except those that list commands; returns titles by name."""


class Hands:
    """What a person does; the two kinds do it in their own way."""

    def __init__(self, tab: Tab) -> None:
        self.tab, self.page = tab, tab.page

    def word(self, row: str) -> None:
        """Select a word."""
        raise NotImplementedError

    def head(self, row: str) -> None:
        """Point at the head, once a head is being chosen."""
        raise NotImplementedError

    def command(self, title: str) -> None:
        """Run a command by the beginning of its title."""
        raise NotImplementedError

    def panel(self, name: str) -> None:
        """Open a side panel."""
        raise NotImplementedError

    def activate(self, control: Any) -> None:
        """Press a button or another control."""
        raise NotImplementedError

    def option(self, value: str) -> None:
        """Choose a value in an open list."""
        raise NotImplementedError

    def choose(self, select: Any, value: str) -> None:
        """Choose an option of a drop-down list."""
        raise NotImplementedError

    def write(self, text: str, into: Any = None) -> None:
        """Replace the content of a field."""
        raise NotImplementedError

    def cell(self, row: str, column: str, value: str) -> None:
        """Change a cell of the open table."""
        raise NotImplementedError

    def letters(self, text: str) -> None:
        """Type letters, which have to go into a field."""
        self._field()
        self.page.keyboard.type(text)

    def _field(self) -> None:
        """Wait until a field has the focus."""
        self.page.wait_for_function("() => document.activeElement?.matches('input, textarea')")

    def button(self, name: str, within: str = "main, dialog, header") -> Any:
        """A button by the beginning of its name."""
        return self.page.locator(within).get_by_role("button", name=name).locator("visible=true").first

    def press(self, name: str, within: str = "main, dialog, header") -> None:
        """Press a button by the beginning of its name."""
        self.activate(self.button(name, within))
        self.tab.settled()


class Mouse(Hands):
    """Clicks; letters are typed into fields alone, as with a keyboard on the screen."""

    def word(self, row: str) -> None:
        self.tab.word(row).locator(".form").click()

    head = word

    def command(self, title: str) -> None:
        begins = re.compile(rf"^(✓ )?{re.escape(title)}")
        self.tab.word(self.tab.selected).locator(".form").click(button="right")
        entry = self.page.locator(".menu").get_by_role("menuitem", name=begins)
        if not entry.count():
            self.page.mouse.click(5, 400)  # beside the menu
            self.page.locator("#more").click()
            entry = self.page.locator(".menu").get_by_role("menuitem", name=begins)
        if not entry.count():
            self.page.locator(".menu").get_by_role("menuitem", name="All commands").click()
            entry = self.page.locator(".picker").get_by_role("option", name=begins)
        entry.first.click()

    def panel(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def activate(self, control: Any) -> None:
        control.click()

    def option(self, value: str) -> None:
        self.page.locator(".picker").get_by_role("option", name=value).first.click()
        self.tab.settled()

    def choose(self, select: Any, value: str) -> None:
        select.click()
        select.select_option(value)  # the open list is not part of the page

    def cell(self, row: str, column: str, value: str) -> None:
        cell = self.page.locator(f"#table tr[data-id='{row}'] [data-column={column}]")
        cell.click()
        cell.click()
        self.write(value)
        self.word("1")  # leaving the cell keeps what is typed

    def write(self, text: str, into: Any = None) -> None:
        field = self.page.locator("input:focus, textarea:focus") if into is None else into
        field.click(click_count=3)
        self.letters(text)


class Keyboard(Hands):
    """Keys alone: shortcuts, Tab and the keys of the controls."""

    def tree(self) -> None:
        """Move the focus to the tree."""
        for _ in range(8):
            if self.page.evaluate("document.activeElement.id === 'tree'"):
                return
            self.page.keyboard.press("F6")
        raise AssertionError("the tree is out of reach")

    def word(self, row: str) -> None:
        for _ in range(3):  # an answer that arrives late may move the focus away
            self.tab.settled()
            self.tree()
            self.page.keyboard.press("Home")
            for _ in range(150):
                if self.tab.selected == row:
                    return
                self.page.keyboard.press("ArrowRight")
        raise AssertionError(f"word {row} is out of reach")

    def head(self, row: str) -> None:
        chosen = "own.editor.choosing.head"
        while (head := self.page.evaluate(chosen)) != row:
            self.page.keyboard.press("ArrowRight" if int(head) < int(row) else "ArrowLeft")
        self.page.keyboard.press("Enter")

    def command(self, title: str) -> None:
        self.tree()
        titles: dict[str, str] = dict(self.page.evaluate(TITLES))
        full = next(name for name in titles if name.startswith(title))
        if titles[full]:
            self.page.keyboard.press(titles[full].replace("Ctrl", "Control"))
            return
        self.page.keyboard.press(":")
        self.letters(full)
        self.page.keyboard.press("Enter")

    def panel(self, name: str) -> None:
        titles = {
            "Checks": "Check the whole file",
            "Files": "Files of the project",
            "Compare": "Compare with",
        }
        self.command(titles.get(name, name))

    def reach(self, control: Any) -> None:
        """Move the focus to a control."""
        control.wait_for()
        for _ in range(MOST_TABS):
            if control.evaluate("(element) => element === document.activeElement"):
                return
            in_tree = self.page.evaluate("document.activeElement.id === 'tree'")
            self.page.keyboard.press("F6" if in_tree else "Tab")
        raise AssertionError(f"{control} is out of reach")

    def activate(self, control: Any) -> None:
        self.reach(control)
        box = control.evaluate("(element) => element.type === 'checkbox'")
        self.page.keyboard.press("Space" if box else "Enter")

    def option(self, value: str) -> None:
        option = self.page.locator(".picker [aria-selected=true] span")
        for _ in range(80):
            if option.inner_text().startswith(value):
                break
            self.page.keyboard.press("ArrowDown")
        assert option.inner_text().startswith(value)
        self.page.keyboard.press("Enter")
        self.tab.settled()

    def choose(self, select: Any, value: str) -> None:
        self.reach(select)
        for key in ("Home", *["ArrowDown"] * 10):
            if select.input_value() == value:
                return
            self.page.keyboard.press(key)
        assert select.input_value() == value

    def cell(self, row: str, column: str, value: str) -> None:
        self.page.wait_for_function("(row) => own.views.table.at?.row === row", arg=row)
        self.page.keyboard.press("Home")
        while self.page.evaluate("own.views.table.at.column") != column:
            self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press("Enter")
        self.write(value)
        self.page.keyboard.press("Enter")

    def write(self, text: str, into: Any = None) -> None:
        if into is not None:
            self.reach(into)
        self._field()
        self.page.keyboard.press("Control+A")
        self.letters(text)
