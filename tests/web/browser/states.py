"""Every state of the annotation page, for accessibility tests and docs/images/make_annotate_screenshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from web.browser.driver import BIRDS, GARDEN, Tab, rows

Act = Callable[[Tab], Any]

SAMPLE = Path(__file__).parents[3] / "src" / "arcwise" / "data" / "sample-gold.conllu"
WIDE, NARROW, PHONE = (1400, 850), (700, 900), (390, 844)
ZOOMED = (700, 425)
"""The window of WIDE at 200 % zoom, in CSS pixels."""


def sample(*, tags: bool = True) -> str:
    """The sample of arcwise, its words from the fifth on unannotated."""
    lines = []
    for line in SAMPLE.read_text("utf-8").splitlines():
        row = line.split("\t")
        if len(row) == 10 and row[0].isdigit() and int(row[0]) > 4:
            row[6:8] = "_", "_"
            if not tags:
                row[2:6] = ["_"] * 4
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def chain(forms: list[str], sent_id: str) -> str:
    """A sentence with a plausible tree and no model."""
    lines = [
        "\t".join([str(i), form, "_", "NOUN" if i % 3 else "VERB", "_", "_", *_arc(i, len(forms)), "_", "_"])
        for i, form in enumerate(forms, 1)
    ]
    return "\n".join([f"# sent_id = {sent_id}", f"# text = {' '.join(forms)}", *lines]) + "\n\n"


def _arc(word: int, words: int) -> tuple[str, str]:
    if word == 3:
        return "0", "root"
    if word % 3 == 0:
        return str(max(3, word - 3)), "conj"
    return str(min(words - words % 3, word + 3 - word % 3)), "nmod"


LONG = ["winter", "and", "the", "river", "of", "stones", "beyond", "a", "gate"]
HEBREW = ["הילדה", "הקטנה", "קראה", "ספר", "ישן", "בגינה", "ליד", "הבית"]
LONG_TEXT = chain([LONG[i % len(LONG)] for i in range(120)], "long")
RIGHT = chain(HEBREW, "rtl")
YORK = "".join(
    rows(f"New/PROPN/2/{label}", "York/PROPN/0/root", sent_id=f"s{n}")
    for n, label in enumerate(("compound", "amod", "compound", "flat"))
)
CONFLICT = rows(
    "Birds/NOUN/2/nsubj", "sing/VERB/0/root", "songs/NOUN/2/obj", extra=("# conflict = 3 deprel theirs=obl",)
)
COORDINATED = rows("Ann/PROPN/2/nsubj", "sings/VERB/0/root", "and/CCONJ/4/cc", "dances/VERB/2/conj")
TOKEN = rows("al/ADP/2/case", "mar/NOUN/0/root").replace("1\tal", "1-2\talmar" + "\t_" * 8 + "\n1\tal")
ODD = "".join(
    rows(
        "The/DET/2/det", f"{noun}/NOUN/3/nsubj", f"{verb}/VERB/0/root", "./PUNCT/3/punct", sent_id=noun + verb
    )
    for noun in ("cat", "dog", "bird", "child")
    for verb in ("sleeps", "sings", "runs")
) + rows("The/DET/3/nsubj", "cat/NOUN/3/det", "runs/VERB/0/root", "./PUNCT/3/punct", sent_id="odd")


def waits(selector: str) -> Act:
    """Something has to be on the screen."""
    return lambda tab: tab.page.locator(selector).first.wait_for()


def runs(*keys: str, shows: str) -> Act:
    """Press keys, which show something."""

    def act(tab: Tab) -> None:
        tab.page.locator("#tree").focus()
        for key in keys:
            tab.page.keyboard.press(key)
        waits(shows)(tab)

    return act


def commands(name: str, shows: str) -> Act:
    """Run a command from the list of commands."""

    def act(tab: Tab) -> None:
        tab.page.locator("#tree").focus()
        tab.command(name)
        waits(shows)(tab)

    return act


def opens(name: str, shows: str, *buttons: str) -> Act:
    """Open a side panel and press some of its buttons."""

    def act(tab: Tab) -> None:
        tab.page.locator(f"#tab-{name}").click()
        for text in buttons:
            tab.page.locator(f"#side-{name}").get_by_role("button", name=text).first.click()
        waits(shows)(tab)

    return act


def looks(settings: str, shows: str, *keys: str) -> Act:
    """Change the view settings, then press keys."""

    def act(tab: Tab) -> None:
        tab.page.evaluate(f"own.state.look({settings})")
        runs(*keys, shows=shows)(tab)

    return act


def clicks(selector: str, shows: str, button: Any = "left") -> Act:
    def act(tab: Tab) -> None:
        tab.page.locator(selector).first.click(button=button)
        waits(shows)(tab)

    return act


def finds(tab: Tab) -> None:
    """Search hits."""
    tab.page.locator("#tab-search").click()
    tab.page.locator("#search-query").fill("upos=NOUN")
    tab.page.locator("#search-query").press("Enter")
    waits("#side-search .item")(tab)


def counts(tab: Tab) -> None:
    """Clusters of search hits."""
    finds(tab)
    tab.page.get_by_text("Clusters of hits").click()
    tab.page.get_by_role("button", name="Count").click()
    waits("#side-search .cross")(tab)


def edits(tab: Tab) -> None:
    """The preview of a mass edit."""
    finds(tab)
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill("xpos=N")
    tab.page.get_by_role("button", name="Preview").click()
    waits("#side-search .change")(tab)


def suspects(tab: Tab) -> None:
    """Suspicious annotations, in the panel and at a word."""
    opens("checks", "#side-checks .buttons", "Find suspicious annotations")(tab)
    tab.page.locator(".suspicious .item").first.wait_for(timeout=120_000)
    tab.page.locator(".suspicious .item").first.click()
    waits("#word .doubt-line")(tab)


def trains(tab: Tab) -> None:
    """A finished training."""
    opens("training", "#side-training .buttons, #side-training button", "Train on current annotation")(tab)
    tab.page.locator("#side-training .curve").wait_for(timeout=120_000)


def clashes(tab: Tab) -> None:
    """The dialog about two edits of one field."""
    tab.page.evaluate("() => { own.heard = () => {}; }")  # as if both came in the same moment
    tab.process.set(0, "1", deprel="obj")
    tab.page.evaluate(
        "own.state.edit([{ kind: 'set-field', row: '1', column: 'deprel', value: 'iobj' }], 'label')"
    )
    waits("#conflict")(tab)


def tells(tab: Tab) -> None:
    """A message about an edit that was rejected."""
    tab.press("6")  # of word 6
    waits("#message.bad")(tab)


ROWS = "{ rows: ['upos', 'xpos', 'feats', 'lemma'] }"
VERTICAL = "{ vertical: true }"
WORDS = "#word .word-line"
IS_OPEN = waits(WORDS)


@dataclass(frozen=True)
class State:
    """A state of the page. ``conllu``: a file, or the files of a folder by name; ``zoom``: of the browser."""

    conllu: str | dict[str, str]
    act: Act = IS_OPEN
    size: tuple[int, int] = WIDE
    dark: bool = False
    model: bool = True
    word: str | None = "6"
    beside: str | None = None
    zoom: float = 1

    @contextmanager
    def shown(self, browser: Any, folder: Path) -> Iterator[Tab]:
        """A tab in this state."""
        from web.browser.here import served_here

        file, other = folder / "sample.conllu", folder / "other.conllu"
        if isinstance(self.conllu, str):
            file.write_text(self.conllu, "utf-8")
        else:
            file = folder / "treebank"
            file.mkdir()
            for name, text in self.conllu.items():
                (file / name).write_text(text, "utf-8")
        if self.beside is not None:
            other.write_text(self.beside, "utf-8")
        with served_here(file, model=self.model, beside=None if self.beside is None else other) as server:
            width, height = self.size
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if self.dark else "light",
                device_scale_factor=self.zoom,
            )
            tab = Tab(context, server)
            if self.word is not None:
                tab.select(self.word)
                waits(WORDS)(tab)
            self.act(tab)
            yield tab
            context.close()


def _plain(conllu: str | dict[str, str], act: Act, word: str | None = "1", **more: Any) -> State:
    return State(conllu, act, model=False, word=word, **more)


STATES: dict[str, State] = {
    "light": State(sample()),
    "dark": State(sample(), dark=True),
    "narrow": State(sample(), size=NARROW),
    "phone": State(sample(), size=PHONE),
    "phone-dark": State(sample(), size=PHONE, dark=True),
    "zoom": State(sample(), size=ZOOMED, zoom=2),
    "zoom-dark": State(sample(), size=ZOOMED, zoom=2, dark=True),
    "rows": State(sample(tags=False), looks(ROWS, ".tag.lemma")),
    "rows-dark": State(sample(tags=False), looks(ROWS, ".tag.lemma"), dark=True),
    "table": State(sample(tags=False), runs("Shift+E", "Escape", shows="#table tbody tr")),
    "second-best": State(sample(), runs("Shift+V", shows="#tree.second")),
    "head": State(sample(), runs("Space", shows="#mode button")),
    "alternative": State(sample(), runs("ArrowDown", shows=".arc.preview")),
    "message": State(sample(), tells),
    "right-to-left": _plain(RIGHT, IS_OPEN, "4"),
    "right-to-left-phone": _plain(RIGHT, IS_OPEN, "4", size=PHONE),
    "right-to-left-vertical": _plain(RIGHT, looks(VERTICAL, "#tree svg.vertical"), "4"),
    "long": _plain(LONG_TEXT, IS_OPEN, "9"),
    "long-phone": _plain(LONG_TEXT, IS_OPEN, "9", size=PHONE),
    "long-zoom": _plain(LONG_TEXT, IS_OPEN, "9", size=ZOOMED, zoom=2),
    "long-fit": _plain(LONG_TEXT, runs("Shift+Z", shows="#message"), "9"),
    "long-vertical": _plain(LONG_TEXT, looks(VERTICAL, "#tree svg.vertical"), "9"),
    "vertical": State(
        sample(), looks("{ vertical: true, rows: ['upos', 'feats', 'lemma'] }", "#tree svg.vertical")
    ),
    "vertical-phone": State(sample(), looks(VERTICAL, "#tree svg.vertical"), size=PHONE),
    "enhanced": _plain(COORDINATED, runs("Shift+H", shows="#word [data-generated]")),
    "token": _plain(TOKEN, waits(".token")),
    "blank": _plain("", waits("#tree .invitation"), None),
    "many": _plain("".join(chain(LONG, f"s{i}") for i in range(5000)), waits("#side-worklist .item"), "3"),
    "many-phone": _plain(
        "".join(chain(LONG, f"s{i}") for i in range(5000)), waits("#side-worklist .item"), "3", size=PHONE
    ),
    # menus, prompts and dialogs
    "menu": State(sample(), clicks("#word-6", ".menu", "right")),
    "more": State(sample(), clicks("#more", ".menu")),
    "commands": State(sample(), runs(":", shows=".picker li")),
    "help": State(sample(), runs("?", shows="#help")),
    "legend": State(sample(), commands("Legend", ".legend")),
    "choose-rows": State(sample(), clicks("[data-action=rows]", ".panel")),
    "label": State(sample(), runs("n", shows=".picker li")),
    "features": State(sample(tags=False), runs("Shift+F", shows="#features .feature")),
    "lemma": State(sample(tags=False), runs("Shift+L", shows=".picker li")),
    "misc": State(sample(), runs("Shift+I", shows=".asker input")),
    "split": State(sample(), runs("Shift+S", shows=".asker input")),
    "threshold": State(sample(tags=False), runs("Shift+Q", shows="#acceptance li")),
    "tokenization": State(
        rows("It/PRON/2/nsubj", "didn't/VERB/0/root", "sleep./_/_/_", text="It didn't sleep."),
        commands("Tokenize the sentence again", "dialog li"),
        word="1",
    ),
    "add": _plain(BIRDS, commands("Add sentences at the end", "dialog textarea")),
    "remove": _plain(BIRDS, commands("Remove sentence", "dialog[open]")),
    "annotator": _plain(BIRDS, commands("Annotator's name", "#annotator input")),
    "edit-conflict": _plain(BIRDS, clashes),
    # side panels
    "files": _plain({"a.conllu": BIRDS + GARDEN, "b.conllu": GARDEN}, opens("files", "#side-files .item")),
    "worklist": State(sample(), opens("worklist", "#side-worklist .item")),
    "search": State(sample(), finds),
    "clusters": State(sample(), counts),
    "mass-edit": State(sample(), edits),
    "checks": State(
        sample().replace("\tnsubj\t", "\tnsbj\t"), opens("checks", "#side-checks details .item"), word="2"
    ),
    "merge-conflict": _plain(CONFLICT, opens("checks", "#side-checks details .item"), "3"),
    "consistency": _plain(YORK, opens("checks", "#consistency .variant", "Find inconsistencies")),
    "suspicious": _plain(ODD, suspects),
    "training": State(sample(), opens("training", "#side-training button")),
    "trained": _plain(ODD, trains),
    "notes": State(sample(), opens("notes", "#side-notes button")),
    "compare": _plain(
        BIRDS + GARDEN,
        opens("compare", "#side-compare section"),
        beside=BIRDS.replace("2\tobj", "1\tnmod") + GARDEN,
    ),
}
