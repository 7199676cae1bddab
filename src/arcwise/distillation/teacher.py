"""``Distillation``: train a student on a teacher's distributions over trees.

The student learns from the teacher's exact marginals. Its loss is the cross-entropy between the two tree
distributions, whose gradient is the student's expected counts minus the teacher's (knowledge distillation:
Hinton et al. 2015; for parsers Kuncoro et al. 2016). docs/how-to/teach-a-parser.md describes what each kind
of parser does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arcwise.distillation.predictions import BatchTeacher, TeacherPredictions
from arcwise.distillation.soft_tags import SoftTags
from arcwise.distillation.soft_targets import Indices, SoftTargets
from arcwise.errors import InputError, OptionError
from arcwise.learning.config import from_dict, read_toml
from arcwise.learning.folds import data_name, split_fold
from arcwise.learning.options import check_options, option, refuse_unread, short_repr
from arcwise.learning.progress import Progress
from arcwise.parsing.parser import TAGS, Parser
from arcwise.parsing.parses import Codes
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike

SECTION = "distillation"
"""The section of a TOML file with the options of distillation."""
_OLD_SECTION = "teaching"
"""Its former name, still read."""
MIN_SHARED_LABELS = 0.5
"""Fraction of the treebank's words whose labels the teacher must have."""
_BATCH_SENTENCES = 64
"""Sentences whose dense labelled marginals are in memory at a time."""


@dataclass(frozen=True)
class DistillationConfig:
    """Options of ``arcwise train --teacher``; in a TOML file, the section [distillation]."""

    gold_share: float = option(
        0.5,
        "Weight of the gold tree in the targets of a treebank sentence; the teacher's distribution has the "
        "rest.",
        low=0,
        high=1,
    )
    text_weight: float = option(
        0.3,
        "Loss weight of a text sentence relative to a treebank sentence.",
        above=0,
        high=1000,
    )
    least: float = option(
        1e-5,
        "Drop heads to which the teacher gives less than this probability. Higher values save memory, but a "
        "log-linear student that sees too little of improbable trees does not converge.",
        low=0,
        high=0.5,
    )
    teacher_folds: int = option(
        0,
        "Cross-fit the teacher: retrain it once per fold of the treebank, so that it labels only sentences "
        "it was not trained on (0 uses the teacher as it is).",
        low=0,
        high=100,
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)
        if self.teacher_folds == 1:
            raise OptionError("teacher_folds", "found 1, expected 0, or at least 2 folds")


def read_distillation_config(config: PathLike | None, options: Mapping[str, Any]) -> DistillationConfig:
    """Read the section [distillation] of a TOML file; ``options`` that are not None override it."""
    section = distillation_section({} if config is None else read_toml(config)) or {}
    if not isinstance(section, dict):
        raise InputError(f"{config}: {SECTION}: found {section!r}, expected a section [{SECTION}]")
    overrides = {name: value for name, value in options.items() if value is not None}
    return from_dict(DistillationConfig, section | overrides, where=str(config or SECTION))


def distillation_section(values: dict[str, Any]) -> Any:
    """Remove and return the section [distillation], formerly [teaching], of a TOML file."""
    old = values.pop(_OLD_SECTION, None)
    return values.pop(SECTION, old)


