"""Tasks of requests, run in batches: the sentences of several go through tagger and parser in one native
call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from arcwise.errors import ArcwiseError
from arcwise.parsing.parser import TAGS, ParseOptions, SentenceConstraints
from arcwise.parsing.parses import Analysis
from arcwise.pipeline.text_batches import parse_together
from arcwise.treebanks import Treebank
from arcwise.web.serve_input import Source, sentences_of
from arcwise.web.serve_limits import RequestRefused
from arcwise.web.serve_models import ServedModel

TaskResult: TypeAlias = Treebank | Exception
"""The result of a task, or its error."""


@dataclass(frozen=True)
class ParseTask:
    """The work of one request."""

    model: ServedModel
    source: Source
    tag: bool = True
    parse: bool = True
    options: ParseOptions = field(default_factory=ParseOptions)
    constraints: SentenceConstraints = None
    max_words: int = 1000

    @property
    def size(self) -> int:
        """The approximate amount of work, in bytes of text."""
        return self.source.size


def run_tasks(tasks: Sequence[ParseTask]) -> list[TaskResult]:
    """The results in the order of the tasks, each the same as if the task were run alone."""
    results: list[TaskResult | None] = [None] * len(tasks)
    groups: dict[object, list[int]] = {}
    read: dict[int, Treebank] = {}
    for at, task in enumerate(tasks):
        try:
            read[at] = _checked(sentences_of(task.source, task.model), task.max_words)
        except (ArcwiseError, RequestRefused) as error:
            results[at] = error
            continue
        groups.setdefault(_batch_key(at, task, read[at]), []).append(at)
    for members in groups.values():
        answers = _run_batch([tasks[at] for at in members], [read[at] for at in members])
        for at, result in zip(members, answers, strict=True):
            results[at] = result
    return [result for result in results if result is not None]


def _checked(treebank: Treebank, max_words: int) -> Treebank:
    longest = int(treebank.sentence_lengths.max(initial=0))
    if longest > max_words:
        at = int(treebank.sentence_lengths.argmax()) + 1
        raise RequestRefused(413, f"sentence {at}: found {longest} words, expected at most {max_words}")
    return treebank


def _batch_key(at: int, task: ParseTask, treebank: Treebank) -> object:
    """Tasks with the same key are run in one call. k best trees run alone, since they are several sentences
    each, and so do other line ends, which a joined file could not keep apart."""
    if task.options.k_best > 1 or b"\r" in treebank.data or not len(treebank):
        return at
    return id(task.model), task.tag, task.parse, task.options


def _run_batch(tasks: Sequence[ParseTask], treebanks: Sequence[Treebank]) -> list[TaskResult]:
    if len(tasks) == 1:
        return [_run_alone(tasks[0], treebanks[0])]
    try:
        constraints: SentenceConstraints = None
        if any(task.constraints is not None for task in tasks):
            constraints = [
                constraint
                for task, treebank in zip(tasks, treebanks, strict=True)
                for constraint in task.constraints or [None] * len(treebank)
            ]
        joined = replace(tasks[0], constraints=constraints)
        parts = parse_together(
            treebanks, lambda treebank: Analysis(_analyse(joined, treebank)), source="<request>"
        )
        return [part.treebank for part in parts]
    except Exception:  # one of them fails: run each alone, so that only this one gets the error
        return [_run_alone(task, treebank) for task, treebank in zip(tasks, treebanks, strict=True)]


def _run_alone(task: ParseTask, treebank: Treebank) -> TaskResult:
    try:
        return _analyse(task, treebank) if len(treebank) else treebank
    except Exception as error:  # the response of this request; the others continue
        return error


def _analyse(task: ParseTask, treebank: Treebank) -> Treebank:
    """Run the requested steps."""
    model, options = task.model, task.options
    if task.tag and not task.parse:
        return model.needs("tagger").tagger.tag(treebank, confidence=options.confidence)
    if not task.parse:
        return treebank
    if task.tag or model.pipeline is None:
        return model.parser.parse(treebank, options=options, constraints=task.constraints)
    # Without tagger: missing tags are predicted for the parser, and not written.
    parsed = model.parser.parse(
        treebank, options=replace(options, keep=tuple({*options.keep, *TAGS})), constraints=task.constraints
    )
    if options.k_best > 1:
        return parsed
    tags: dict[str, Any] = {name: treebank.column(name) for name in TAGS}
    return parsed.annotate(**tags)
