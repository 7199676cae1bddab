"""Parsers of first and second order, trained and measured: cells of ``experiments.second_order``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from arcwise.evaluation import by_arc_length, evaluate, verdicts
from arcwise.factors import best_tree_with_siblings, learned_rules
from arcwise.graph import GraphConfig, GraphParser
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.parsing.parser import ParseOptions
from arcwise.siblings import SiblingConfig, SiblingParser
from arcwise.siblings.scorer import sentence_scores
from arcwise.treebanks import Treebank
from arcwise.treebanks.validation import check_treebank
from arcwise.trees import is_projective
from measuring.cell_file import packed
from measuring.inputs import PARTS, read, with_columns

PARSERS: dict[tuple[str, int], tuple[Any, Any]] = {
    ("linear", 1): (GraphParser, GraphConfig()),
    ("linear", 2): (SiblingParser, SiblingConfig(projective=True)),
    ("crossing", 2): (SiblingParser, SiblingConfig(projective=False)),
    ("small", 1): (NeuralParser, NeuralConfig(size="small", epochs=40)),
    ("small", 2): (NeuralParser, NeuralConfig(size="small", epochs=40, order=2)),
    ("neural", 1): (NeuralParser, NeuralConfig()),
    ("neural", 2): (NeuralParser, NeuralConfig(order=2)),
}
"""(kind, order) → parser and configuration. At order 2, linear is trained on projective trees and crossing on
trees with crossing arcs; the default of the parser is one of the two, by the treebank. Small: networks that
two CPU cores train in minutes."""
_TINY_NETWORK = {"epochs": 2, "layers": 1, "hidden": 16, "arc_size": 16, "label_size": 8, "device": "cpu"}
TINY: dict[str, dict[str, Any]] = {
    "linear": {"epochs": 2, "arc_bits": 14, "row_bits": 14},
    "crossing": {"epochs": 2, "arc_bits": 14, "row_bits": 14},
    "small": _TINY_NETWORK,
    "neural": _TINY_NETWORK,
}
"""Options of the quick version."""
PROVEN_SENTENCES = 400
"""Development sentences whose best tree, crossing arcs allowed, is searched for and proven."""
LONG = ("7-10", "11 or more")


def data_of(treebank: str) -> dict[str, Treebank]:
    """The parts of a treebank, with forms and gold UPOS only."""
    return {part: with_columns(read(treebank, part), all_columns=False) for part in PARTS}


def figures(treebank: str, kind: str, order: int, seed: int, size: str) -> dict[str, Any]:
    """Train a parser and measure it; ``size``: full, or tiny for the quick version."""
    parser_type, config = PARSERS[kind, order]
    config = replace(config, seed=seed, **(TINY[kind] if size == "tiny" else {}))
    data = data_of(treebank)
    parser = parser_type.train(data["train"], data["dev"], config=config)
    return measured(parser, data)


def measured(parser: Any, data: dict[str, Treebank]) -> dict[str, Any]:
    """The figures of a trained parser; ``resources`` differ from run to run."""
    dev, test = (parser.parse(data[part]) for part in ("dev", "test"))
    words = verdicts(data["test"], test)
    result: dict[str, Any] = {
        "dev": accuracy(dev, data["dev"]),
        "test": accuracy(test, data["test"]),
        "arcs right": packed(np.asarray(words.head_right & words.label_right, bool)),
        "sentence lengths": packed(np.asarray(data["test"].sentence_lengths)),
        "projective": bool(parser.decoding.projective),
        "legal": legality(parser, data, test),
        "resources": {"words/s": words_per_second(parser, data["test"])},
    }
    if isinstance(parser, SiblingParser):
        result["proofs"], result["resources"]["slowest proof"] = proofs(parser, data["dev"])
    return result


def sibling_pairs(treebank: Treebank) -> set[tuple[int, int, int]]:
    """Adjacent dependents on one side of a head: (head, inner, outer), places in the treebank."""
    pairs = set()
    heads, bounds = np.asarray(treebank.heads).tolist(), treebank.sentence_words.tolist()
    for first, end in pairwise(bounds):
        for words, to_right in ((range(first, end), True), (range(end - 1, first - 1, -1), False)):
            last: dict[int, int] = {}
            for m in words:
                h = first - 1 + heads[m]  # of the root: the place before the sentence
                if (m > h) == to_right:
                    if h in last:
                        pairs.add((h, last[h], m))
                    last[h] = m
    return pairs


def accuracy(parsed: Treebank, gold: Treebank) -> dict[str, float]:
    """Attachment, sentences without a wrong head, adjacent siblings, arcs of 7 words and more."""
    score = evaluate(gold, parsed).attachment
    predicted, true = sibling_pairs(parsed), sibling_pairs(gold)
    long = [group for group in by_arc_length(verdicts(gold, parsed)) if group.name in LONG]
    return {
        "UAS": score.uas,
        "LAS": score.las,
        "exact": score.complete,
        "sibling precision": len(predicted & true) / max(len(predicted), 1),
        "sibling recall": len(predicted & true) / max(len(true), 1),
        "long arcs": sum(g.gold_heads_found for g in long) / max(sum(g.gold for g in long), 1),
    }


def legality(parser: Any, data: dict[str, Treebank], parsed: Treebank) -> dict[str, Any]:
    """Test trees that break a rule which training never breaks, LAS and errors of the validator (level 3).

    Each without and with these rules.
    """
    rules = learned_rules(data["train"])
    legal = parser.parse(data["test"], options=ParseOptions(legal=rules))
    trees = (parsed, legal)
    return {
        "illegal": [int(rules.violated_by(treebank).sum()) for treebank in trees],
        "LAS": [evaluate(data["test"], treebank).attachment.las for treebank in trees],
        "errors": [guideline_errors(treebank) for treebank in trees],
    }


def guideline_errors(treebank: Treebank) -> int:
    """Errors of the validator against the guidelines of Universal Dependencies."""
    return sum(finding.level == 3 and not finding.warning for finding in check_treebank(treebank))


def proofs(parser: SiblingParser, dev: Treebank) -> tuple[dict[str, float], float]:
    """How the best trees with crossing arcs are proven; the seconds of the slowest."""
    sample = dev.spread(min(PROVEN_SENTENCES, len(dev)))
    by_multipliers = optimal = crossing = 0
    slowest = 0.0
    for place in range(len(sample)):
        scores, siblings = sentence_scores(parser.model, sample, place)
        started = time.process_time()
        tree = best_tree_with_siblings(scores, siblings, single_root=True)
        slowest = max(slowest, time.process_time() - started)
        by_multipliers += tree.is_optimal and not tree.branched
        optimal += tree.is_optimal
        crossing += not is_projective(tree.tree)
    shares = {"before branching": by_multipliers, "optimal": optimal, "crossing": crossing}
    return {"sentences": len(sample), **{k: v / len(sample) for k, v in shares.items()}}, slowest


def words_per_second(parser: Any, test: Treebank) -> float:
    """Words per second of processor time on one thread, reading and writing included."""
    data = test.data
    run = {"": lambda: parser.parse(Treebank(data), threads=1).data}
    return test.word_count / processor_seconds(run, 3)[""]


def processor_seconds(contenders: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Seconds of processor time per call, the best of ``repeat`` turns: the machine may be shared."""
    calls, best = {}, dict.fromkeys(contenders, math.inf)
    for label, run in contenders.items():
        run()  # warm up
        began = time.process_time()
        run()
        calls[label] = max(1, int(0.05 / max(time.process_time() - began, 1e-9)))
    for _ in range(repeat):
        for label, run in contenders.items():
            began = time.process_time()
            for _ in range(calls[label]):
                run()
            best[label] = min(best[label], (time.process_time() - began) / calls[label])
    return best
