"""``Teaching``: a parser that knows distributions over trees teaches another one, on a treebank and on text without trees.

A student learns from the teacher's exact marginals. Its loss is the cross-entropy between tree distributions, whose gradient
is the expected counts of the student less those of the teacher (knowledge distillation: Hinton et al. 2015; for parsers Kuncoro et al.
2016). How each kind of parser does it stands in docs/how-to/teach-a-parser.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError, OptionError
from arcwise.learning.folds import data_name
from arcwise.learning.options import check_options, option, refuse_unread, short_repr
from arcwise.learning.progress import Progress
from arcwise.parsing.parser import TAGS, Parser
from arcwise.parsing.parses import Codes
from arcwise.parsing.taught_arcs import Numbers, TaughtArcs
from arcwise.treebanks import Treebank

LEAST_SHARED = 0.5
"""Of the words of the treebank so many must have labels that the teacher knows: otherwise it was trained on another kind of treebank."""
_SENTENCES = 64
"""Of so many sentences the probabilities of all labelled arcs are kept at a time."""


@dataclass(frozen=True)
class TeachingConfig:
    """Options of ``arcwise train --teacher``; a TOML file has them in a section [teaching]."""

    gold_share: float = option(
        0.5,
        "How much of what is learned from a sentence of the treebank is its own tree; the rest is the teacher's distribution.",
        low=0,
        high=1,
    )
    text_weight: float = option(
        0.3,
        "How much a sentence of the text counts against one of the treebank.",
        above=0,
        high=1000,
    )
    least: float = option(
        1e-5,
        "Heads that the teacher finds less probable are left out. More saves memory, but a log-linear student that is told too little of "
        "improbable trees does not settle.",
        low=0,
        high=0.5,
    )
    teacher_folds: int = option(
        0,
        "Train the teacher anew on the other parts for each of so many parts of the treebank, so that it tells of each part what it thinks "
        "of sentences it has not seen; 0: the teacher as it is.",
        low=0,
        high=100,
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)
        if self.teacher_folds == 1:
            raise OptionError("teacher_folds", "found 1, expected 0, or 2 parts or more")


@dataclass(frozen=True)
class Lessons:
    """What a student learns from: trees, and what the teacher says of each word."""

    treebank: Treebank
    """The sentences of the treebank with their own trees, then those of the text with the teacher's (of minimum risk)."""
    arcs: TaughtArcs
    """What the teacher says of every word of it."""
    own_sentences: int
    """So many of the sentences are those of the treebank."""
    config: TeachingConfig = TeachingConfig()
    report: Mapping[str, Any] | None = None
    """For the model: who taught it, and on what."""
    notes: tuple[str, ...] = ()

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """How much each sentence counts."""
        weights = np.full(len(self.treebank), self.config.text_weight)
        weights[: self.own_sentences] = 1.0
        return weights

    def targets(self, heads: Codes, labels: Codes, names: Sequence[str]) -> TaughtArcs:
        """What to learn of each word: ``gold_share`` of the ``heads`` and ``labels`` (numbers into ``names``) of the treebank, prepared for
        the student, and the rest of the teacher's arcs; of the text, these alone. Of a sentence of the treebank whose tree is not
        wholly known, nothing: it is learned as without a teacher (a mixture word by word would be no distribution over trees)."""
        starts = self.treebank.sentence_words.astype(np.int64)
        own = int(starts[self.own_sentences])
        gold = TaughtArcs.of_trees(heads, labels, names)
        unknown = np.diff(gold.starts) == 0
        unknown[own:] = False
        partial = np.repeat(np.add.reduceat(unknown, starts[:-1]) > 0, np.diff(starts))
        share = np.where(np.arange(len(self.arcs)) < own, self.config.gold_share, 0.0)
        return self.arcs.in_labels(names).mixed(gold, share).without_words(partial)

    def without(self, count: int, fold: int) -> Lessons:
        """Without part ``fold`` of ``count`` of the treebank, as ``Folds`` cuts it; with all of the text."""
        numbers = [s for s in range(len(self.treebank)) if s >= self.own_sentences or s % count != fold]
        chosen = [self.treebank[s] for s in numbers]
        words = _words_of(self.treebank, np.array(numbers))
        own = sum(s < self.own_sentences for s in numbers)
        return replace(
            self,
            treebank=Treebank.from_sentences(chosen, source=self.treebank.source),
            arcs=self.arcs.of_words(words),
            own_sentences=own,
        )