@dataclass(frozen=True)
class DistillationData:
    """Training data of a student: trees, and the teacher's targets for each word."""

    treebank: Treebank
    """The treebank's sentences with gold trees, then the text's with the teacher's minimum-risk trees."""
    soft_targets: SoftTargets
    """The teacher's targets for every word of it."""
    gold_sentences: int
    """The number of treebank sentences; the others are text."""
    config: DistillationConfig = DistillationConfig()
    report: Mapping[str, Any] | None = None
    """Recorded in the model: the teacher and the text."""
    notes: tuple[str, ...] = ()
    text_tags: SoftTags | None = None
    """The teacher's tags of the text's words, if it predicts tags."""

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """The loss weight of each sentence."""
        weights = np.full(len(self.treebank), self.config.text_weight)
        weights[: self.gold_sentences] = 1.0
        return weights

    def targets(self, heads: Codes, labels: Codes, names: Sequence[str]) -> SoftTargets:
        """Mix ``gold_share`` of the prepared gold trees with the teacher's targets.

        The text has the teacher's targets alone. A treebank sentence whose tree is partly unknown has none
        and is trained as without a teacher: a word-by-word mixture would not be a distribution over trees.
        """
        starts = self.treebank.sentence_words.astype(np.int64)
        gold_words = int(starts[self.gold_sentences])
        gold = SoftTargets.from_trees(heads, labels, names)
        unknown = np.diff(gold.starts) == 0
        unknown[gold_words:] = False
        partial = np.repeat(np.add.reduceat(unknown, starts[:-1]) > 0, np.diff(starts))
        is_gold = np.arange(len(self.soft_targets)) < gold_words
        gold_weight = np.where(is_gold, self.config.gold_share, 0.0)
        return self.soft_targets.with_labels(names).interpolate(gold, gold_weight).without_words(partial)

    def without_fold(self, count: int, fold: int) -> DistillationData:
        """Leave out a fold of the treebank, as ``Folds`` splits it; all of the text stays."""
        numbers = [s for s in range(len(self.treebank)) if s >= self.gold_sentences or s % count != fold]
        chosen = [self.treebank[s] for s in numbers]
        return replace(
            self,
            treebank=Treebank.from_sentences(chosen, source=self.treebank.source),
            soft_targets=self.soft_targets.select_words(_words_of(self.treebank, np.array(numbers))),
            gold_sentences=sum(s < self.gold_sentences for s in numbers),
        )


