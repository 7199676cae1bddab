"""What a treebank builder does on the page, from opening a folder to saving it; done by ``Hands``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from web.browser.driver import BIRDS, GARDEN, Tab, rows
from web.browser.hands import Hands
from web.browser.states import COORDINATED, ODD, YORK, State

UNTAGGED = rows("The/_/_/_", "gardeners/_/_/_", "sleep/_/_/_")
MERGED = rows(
    "Birds/NOUN/2/nsubj",
    "sing/VERB/0/root",
    "songs/NOUN/2/obj",
    extra=("# conflict = 1 deprel theirs=obj", "# conflict = 3 deprel theirs=obl"),
)
TWO = {"a.conllu": BIRDS, "b.conllu": GARDEN + BIRDS.replace("= birds", "= last")}


def until(tab: Tab, condition: str) -> None:
    """Wait until something is true of the page."""
    tab.page.wait_for_function(f"() => {condition}")


def folder(hands: Hands) -> None:
    """Open a project, go to a sentence, choose head and label, undo, redo, save."""
    tab = hands.tab
    hands.panel("Files")
    hands.activate(tab.page.locator("#side-files .item").nth(1))
    until(tab, "own.state.number === 1")
    hands.command("Go to sentence")
    hands.write("last")
    hands.press("OK")
    until(tab, "own.state.number === 2")
    hands.activate(tab.page.locator("[data-action=previous]"))
    until(tab, "own.state.number === 1 && !own.state.moving")
    hands.word("1")
    hands.command("Choose the head")
    hands.head("3")
    tab.settled()
    hands.word("1")
    hands.command("Choose the label")
    hands.letters("de")
    hands.option("det")
    assert tab.row("1", "head", "deprel") == ["3", "det"]
    hands.command("Undo")
    until(tab, "own.state.row('1').deprel === '_'")
    hands.command("Redo")
    until(tab, "own.state.row('1').deprel === 'det'")
    hands.word("1")
    hands.command("Clear annotation")
    tab.settled()
    assert tab.row("1", "head", "deprel") == ["_", "_"]
    hands.command("Save to file now")
    until(tab, "document.getElementById('saved').textContent === 'Saved to file'")


def suggestions(hands: Hands) -> None:
    """Accept suggestions: one, of a word, of a column, above a threshold, an alternative, all."""
    tab = hands.tab
    hands.word("2")
    hands.activate(tab.page.locator("#word .suggested[data-field=lemma]"))
    until(tab, "own.state.row('2').lemma === 'gardener'")
    hands.word("2")
    hands.command("Accept the suggested tags of the word")
    until(tab, "own.state.row('2').upos === 'NOUN' && own.state.row('2').feats !== '_'")
    hands.command("Table of all columns")
    hands.activate(tab.page.get_by_role("button", name="Accept 2 suggested UPOS"))
    until(tab, "own.state.row('3').upos === 'VERB'")
    hands.command("Accept suggestions of all columns")
    hands.write("0", tab.page.get_by_label("Threshold in percent").locator("visible=true").last)
    hands.activate(tab.page.locator("#acceptance").get_by_role("checkbox", name="arcs"))
    hands.press("Accept", "#acceptance")
    until(tab, "own.state.row('1').lemma === 'the'")
    tab.settled()
    assert tab.row("1", "head") == "_"
    hands.word("1")
    hands.activate(tab.page.locator("#word .rare summary"))
    hands.activate(tab.page.locator("#word .rare .choice").first)
    until(tab, "own.state.row('1').state === 'decided'")
    tab.settled()
    hands.press("Accept all")
    until(tab, "own.state.words.every((row) => row.state === 'decided')")


def fields(hands: Hands) -> None:
    """Edit UPOS, XPOS, FEATS, the lemma, MISC, the form and DEPS; a cell of the table; a note."""
    tab = hands.tab
    for title, value in (("Tag (UPOS)", "PROPN"), ("Treebank-specific", "NNP"), ("Lemma", "bird")):
        hands.word("1")
        hands.command(title)
        hands.write(value)
        hands.option(value)
    hands.word("1")
    hands.command("Features (FEATS)")
    hands.letters("Number=Plur")
    hands.press("Save", ".popup")
    for title, value in (("MISC", "Gloss=x"), ("Word form", "Bees"), ("Enhanced dependencies", "2:nsubj")):
        hands.word("1")
        hands.command(title)
        hands.write(value)
        hands.press("OK", ".popup")
    columns = ("upos", "xpos", "lemma", "feats", "misc", "form", "deps")
    assert tab.row("1", *columns) == ["PROPN", "NNP", "bird", "Number=Plur", "Gloss=x", "Bees", "2:nsubj"]
    hands.word("3")
    hands.command("Note on the word")
    hands.letters("sure?")
    hands.press("OK", ".popup")
    assert {"on": "3", "text": "sure?"} in tab.process.sentence(0)["notes"]
    hands.word("3")
    hands.command("Table of all columns")
    hands.cell("3", "deprel", "obl")
    until(tab, "own.state.row('3').deprel === 'obl'")


def shapes(hands: Hands) -> None:
    """Split and join words, make a multiword token, split and join sentences, add some, tokenize again."""
    tab = hands.tab
    forms = "own.state.sentence.rows.map((row) => row.form).join(' ')"
    hands.word("2")
    hands.command("Split word")
    hands.write("did n't")
    hands.press("OK", ".popup")
    until(tab, f'{forms} === "It did n\'t sleep."')
    hands.word("2")
    hands.command("Multiword token")
    hands.press("OK", ".popup")
    until(tab, f"{forms} === \"It didn't did n't sleep.\"")
    hands.word("2")
    hands.command("Join with the next word")
    hands.press("OK", ".popup")
    until(tab, f'{forms} === "It didn\'t sleep."')
    hands.command("Tokenize the sentence again")
    hands.press("Apply", "dialog")
    until(tab, f"{forms} === \"It didn't did n't sleep .\"")
    hands.word("4")
    hands.command("Split sentence before")
    until(tab, "own.state.document.sentences === 2")
    hands.command("Join sentence with the next one")
    until(tab, "own.state.document.sentences === 1")
    hands.command("Add sentences at the end")
    hands.letters("He left.")
    hands.press("Insert", "dialog")
    until(tab, "own.state.document.sentences === 2 && own.state.number === 1")
    hands.command("Remove sentence")
    hands.press("Remove", "dialog")
    until(tab, "own.state.document.sentences === 1")
    hands.word("1")
    hands.command("Extend the selection to the right")
    until(tab, "own.state.range.length === 2")


def nodes(hands: Hands) -> None:
    """Make a word the root; add an empty node and remove it; insert sentences before this one."""
    tab = hands.tab
    hands.word("3")
    hands.command("Make root")
    until(tab, "own.state.row('3').head === '0'")
    hands.word("2")
    hands.command("Add empty node")
    hands.letters("y")
    hands.press("OK", ".popup")
    until(tab, "own.state.row('2.1')?.form === 'y'")
    hands.word("2.1")
    hands.command("Remove this empty node")
    until(tab, "own.state.row('2.1') === null")
    hands.command("Insert sentences before")
    hands.letters("He left.")
    hands.press("Insert", "dialog")
    until(tab, "own.state.document.sentences === 2 && own.state.number === 0")


def notes(hands: Hands) -> None:
    """Add a comment, remove it, note something on the sentence."""
    tab, page = hands.tab, hands.page
    hands.panel("Notes")
    hands.press("Add a comment", "#side-notes")
    hands.letters("genre = fable")
    hands.press("OK", ".popup")
    comment = page.locator("#side-notes .item", has_text="genre = fable")
    comment.wait_for()
    hands.panel("Notes")
    hands.activate(comment)
    hands.press("Remove", ".popup")
    comment.wait_for(state="detached")
    hands.panel("Notes")
    hands.press("Note on the sentence", "#side-notes")
    hands.letters("ask Anna")
    hands.press("OK", ".popup")
    assert {"on": "", "text": "ask Anna"} in tab.process.sentence(0)["notes"]


def second_best(hands: Hands) -> None:
    """Accept the second-best tree."""
    tab = hands.tab
    second = tab.process.sentence(0)["thoughts"]["second_best"]["heads"]
    hands.command("Second-best tree")
    hands.press("Accept all")
    until(tab, "own.state.words.every((row) => row.state === 'decided')")
    tab.settled()
    assert {row: int(tab.row(row, "head")) for row in second} == second


def outside(hands: Hands) -> None:
    """Merge what another program wrote into the file."""
    tab = hands.tab
    text = tab.process.file.read_text("utf-8")
    tab.process.file.write_text(text.replace("3\tsongs\t_", "3\tsongs\tsong"), "utf-8")
    hands.activate(hands.page.locator("#message").get_by_role("button", name="Merge changes"))
    until(tab, "own.state.row('3').lemma === 'song'")


def search(hands: Hands) -> None:
    """Search, step through hits, count clusters, change all hits but one."""
    tab, page = hands.tab, hands.page
    hands.panel("Search")
    hands.write("upos=NOUN", page.locator("#search-query"))
    hands.press("Find", "#side-search")
    page.get_by_text("4 hits").wait_for()
    hands.activate(page.locator("#side-search summary", has_text="Clusters"))
    hands.press("Count", "#side-search")
    page.locator("#side-search .cross").wait_for()
    hands.activate(page.locator("#side-search summary", has_text="Mass edit"))
    hands.write("xpos=N", page.locator("#search-changes"))
    hands.press("Preview", "#side-search")
    hands.activate(page.get_by_label("Change word 3 of sentence 1"))
    page.get_by_text("1 hit deselected").wait_for()
    hands.press("Apply", "#side-search")
    page.locator("#message", has_text="2 sentences changed").wait_for()
    assert [tab.row(row, "xpos", sentence=0) for row in ("1", "3")] == ["N", "_"]
    assert tab.row("3", "xpos", sentence=1) == "N"
    hands.press("Find", "#side-search")
    hands.press("Step through hits", "#side-search")
    hands.activate(page.locator("[data-action=next]"))
    until(tab, "own.state.number === 1")


def checks(hands: Hands) -> None:
    """Go to the place of a finding, apply its fix, mute a rule and report it again, show errors only."""
    tab, page = hands.tab, hands.page
    hands.panel("Checks")
    panel = page.locator("#side-checks")
    hands.activate(panel.locator("details.error .item").first)
    until(tab, "own.state.number === 0 && own.state.selected === '1'")
    hands.activate(page.locator("#word .repair").first)
    until(tab, "own.state.row('1').deprel === 'nsubj'")
    hands.panel("Checks")
    hands.choose(panel.locator("#checks-filter"), "warning")
    hands.activate(panel.locator("details.warning .mute").first)
    panel.get_by_text("Muted:").wait_for()
    hands.press("pron-det-without-prontype", "#side-checks")
    panel.locator("details.warning").first.wait_for()


def consistency(hands: Hands) -> None:
    """Go to the places of an inconsistency."""
    hands.panel("Checks")
    hands.press("Find inconsistencies", "#consistency")
    place = hands.page.locator("#consistency .place", has_text="2")
    place.wait_for()
    hands.activate(place)
    until(hands.tab, "own.state.number === 1")


def conflicts(hands: Hands) -> None:
    """Settle the conflicts of a merge: one for each side."""
    tab = hands.tab
    hands.word("3")
    hands.activate(tab.page.locator("#word .repair", has_text="take theirs"))
    until(tab, "own.state.row('3').deprel === 'obl'")
    hands.word("1")
    hands.activate(tab.page.locator("#word .repair").first)  # mine
    until(tab, "!own.state.sentence.comments.some((line) => line.includes('conflict'))")
    assert [tab.row(row, "deprel") for row in ("1", "3")] == ["nsubj", "obl"]


def worklists(hands: Hands) -> None:
    """Choose another order, and go to an entry."""
    hands.panel("Worklist")
    hands.choose(hands.page.locator("#worklist-by"), "entropy")
    until(hands.tab, "own.state.order?.name === 'entropy' && own.views.worklist.ready")
    hands.activate(hands.page.locator("#side-worklist .item").first)
    until(hands.tab, "own.state.number === 1")


def suspicious(hands: Hands) -> None:
    """Find suspicious annotations, go to one, answer."""
    tab, page = hands.tab, hands.page
    hands.panel("Checks")
    hands.press("Find suspicious annotations", "#side-checks")
    page.locator(".suspicious .item").first.wait_for(timeout=120_000)
    hands.activate(page.locator(".suspicious .item", has_text="13 odd, word 1"))
    until(tab, "own.state.number === 12 && own.state.selected === '1'")
    total = tab.process.get("/api/doubts").json()["total"]
    hands.activate(page.locator("#word .doubt-line").get_by_role("button", name="It is right"))
    until(tab, "!document.querySelector('#word .doubt-line')")
    hands.panel("Checks")
    until(tab, f"document.querySelectorAll('.suspect').length === {total - 1}")
    hands.activate(page.locator(".suspect").get_by_role("button", name="Never ask").first)
    until(tab, f"document.querySelectorAll('.suspect').length === {total - 2}")


def comparison(hands: Hands) -> None:
    """Compare with another file, and take its side."""
    hands.panel("Compare")
    side = hands.page.locator("#side-compare")
    side.locator("table").first.wait_for()
    hands.activate(side.locator("section button").first)
    hands.panel("Compare")
    hands.activate(side.get_by_role("button", name="head of songs: 1"))
    side.locator(".side.chosen").wait_for()
    assert hands.tab.row("3", "head", sentence=0) == "1"


def training(hands: Hands) -> None:
    """Train a parser on what is annotated; take suggestions from it, then from the given model again."""
    hands.panel("Training")
    hands.press("Train on current annotation", "#side-training")
    hands.page.locator("#side-training .curve").wait_for(timeout=120_000)
    hands.activate(hands.page.locator("#side-training summary"))
    hands.page.locator("#side-training .figures").wait_for()
    for which in ("trained", "given"):
        hands.choose(hands.page.locator("#models"), which)
        until(hands.tab, f"own.state.document.model.which === '{which}'")


def enhanced(hands: Hands) -> None:
    """Accept suggested enhanced dependencies: of a word, then all."""
    tab = hands.tab
    hands.command("Enhanced graph")
    hands.activate(tab.page.get_by_role("button", name="Accept DEPS of 4 dances"))
    until(tab, "own.state.row('4').deps === '2:conj:and'")
    hands.press("Accept all (3)", "#word")
    until(tab, "own.state.row('1').deps === '2:nsubj|4:nsubj'")


def settings(hands: Hands) -> None:
    """Rows, theme, layout, zoom, threshold, the annotator's name, a picture, help."""
    tab, page = hands.tab, hands.page
    hands.activate(page.locator("[data-action=rows]"))
    hands.activate(page.get_by_label("LEMMA"))
    hands.press("Close", ".popup")
    until(tab, "own.state.view.rows.includes('lemma')")
    hands.command("Theme")
    until(tab, "document.documentElement.dataset.theme === 'dark'")
    hands.command("Vertical layout")
    until(tab, "document.querySelector('#tree svg.vertical')")
    for title in ("zoom-in", "zoom-out", "fit"):
        before = page.evaluate("own.state.view.zoom")
        hands.activate(page.locator(f"[data-action={title}]"))
        until(tab, f"own.state.view.zoom !== {before} || '{title}' === 'fit'")
    hands.write("80", page.locator("#threshold"))
    hands.activate(page.locator("[data-action=help]"))
    hands.press("Close", "#help")
    until(tab, "own.state.view.threshold === 0.8")
    hands.command("Annotator's name")
    hands.write("Zoë", page.get_by_label("Your name"))
    hands.press("OK", "dialog")
    until(tab, "own.state.api.annotator === 'Zoë'")
    with page.expect_download() as download:
        hands.command("Save the tree as a picture")
    assert download.value.suggested_filename == "birds.svg"


