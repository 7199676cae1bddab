"""``check_sentence``, ``check_treebank``, ``check_files``: everything that the rules find, in the order of the file."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from arcwise.treebanks.files import PathLike, open_input, refuse_other_encoding
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.streaming import stream
from arcwise.treebanks.treebank import Treebank
from arcwise.treebanks.validation.comments import check_comments
from arcwise.treebanks.validation.cross_sentence import CrossSentenceChecks
from arcwise.treebanks.validation.fields import check_fields
from arcwise.treebanks.validation.findings import Finding, Report
from arcwise.treebanks.validation.guidelines import check_enhanced_roots, check_relations
from arcwise.treebanks.validation.ids import check_ids
from arcwise.treebanks.validation.inventory import Inventory
from arcwise.treebanks.validation.labels import check_labels
from arcwise.treebanks.validation.lines import check_blanks, check_encoding, check_lines
from arcwise.treebanks.validation.raw import RawSentence, raw_sentences
from arcwise.treebanks.validation.surface import check_text
from arcwise.treebanks.validation.tree import BROKEN_DEPS, check_graph, check_heads

MAX_LEVEL = 3
"""The highest level: what the guidelines say of every language."""


def check_sentence(
    sentence: Sentence, inventory: Inventory | None = None, *, level: int = MAX_LEVEL, partial: bool = False
) -> list[Finding]:
    r"""What is wrong with one sentence, so far as it alone tells; ``Inventory.of(treebank)`` gives better guesses.

    ``level``: 1 format, 2 tree and inventories too, 3 guidelines too. ``partial``: ``_`` in HEAD, DEPREL and UPOS is a word that
    nobody has decided yet, and not wrong.

    >>> rows = "# sent_id = s\n# text = Birds sing\n1\tBirds\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsing\t_\tVRB\t_\t_\t0\troot\t_\t_\n\n"
    >>> (found,) = check_sentence(Treebank.from_string(rows)[0])
    >>> print(found)
    4 (s): UPOS: found 'VRB', expected a universal tag (is VERB meant?) [unknown-upos]
    >>> found.repair.edits
    (SetField(row='2', column='upos', value='VERB'),)
    """
    treebank = sentence.treebank
    line = treebank.line_at(int(treebank.layout.sentence_bytes[sentence.number]))
    found: list[Finding] = []
    for _, raw in raw_sentences(sentence.source_bytes, line):
        report = Report(level, sentence.number, raw.sent_id)
        _check(raw, inventory or Inventory(), report, partial=partial)
        found += report.findings
    return found


def check_treebank(
    treebank: Treebank, inventory: Inventory | None = None, *, level: int = MAX_LEVEL, partial: bool = False
) -> Iterator[Finding]:
    """What is wrong with a treebank: each sentence, and what needs the whole (ids, DEPS, labels that are rare)."""
    memory = CrossSentenceChecks()
    yield from _check_piece(treebank, inventory or Inventory.of(treebank), memory, level, partial, first=0)
    if not len(treebank):
        yield _no_sentence()
    yield from _check_end(memory, level)


def check_files(
    paths: Iterable[PathLike], *, level: int = MAX_LEVEL, partial: bool = False
) -> Iterator[tuple[str, Finding]]:
    """What is wrong with the files of a treebank, as (path, finding); ids are unique across all of them.

    Files of any size are read piece by piece, twice: first what tags and labels there are.
    """
    with contextlib.ExitStack() as kept:
        files = [(str(path), kept.enter_context(_twice_readable(path))) for path in paths]
        inventory = Inventory.of(piece for _, file in files for piece in stream(file, strict=False))
        memory = CrossSentenceChecks()
        for name, file in files:
            first = 0
            memory.begin_file()
            for piece in stream(file, strict=False):
                for found in _check_piece(piece, inventory, memory, level, partial, first=first):
                    yield name, found
                first += len(piece)
            if not first:
                yield name, _no_sentence()
        for found in _check_end(memory, level):
            yield files[-1][0], found


def _check_piece(
    piece: Treebank,
    inventory: Inventory,
    memory: CrossSentenceChecks,
    level: int,
    partial: bool,
    *,
    first: int,
) -> Iterator[Finding]:
    number = 0
    ends = piece.layout.sentence_bytes.tolist() if len(piece) else []
    for offset, raw in raw_sentences(piece.data, piece.first_line):
        while number + 2 < len(ends) and ends[number + 1] <= offset:
            number += 1
        report = Report(level, first + number, raw.sent_id)
        memory.check_line_ends(raw, report)
        _check(raw, inventory, report, partial=partial)
        memory.check(raw, report)
        yield from sorted(report.findings, key=lambda finding: finding.line)


def _check(raw: RawSentence, inventory: Inventory, report: Report, *, partial: bool) -> None:
    sound = check_lines(raw, report)
    raw.structured = sound and check_ids(raw, report)
    check_encoding(raw, report)
    check_blanks(raw, report)
    if report.level < 2 or not raw.rows:
        return
    tree = check_heads(raw, report, partial=partial) if raw.structured else None
    check_fields(raw, report)
    check_labels(raw, tree, inventory, report, partial=partial)
    check_comments(raw, report)
    check_text(raw, report)
    if raw.structured and not any(finding.rule in BROKEN_DEPS for finding in report.findings):
        check_graph(raw, report)
    if tree is not None and report.level >= 3:
        check_enhanced_roots(raw, report)
        check_relations(raw, tree, inventory, report, partial=partial)


def _no_sentence() -> Finding:
    return _about_the_file("no-sentence", "found no sentence, expected CoNLL-U")


def _check_end(memory: CrossSentenceChecks, level: int) -> Iterator[Finding]:
    if memory.copies and level >= 3:
        yield _about_the_file(
            "edeps-identical-to-basic-trees",
            "found DEPS that are copies of HEAD:DEPREL in all sentences, expected enhancements, or no DEPS",
        )


def _about_the_file(rule: str, message: str) -> Finding:
    report = Report(MAX_LEVEL, 0, None)
    report.add(rule, 1, message)
    return report.findings[0]


@contextlib.contextmanager
def _twice_readable(path: PathLike) -> Iterator[PathLike]:
    """The path; of standard input, which can be read only once, that of a copy."""
    if str(path) != "-":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard-input"
        with open_input(path) as source, copy.open("wb") as target:
            start = source.read(1 << 16)
            refuse_other_encoding(start[:4], path)
            target.write(start)
            shutil.copyfileobj(source, target)
        yield copy
