"""Simulated annotation from scratch: which sentences and words an annotator answers between two trainings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from arcwise.annotation.assistant import Assistant
from arcwise.annotation.gains import expected_gains
from arcwise.annotation.states import ArcDecisions
from arcwise.annotation.worklist import TRAINING_SURE, training_word
from arcwise.evaluation import evaluate
from arcwise.graph import GraphConfig, GraphParser
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Sentence, Treebank
from benchmarks.simulated_annotator import Session

Floats = npt.NDArray[np.float64]
FIRST = 20
"""Sentences annotated in full before the first training."""
CANDIDATES, LONGEST = 800, 30
"""Size of the random pool that sentences are selected from, and their maximum length in words."""
PROBABLE = 0.03
"""Answers below this probability count as impossible in gains."""
CONFIG = GraphConfig(trainer="log-linear", epochs=5, arc_bits=20, row_bits=22)


@dataclass(frozen=True)
class Strategy:
    """How sentences and words are chosen."""

    choose: str = "entropy"
    """Sentences: by ``entropy``, ``half`` of them by entropy, ``novelty`` or ``random``."""
    sure: float = TRAINING_SURE
    """Probability from which on a word is left unanswered."""
    last: float | None = None
    """The same after 1,000 sentences, in between linear; None: ``sure``."""
    labels: bool = False
    """Whether this probability is that of head and label together."""
    batch: int = 50
    """Sentences between two trainings."""
    active: int = 200
    """Sentences before sentences are selected: confidences of parsers trained on fewer are unreliable."""
    members: int = 1
    """Parsers, trained with different seeds, whose mean probability counts."""
    calibrated: bool = False
    """Whether five-fold cross-validation calibrates the parser that chooses."""
    most: float = 1.0
    """Share of a sentence's words that are answered at most."""
    completed: float | None = None
    """Train on heads of at least this probability given the answers, too; None: on answers alone."""
    tags: bool = True
    """Whether the annotator has corrected the tags before the trees; without, the parser sees words alone."""
    config: GraphConfig = CONFIG
    """Of the parsers: those that choose, and the one trained on whole sentences."""

    def __str__(self) -> str:
        """The fields that differ from the defaults."""
        changes = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return ",".join(f"{name}={value}" for name, value in changes.items()) or "default"

    def threshold(self, sentences: int) -> float:
        """The probability from which on a word is left unanswered, after so many sentences."""
        if self.last is None:
            return self.sure
        return self.sure + (self.last - self.sure) * min(sentences / 1000, 1.0)


DEFAULT = Strategy()
ATTEMPTS: Mapping[str, Strategy] = {"default": DEFAULT}
"""Strategies to compare, by description."""


@dataclass(frozen=True)
class Point:
    """Progress of an annotator, and the accuracy of the parser trained so far."""

    sentences: int
    answered: int
    uas: float
    las: float


def score(parser: GraphParser, measured: Treebank) -> tuple[float, float]:
    """UAS and LAS."""
    scores = evaluate(measured, parser.parse(measured)).attachment
    return scores.uas, scores.las


class Committee:
    """One sentence and the opinions of several parsers about its open words."""

    def __init__(self, assistants: Sequence[Assistant], sentence: Sentence, *, labels: bool) -> None:
        self.sessions = [Session.of(assistant, sentence) for assistant in assistants]
        self.labels = labels

    @property
    def first(self) -> Session:
        """The session of the first parser, which has the answers."""
        return self.sessions[0]

    def confidence(self) -> Floats:
        """Shape (n,): the mean probability of the most probable head (and label) of each word."""
        if self.labels:
            return np.mean([s.inferred.label_probabilities for s in self.sessions], axis=0)
        return np.asarray(self.marginals().max(axis=0)[1:], np.float64)

    def marginals(self) -> Floats:
        """The mean probability of each arc."""
        return np.asarray(np.mean([s.inferred.marginals for s in self.sessions], axis=0))

    def word(self, sure: float) -> int | None:
        """The doubtful word with the largest mean gain; of one parser that of the worklist ``training``."""
        if len(self.sessions) == 1 and not self.labels:
            return training_word(self.first.inferred, self.first.open, sure=sure)
        confidence = self.confidence()
        doubtful = [m for m in self.first.open if confidence[m - 1] < sure]
        if not doubtful:
            return None
        gains = sum(
            expected_gains(
                next(iter(s.inferred.weights.matrices())),
                s.inferred.marginals,
                s.inferred.trees,
                words=doubtful,
                least=PROBABLE,
            ).values
            for s in self.sessions
        )
        return max(doubtful, key=lambda m: float(gains[m - 1]))

    def annotate(self, sure: float, most: float) -> None:
        """Answer words until the parsers are confident about the others, or enough are answered."""
        while len(self.first.looked) < most * len(self.first):
            word = self.word(sure)
            if word is None:
                return
            for session in self.sessions:
                session.answer(word)


