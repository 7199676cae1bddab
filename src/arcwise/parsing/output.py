"""Write parses to CoNLL-U: HEAD, DEPREL, confidences in MISC, probabilities in comments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from logging import INFO, WARNING
from typing import Any, Protocol

import numpy as np

from arcwise import native
from arcwise.inference import Alternative
from arcwise.log import logger
from arcwise.parsing.misc_form import format_alternatives
from arcwise.parsing.parser import ParseOptions, SentenceConstraints
from arcwise.parsing.parses import Analysis, Floats, KBestParses, Note, Parses
from arcwise.treebanks import Treebank
from arcwise.treebanks.columns import Coded, field_strings, misc_pairs, probability_pairs

TagColumns = Callable[[Treebank], Mapping[str, Any]]
"""The columns (arguments of ``Treebank.annotate``) that a parser writes besides heads and labels."""


class TreeParser(Protocol):
    """A parser that returns trees as arrays."""

    def parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ...,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Parses:
        """The best trees."""
        ...

    def k_best_parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> KBestParses:
        """The ``options.k_best`` best trees of every sentence."""
        ...


def analysis(
    parser: TreeParser,
    treebank: Treebank,
    options: ParseOptions,
    constraints: SentenceConstraints,
    threads: int,
    *,
    tag_columns: TagColumns | None = None,
) -> Analysis:
    """Parse a treebank and write its trees, or k best trees, into it.

    ``tag_columns``: the columns that a parser which also tags writes; called after parsing.
    """
    if options.k_best > 1:
        best = parser.k_best_parses(treebank, options=options, constraints=constraints, threads=threads)
        log_notes(best.notes, best.unparsed)
        if tag_columns is not None:
            treebank = treebank.annotate(**tag_columns(treebank))
        return Analysis(with_k_best(treebank, best, options), notes=best.notes)
    parses = parser.parses(treebank, options=options, constraints=constraints, threads=threads)
    log_notes(parses.notes, parses.unparsed)
    tags = {} if tag_columns is None else tag_columns(treebank)
    written = annotated(treebank, parses, alternatives=options.alternatives, tags=tags)
    return Analysis(written, parses, parses.notes)


def log_notes(notes: Iterable[Note], unparsed: Collection[int]) -> None:
    """Log the notes on single sentences, as warnings for sentences left unchanged."""
    for note in notes:
        logger.log(WARNING if note.sentence in unparsed else INFO, "%s", note)


def annotated(
    treebank: Treebank, parses: Parses, *, alternatives: int = 0, tags: Mapping[str, Any] = {}
) -> Treebank:
    """Write the heads and labels of a parse into the treebank.

    With probabilities also HeadProb (of the head) and DeprelProb (of head and label) in MISC, and the
    comments tree_prob (labels summed out) and tree_entropy (in bits). ``alternatives``: number of alternative
    head-label pairs per word in MISC. Notes go to the comment parse_note.
    """
    columns: dict[str, Any] = {"heads": parses.heads}
    if parses.label_names:
        columns["deprel"] = Coded(parses.labels, field_strings(parses.label_names))
    comments = _notes(parses.notes, len(treebank))
    pairs: list[Coded] = []
    if parses.probabilities is not None:
        sure = parses.probabilities
        pairs += _confidences(sure.head, sure.label, labelled=bool(parses.label_names))
        tree_values = np.exp(sure.log_tree).tolist(), (sure.head_entropy / np.log(2)).tolist()
        for s, (probability, bits) in enumerate(zip(*tree_values, strict=True)):
            # An unparsed sentence keeps its own tree, which the parser's probability would not describe.
            if s not in parses.unparsed:
                comments[s] = {
                    "tree_prob": f"{probability:.6g}",
                    "tree_entropy": f"{bits:.4f}",
                    **comments[s],
                }
    if alternatives and parses.alternatives is not None:
        pairs.append(Coded.of(_alternatives(parses.alternatives, alternatives)))
    if pairs:
        columns["misc_update"] = _joined(pairs, _unparsed_words(treebank, parses.unparsed))
    if any(comments):
        columns["comments"] = comments
    tagged = treebank.annotate(**tags) if tags else treebank
    return tagged.annotate(**columns, strict=False)  # greedy heads need not form a tree


def with_k_best(treebank: Treebank, parses: KBestParses, options: ParseOptions) -> Treebank:
    """Repeat every sentence once per tree, with parse_rank, parse_score and tree_prob.

    With ``options.confidence`` also HeadProb and DeprelProb in MISC.
    """
    counts = parses.counts.tolist()
    numbers = [s for s, count in enumerate(counts) for _ in range(count)]
    repeated = Treebank.from_sentences([treebank[s] for s in numbers], source=treebank.source)
    ranks = [rank + 1 for count in counts for rank in range(count)]
    comments = _notes(parses.notes, len(treebank))
    tree_comments: list[dict[str, str]] = []
    for tree, (s, rank, score) in enumerate(zip(numbers, ranks, parses.scores, strict=True)):
        values = {"parse_rank": str(rank)}
        if s not in parses.unparsed:
            values["parse_score"] = f"{score:.6g}"
            if parses.probabilities is not None:
                values["tree_prob"] = f"{np.exp(parses.probabilities.log_tree[tree]):.6g}"
        tree_comments.append({**values, **comments[s]})
    columns: dict[str, Any] = {"heads": parses.heads, "comments": tree_comments}
    if parses.label_names:
        columns["deprel"] = Coded(parses.labels, field_strings(parses.label_names))
    pairs: list[Coded] = []
    if options.confidence and parses.probabilities is not None:
        sure = parses.probabilities
        pairs += _confidences(sure.head, sure.label, labelled=bool(parses.label_names))
    if options.alternatives and parses.alternatives is not None:
        by_word = _alternatives(parses.alternatives, options.alternatives)
        starts = treebank.sentence_words.astype(int).tolist()
        pairs.append(Coded.of([by_word[w] for s in numbers for w in range(starts[s], starts[s + 1])]))
    if pairs:
        unparsed = [tree for tree, s in enumerate(numbers) if s in parses.unparsed]
        columns["misc_update"] = _joined(pairs, _unparsed_words(repeated, unparsed))
    return repeated.annotate(**columns)


def _confidences(head: Floats, label: Floats, *, labelled: bool) -> list[Coded]:
    """The MISC pairs of each word."""
    heads = probability_pairs("HeadProb", head, 4)
    return [heads, probability_pairs("DeprelProb", label, 4)] if labelled else [heads]


def _alternatives(alternatives: Sequence[Sequence[Alternative]], k: int) -> list[str]:
    return [format_alternatives(word, k) for word in alternatives]


def _joined(pairs: Sequence[Coded], unparsed: list[int]) -> native.StringColumn:
    """Join the MISC pairs of each word; the words of ``unparsed`` sentences have none."""
    columns = []
    for coded in pairs:
        codes = coded.codes.copy()
        codes[unparsed] = -1
        columns.append(misc_pairs(Coded(codes, coded.strings)))
    return native.joined_pairs(columns)


def _unparsed_words(treebank: Treebank, sentences: Iterable[int]) -> list[int]:
    starts = treebank.sentence_words.astype(int)
    return [word for s in sentences for word in range(starts[s], starts[s + 1])]


def _notes(notes: Sequence[Note], sentences: int) -> list[dict[str, str]]:
    comments: list[dict[str, str]] = [{} for _ in range(sentences)]
    for note in notes:
        before = comments[note.sentence].get("parse_note")
        comments[note.sentence]["parse_note"] = f"{before}; {note.text}" if before else note.text
    return comments