@dataclass(frozen=True)
class Journey:
    """A state of the page, and what is done there."""

    state: State
    walk: Callable[[Hands], None]


def _start(conllu: str | dict[str, str], *, model: bool = False, beside: str | None = None) -> State:
    return State(conllu, lambda tab: None, model=model, word="1", beside=beside)


WRONG = BIRDS.replace("nsubj", "nsbj").replace("songs\t_\tNOUN\t_\t_", "songs\t_\tPRON\t_\tNumber=Plur")
WHOLE = rows("It/PRON/2/nsubj", "didn't/VERB/0/root", "sleep./_/_/_", text="It didn't sleep.")
JOURNEYS = {
    "folder": Journey(_start(TWO), folder),
    "suggestions": Journey(_start(UNTAGGED, model=True), suggestions),
    "fields": Journey(_start(BIRDS), fields),
    "shapes": Journey(_start(WHOLE, model=True), shapes),
    "nodes": Journey(_start(BIRDS), nodes),
    "notes": Journey(_start(BIRDS), notes),
    "second best": Journey(_start(GARDEN, model=True), second_best),
    "outside": Journey(_start(BIRDS), outside),
    "search": Journey(_start(BIRDS + GARDEN), search),
    "checks": Journey(_start(WRONG), checks),
    "consistency": Journey(_start(YORK), consistency),
    "conflicts": Journey(_start(MERGED), conflicts),
    "worklists": Journey(_start(BIRDS + GARDEN, model=True), worklists),
    "suspicious": Journey(_start(ODD), suspicious),
    "comparison": Journey(
        _start(BIRDS + GARDEN, beside=BIRDS.replace("2\tobj", "1\tnmod") + GARDEN), comparison
    ),
    "training": Journey(_start(ODD, model=True), training),
    "enhanced": Journey(_start(COORDINATED), enhanced),
    "settings": Journey(_start(BIRDS), settings),
}
