"""Parse very long sentences (a table, a log file) in pieces cut at punctuation.

A sentence of n words has n² arcs, and its marginals take O(n³) time: 10,000 words would need gigabytes and
minutes. A sentence with more than ``ParseOptions.max_words`` words is therefore cut, and the roots of later
pieces are attached to the root of the first, so the tree is projective if those of the pieces are. The
comment ``parse_note`` records it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from arcwise.parsing.output import TagColumns, TreeParser, analysis, annotated
from arcwise.parsing.parser import TAGS, ParseOptions, SentenceConstraints, check_threads
from arcwise.parsing.parses import Analysis, Note, Parses, Probabilities
from arcwise.treebanks import Sentence, Treebank

PIECE_WORDS = 100
"""Maximum length of a piece. Longer pieces make the trees of ``en-fast`` slightly better and those of ``en``
worse (``python -m benchmarks.long_sentences``), and time grows with the square."""
_STRENGTHS = {
    ".": 4,
    "!": 4,
    "?": 4,
    "…": 4,
    "。": 4,
    ";": 3,
    ":": 3,
    "|": 3,
    ",": 2,
    "、": 2,
    ")": 1,
    "—": 1,
    "-": 1,
}
"""Preference for cutting after a word that ends in this character; 0 for others."""
# "parataxis" is how UD joins loosely connected clauses; "dep" is its label for anything unclear.
_JOINING_LABELS = ("parataxis", "dep")
_ROW_WORD, _ROW_MULTIWORD = 0, 1

Analyse = Callable[[Treebank, ParseOptions, SentenceConstraints], Analysis]


def analyse_any_length(
    parser: TreeParser,
    treebank: Treebank,
    options: ParseOptions,
    constraints: SentenceConstraints,
    threads: int,
    *,
    tag_columns: TagColumns | None = None,
) -> Analysis:
    """Like ``analysis``, but sentences longer than ``options.max_words`` are parsed in pieces."""

    check_threads(threads)

    def analyse(
        part: Treebank, part_options: ParseOptions, part_constraints: SentenceConstraints
    ) -> Analysis:
        return analysis(parser, part, part_options, part_constraints, threads, tag_columns=tag_columns)

    is_long = treebank.sentence_lengths > options.max_words
    if not is_long.any():
        return analyse(treebank, options, constraints)
    analyses: list[Analysis] = []
    for (first, last), long in _runs(is_long.tolist()):
        part = _part(treebank, first, last)
        part_constraints = None if constraints is None else constraints[first:last]
        if long:
            analysed = _in_pieces(part[0], options, part_constraints, analyse)
        else:
            analysed = analyse(part, options, part_constraints)
        analyses.append(analysed.numbered_from(first))
    return _joined(analyses, treebank)


def _runs(is_long: list[bool]) -> Iterator[tuple[tuple[int, int], bool]]:
    """Ranges of sentences to parse together, and whether a range is a single too long sentence."""
    first = 0
    for long, run in groupby(range(len(is_long)), key=is_long.__getitem__):
        count = len(list(run))
        # A long sentence forms a separate run, because each is cut at different places.
        bounds = range(first, first + count + 1) if long else (first, first + count)
        for pair in pairwise(bounds):
            yield pair, long
        first += count


def _part(treebank: Treebank, first: int, last: int) -> Treebank:
    start, stop = treebank.sentence_bytes[first], treebank.sentence_bytes[last]
    return Treebank(
        treebank.data[start:stop],
        source=treebank.source,
        # Not strict: the bytes were checked, if at all, when the whole file was read.
        strict=False,
        first_line=treebank.line_at(int(start)),
    )


def _joined(parts: list[Analysis], treebank: Treebank) -> Analysis:
    data = b"".join(part.treebank.data for part in parts)
    whole = Treebank(data, source=treebank.source, strict=False, first_line=treebank.first_line)
    notes = tuple(note for part in parts for note in part.notes)
    parses = [part.parses for part in parts if part.parses is not None]
    if len(parses) < len(parts):
        return Analysis(whole, notes=notes)
    firsts = np.cumsum([0, *(len(part.treebank) for part in parts)]).tolist()
    unparsed = tuple(first + s for first, part in zip(firsts, parses, strict=False) for s in part.unparsed)
    return Analysis(whole, replace(Parses.joined(parses), notes=notes, unparsed=unparsed), notes)


def _in_pieces(
    sentence: Sentence, options: ParseOptions, constraints: SentenceConstraints, analyse: Analyse
) -> Analysis:
    """Parse a too long sentence in pieces."""
    n = len(sentence)
    too_long = f"{n} words, more than max_words={options.max_words}"
    ends = cut_points(sentence, min(options.max_words, PIECE_WORDS))
    if _constrained_across(sentence, ends, options, constraints):
        note = Note.of(sentence, f"left unchanged: {too_long}, and its constraints reach across its pieces")
        return Analysis(
            sentence.treebank.annotate(comments=[{"parse_note": note.text}], strict=False), notes=(note,)
        )
    pieces = cut_sentence(sentence, ends)
    # k best trees of pieces do not combine into k best trees of the sentence.
    analysed = analyse(pieces, replace(options, k_best=1), None)
    assert analysed.parses is not None
    parses = join_pieces(analysed.parses, ends, single_root=options.single_root is not False)
    if "deprel" in options.kept:
        is_kept = np.array(sentence.deprels) != "_"
        parses = replace(parses, labels=np.where(is_kept, analysed.parses.labels, parses.labels))
    note = Note.of(sentence, f"{too_long}: parsed in {len(ends)} pieces")
    parses = replace(parses, notes=(note,))
    tagged = sentence.treebank.annotate(**_tags(analysed.treebank, sentence.treebank), strict=False)
    return Analysis(annotated(tagged, parses, alternatives=options.alternatives), parses, (note,))


def cut_points(sentence: Sentence, most: int) -> list[int]:
    """Cut a sentence into pieces of at most ``most`` words; returns the last word of each.

    A piece ends after the strongest punctuation of its second half (the last of several), never inside a
    multiword token.

    >>> words = "a b , c d e . f g h".split()
    >>> cut_points(Sentence.from_words(words), 5)
    [3, 7, 10]
    """
    n = len(sentence)
    strength = np.array([_STRENGTHS.get(form[-1:], 0) for form in sentence.forms])
    for fields in sentence.rows:
        first, dash, last = fields[0].partition("-")
        if dash:
            strength[int(first) - 1 : int(last) - 1] = -1  # inside a multiword token
    ends = [0]
    while n - ends[-1] > most:
        start = ends[-1]
        # From the middle on only: pieces stay longer than half the limit, so there are at most twice as many.
        low = start + (most + 1) // 2
        window = strength[low - 1 : start + most]
        # The last of equally strong marks gives the longest piece.
        best = int(len(window) - 1 - np.argmax(window[::-1]))
        ends.append(low + best)
    return [*ends[1:], n]


def cut_sentence(sentence: Sentence, ends: list[int]) -> Treebank:
    """The pieces as separate sentences, without heads outside the piece, empty nodes and DEPS."""
    rows = iter(sentence.rows)
    fields = next(rows, None)
    lines: list[str] = []
    start = 0
    for end in ends:
        while fields is not None and int(fields[0].partition("-")[0].partition(".")[0]) <= end:
            if "." not in fields[0]:
                lines.append("\t".join(_row_of_piece(fields, start, end)))
            fields = next(rows, None)
        lines.append("")
        start = end
    return Treebank.from_string("\n".join(lines) + "\n", source=sentence.treebank.source, strict=False)


def _row_of_piece(fields: tuple[str, ...], start: int, end: int) -> list[str]:
    """A row renumbered for the piece of the words start+1 .. end."""
    numbers = [str(int(part) - start) for part in fields[0].split("-")]
    head = fields[6]
    if head.isdecimal() and int(head):
        head = str(int(head) - start) if start < int(head) <= end else "_"
    return ["-".join(numbers), *fields[1:6], head, fields[7], "_", fields[9]]


def _constrained_across(
    sentence: Sentence, ends: list[int], options: ParseOptions, constraints: SentenceConstraints
) -> bool:
    """Whether the sentence has constraints that its pieces cannot satisfy, such as heads in another piece."""
    if constraints is not None and constraints[0] is not None:
        # Constraints from Python may name any arc; none is checked against the cuts.
        return True
    if options.misc_constraints and any("Head=" in misc or "Deprel=" in misc for misc in sentence.misc):
        return True
    if "head" not in options.kept:
        return False
    heads = sentence.heads[1:]
    piece = np.searchsorted(ends, np.arange(1, len(heads) + 1))
    has_head = heads > 0
    across = np.searchsorted(ends, heads[has_head]) != piece[has_head]
    # A kept root contradicts the joining of later pieces under the first root.
    return bool(across.any() or (heads == 0).any())


def join_pieces(parses: Parses, ends: list[int], *, single_root: bool) -> Parses:
    """Join the parses of a sentence's pieces: the roots of later pieces are attached to the first root.

    Probabilities of heads are those within the piece; tree probability and entropy are summed over pieces.
    """
    starts = np.repeat([0, *ends[:-1]], np.diff([0, *ends])).astype(np.int32)
    heads = np.where(parses.heads > 0, parses.heads + starts, parses.heads).astype(np.int32)
    labels, names = parses.labels.copy(), parses.label_names
    roots = np.flatnonzero(heads == 0)
    later = roots[roots >= ends[0]]
    if single_root and len(roots):
        heads[later] = roots[0] + 1
        joining = next((names.index(name) for name in _JOINING_LABELS if name in names), None)
        if joining is not None:
            labels[later] = joining
    probabilities = parses.probabilities
    alternatives = None
    if parses.alternatives is not None:
        alternatives = [
            [replace(arc, head=arc.head + int(start)) if arc.head else arc for arc in word]
            for word, start in zip(parses.alternatives, starts, strict=True)
        ]
    return Parses(
        heads,
        labels,
        names,
        None
        if probabilities is None
        else Probabilities(
            probabilities.head,
            probabilities.label,
            # Pieces are parsed independently, so log-probabilities and entropies add up.
            np.array([probabilities.log_tree.sum()]),
            np.array([probabilities.head_entropy.sum()]),
        ),
        alternatives,
    )


def _tags(pieces: Treebank, whole: Treebank) -> dict[str, Any]:
    """The tag columns that a parser which also tags wrote into the pieces, with the UPOS confidence."""
    columns: dict[str, Any] = {
        name: column for name in TAGS if (column := pieces.column(name)) != whole.column(name)
    }
    sure = [
        "|".join(p for p in misc.split("|") if p.startswith("UposProb=")) for misc in pieces.column("misc")
    ]
    return {**columns, "misc_update": sure} if columns else columns
