"""The source files of the page: small, no HTML from text, imports that resolve."""

from __future__ import annotations

import re
from pathlib import Path

import arcwise

FOLDER = Path(arcwise.__file__).parent / "web" / "static" / "annotate"
SCRIPTS = sorted(FOLDER.glob("*.js"))
FORBIDDEN = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    'setAttribute("style"',
    "DOMParser",
    "javascript:",
)


def test_no_script_makes_html_from_text() -> None:
    found = [(p.name, word) for p in SCRIPTS for word in FORBIDDEN if word in p.read_text("utf-8")]
    assert found == []


def test_nothing_comes_from_elsewhere() -> None:
    for path in [*SCRIPTS, *FOLDER.glob("*.css"), FOLDER / "index.html"]:
        addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"')]*", path.read_text("utf-8"))
        assert [a for a in addresses if "www.w3.org" not in a] == []


def test_files_are_small() -> None:
    assert [p.name for p in SCRIPTS if len(p.read_text("utf-8").splitlines()) >= 400] == []


def test_what_is_imported_is_there() -> None:
    for path in SCRIPTS:
        for names, module in re.findall(r"import \{([^}]*)\} from \"\./([\w.]+)\"", path.read_text("utf-8")):
            exported = (FOLDER / module).read_text("utf-8")
            for name in filter(None, (n.strip() for n in names.split(","))):
                assert re.search(rf"export (?:async )?(?:function|class|const|let) {name}\b", exported), (
                    path.name,
                    module,
                    name,
                )


def test_what_is_exported_is_imported() -> None:
    texts = {p.name: p.read_text("utf-8") for p in SCRIPTS}
    used = {
        (module, name.strip())
        for text in texts.values()
        for names, module in re.findall(r"import \{([^}]*)\} from \"\./([\w.]+)\"", text)
        for name in names.split(",")
    }
    exports = r"^export (?:async )?(?:function|class|const|let) (\w+)"
    told = {
        (module, name) for module, text in texts.items() for name in re.findall(exports, text, re.MULTILINE)
    }
    assert told - used == set()


def test_no_inline_style_or_script() -> None:
    page = (FOLDER / "index.html").read_text("utf-8")
    assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\bsrc=)", page)


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "annotate-page.md"
GUIDE = PAGE.parents[1] / "how-to" / "annotate-a-treebank.md"


def actions() -> list[tuple[list[str], str]]:
    """Keys and titles of the table of actions that have keys."""
    text = (FOLDER / "actions.js").read_text("utf-8")
    found = re.findall(r'^    \["[\w-]+", \[([^\]]*|"\]"|"\[")\], "([^"]*)"', text, flags=re.MULTILINE)
    return [(re.findall(r'"([^"]+)"', keys), title) for keys, title in found if keys]


def test_the_reference_page_has_every_key() -> None:
    listed = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE.read_text("utf-8"), flags=re.MULTILINE))
    by_title = {title: keys for keys, title in listed.items()}
    for keys, title in actions():
        assert title in by_title, title
        assert by_title[title] == ", ".join(f"`{key}`" for key in keys)
    # And no key that the page does not have.
    assert set(by_title) - {title for _, title in actions()} == {"", "---"} & set(by_title)


def test_the_reference_page_has_every_command_without_a_key() -> None:
    text = (FOLDER / "actions.js").read_text("utf-8")
    titles = re.findall(r'^    \["[\w-]+", \[\], "([^"]*)"', text, flags=re.MULTILINE)
    prose = PAGE.read_text("utf-8").replace("\n", " ")
    listed = re.findall(r"Only in the list of commands .*?right-click\): (.*?)\.(?: |$)", prose)
    names = [title[:1].lower() + title[1:] for title in titles]
    for name in names:
        assert any(name.lower() in part.lower() for part in listed), name
    assert len(names) > 15
    assert len(listed) == 4


def test_the_documents_name_buttons_that_the_page_has() -> None:
    shown = "".join(path.read_text("utf-8") for path in [*SCRIPTS, FOLDER / "index.html"])
    for document in (PAGE, GUIDE):
        text = document.read_text("utf-8").replace("\n", " ")
        names = re.findall(r"(?<!\*)\*([A-Z][^*.,]*)\*(?!\*)", text)
        assert len(names) >= 5, document.name
        for name in names:
            # "Accept all", or the beginning of a longer title in quotes.
            assert re.search(rf'[">`]{re.escape(name)}\b', shown), f"{document.name}: {name}"


def test_the_reference_page_has_every_order_of_the_worklist() -> None:
    orders = {
        "gain": "expected gain",
        "repairs": "expected repairs",
        "training": "random",
        "entropy": "least certain tree",
        "least-sure": "least certain word",
        "disagreement": "disagreement",
        "": "file order",
    }
    text = (FOLDER / "worklist.js").read_text("utf-8")
    table = text[text.index("const ORDERS") : text.index("];")]
    assert set(re.findall(r'^  \["([\w-]*)", ', table, flags=re.MULTILINE)) == set(orders)
    section = PAGE.read_text("utf-8").partition("## Worklist")[2].partition("\n## ")[0]
    for words in orders.values():
        assert words in section, words


def test_the_reference_page_has_every_panel_row_and_mark() -> None:
    text = PAGE.read_text("utf-8")
    index = (FOLDER / "index.html").read_text("utf-8")
    panels = re.findall(r'role="tab"[^>]*>(\w+)<', index)
    assert len(panels) == 7
    for panel in panels:
        assert panel.lower()[:-1] in text.lower(), panel
    rows = (FOLDER / "rows.js").read_text("utf-8")
    names = re.findall(r'\w+: "([^"]+)"', rows.partition("export const ROWS = ")[2].partition("}")[0])
    assert len(names) == 6
    for name in names:
        assert name.lower() in text.lower(), name
    for mark in "!⇄?✎≠":
        assert f"`{mark}`" in text, mark
        assert mark in "".join(path.read_text("utf-8") for path in SCRIPTS), mark
