"""Lists of suspected errors as TSV, CoNLL-U and a self-contained HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from json import dumps

import numpy as np

from arcwise.errors import InputError
from arcwise.mining.folds import document_numbers
from arcwise.mining.mine import SuspectedError
from arcwise.treebanks import Sentence, Treebank
from arcwise.trees import Tree
from arcwise.trees.draw import is_right_to_left, printable
from arcwise.visual.html import page_end, page_start
from arcwise.visual.svg import svg

TSV_COLUMNS = (
    "rank", "probability", "sent_id", "sentence", "word", "form", "upos", "head", "head_form", "deprel",
    "proposed_head", "proposed_head_form", "proposed_deprel", "other_proposals", "change", "reasons",
)  # fmt: skip


def tsv(suspects: Sequence[SuspectedError], treebank: Treebank) -> Iterator[str]:
    """Yield the lines of a table with one suspected error per line."""
    yield "\t".join(TSV_COLUMNS) + "\n"
    for rank, suspect in enumerate(suspects, 1):
        forms = ["root", *treebank[suspect.sentence].forms]
        proposed = suspect.proposed_head >= 0
        values = (
            rank,
            f"{suspect.probability:.4f}",
            suspect.sent_id or "",
            suspect.sentence + 1,
            suspect.word,
            suspect.form,
            suspect.upos,
            suspect.head,
            forms[suspect.head],
            suspect.label,
            suspect.proposed_head if proposed else "",
            forms[suspect.proposed_head] if proposed else "",
            suspect.proposed_label if proposed else "",
            "; ".join(f"{column.upper()}={value}" for column, value in suspect.proposed_fields),
            suspect.change,
            "; ".join(suspect.reasons),
        )
        # Tabs and line ends cannot be in fields; other control characters are made visible.
        yield "\t".join(printable(str(value)) for value in values) + "\n"


def marked_treebank(suspects: Sequence[SuspectedError], treebank: Treebank) -> Treebank:
    """The treebank with Suspect, SuspectHead, SuspectDeprel, … in the MISC column of suspected errors."""
    updates = [""] * treebank.word_count
    starts = treebank.sentence_words.astype(int).tolist()
    for suspect in suspects:
        pairs = [f"Suspect={suspect.probability:.4f}"]
        if suspect.proposed_head >= 0:
            pairs += [f"SuspectHead={suspect.proposed_head}", f"SuspectDeprel={suspect.proposed_label}"]
        for column, value in suspect.proposed_fields:
            # A | or = would end the attribute.
            shown = value.replace("|", ",").replace("=", ":")
            pairs.append(f"Suspect{column.capitalize()}={shown}")
        updates[starts[suspect.sentence] + suspect.word - 1] = "|".join(pairs)
    return treebank.annotate(misc_update=updates)


_STYLE = """
.controls { display: flex; flex-wrap: wrap; gap: .75rem 1.25rem; margin: 0 0 1.25rem; }
.controls label { color: var(--soft); font-size: .9rem; }
.controls select { font: inherit; color: var(--text); background: var(--card); border: 1px solid var(--rule);
  border-radius: 6px; padding: .15rem .4rem; margin-inline-start: .4rem; max-width: 20rem; }
