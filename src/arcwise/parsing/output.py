"""What a parse looks like in a treebank: HEAD and DEPREL, confidences in MISC, probabilities and k-best ranks in comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arcwise.treebanks import Treebank
from arcwise.treebanks.columns import Coded


def annotated(
    treebank: Treebank, result: Mapping[str, Any], labels: Sequence[str], *, confidence: bool
) -> Treebank:
    """The treebank with the heads and labels of a parse; with ``confidence`` HeadProb and DeprelProb in MISC, and the comments
    tree_prob (of the tree, its labels left open) and tree_entropy (in bits)."""
    columns: dict[str, Any] = {"heads": result["heads"]}
    if labels:
        columns["deprel"] = Coded(result["labels"], labels)
    if confidence:
        columns["misc_update"] = _misc(result, bool(labels))
        columns["comments"] = [
            {"tree_prob": f"{np.exp(log):.6g}", "tree_entropy": f"{entropy / np.log(2):.4f}"}
            for log, entropy in zip(result["log_probability"], result["entropy"], strict=True)
        ]
    return treebank.annotate(**columns)


def _misc(result: Mapping[str, Any], labelled: bool) -> list[str]:
    heads = result["head_probability"]
    if not labelled:
        return [f"HeadProb={p:.4f}" for p in heads]
    both = zip(heads, result["label_probability"], strict=True)
    return [f"HeadProb={p:.4f}|DeprelProb={q:.4f}" for p, q in both]


def with_k_best(treebank: Treebank, result: Mapping[str, Any], labels: Sequence[str]) -> Treebank:
    """Every sentence as often as it has trees, best first, each with the comments parse_rank and parse_score."""
    counts = np.asarray(result["counts"], int)
    sentences = [treebank[s] for s, count in enumerate(counts) for _ in range(count)]
    comments = [
        {"parse_rank": str(rank + 1), "parse_score": f"{score:.6g}"}
        for rank, score in zip((r for count in counts for r in range(count)), result["scores"], strict=True)
    ]
    repeated = Treebank.from_sentences(sentences, source=treebank.source)
    columns: dict[str, Any] = {"deprel": Coded(result["labels"], labels)} if labels else {}
    return repeated.annotate(heads=result["heads"], comments=comments, **columns)
