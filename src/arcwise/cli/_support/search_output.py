"""The output of ``arcwise search``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from arcwise.cli._support.output import echo, print_json
from arcwise.errors import InputError
from arcwise.treebanks import Sentence, Treebank, open_output, stream
from arcwise.treebanks.search import (
    Columns,
    Hit,
    MassEdit,
    Plan,
    Query,
    frequencies,
    hint_texts,
    unseen,
    with_edits,
)
from arcwise.trees.draw import cell_width, printable

if TYPE_CHECKING:
    from arcwise.treebanks.edits import Edit
    from arcwise.treebanks.search.query import TableColumn, TableCondition

_BATCH = 1 << 24  # bytes of a file searched at a time
_MAX_SKIPPED = 10  # skipped hits that are listed


def check_options(
    *, count: bool, conllu: bool, json: bool, table: str | None, changes: str | None, preview: bool
) -> None:
    """``InputError`` if two options exclude each other."""
    chosen = {
        "--count": count,
        "--conllu": conllu,
        "--table": table is not None,
        "--set": changes is not None,
    }
    names = [name for name, is_set in chosen.items() if is_set]
    if len(names) > 1:
        raise InputError(f"{names[0]}: cannot be combined with {names[1]}")
    if json and (conllu or changes is not None):
        raise InputError(f"--json: cannot be combined with {names[0]}")
    if preview and changes is None:
        raise InputError("--preview: needs --set")


def check_output_option(output: str, *, conllu: bool, changes: str | None, files: Sequence[str]) -> None:
    """``InputError`` if there is nothing to write to a file, or several treebanks for one file."""
    if output != "-" and not conllu and changes is None:
        raise InputError(f"--output: needs --set or --conllu (found {output})")
    if changes is not None and len(files) > 1:
        raise InputError(f"--set: found {len(files)} files, expected one")


@dataclass(frozen=True)
class _Part:
    """A part of a file, and the number of sentences before it."""

    file: str
    treebank: Treebank
    before: int

    @cached_property
    def columns(self) -> Columns:
        return Columns(self.treebank)

    @cached_property
    def _line_ends(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero(np.frombuffer(self.treebank.data, np.uint8) == ord("\n"))

    def place(self, number: int, hit: Hit | None = None) -> str:
        """``path:line (sent_id)`` of the first row of a hit; without any, of the sentence."""
        sent_id = self.treebank[number].sent_id
        return f"{self.file}:{self.line(number, hit)}" + (f" ({printable(sent_id)})" if sent_id else "")

    def line(self, number: int, hit: Hit | None = None) -> int:
        layout = self.treebank.layout
        row = int(layout.sentence_rows[number])
        if hit is not None and hit.empty_nodes:
            ids = [fields[0] for fields in self.treebank[number].rows]
            row += min(ids.index(hit.row(name)) for name in (*hit.words, *hit.empty_nodes))
        elif hit is not None and hit.words:
            row = int(layout.word_rows[self.columns.starts[number] + min(hit.words.values()) - 1])
        offset = int(layout.marks.reshape(layout.row_count, -1)[row, 0])
        return self.treebank.first_line + int(np.searchsorted(self._line_ends, offset))


def _parts(files: Sequence[str]) -> Iterator[_Part]:
    for file in files:
        before = 0
        for treebank in stream(file, batch_bytes=_BATCH):
            yield _Part(file, treebank, before)
            before += len(treebank)


def _hits(query: Query, files: Sequence[str], most: int) -> Iterator[tuple[_Part, Hit]]:
    hits = ((part, hit) for part in _parts(files) for hit in query.hits(part.columns))
    return islice(hits, most or None)


def print_hits(query: Query, files: Sequence[str], *, as_json: bool, most: int) -> None:
    """Print a line for each hit, or all hits as one JSON object."""
    hits = _hits(query, files, most)
    if as_json:
        print_json({"query": query.text, "hits": [_as_dict(part, hit) for part, hit in hits]})
        return
    some = False
    for part, hit in hits:
        some = True
        text = marked(part.treebank[hit.sentence], hit)
        echo(f"{part.place(hit.sentence, hit)}: {text}")
    if not some:
        echo("; ".join(["no hits", *_hints(query, files)]), err=True)


def _hints(query: Query, files: Sequence[str]) -> list[str]:
    """Hints for a query without hits: values that occur in none of the files."""
    hints: dict[str, str] | None = None
    for part in _parts([file for file in files if file != "-"]):
        here = unseen(query, part.columns)
        hints = here if hints is None else {test: hints[test] or here[test] for test in hints if test in here}
    return hint_texts(hints or {})


def marked(sentence: Sentence, hit: Hit) -> str:
    """The words of a sentence, those of the hit in brackets, with their names if there are several.

    Empty nodes are shown if they are part of the hit.

    >>> marked(Sentence.from_words(["Birds", "sing"]), Hit(0, {"1": 2, "s": 1}))
    '[s:Birds] [1:sing]'
    """
    shown = {str(number): printable(form) for number, form in enumerate(sentence.forms, start=1)}
    if hit.empty_nodes:
        forms = {fields[0]: printable(fields[1]) for fields in sentence.rows}
        shown = {row: form for row, form in forms.items() if row in shown or row in hit.empty_nodes.values()}
    several = len(hit.words) + len(hit.empty_nodes) > 1
    for name in (*hit.words, *hit.empty_nodes):
        row = hit.row(name)
        shown[row] = f"[{name}:{shown[row]}]" if several else f"[{shown[row]}]"
    return " ".join(shown.values())


def _as_dict(part: _Part, hit: Hit) -> dict[str, Any]:
    sentence = part.treebank[hit.sentence]
    words: dict[str, Any] = {name: {"id": n, "form": sentence.forms[n - 1]} for name, n in hit.words.items()}
    if hit.empty_nodes:
        forms = {fields[0]: fields[1] for fields in sentence.rows}
        words |= {name: {"id": row, "form": forms[row]} for name, row in hit.empty_nodes.items()}
    return {
        "file": part.file,
        "line": part.line(hit.sentence, hit),
        "sentence": part.before + hit.sentence + 1,
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "words": words,
    }


def write_sentences(query: Query, files: Sequence[str], output: str, *, most: int) -> None:
    """Write the sentences with a hit."""
    with open_output(output) as out:
        last: tuple[str, int] | None = None
        for part, hit in _hits(query, files, most):
            this = part.file, part.before + hit.sentence
            if this != last:
                out.write(part.treebank[hit.sentence].conllu_bytes)
            last = this


def print_counts(query: Query, files: Sequence[str], *, as_json: bool) -> None:
    """Print the number of hits and of sentences with a hit, for each file and in total."""
    counts: dict[str, tuple[int, int]] = dict.fromkeys(files, (0, 0))
    for part in _parts(list(counts)):
        hits, sentences = query.count(part.columns)
        counts[part.file] = counts[part.file][0] + hits, counts[part.file][1] + sentences
    if as_json:
        rows = [{"file": f, "hits": h, "sentences": s} for f, (h, s) in counts.items()]
        print_json({"query": query.text, "files": rows})
        return
    all_hits, all_sentences = (sum(c[i] for c in counts.values()) for i in (0, 1))
    if len(counts) > 1:
        for file, (hits, sentences) in counts.items():
            echo(f"{file}: {_counted(hits, 'hit')} in {_counted(sentences, 'sentence')}")
    total = f"{_counted(all_hits, 'hit')} in {_counted(all_sentences, 'sentence')}"
    echo(f"all: {total}" if len(counts) > 1 else total)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def print_table(
    query: Query, files: Sequence[str], table: Sequence[TableColumn | TableCondition], *, as_json: bool
) -> None:
    """Print the frequency of each combination of values, the most frequent first."""
    counts: Counter[tuple[str, ...]] = Counter()
    for part in _parts(files):
        counts += frequencies(query.hits(part.columns), table, part.columns)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    names = [str(column) for column in table]
    if as_json:
        rows = [{"hits": n, "values": dict(zip(names, values, strict=True))} for values, n in ordered]
        print_json({"query": query.text, "columns": names, "rows": rows})
        return
    total = sum(counts.values())
    lines = [["hits", "%", *names]]
    lines += [[f"{n:,}", f"{100 * n / total:.1f}", *map(printable, values)] for values, n in ordered]
    widths = [max(cell_width(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [" " * (w - cell_width(c)) + c for c, w in zip(line[:2], widths, strict=False)]
        cells += [c + " " * (w - cell_width(c)) for c, w in zip(line[2:], widths[2:], strict=True)]
        echo("  ".join(cells).rstrip())


def print_preview(edit: MassEdit, file: str) -> None:
    """Print every change, old and new value, and the hits that would be skipped."""
    fields = sentences = skipped = 0
    for part in _parts([file]):
        for plan in edit.plan(part.columns):
            fields, sentences = fields + len(plan.edits), sentences + bool(plan.edits)
            skipped += len(plan.refused)
            if plan.edits or plan.refused:
                sentence = part.treebank[plan.sentence]
                echo(f"{part.place(plan.sentence)}: {printable(sentence.text)}")
                _print_plan(sentence, plan)
    unit = "field" if edit.word_change is None else "hit"
    summary = f"{_counted(fields, unit)} of {_counted(sentences, 'sentence')} would change"
    echo(summary + (f", {_counted(skipped, 'hit')} would be skipped" if skipped else ""))


def _print_plan(sentence: Sentence, plan: Plan) -> None:
    rows = {row[0]: row for row in sentence.rows}
    for edit in plan.edits:
        echo(f"  {_edit_line(edit, rows)}")
    for refused in plan.refused:
        echo(f"  skipped: {refused.reason}")


def _edit_line(edit: Edit, rows: Mapping[str, Sequence[str]]) -> str:
    """Describe an edit: the row and its form, old and new values."""
    from arcwise.treebanks import column_number
    from arcwise.treebanks.edits import JoinWords, MakeMultiword, SetField, SplitWord

    def named(row: str) -> str:
        return f"{row} {printable(rows[row][1])}"

    match edit:
        case SetField():
            old = printable(rows[edit.row][column_number(edit.column)])
            return f"{named(edit.row)}  {edit.column}: {old} → {printable(edit.value)}"
        case SplitWord():
            return f"{named(edit.row)}  split into {', '.join(map(printable, edit.forms))}"
        case JoinWords():
            return f"{named(edit.first)} to {named(edit.last)}  joined"
        case MakeMultiword():
            return f"{named(edit.first)} to {named(edit.last)}  become a multiword token"
        case _:
            return edit.kind


def write_edited(edit: MassEdit, file: str, output: str) -> None:
    """Write the edited treebank; report changes and skipped hits on standard error."""
    fields = sentences = 0
    skipped: list[str] = []
    with open_output(output) as out:
        for part in _parts([file]):
            plans = list(edit.plan(part.columns))
            edits = {plan.sentence: plan.edits for plan in plans if plan.edits}
            out.write(with_edits(part.treebank, edits).data if edits else part.treebank.data)
            fields, sentences = fields + sum(map(len, edits.values())), sentences + len(edits)
            skipped += [f"{part.place(p.sentence)}: {r.reason}" for p in plans for r in p.refused]
    for line in skipped[:_MAX_SKIPPED]:
        echo(f"skipped: {line}", err=True)
    if len(skipped) > _MAX_SKIPPED:
        echo(f"skipped: {len(skipped) - _MAX_SKIPPED:,} more (--preview shows all)", err=True)
    unit = "field" if edit.word_change is None else "hit"
    echo(f"{_counted(fields, unit)} of {_counted(sentences, 'sentence')} changed", err=True)