@dataclass(frozen=True)
class Teaching:
    """A teacher, the text that it teaches on beside the treebank, and how.

    A teacher is any parser with ``capabilities.distributions``. Of ``teacher.distributions(treebank, projective=…, single_root=…,
    threads=…)`` it takes ``labels``, ``label_marginals`` (or ``marginals``, without labels) and ``minimum_labelled_risk()``
    (``minimum_risk()``): an ensemble that averages marginals has all that is needed.

    >>> from arcwise.parsing.scored import ScoredParser
    >>> from arcwise.parsing.scorer import FunctionScorer
    >>> teacher = ScoredParser(FunctionScorer(lambda sentence: np.zeros((len(sentence) + 1, len(sentence) + 1))))
    >>> rows = "1\\tBirds\\t_\\tNOUN\\t_\\t_\\t2\\tnsubj\\t_\\t_\\n2\\tsing\\t_\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> lessons = Teaching(teacher).lessons(Treebank.from_string(rows), projective=True, single_root=True, labelled=False)
    >>> lessons.arcs.heads.tolist(), lessons.arcs.shares.tolist()
    ([0, 2, 0, 1], [0.5, 0.5, 0.5, 0.5])
    """

    teacher: Parser
    text: Treebank | None = None
    """Sentences cut into words, and tagged if the student sees tags; what trees they have is not read."""
    config: TeachingConfig = TeachingConfig()
    name: str = ""
    """What the model says of its teacher."""
    again: Callable[[Treebank], Parser] | None = None
    """Trains such a teacher on another treebank: needed for ``teacher_folds``."""

    def __post_init__(self) -> None:
        if not self.teacher.capabilities.distributions:
            raise OptionError(
                "teacher",
                f"found a {self.teacher.kind} parser, which has no distributions over trees; expected one that has "
                "(a graph-based or a neural one)",
            )
        if self.text is not None and not self.text.word_count:
            raise InputError(f"{self.text.source}: has no word, expected text to learn from")
        if self.config.teacher_folds and self.again is None:
            raise OptionError("teacher_folds", "found a teacher that cannot be trained anew, expected 0")

    def lessons(
        self,
        train: Treebank,
        *,
        projective: bool,
        single_root: bool,
        labelled: bool,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Lessons:
        """What the teacher says of the treebank and of the text, over the trees that the student knows."""
        progress = progress or Progress(shown=False)
        notes = [*(self._labels_checked(train) if labelled else []), *self._columns_checked(train)]
        trees = {"projective": projective, "single_root": single_root, "threads": threads}
        if self.config.gold_share < 1:
            progress.say(f"the teacher reads the treebank ({len(train)} sentences)")
        arcs, notes = self._of_treebank(train, trees, progress), [*notes, *self._doubts(train)]
        whole = train
        if self.text is not None:
            progress.say(f"the teacher reads the text ({len(self.text)} sentences)")
            parsed, of_text = self._of_text(self.text, trees)
            whole = Treebank(_ended(train.data) + parsed.data, source=train.source)
            arcs = TaughtArcs.joined([arcs, of_text])
        for note in notes:
            progress.say(note)
        return Lessons(whole, arcs, len(train), self.config, self._report(), tuple(notes))

    def _of_treebank(self, train: Treebank, trees: dict[str, Any], progress: Progress) -> TaughtArcs:
        count = min(self.config.teacher_folds, len(train))
        if self.config.gold_share == 1:  # nobody asks
            return TaughtArcs.nothing(train.word_count, getattr(self.teacher, "labels", ()))
        if count < 2:
            return self._arcs(self.teacher, train, trees)
        assert self.again is not None
        parts, words = [], []
        for fold in range(count):
            progress.say(f"the teacher is trained without part {fold + 1} of {count}")
            inside = np.arange(len(train)) % count == fold
            others, part = (
                Treebank.from_sentences([train[int(s)] for s in np.flatnonzero(one)], source=train.source)
                for one in (~inside, inside)
            )
            parts.append(self._arcs(self.again(others), part, trees))
            words.append(_words_of(train, np.flatnonzero(inside)))
        names = parts[0].label_names  # a part may lack labels that others have
        names = tuple(sorted({name for part in parts for name in part.label_names})) if names else ()
        found = TaughtArcs.joined([part.in_labels(names) for part in parts])
        return found.of_words(np.argsort(np.concatenate(words)))

    def _arcs(self, teacher: Any, treebank: Treebank, trees: dict[str, Any]) -> TaughtArcs:
        """What a teacher says of every word of a treebank."""
        parts = [found for _, found in self._read(teacher, treebank, trees)]
        return TaughtArcs.joined(parts)

    def _read(
        self, teacher: Any, treebank: Treebank, trees: dict[str, Any]
    ) -> Iterator[tuple[Any, TaughtArcs]]:
        """Some sentences at a time: their distributions, and the arcs."""
        for first in range(0, len(treebank), _SENTENCES):
            found = teacher.distributions(treebank[first : first + _SENTENCES], **trees)
            names = found.labels or ()
            marginals = found.label_marginals if names else found.marginals
            yield found, TaughtArcs.of_marginals(marginals, names, least=self.config.least)

    def _of_text(self, text: Treebank, trees: dict[str, Any]) -> tuple[Treebank, TaughtArcs]:
        """The text with the trees of minimum risk, and the arcs."""
        found, parts = [], []
        for distributions, arcs in self._read(self.teacher, text, trees):
            found += (
                distributions.minimum_labelled_risk()
                if distributions.labels
                else distributions.minimum_risk()
            )
            parts.append(arcs)
        heads = np.concatenate([tree.heads[1:] for tree in found]).astype(np.int32)
        labels = [
            label for tree in found for label in (tree.labels[1:] if tree.labels else ["_"] * len(tree))
        ]
        return text.annotate(heads=heads, deprel=labels), TaughtArcs.joined(parts)

    def refuse_for_trees(self, student: str, able: str) -> None:
        """``OptionError`` if there is no text, or an option is set that only those read who learn from probabilities: the ``student``
        learns from trees alone, those ``able`` do not."""
        why = f"{student} learns from trees alone ({able} from probabilities)"
        refuse_unread(self.config, dict.fromkeys(("gold_share", "teacher_folds"), why))
        if self.text is None:
            raise OptionError("teacher", f"found no text to teach on, expected some: {why}")

    def _labels_checked(self, train: Treebank) -> list[str]:
        """``OptionError`` if the teacher's labels are not those of the treebank; else what is to be known of them."""
        own = Counter(label for label in train.column("deprel") if label != "_")
        theirs = set(getattr(self.teacher, "labels", ()))
        if not theirs:
            raise OptionError("teacher", "found one without labels, expected labels, or labelled = false")
        if sum(own[label] for label in theirs) < LEAST_SHARED * own.total():
            raise OptionError(
                "teacher",
                f"found the labels {_some(theirs)}, expected those of {train.source}: {_some(set(own))}",
            )
        strange = theirs - set(own)
        found = f"{len(strange)} labels of the teacher are not in the treebank: {_some(strange)}"
        return [found] if strange else []

    def _columns_checked(self, train: Treebank) -> list[str]:
        """``InputError`` if the text has no tags and the treebank has; columns that the text lacks otherwise."""
        if self.text is None:
            return []
        lacking = [column for column in TAGS if _has(train, column) and not _has(self.text, column)]
        if "upos" in lacking:
            raise InputError(
                f"{self.text.source}: has no tags (UPOS), expected text tagged as the treebank is, or a teacher of "
                "'arcwise train --pipeline', which tags it"
            )
        told = ", ".join(column.upper() for column in lacking)
        return [f"the treebank has {told}, the text has not"] if lacking else []

    def _doubts(self, train: Treebank) -> list[str]:
        known = self.teacher.info
        same = known.get("train") == data_name(train) and known.get("train_sentences") == len(train)
        if not same or self.config.teacher_folds or self.config.gold_share == 1:
            return []
        return [
            "the teacher was trained on this treebank: what it says of it is too sure (teacher_folds = 5 trains it anew for each fifth)"
        ]

    def _report(self) -> dict[str, Any]:
        report: dict[str, Any] = {"teacher": self.name or self.teacher.kind, **vars(self.config)}
        if self.text is not None:
            report |= {"text": data_name(self.text), "text_sentences": len(self.text)}
        return report


class Student(Protocol):
    """What a configuration tells of the trees that a student learns."""

    @property
    def single_root(self) -> bool:
        """Whether exactly one word is the root."""
        ...

    @property
    def labelled(self) -> bool:
        """Whether arcs have labels."""
        ...


def lessons_of(
    teaching: Teaching | None,
    train: Treebank,
    student: Student,
    *,
    projective: bool,
    threads: int,
    progress: Progress,
) -> Lessons | None:
    """The lessons of a teaching for a student, if there is a teacher."""
    if teaching is None:
        return None
    return teaching.lessons(
        train,
        projective=projective,
        single_root=student.single_root,
        labelled=student.labelled,
        threads=threads,
        progress=progress,
    )


def taught_report(lessons: Lessons | None) -> dict[str, Any]:
    """What the report of a training says of the teacher, if there was one."""
    return {} if lessons is None else {"taught": lessons.report}


def _words_of(treebank: Treebank, sentences: Numbers) -> Numbers:
    """The numbers of all words of these sentences."""
    starts = treebank.sentence_words.astype(np.int64)
    return np.concatenate([np.arange(starts[s], starts[s + 1]) for s in sentences.tolist()])


def _has(treebank: Treebank, column: str) -> bool:
    return any(value != "_" for value in treebank.column(column))


def _ended(data: bytes) -> bytes:
    """The bytes of a treebank, ready for another one to follow."""
    return data if data.endswith((b"\n\n", b"\n\r\n")) else data.rstrip(b"\n") + b"\n\n"


def _some(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "")
