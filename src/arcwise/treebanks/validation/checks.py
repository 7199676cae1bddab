"""Validate sentences, treebanks and files."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from arcwise.treebanks.files import PathLike, open_input, refuse_other_encoding
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.streaming import stream
from arcwise.treebanks.treebank import Treebank
from arcwise.treebanks.validation.cross_sentence import CrossSentenceChecks, check_comments
from arcwise.treebanks.validation.fields import check_fields
from arcwise.treebanks.validation.findings import Finding, Report
from arcwise.treebanks.validation.guidelines import check_enhanced_roots, check_relations
from arcwise.treebanks.validation.inventory import Inventory
from arcwise.treebanks.validation.labels import check_labels
from arcwise.treebanks.validation.language import LanguageData, check_language
from arcwise.treebanks.validation.lines import check_encoding, check_ids, check_lines, check_whitespace
from arcwise.treebanks.validation.raw import RawSentence, raw_sentences
from arcwise.treebanks.validation.surface import check_text
from arcwise.treebanks.validation.tree import BROKEN_DEPS, check_graph, check_heads

MAX_LEVEL = 5
"""The highest level. Levels 4 and 5 are checked only against language data (``Inventory.language``)."""


def check_sentence(
    sentence: Sentence, inventory: Inventory | None = None, *, level: int = MAX_LEVEL, partial: bool = False
) -> list[Finding]:
    r"""Find the problems of a single sentence; ``Inventory.of(treebank)`` improves the suggestions.

    ``level``: 1 checks the format, 2 also trees and inventories, 3 also the guidelines, 4 and 5 also the
    language data of ``inventory.language``, if there are any. ``partial``: ``_`` in HEAD, DEPREL and UPOS
    means not annotated yet, and is not an error.

    >>> rows = "1\tBirds\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsing\t_\tVRB\t_\t_\t0\troot\t_\t_\n\n"
    >>> sentence = Treebank.from_string("# sent_id = s\n# text = Birds sing\n" + rows)[0]
    >>> (finding,) = check_sentence(sentence)
    >>> print(finding)
    4 (s): UPOS: 'VRB' is not a universal POS tag; did you mean VERB? [unknown-upos]
    >>> finding.repair.edits
    (SetField(row='2', column='upos', value='VERB'),)
    """
    treebank = sentence.treebank
    line = treebank.line_at(int(treebank.layout.sentence_bytes[sentence.number]))
    findings: list[Finding] = []
    for _, raw in raw_sentences(sentence.source_bytes, line):
        report = Report(level, sentence.number, raw.sent_id)
        _check(raw, inventory or Inventory(), report, partial=partial)
        findings += report.findings
    return findings


def check_treebank(
    treebank: Treebank, inventory: Inventory | None = None, *, level: int = MAX_LEVEL, partial: bool = False
) -> Iterator[Finding]:
    """Find the problems of a treebank: of each sentence, and across sentences (ids, DEPS, rare labels)."""
    across = CrossSentenceChecks()
    yield from _check_piece(treebank, inventory or Inventory.of(treebank), across, level, partial, first=0)
    if treebank.data and not len(treebank):
        yield _no_sentence()
    yield from _check_end(across, level)


def check_files(
    paths: Iterable[PathLike],
    *,
    level: int = MAX_LEVEL,
    partial: bool = False,
    language: LanguageData | None = None,
) -> Iterator[tuple[str, Finding]]:
    """Find the problems of the files of one treebank, as (path, finding); ids must be unique across files.

    Files are streamed, twice: the first pass counts tags and labels. ``language``: data for levels 4 and 5.
    """
    with contextlib.ExitStack() as stack:
        files = [(str(path), stack.enter_context(_rereadable(path))) for path in paths]
        pieces = (piece for _, file in files for piece in stream(file, strict=False))
        inventory = replace(Inventory.of(pieces), language=language)
        across = CrossSentenceChecks()
        for name, file in files:
            first = size = 0
            across.begin_file()
            for piece in stream(file, strict=False):
                size += len(piece.data)
                for finding in _check_piece(piece, inventory, across, level, partial, first=first):
                    yield name, finding
                first += len(piece)
            if size and not first:  # an empty file is valid, as for the official validator
                yield name, _no_sentence()
        for finding in _check_end(across, level):
            yield files[-1][0], finding


def _check_piece(
    piece: Treebank,
    inventory: Inventory,
    across: CrossSentenceChecks,
    level: int,
    partial: bool,
    *,
    first: int,
) -> Iterator[Finding]:
    number = 0
    ends = piece.layout.sentence_bytes.tolist() if len(piece) else []
    for offset, raw in raw_sentences(piece.data, piece.first_line):
        # Raw sentences follow blank lines, which can differ from the sentences of the layout in broken files.
        while number + 2 < len(ends) and ends[number + 1] <= offset:
            number += 1
        report = Report(level, first + number, raw.sent_id)
        across.check_line_ends(raw, report)
        _check(raw, inventory, report, partial=partial)
        across.check(raw, report)
        yield from sorted(report.findings, key=lambda finding: finding.line)


def _check(raw: RawSentence, inventory: Inventory, report: Report, *, partial: bool) -> None:
    sound = check_lines(raw, report)
    raw.structured = sound and check_ids(raw, report)
    check_encoding(raw, report)
    check_whitespace(raw, report)
    if report.level < 2 or not raw.rows:
        return
    tree = check_heads(raw, report, partial=partial) if raw.structured else None
    check_fields(raw, report)
    check_labels(raw, tree, inventory, report, partial=partial)
    check_comments(raw, report)
    check_text(raw, report)
    # Heads that cannot be read form no graph, and have separate findings.
    if raw.structured and not any(finding.rule in BROKEN_DEPS for finding in report.findings):
        check_graph(raw, report)
    if tree is not None and report.level >= 3:
        check_enhanced_roots(raw, report)
        check_relations(raw, tree, inventory, report, partial=partial)
    if inventory.language is not None and report.level >= 4:
        check_language(raw, inventory.language, report)


def _no_sentence() -> Finding:
    return _file_finding("no-sentence", "the file has no sentence; is it CoNLL-U?")


def _check_end(across: CrossSentenceChecks, level: int) -> Iterator[Finding]:
    if across.deps_are_copies and level >= 3:
        message = "DEPS only repeats HEAD:DEPREL in all sentences; add enhancements or leave it empty"
        yield _file_finding("edeps-identical-to-basic-trees", message)


def _file_finding(rule: str, message: str) -> Finding:
    report = Report(MAX_LEVEL, 0, None)
    report.add(rule, 1, message)
    return report.findings[0]


@contextlib.contextmanager
def _rereadable(path: PathLike) -> Iterator[PathLike]:
    """The path; for standard input, which can be read only once, the path of a temporary copy."""
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