@dataclass(frozen=True)
class Distillation:
    """A teacher, the text that it labels in addition to the treebank, and the options.

    A teacher is any parser with ``capabilities.distributions``. Of ``teacher.distributions(treebank,
    projective=…, single_root=…, threads=…)`` only ``labels``, ``label_marginals`` (or ``marginals``,
    unlabelled) and ``minimum_labelled_risk()`` (``minimum_risk()``) are used, so an ensemble that averages
    marginals can be one.

    >>> from arcwise.parsing.scored import ScoredParser
    >>> from arcwise.parsing.scorer import FunctionScorer
    >>> uniform = FunctionScorer(lambda sentence: np.zeros((len(sentence) + 1, len(sentence) + 1)))
    >>> teacher = ScoredParser(uniform)
    >>> rows = "1 Birds _ NOUN _ _ 2 nsubj _ _", "2 sing _ VERB _ _ 0 root _ _", ""
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n")
    >>> data = Distillation(teacher).prepare(treebank, projective=True, single_root=True, labelled=False)
    >>> data.soft_targets.heads.tolist(), data.soft_targets.probabilities.tolist()
    ([0, 2, 0, 1], [0.5, 0.5, 0.5, 0.5])
    """

    teacher: Parser
    text: Treebank | None = None
    """Tokenized sentences, tagged if the student uses tags; trees in it are ignored."""
    config: DistillationConfig = DistillationConfig()
    name: str = ""
    """The teacher's name in the student's model file."""
    retrain: Callable[[Treebank], Parser] | None = None
    """Trains such a teacher on another treebank; needed for ``teacher_folds``."""

    def __post_init__(self) -> None:
        if not self.teacher.capabilities.distributions:
            raise OptionError(
                "teacher",
                f"found a {self.teacher.kind} parser, which has no distributions over trees; expected a "
                "graph-based or a neural parser",
            )
        if self.text is not None and not self.text.word_count:
            raise InputError(f"{self.text.source}: has no words, expected text to learn from")
        if self.config.teacher_folds and self.retrain is None:
            raise OptionError("teacher_folds", "expected 0: this teacher cannot be retrained")

    def prepare(
        self,
        train: Treebank,
        *,
        projective: bool,
        single_root: bool,
        labelled: bool,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> DistillationData:
        """Compute the teacher's marginals of treebank and text over the student's class of trees."""
        progress = progress or Progress(shown=False)
        notes = [*(self._check_labels(train) if labelled else []), *self._check_columns(train)]
        trees = {"projective": projective, "single_root": single_root, "threads": threads}
        if self.config.gold_share < 1:
            progress.say(f"the teacher parses the treebank ({len(train)} sentences)")
        targets, notes = self._treebank_targets(train, trees, progress), [*notes, *self._check_overlap(train)]
        whole, text_tags = train, None
        if self.text is not None:
            progress.say(f"the teacher parses the text ({len(self.text)} sentences)")
            text = self._predictions(self.text, trees)
            parsed = self.text.annotate(heads=text.heads, deprel=text.labels)
            whole = Treebank(_terminated(train.data) + parsed.data, source=train.source)
            targets = SoftTargets.concatenate([targets, text.targets])
            text_tags = text.tags
        for note in notes:
            progress.say(note)
        return DistillationData(
            whole, targets, len(train), self.config, self._report(), tuple(notes), text_tags
        )

    def _treebank_targets(self, train: Treebank, trees: dict[str, Any], progress: Progress) -> SoftTargets:
        count = min(self.config.teacher_folds, len(train))
        if self.config.gold_share == 1:  # the targets would have weight 0
            return SoftTargets.empty(train.word_count, getattr(self.teacher, "labels", ()))
        if count < 2:
            return self._targets(self.teacher, train, trees)
        assert self.retrain is not None
        parts, words = [], []
        for fold in range(count):
            progress.say(f"training the teacher without fold {fold + 1} of {count}")
            others, part = split_fold(train, count, fold)
            parts.append(self._targets(self.retrain(others), part, trees))
            words.append(_words_of(train, np.arange(fold, len(train), count)))
        names = parts[0].label_names
        # A fold may lack labels that others have.
        names = tuple(sorted({name for part in parts for name in part.label_names})) if names else ()
        targets = SoftTargets.concatenate([part.with_labels(names) for part in parts])
        return targets.select_words(np.argsort(np.concatenate(words)))

    def _targets(self, teacher: Any, treebank: Treebank, trees: dict[str, Any]) -> SoftTargets:
        if isinstance(teacher, BatchTeacher):
            return teacher.soft_predictions(treebank, least=self.config.least, **trees).targets
        return SoftTargets.concatenate([targets for _, targets in self._batches(teacher, treebank, trees)])

    def _batches(
        self, teacher: Any, treebank: Treebank, trees: dict[str, Any]
    ) -> Iterator[tuple[Any, SoftTargets]]:
        """The tree distributions of a few sentences at a time, and their targets."""
        for first in range(0, len(treebank), _BATCH_SENTENCES):
            distributions = teacher.distributions(treebank[first : first + _BATCH_SENTENCES], **trees)
            names = distributions.labels or ()
            marginals = distributions.label_marginals if names else distributions.marginals
            yield distributions, SoftTargets.from_marginals(marginals, names, least=self.config.least)

    def _predictions(self, text: Treebank, trees: dict[str, Any]) -> TeacherPredictions:
        """The teacher's minimum-risk trees of the text, its soft targets and tags."""
        if isinstance(self.teacher, BatchTeacher):
            return self.teacher.soft_predictions(text, least=self.config.least, **trees)
        parsed, parts = [], []
        for distributions, targets in self._batches(self.teacher, text, trees):
            parsed += (
                distributions.minimum_labelled_risk()
                if distributions.labels
                else distributions.minimum_risk()
            )
            parts.append(targets)
        heads = np.concatenate([tree.heads[1:] for tree in parsed]).astype(np.int32)
        labels = [
            label for tree in parsed for label in (tree.labels[1:] if tree.labels else ["_"] * len(tree))
        ]
        return TeacherPredictions(heads, labels, SoftTargets.concatenate(parts))

    def require_text(self, student: str, able: str) -> None:
        """Check the options of a ``student`` that learns from trees alone, unlike those named ``able``.

        Raises ``OptionError`` if there is no text, or if an option is set that applies to soft targets only.
        """
        why = f"{student} learns from trees alone ({able} from probabilities)"
        refuse_unread(self.config, dict.fromkeys(("gold_share", "teacher_folds"), why))
        if self.text is None:
            raise OptionError("teacher", f"expected text to learn from: {why}")

    def _check_labels(self, train: Treebank) -> list[str]:
        """Raise ``OptionError`` if teacher and treebank have different label sets; else notes."""
        counts = Counter(label for label in train.column("deprel") if label != "_")
        teacher_labels = set(getattr(self.teacher, "labels", ()))
        if not teacher_labels:
            raise OptionError(
                "teacher", "the teacher has no labels; expected a labelled one, or labelled = false"
            )
        if sum(counts[label] for label in teacher_labels) < MIN_SHARED_LABELS * counts.total():
            raise OptionError(
                "teacher",
                f"found the labels {_excerpt(teacher_labels)}, expected those of {train.source}: "
                f"{_excerpt(set(counts))}",
            )
        extra = teacher_labels - set(counts)
        note = f"{len(extra)} labels of the teacher are not in the treebank: {_excerpt(extra)}"
        return [note] if extra else []

    def _check_columns(self, train: Treebank) -> list[str]:
        """Raise ``InputError`` if only the treebank is tagged; else notes on missing columns."""
        if self.text is None:
            return []
        lacking = [column for column in TAGS if _has(train, column) and not _has(self.text, column)]
        if "upos" in lacking:
            raise InputError(
                f"{self.text.source}: has no tags (UPOS), expected text tagged like the treebank, or a "
                "teacher trained by 'arcwise train --pipeline', which tags it"
            )
        columns = ", ".join(column.upper() for column in lacking)
        return [f"the treebank has {columns}, the text does not"] if lacking else []

    def _check_overlap(self, train: Treebank) -> list[str]:
        """A note if the teacher labels its own training data."""
        info = self.teacher.info
        same = info.get("train") == data_name(train) and info.get("train_sentences") == len(train)
        if not same or self.config.teacher_folds or self.config.gold_share == 1:
            return []
        return [
            "the teacher was trained on this treebank and is overconfident on it "
            "(teacher_folds = 5 retrains it for each fifth)"
        ]

    def _report(self) -> dict[str, Any]:
        report: dict[str, Any] = {"teacher": self.name or self.teacher.kind, **vars(self.config)}
        if self.text is not None:
            report |= {"text": data_name(self.text), "text_sentences": len(self.text)}
        return report


class Student(Protocol):
    """The fields of a student's configuration that distillation reads."""

    @property
    def single_root(self) -> bool:
        """Whether exactly one word is the root."""
        ...

    @property
    def labelled(self) -> bool:
        """Whether arcs have labels."""
        ...


def distillation_data(
    distillation: Distillation | None,
    train: Treebank,
    student: Student,
    *,
    projective: bool,
    threads: int,
    progress: Progress,
) -> DistillationData | None:
    """Prepare the data of a student, if there is a teacher."""
    if distillation is None:
        return None
    return distillation.prepare(
        train,
        projective=projective,
        single_root=student.single_root,
        labelled=student.labelled,
        threads=threads,
        progress=progress,
    )


def distillation_report(distilled: DistillationData | None) -> dict[str, Any]:
    """The entry about the teacher in the report of a training, if there was one."""
    return {} if distilled is None else {"taught": distilled.report}


def _words_of(treebank: Treebank, sentences: Indices) -> Indices:
    """The indices of all words of these sentences."""
    starts = treebank.sentence_words.astype(np.int64)
    return np.concatenate([np.arange(starts[s], starts[s + 1]) for s in sentences.tolist()])


def _has(treebank: Treebank, column: str) -> bool:
    return any(value != "_" for value in treebank.column(column))


def _terminated(data: bytes) -> bytes:
    """The bytes of a treebank, ending in an empty line so that another treebank can follow."""
    return data if data.endswith((b"\n\n", b"\n\r\n")) else data.rstrip(b"\n") + b"\n\n"


def _excerpt(names: set[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "")
