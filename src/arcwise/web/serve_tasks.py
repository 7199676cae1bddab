"""What requests ask of models, and many of them done at once: their sentences go through tagger and parser in one native call."""

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
"""The answer to a task, or why there is none."""


@dataclass(frozen=True)
class ParseTask:
    """What one request asks of a model."""

    model: ServedModel
    source: Source
    tag: bool = True
    parse: bool = True
    options: ParseOptions = field(default_factory=ParseOptions)
    constraints: SentenceConstraints = None
    max_words: int = 1000

    @property
    def size(self) -> int:
        """About how much work it is, in bytes of text."""
        return self.source.size


def run_tasks(tasks: Sequence[ParseTask]) -> list[TaskResult]:
    """The answers, in the order of the tasks; each the same as if it were asked alone."""
    done: list[TaskResult | None] = [None] * len(tasks)
    groups: dict[object, list[int]] = {}
    read: dict[int, Treebank] = {}
    for at, task in enumerate(tasks):
        try:
            read[at] = _checked(sentences_of(task.source, task.model), task.max_words)
        except (ArcwiseError, RequestRefused) as error:
            done[at] = error
            continue
        groups.setdefault(_kind(at, task, read[at]), []).append(at)
    for members in groups.values():
        answers = _together([tasks[at] for at in members], [read[at] for at in members])
        for at, answer in zip(members, answers, strict=True):
            done[at] = answer
    return [answer for answer in done if answer is not None]


def _checked(treebank: Treebank, max_words: int) -> Treebank:
    longest = int(treebank.sentence_lengths.max(initial=0))
    if longest > max_words:
        at = int(treebank.sentence_lengths.argmax()) + 1
        raise RequestRefused(413, f"sentence {at}: found {longest} words, expected at most {max_words}")
    return treebank


def _kind(at: int, task: ParseTask, treebank: Treebank) -> object:
    """Tasks of the same kind are done in one call. Alone: k best trees, which are several sentences each; and lines that end otherwise."""
    if task.options.k_best > 1 or b"\r" in treebank.data or not len(treebank):
        return at
    return id(task.model), task.tag, task.parse, task.options


def _together(tasks: Sequence[ParseTask], treebanks: Sequence[Treebank]) -> list[TaskResult]:
    if len(tasks) == 1:
        return [_alone(tasks[0], treebanks[0])]
    try:
        given: SentenceConstraints = None
        if any(task.constraints is not None for task in tasks):
            given = [
                own
                for task, treebank in zip(tasks, treebanks, strict=True)
                for own in task.constraints or [None] * len(treebank)
            ]
        joined = replace(tasks[0], constraints=given)
        parts = parse_together(
            treebanks, lambda treebank: Analysis(_analysed(joined, treebank)), source="<request>"
        )
        return [part.treebank for part in parts]
    except Exception:  # of one of them, which is then told alone
        return [_alone(task, treebank) for task, treebank in zip(tasks, treebanks, strict=True)]


def _alone(task: ParseTask, treebank: Treebank) -> TaskResult:
    try:
        return _analysed(task, treebank) if len(treebank) else treebank
    except Exception as error:  # told to the one who asked; the others go on
        return error


def _analysed(task: ParseTask, treebank: Treebank) -> Treebank:
    """The steps that are asked for, one after the other."""
    model, options = task.model, task.options
    if task.tag and not task.parse:
        return model.needs("tagger").tagger.tag(treebank, confidence=options.confidence)
    if not task.parse:
        return treebank
    if task.tag or model.pipeline is None:
        return model.parser.parse(treebank, options=options, constraints=task.constraints)
    # Tags that are missing are found for the parser, and not written.
    whole = model.parser.parse(
        treebank, options=replace(options, keep=tuple({*options.keep, *TAGS})), constraints=task.constraints
    )
    if options.k_best > 1:
        return whole
    given: dict[str, Any] = {name: treebank.column(name) for name in TAGS}
    return whole.annotate(**given)
