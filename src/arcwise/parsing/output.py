"""What a parse looks like in a treebank: HEAD and DEPREL, confidences in MISC, probabilities and k-best ranks in comments."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Analysis, KBestParses, Parses, Probabilities
from arcwise.treebanks import Treebank
from arcwise.treebanks.columns import Coded


class GivesTrees(Protocol):
    """A parser that gives its trees as arrays."""

    def parses(self, treebank: Treebank, *, options: ParseOptions = ..., threads: int = 1) -> Parses:
        """The best trees."""
        ...

    def k_best_parses(self, treebank: Treebank, *, options: ParseOptions, threads: int = 1) -> KBestParses:
        """The ``options.k_best`` best trees of every sentence."""
        ...


def analysis(parser: GivesTrees, treebank: Treebank, options: ParseOptions, threads: int) -> Analysis:
    """The treebank with the parser's trees, or k best trees, written into it; and the trees as arrays."""
    if options.k_best > 1:
        return Analysis(
            with_k_best(treebank, parser.k_best_parses(treebank, options=options, threads=threads))
        )
    parses = parser.parses(treebank, options=options, threads=threads)
    return Analysis(annotated(treebank, parses), parses)


def annotated(treebank: Treebank, parses: Parses) -> Treebank:
    """The treebank with the heads and labels of a parse. If it has probabilities: HeadProb (of the head) and DeprelProb (of head and
    label together) in MISC, and the comments tree_prob (of the tree, its labels left open) and tree_entropy (the same, in bits)."""
    columns: dict[str, Any] = {"heads": parses.heads}
    if parses.label_names:
        columns["deprel"] = Coded(parses.labels, parses.label_names)
    if parses.probabilities is not None:
        found = parses.probabilities
        columns["misc_update"] = _misc(found, labelled=bool(parses.label_names))
        columns["comments"] = [
            {"tree_prob": f"{np.exp(log):.6g}", "tree_entropy": f"{entropy / np.log(2):.4f}"}
            for log, entropy in zip(found.log_tree, found.head_entropy, strict=True)
        ]
    return treebank.annotate(**columns)


def _misc(found: Probabilities, *, labelled: bool) -> list[str]:
    if not labelled:
        return [f"HeadProb={p:.4f}" for p in found.head]
    return [f"HeadProb={p:.4f}|DeprelProb={q:.4f}" for p, q in zip(found.head, found.label, strict=True)]


def with_k_best(treebank: Treebank, parses: KBestParses) -> Treebank:
    """Every sentence as often as it has trees, best first, each with the comments parse_rank and parse_score."""
    counts = parses.counts
    sentences = [treebank[s] for s, count in enumerate(counts) for _ in range(count)]
    comments = [
        {"parse_rank": str(rank + 1), "parse_score": f"{score:.6g}"}
        for rank, score in zip((r for count in counts for r in range(count)), parses.scores, strict=True)
    ]
    repeated = Treebank.from_sentences(sentences, source=treebank.source)
    columns: dict[str, Any] = (
        {"deprel": Coded(parses.labels, parses.label_names)} if parses.label_names else {}
    )
    return repeated.annotate(heads=parses.heads, comments=comments, **columns)
