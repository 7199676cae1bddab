"""Tasks of requests, run in batches: the sentences of several go through tagger and parser in one native
call. A long task runs slice by slice, and stops when its time is up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from arcwise.errors import InputError
from arcwise.parsing.parser import TAGS, ParseOptions, SentenceConstraints
from arcwise.parsing.parses import Analysis
from arcwise.pipeline.text_batches import parse_together
from arcwise.treebanks import Treebank
from arcwise.web.serve_input import Source, sentences_of
from arcwise.web.serve_limits import Limits, RequestRefused, WorkDeadline, WorkStopped, too_slow
from arcwise.web.serve_models import ServedModel

SLICE_WORDS = 4_000
SLICE_WORK = 200_000
"""Words and work (words times length) of one native call for a long task: a fraction of a second, unless one
sentence alone has more."""
LONG_WORK = 300_000
LONG_ANSWER = 2**20
"""Work and bytes of the response from which a task is long, however short its text."""
MAX_CHART = 10_000_000
"""The largest k_best times the square of the longest sentence: the k-best algorithm keeps k items for each
pair of words."""
MAX_CONSTRAINED = 300
"""The longest sentence under constraints, which are a mask of all arcs with all labels."""
WORD_JSON = 320
_ALTERNATIVE_BYTES, _PICTURE_BYTES = 70, 900
"""Typical sizes in JSON of a word, of an alternative, and of a picture by word, on the large side."""

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
    limits: Limits = field(default_factory=Limits)
    word_bytes: int = WORD_JSON
    """The typical size of a word in the response; a sentence without words has as much."""
    pictures: bool = False
    deadline: WorkDeadline = field(default_factory=lambda: WorkDeadline(float("inf")), compare=False)
    sentences: Treebank | None = None
    """The sentences of the source, if they have been read already."""

    @property
    def size(self) -> int:
        """The approximate amount of work, in bytes of text."""
        return self.source.size

    @property
    def is_constrained(self) -> bool:
        """Whether the trees obey constraints, of whatever kind."""
        options = self.options
        return self.constraints is not None or options.misc_constraints or bool(options.kept - set(TAGS))


class LongTask(Exception):
    """A short text that takes long: ``task`` goes to the queue for long requests."""

    def __init__(self, task: ParseTask) -> None:
        self.task = task


def run_short_tasks(tasks: Sequence[ParseTask]) -> list[TaskResult]:
    """Like ``run_tasks``, but a task that takes long is not run: its result is ``LongTask``."""
    return run_tasks(tasks, long_work=LONG_WORK)


def run_tasks(tasks: Sequence[ParseTask], *, long_work: float = float("inf")) -> list[TaskResult]:
    """The results in the order of the tasks, each the same as if the task were run alone."""
    results: list[TaskResult | None] = [None] * len(tasks)
    groups: dict[object, list[int]] = {}
    read: dict[int, Treebank] = {}
    for at, task in enumerate(tasks):
        try:
            read[at] = _sentences(task)
        except WorkStopped:
            results[at] = too_slow(task.limits)
            continue
        except Exception as error:  # the response of this request; the others continue
            results[at] = error
            continue
        if task.parse and is_long(task, read[at], long_work):
            results[at] = LongTask(replace(task, sentences=read[at]))
            continue
        groups.setdefault(_batch_key(at, task, read[at]), []).append(at)
    for members in groups.values():
        answers = _run_batch([tasks[at] for at in members], [read[at] for at in members])
        for at, result in zip(members, answers, strict=True):
            results[at] = result
    return [result for result in results if result is not None]


def _sentences(task: ParseTask) -> Treebank:
    """The sentences of a task, checked against the limits on work and response size."""
    if task.sentences is not None:
        return task.sentences
    limits = task.limits

    def check_size(sentences_and_words: int) -> None:
        """Refuse requests that are much too large before they take memory."""
        if (size := sentences_and_words * task.word_bytes) > limits.max_answer:
            raise _large_answer(task, size)

    treebank = sentences_of(task.source, task.model, check=task.deadline.check, check_size=check_size)
    lengths = treebank.sentence_lengths
    longest = int(lengths.max(initial=0))
    if longest > limits.max_words:
        at = int(lengths.argmax()) + 1
        raise RequestRefused(
            413, f"sentence {at}: found {longest} words, expected at most {limits.max_words}"
        )
    if task.parse and (work := parse_work(treebank)) > limits.max_work:
        raise RequestRefused(
            413,
            f"sentences: their words times their lengths are {work}, expected at most {limits.max_work}; "
            "send less, or shorter sentences",
        )
    if (size := answer_size(task, treebank)) > limits.max_answer:
        raise _large_answer(task, size)
    if task.is_constrained and longest > MAX_CONSTRAINED:
        raise RequestRefused(
            413,
            f"constraints: found a sentence of {longest} words, expected at most {MAX_CONSTRAINED} with "
            "constraints or kept heads and labels",
        )
    if task.options.k_best * longest**2 > MAX_CHART:
        raise RequestRefused(
            413, f"k_best: found {task.options.k_best} for a sentence of {longest} words, expected less"
        )
    if task.constraints is not None and len(task.constraints) != len(treebank):
        raise InputError(
            f"constraints: found {len(task.constraints)}, expected one for each of {len(treebank)} sentences"
        )
    return treebank


def parse_work(treebank: Treebank) -> int:
    """Words times the length of their sentences: the arcs to score."""
    return int(np.square(treebank.sentence_lengths.astype(np.int64)).sum())


def answer_size(task: ParseTask, treebank: Treebank) -> int:
    """The approximate size of the response in bytes of JSON."""
    options, lengths = task.options, treebank.sentence_lengths.astype(np.int64)
    word = task.word_bytes + task.pictures * _PICTURE_BYTES
    # Words of a short sentence have no more alternatives than heads and labels; 50 labels are many.
    alternatives = np.minimum(options.alternatives, 50 * (lengths + 1)) * _ALTERNATIVE_BYTES
    return int((lengths * (word + alternatives) + task.word_bytes).sum()) * options.k_best


def is_long(task: ParseTask, treebank: Treebank, long_work: float = LONG_WORK) -> bool:
    """Whether the task belongs to the queue for long requests."""
    if long_work == float("inf"):
        return False
    return parse_work(treebank) > long_work or answer_size(task, treebank) > LONG_ANSWER


def _large_answer(task: ParseTask, size: int) -> RequestRefused:
    most = task.limits.max_answer
    reason = f"the response would have about {size} bytes, expected at most {most}; send less"
    return RequestRefused(413, f"{_multiplier(task)}: {reason}")


def _multiplier(task: ParseTask) -> str:
    """The option that makes a response large, for messages."""
    if task.options.k_best > 1:
        return "k_best"
    return "alternatives" if task.options.alternatives > 1 else "response"


def _batch_key(at: int, task: ParseTask, treebank: Treebank) -> object:
    """Tasks with the same key are run in one call. k best trees run alone, since they are several sentences
    each, and so do other line ends, which a joined file could not keep apart, and long tasks."""
    if task.sentences is not None or task.options.k_best > 1 or b"\r" in treebank.data or not len(treebank):
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
        return _analyse_slices(task, treebank) if len(treebank) else treebank
    except WorkStopped:
        return too_slow(task.limits)
    except Exception as error:  # the response of this request; the others continue
        return error


def _analyse_slices(task: ParseTask, treebank: Treebank) -> Treebank:
    """Run the requested steps, slice by slice if there is much to do."""
    ends = _slice_ends(treebank)
    if len(ends) == 1:
        with task.deadline:
            return _analyse(task, treebank)
    starts = treebank.sentence_bytes
    parts = []
    first = 0
    for last in ends:
        # Not strict: the sentences were checked when they were read.
        part = Treebank(
            treebank.data[int(starts[first]) : int(starts[last])],
            source=treebank.source,
            strict=False,
            first_line=treebank.line_at(int(starts[first])),
        )
        constraints = None if task.constraints is None else task.constraints[first:last]
        with task.deadline:
            parts.append(_analyse(replace(task, constraints=constraints), part).data)
        first = last
    return Treebank(b"".join(parts), source=treebank.source, strict=False)


def _slice_ends(treebank: Treebank) -> list[int]:
    """The ends of slices: before the words or the work of a slice would exceed their limits."""
    lengths = treebank.sentence_lengths.astype(np.int64)
    costs = np.maximum(lengths / SLICE_WORDS, np.square(lengths) / SLICE_WORK)
    # Whole units of the running cost; a sentence above the limit is a separate slice.
    units = np.floor(np.cumsum(costs)).astype(np.int64)
    return [*(np.flatnonzero(np.diff(units)) + 1).tolist(), len(lengths)]


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
