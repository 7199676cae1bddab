"""Figures of a trained parser, by name: what a cell records beside the time of its training.

``test``, ``dev``: the parse of a part with the parser's own settings; ``test decode=mbr projective=False``:
with other options of ``ParseOptions``. Other names are those of ``MEASURES``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcwise.evaluation import uas_las
from arcwise.evaluation.attachment import attachment
from arcwise.evaluation.verdicts import Options, verdicts
from arcwise.learning.config import from_dict, to_dict
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank
from measuring.cell_file import packed
from measuring.inputs import crossing_words
from measuring.timing import interleaved


@dataclass(frozen=True)
class TrainedCell:
    """A trained parser with its data, to be measured."""

    parser: Any
    config: Any
    data: Callable[[str], Treebank]
    """A part as the parser sees it."""
    gold: Callable[[str], Treebank]
    parsed: Callable[[ParseOptions, str], Treebank]


def parse_name(options: ParseOptions = ParseOptions(), part: str = "test") -> str:
    """Return the name of the figures of a parse.

    >>> parse_name(), parse_name(ParseOptions(decode="mbr", projective=False), "dev")
    ('test', 'dev decode=mbr projective=False')
    """
    defaults = to_dict(ParseOptions())
    changes = [f"{key}={value}" for key, value in to_dict(options).items() if value != defaults[key]]
    return " ".join([part, *changes])


def measure(name: str, cell: TrainedCell) -> Any:
    """Compute the figures of a name."""
    if name in MEASURES:
        return MEASURES[name](cell)
    part, *changes = name.split()
    values = {key: _value(text) for key, _, text in (change.partition("=") for change in changes)}
    return parse_figures(cell, from_dict(ParseOptions, values), part)


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdigit() else text


def parse_figures(cell: TrainedCell, options: ParseOptions, part: str) -> dict[str, Any]:
    """Attachment counts with and without punctuation; on test, which heads are right, for significance."""
    gold, parsed = cell.gold(part), cell.parsed(options, part)
    judged = verdicts(gold, parsed)
    figures: dict[str, Any] = {
        "scores": to_dict(attachment(judged)),
        "without punctuation": to_dict(attachment(verdicts(gold, parsed, Options(punctuation="skip")))),
    }
    if part == "test":
        figures["heads right"] = packed(np.asarray(judged.head_right, bool))
        figures["sentence lengths"] = packed(np.asarray(gold.sentence_lengths))
    return figures


def _report(cell: TrainedCell) -> Any:
    """Epoch chosen and, for each epoch, the duality gap where the trainer computes one."""
    report = cell.parser.model.report
    history = [{key: epoch[key] for key in ("epoch", "gap") if key in epoch} for epoch in report["history"]]
    return {"epoch": report.get("epoch"), "history": history}


def _greedy(cell: TrainedCell) -> dict[str, float]:
    """UAS of each word's best head by score and by posterior, tree or not (Smith & Smith 2007, section 6)."""
    gold = cell.data("test")
    distributions = cell.parser.distributions(gold, projective=False)
    by_score = np.concatenate([heads[1:] for heads in distributions.greedy_heads()])
    by_posterior = np.concatenate([matrix.argmax(axis=0)[1:] for matrix in distributions.marginals])
    return {
        "score": uas_las(gold.heads, by_score).uas,
        "posterior": uas_las(gold.heads, by_posterior).uas,
    }


def _crossing_recall(cell: TrainedCell) -> float:
    """Recall of the test arcs that cross another one (CUR of Bohnet et al. 2016)."""
    flags: list[bool] = []
    gold = cell.gold("test")
    for sentence in gold:
        crossed = crossing_words(sentence.tree)
        flags += [word in crossed for word in range(1, len(sentence.tree) + 1)]
    right = np.asarray(verdicts(gold, cell.parsed(ParseOptions(), "test")).head_right)
    return float(right[np.array(flags, bool)].mean()) if any(flags) else 0.0


def _coverage(cell: TrainedCell) -> float:
    """Share of training sentences that the transition system can derive (NPS of Bohnet et al. 2016)."""
    from arcwise.transition import coverage, system

    return coverage(system(cell.config.system), cell.data("train")).sentences


def _words_per_second(cell: TrainedCell) -> float:
    """Read, parse and write the test data on one thread: the best of three."""
    data = cell.data("test")
    seconds = interleaved({"parse": lambda: cell.parser.parse(Treebank(data.data)).data}, repeat=3)["parse"]
    return data.word_count / seconds


def _parse_seconds(cell: TrainedCell) -> float:
    """CPU seconds to parse the test data, without reading and writing files."""
    data = cell.data("test")
    started = time.process_time()
    cell.parser.parse(data, threads=1)
    return time.process_time() - started


MEASURES: dict[str, Callable[[TrainedCell], Any]] = {
    "report": _report,
    "greedy": _greedy,
    "crossing recall": _crossing_recall,
    "coverage": _coverage,
    "words/s": _words_per_second,
    "parse CPU s": _parse_seconds,
}
RESOURCES = {"words/s", "parse CPU s"}
"""Measures that differ from run to run."""