table { border-collapse: collapse; margin: .75rem 0; font-size: .9rem; }
th, td { padding: .15rem 1rem .15rem 0; text-align: start; font-weight: 400; } th { color: var(--soft); }
td.number { text-align: end; font-variant-numeric: tabular-nums; }
figure h2 { font-size: .85rem; font-weight: 600; color: var(--soft); margin: .75rem 0 0; }
figure ul { margin: .5rem 0 0; padding-inline-start: 1.2rem; font-size: .9rem; }
.risk { font-variant-numeric: tabular-nums; font-weight: 600; margin-inline-end: .75rem; }
"""
_SCRIPT = """
const chosen = document.querySelectorAll('.controls select');
function filter() {
  let count = 0;
  for (const figure of document.querySelectorAll('figure')) {
    figure.hidden = [...chosen].some(select =>
      select.value && !JSON.parse(figure.dataset[select.name]).includes(select.value));
    count += !figure.hidden;
  }
  document.getElementById('count').textContent = count;
}
for (const select of chosen) select.addEventListener('change', filter);
"""


def html_report(suspects: Sequence[SuspectedError], treebank: Treebank) -> Iterator[str]:
    """Yield a page with the trees before and after each proposal, and filters.

    Suspects can be filtered by their kind of change, label, signals and document.
    """
    documents = _document_names(treebank)
    changes = Counter(suspect.change for suspect in suspects)
    yield page_start(f"Suspected errors in {treebank.source}", style=_STYLE)
    yield f'<p><span id="count">{len(suspects)}</span> of {len(suspects)} suspected errors shown.</p>\n'
    yield '<div class="controls">\n'
    yield _select("change", "Kind", [name for name, _ in changes.most_common()])
    labels = Counter(suspect.label for suspect in suspects)
    yield _select("label", "Label", [name for name, _ in labels.most_common()])
    yield _select("signals", "Signal", sorted({name for s in suspects for name in s.signals}))
    yield _select("document", "Document", list(dict.fromkeys(documents[s.sentence] for s in suspects)))
    yield "</div>\n" + _counts(changes)
    for rank, suspect in enumerate(suspects, 1):
        yield _figure(rank, suspect, treebank[suspect.sentence], documents[suspect.sentence])
    yield f"<script>{_SCRIPT}</script>\n" + page_end()


def _document_names(treebank: Treebank) -> list[str]:
    numbers = document_numbers(treebank)
    firsts = np.concatenate([[True], numbers[1:] != numbers[:-1]]) if len(numbers) else numbers
    names: list[str] = []
    for sentence, first in zip(treebank, firsts, strict=True):
        if first:
            name = sentence.comments.get("newdoc id") or sentence.sent_id or f"sentence {sentence.number + 1}"
        names.append(name)
    return names


def _select(name: str, label: str, values: Sequence[str]) -> str:
    options = "".join(f'<option value="{_text(value)}">{_text(value)}</option>' for value in values)
    return f'<label>{label}<select name="{name}"><option value="">all</option>{options}</select></label>\n'


def _counts(changes: Counter[str]) -> str:
    rows = "".join(
        f'<tr><td><bdi>{_text(name)}</bdi></td><td class="number">{count}</td></tr>\n'
        for name, count in changes.most_common()
    )
    return f"<details><summary>Counts by kind</summary><table>\n{rows}</table></details>\n"


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _figure(rank: int, suspect: SuspectedError, sentence: Sentence, document: str) -> str:
    data = {
        "change": [suspect.change],
        "label": [suspect.label],
        "signals": list(suspect.signals),
        "document": [document],
    }
    attributes = " ".join(
        f'data-{name}="{_text(dumps(values, ensure_ascii=False))}"' for name, values in data.items()
    )
    text = printable(sentence.text)
    direction = ' dir="rtl"' if is_right_to_left(text) else ""
    name = suspect.sent_id or f"sentence {suspect.sentence + 1}"
    reasons = "".join(f"<li>{_text(reason)}</li>\n" for reason in suspect.reasons)
    return (
        f"<figure{direction} {attributes}>\n"
        f'<figcaption><span class="risk">{rank}. {100 * suspect.probability:.0f} %</span>'
        f'<span class="id">{_text(name)}</span><bdi>{escape(text)}</bdi></figcaption>\n'
        f"<p>{_text(description(suspect, sentence))}</p>\n"
        f"{_trees(rank, suspect, sentence)}<ul>\n{reasons}</ul>\n</figure>\n"
    )


def description(suspect: SuspectedError, sentence: Sentence) -> str:
    """Annotation and proposal in one line."""
    forms = ["the root", *(f"“{form}”" for form in sentence.forms)]
    line = f"{suspect.word} “{suspect.form}”: {suspect.label} of {forms[suspect.head]}"
    if suspect.proposed_head >= 0:
        line += f"; proposed: {suspect.proposed_label} of {forms[suspect.proposed_head]}"
    for column, value in suspect.proposed_fields:
        line += f"; {column.upper()} {value}"
    return line


def _trees(rank: int, suspect: SuspectedError, sentence: Sentence) -> str:
    before = _picture("annotated", sentence, sentence.tree, suspect.word, f"a{rank}")
    if suspect.proposed_head < 0:
        return before
    heads = np.array(sentence.heads)
    heads[suspect.word] = suspect.proposed_head
    labels = ["", *sentence.deprels]
    labels[suspect.word] = suspect.proposed_label
    try:
        after = Tree(heads, tuple(labels))
    except InputError:
        # The proposal changes one arc; the tree that has it may need other changes, too.
        return before + "<p>The proposed arc needs changes of other arcs, too.</p>\n"
    return before + _picture("proposed", sentence, after, suspect.word, f"b{rank}")


def _picture(title: str, sentence: Sentence, tree: Tree, word: int, name: str) -> str:
    try:
        picture = svg(sentence, tree=tree, marked={word}, name=name, with_style=False)
    except InputError as error:
        return f"<p>No tree to draw: {_text(str(error))}.</p>\n"
    return f'<h2>{title}</h2>\n<div class="scroll">\n{picture}</div>\n'