def learning(sentences: Treebank, measured: Treebank, strategy: Strategy = DEFAULT) -> Iterator[Point]:
    """Annotate batch after batch; yield a point after each training. ``sentences`` are in random order."""
    waiting = list(range(len(sentences)))
    taken, waiting = waiting[:FIRST], waiting[FIRST:]
    answers = {s: ArcDecisions.of(sentences[s]) for s in taken}
    answered = sum(len(sentences[s]) for s in taken)
    known: Counter[str] = Counter(form for s in taken for form in sentences[s].forms)
    previous: GraphParser | None = None
    while True:
        data = b"".join(
            _trained_on(sentences[s], decisions, previous, strategy).in_bytes(sentences[s].conllu_bytes)
            for s, decisions in answers.items()
        )
        parsers = trained(Treebank(data), strategy)
        yield Point(len(answers), answered, *score(parsers[0], measured))
        if not waiting:
            return
        previous = parsers[0]
        count = share(strategy, len(answers))
        taken = chosen(parsers[0], sentences, waiting[:CANDIDATES], count, strategy, known) if count else []
        taken += [s for s in waiting if s not in taken][: strategy.batch - len(taken)]
        waiting = [s for s in waiting if s not in taken]
        assistants = [Assistant(parser) for parser in parsers]
        sure = strategy.threshold(len(answers))
        for s in taken:
            committee = Committee(assistants, sentences[s], labels=strategy.labels)
            committee.annotate(sure, strategy.most)
            answered += len(committee.first.looked)
            answers[s] = committee.first.answers
            known.update(sentences[s].forms[m - 1] for m in committee.first.looked)


def trained(treebank: Treebank, strategy: Strategy) -> list[GraphParser]:
    """The parsers that choose; the first is the one that is evaluated."""
    parsers = [
        GraphParser.train(treebank, config=replace(strategy.config, seed=seed))
        for seed in range(1, strategy.members + 1)
    ]
    if strategy.calibrated:
        at = GraphParser.train(treebank, "5fold", config=strategy.config).fitted
        parsers = [parser.with_temperatures(at.heads, at.labels, at.smoothing) for parser in parsers]
    return parsers


def _trained_on(
    sentence: Sentence, decisions: ArcDecisions, previous: GraphParser | None, strategy: Strategy
) -> ArcDecisions:
    """The decisions, completed by confident heads and labels of the previous parser."""
    if previous is None or strategy.completed is None or min(decisions.heads) >= 0:
        return decisions
    posterior = Assistant(previous).score(sentence).under(decisions)
    confident = [p >= strategy.completed for p in posterior.label_probabilities]
    heads, labels = list(decisions.heads), list(decisions.labels)
    for i, sure in enumerate(confident):
        if sure and heads[i] < 0:
            heads[i], labels[i] = posterior.heads[i], posterior.labels[i]
    return ArcDecisions(tuple(heads), tuple(labels))


def visible(treebank: Treebank, strategy: Strategy) -> Treebank:
    """The columns that the annotator has filled in before the trees."""
    if strategy.tags:
        return treebank
    blank = ["_"] * treebank.word_count
    return treebank.annotate(lemma=blank, upos=blank, xpos=blank, feats=blank)


def share(strategy: Strategy, sentences: int) -> int:
    """How many sentences of the next batch are selected; the others are random."""
    if sentences < strategy.active or strategy.choose == "random":
        return 0
    return strategy.batch // 2 if strategy.choose == "half" else strategy.batch


def chosen(
    parser: GraphParser,
    sentences: Treebank,
    candidates: list[int],
    count: int,
    strategy: Strategy,
    known: Mapping[str, int],
) -> list[int]:
    """Select sentences with high entropy, or with doubtful words that were answered least."""
    short = [s for s in candidates if len(sentences[s]) <= LONGEST]
    some = Treebank.from_sentences(sentences[s] for s in short)
    probabilities = parser.parses(some, options=ParseOptions(confidence=True)).probabilities
    assert probabilities is not None
    if strategy.choose != "novelty":
        order = np.argsort(-np.asarray(probabilities.head_entropy), kind="stable")
        return [short[int(i)] for i in order[:count]]
    heads = np.asarray(probabilities.head)
    ends = np.cumsum([len(sentences[s]) for s in short]).tolist()
    doubtful = {
        s: [
            f
            for f, p in zip(sentences[s].forms, heads[end - len(sentences[s]) : end], strict=True)
            if p < strategy.sure
        ]
        for s, end in zip(short, ends, strict=True)
    }
    doubtful = {s: forms for s, forms in doubtful.items() if forms}
    counts = Counter(known)
    best: list[int] = []
    while doubtful and len(best) < count:
        # The mean novelty of the words to answer, so that long sentences have no advantage.
        s = max(doubtful, key=lambda s: sum(1 / (1 + counts[f]) for f in doubtful[s]) / len(doubtful[s]))
        best.append(s)
        counts.update(doubtful.pop(s))
    return best
