"""``Worklist``: sentences to annotate next, scored in the background and rescored after edits."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from threading import Condition, Thread
from typing import Any, Literal, get_args

import numpy as np

from arcwise.annotation.assistant import Assistant, sentence_gains
from arcwise.annotation.gains import expected_gains, expected_repairs
from arcwise.annotation.long_suggestions import is_long
from arcwise.annotation.scored_sentence import Posterior, tagged_input
from arcwise.annotation.states import ArcDecisions, consistent, first_unfinished, only_decided
from arcwise.errors import ArcwiseError, OptionError
from arcwise.inference.arc_matrices import Floats
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Parses
from arcwise.treebanks import Sentence

Value = tuple[float, int | None]
"""The score of a sentence, and the word to look at first (1..n; None: the whole sentence)."""
NOTHING: Value = (0.0, None)
"""No word of the sentence can be ranked; it is listed last if it is unfinished."""
_NEARLY_SURE = 1e-6
_LEAST = 0.005  # coarser than for one sentence: worklists score every sentence of the file
FAR_REACHING = 5
"""Exponent that favours answers which repair other words, too.

Chosen on the development data of English-EWT with the model ``en``: a larger one repairs more errors per
wrong word found, but finds fewer wrong words among those reviewed.
"""
TRAINING_SURE = 0.5
"""Probability of a head from which on a parser gains little from the answer, compared with its cost.

Chosen on the development data of English-EWT and Turkish-IMST (benchmarks/annotation.py).
"""
_PROBABLE = 0.03  # a parser trained on little data gives many heads a low probability
_AROUND = ParseOptions(keep=("head", "deprel"), confidence=True)
_FREE = ParseOptions(confidence=True)


def by_entropy(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """Entropy of the tree under the decisions, in nats; the word is the one with the least probable head."""
    parses = _parses(assistant, sentences, _AROUND)
    assert parses.probabilities is not None
    entropies = parses.probabilities.head_entropy
    values: list[Value] = []
    for sentence, shares, entropy in zip(
        sentences, _each(parses.probabilities.head, sentences), entropies, strict=True
    ):
        word, _ = _least_sure(sentence, shares)
        values.append((float(entropy), word) if entropy > _NEARLY_SURE else NOTHING)
    return values


def by_least_sure(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """Uncertainty (1 - probability) of the least probable unannotated head."""
    parses = _parses(assistant, sentences, _AROUND)
    assert parses.probabilities is not None
    values: list[Value] = []
    for sentence, shares in zip(sentences, _each(parses.probabilities.head, sentences), strict=True):
        word, share = _least_sure(sentence, shares)
        values.append(NOTHING if word is None else (1.0 - share, word))
    return values


def by_gain(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """The largest expected information gain of a word, in nats."""
    values: list[Value] = []
    for sentence in sentences:
        decisions = consistent(ArcDecisions.of(sentence))
        # score, not scored: a pass over a whole file would push the sentences at hand out of the cache.
        gains = sentence_gains(assistant.score(sentence).under(decisions)).values
        word = int(np.argmax(gains))
        values.append((float(gains[word]), word + 1) if gains[word] > _NEARLY_SURE else NOTHING)
    return values


def by_repairs(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """The largest expected number of repaired errors, favouring words that repair others."""
    values: list[Value] = []
    for sentence in sentences:
        posterior = assistant.score(sentence).under(consistent(ArcDecisions.of(sentence)))
        scores = repair_order(posterior)
        word = int(np.argmax(scores))
        values.append((float(scores[word]), word + 1) if scores[word] > _NEARLY_SURE else NOTHING)
    return values


def repair_order(posterior: Posterior) -> Floats:
    """Shape (n,): the expected repairs of each word, times a power of its repairs if it is wrong."""
    weights = next(iter(posterior.weights.matrices()))
    repairs = expected_repairs(weights, posterior.marginals, posterior.heads, posterior.trees, least=_LEAST)
    return np.asarray(repairs.expected * repairs.each**FAR_REACHING)


def by_training(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """Random order of the sentences that have a word to train a parser on (``training_word``).

    The order depends on the words of a sentence, so that it stays the same while the file is edited.
    """
    values: list[Value] = []
    for sentence in sentences:
        decisions = consistent(ArcDecisions.of(sentence))
        open_words = [m for m, head in enumerate(decisions.heads, 1) if head < 0]
        word = training_word(assistant.score(sentence).under(decisions), open_words)
        values.append(NOTHING if word is None else (_random(sentence), word))
    return values


def training_word(
    posterior: Posterior, open_words: Iterable[int], *, sure: float = TRAINING_SURE
) -> int | None:
    """The word (1..n) to answer next for training a parser; None if it is confident about all open words.

    Of the open words whose suggested head is less probable than ``sure``, the one with the largest expected
    information gain.
    """
    shares = posterior.result.head_probability
    doubtful = [m for m in open_words if shares[m - 1] < sure]
    if not doubtful:
        return None
    weights = next(iter(posterior.weights.matrices()))
    gains = expected_gains(weights, posterior.marginals, posterior.trees, words=doubtful, least=_PROBABLE)
    return max(doubtful, key=lambda m: float(gains.values[m - 1]))


def _random(sentence: Sentence) -> float:
    """A number above 0 and at most 1 that depends on the words of a sentence."""
    return (zlib.crc32("\n".join(sentence.forms).encode()) + 1) / 2**32


def by_disagreement(assistant: Assistant, sentences: Sequence[Sentence]) -> list[Value]:
    """Improbability (1 - probability) of the least probable annotated arc and label."""
    parses = _parses(assistant, sentences, _FREE, gold=True)
    assert parses.probabilities is not None
    gold = parses.probabilities.gold
    assert gold is not None
    heads = np.asarray(gold.head, np.float64)
    # -1 marks a label that the parser does not know: probability 0.
    labels = np.maximum(np.asarray(gold.label, np.float64), 0.0)
    values: list[Value] = []
    for sentence, head, label in zip(
        sentences, _each(heads, sentences), _each(labels, sentences), strict=True
    ):
        values.append(
            _most_improbable(consistent(ArcDecisions.of(sentence)), head, label, bool(assistant.labels))
        )
    return values


def _most_improbable(decisions: ArcDecisions, head: Floats, label: Floats, labelled: bool) -> Value:
    shares = [
        (float(head[i] * (label[i] if labelled and decisions.labels[i] != "_" else 1.0)), i + 1)
        for i in range(len(decisions))
        if decisions.heads[i] >= 0
    ]
    if not shares:
        return NOTHING
    share, word = min(shares)
    return 1.0 - share, word


def _least_sure(sentence: Sentence, shares: Floats) -> tuple[int | None, float]:
    """The unannotated word with the least probable head; None if there is none."""
    decisions = consistent(ArcDecisions.of(sentence))
    open_words = [(float(shares[i]), i + 1) for i, head in enumerate(decisions.heads) if head < 0]
    share, word = min(open_words, default=(1.0, None))
    return word, share


def _parses(
    assistant: Assistant, sentences: Sequence[Sentence], options: ParseOptions, *, gold: bool = False
) -> Parses:
    parser: Any = assistant.parser
    tagged = tagged_input(assistant.model, only_decided(sentences))
    parses: Parses = parser.parses(tagged, options=options, gold=gold)
    return parses


def _each(flat: Any, sentences: Sequence[Sentence]) -> list[Floats]:
    ends = np.cumsum([0, *(len(sentence) for sentence in sentences)]).tolist()
    return [np.asarray(flat[a:b], np.float64) for a, b in pairwise(ends)]


By = Literal["entropy", "least-sure", "gain", "repairs", "training", "disagreement", "search"]
BATCH = 32
"""Sentences scored at a time."""

_ORDERS: Mapping[str, Callable[[Assistant, Sequence[Sentence]], list[Value]]] = {
    "entropy": by_entropy,
    "least-sure": by_least_sure,
    "gain": by_gain,
    "repairs": by_repairs,
    "training": by_training,
    "disagreement": by_disagreement,
}


@dataclass(frozen=True)
class Item:
    """A sentence of a worklist."""

    number: int
    value: float
    """The score; higher comes first. 0 for an unfinished sentence that the order cannot rank."""
    word: int | None
    """The word to look at first (1..n); None for the whole sentence."""


class Worklist:
    """Sentences ranked by the value of annotating them. ``items`` has those scored so far.

    Every unfinished sentence is listed. Those that the order cannot rank come last: a sentence of one word,
    one that lacks only labels or tags, and under ``disagreement`` one without annotation.

    sentence: returns the current sentence of a number 0..count-1; called from another thread after ``start``.
    by: ``entropy`` (of the tree), ``least-sure`` (uncertainty of the least certain word), ``gain`` (expected
        information gain of the best answer), ``repairs`` (expected number of errors repaired by a review,
        favouring words that repair others), ``training`` (random, words that a parser would learn from),
        ``disagreement`` (improbability of the annotation), ``search`` (hits, in file order).
    unfinished: returns the first word of a sentence that is not annotated, or None; by default, a word is
        annotated if its head and its label are.

    >>> from arcwise.treebanks import Treebank
    >>> words = Treebank.from_string("1\\tHi\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n" * 3)
    >>> hits = lambda sentence: None if sentence.number == 1 else 1
    >>> worklist = Worklist(words.__getitem__, 3, None, by="search", hits=hits)
    >>> worklist.step(), worklist.ready, [item.number for item in worklist.items()]
    (3, True, [0, 2])
    """

    def __init__(
        self,
        sentence: Callable[[int], Sentence],
        count: int,
        assistant: Assistant | None,
        *,
        by: By,
        hits: Callable[[Sentence], int | None] | None = None,
        unfinished: Callable[[Sentence], int | None] | None = None,
    ) -> None:
        """``hits`` (for ``search``): returns the first word (1..n) of a hit, or None."""
        if by not in get_args(By):
            raise OptionError("by", f"found {by!r}, expected one of {', '.join(get_args(By))}")
        if by == "search" and hits is None:
            raise OptionError("hits", "found none, expected a function that finds hits")
        if by != "search" and (assistant is None or not assistant.gives_probabilities):
            raise OptionError("by", f"found {by!r}, which needs a parser with probabilities")
        self.by = by
        self._sentence, self._assistant, self._hits = sentence, assistant, hits
        self._unfinished = unfinished or partial(first_unfinished, tags=False)
        # None: the sentence needs no work.
        self._values: dict[int, Value | None] = {}
        self._waiting: OrderedDict[int, None] = OrderedDict.fromkeys(range(count))
        self._count = count
        self._signal = Condition()
        self._thread: Thread | None = None
        self._ordered: list[Item] | None = None

    @property
    def ready(self) -> bool:
        """Whether every current sentence is scored."""
        with self._signal:
            return len(self._values) == self._count and not self._waiting

    @property
    def scored(self) -> int:
        """The number of scored sentences."""
        with self._signal:
            return len(self._values)

    def items(self) -> list[Item]:
        """The sentences scored so far, best first, without those that need no work."""
        with self._signal:
            if self._ordered is None:
                items = [Item(s, *value) for s, value in self._values.items() if value is not None]
                self._ordered = sorted(items, key=lambda item: (-item.value, item.number))
            return list(self._ordered)

    def step(self, sentences: int = BATCH) -> int:
        """Score more sentences; returns how many, 0 if none was left."""
        with self._signal:
            numbers = [s for s, _ in zip(self._waiting, range(sentences), strict=False)]
            for s in numbers:  # an edit while they are scored puts them back
                del self._waiting[s]
        if not numbers:
            return 0
        # Outside the lock, so that edits and reads need not wait for inference.
        values = self._valued(numbers)
        with self._signal:
            for s, value in values.items():
                if s < self._count and s not in self._waiting:  # unless it changed while it was being scored
                    self._values[s] = value
            self._ordered = None
        return len(numbers)

    def start(self) -> None:
        """Score all sentences in a daemon thread, and changed ones again."""
        if self._thread is not None:
            return
        self._thread = Thread(target=self._run, name=f"worklist by {self.by}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        thread, self._thread = self._thread, None
        with self._signal:
            self._signal.notify_all()
        if thread is not None:
            thread.join()

    def changed(self, numbers: Iterable[int], *, count: int | None = None) -> None:
        """Score changed sentences again.

        count: the new number of sentences, if it changed; all from the first of ``numbers`` on are then
            scored again.
        """
        with self._signal:
            anew = [s for s in numbers if s >= 0]
            if count is not None and count != self._count:
                first = min(anew, default=0)
                anew, self._count = list(range(first, count)), count
                for s in [s for s in {*self._values, *self._waiting} if s >= count]:
                    self._values.pop(s, None)
                    self._waiting.pop(s, None)
            for s in reversed(anew):
                if s < self._count:
                    self._values.pop(s, None)
                    self._waiting[s] = None
                    self._waiting.move_to_end(s, last=False)  # edited sentences come first
            self._ordered = None
            self._signal.notify_all()

    def _run(self) -> None:
        while self._thread is not None:
            if self.step():
                continue
            with self._signal:
                if self._thread is not None and not self._waiting:
                    self._signal.wait(
                        1.0
                    )  # with a timeout, since ``stop`` clears the thread without the lock

    def _valued(self, numbers: Sequence[int]) -> dict[int, Value | None]:
        """The values of sentences; None for one that needs no work or cannot be read."""
        sentences: dict[int, Sentence] = {}
        values: dict[int, Value | None] = {}
        for s in numbers:
            try:
                sentences[s] = self._sentence(s)
            except (ArcwiseError, IndexError):
                # The sentence may have been removed or broken since; the worklist then omits it.
                values[s] = None
        try:
            return values | dict(zip(sentences, self._values_of(list(sentences.values())), strict=True))
        except ArcwiseError:  # one broken sentence fails its whole batch: score them one by one
            for s, sentence in sentences.items():
                try:
                    values[s] = self._values_of([sentence])[0]
                except ArcwiseError:
                    values[s] = self._listed(NOTHING, sentence)
            return values

    def _values_of(self, sentences: list[Sentence]) -> list[Value | None]:
        if not sentences:
            return []
        if self._hits is not None and self.by == "search":
            words = [self._hits(sentence) for sentence in sentences]
            return [None if word is None else (1.0, word) for word in words]
        assert self._assistant is not None
        # The values of a sentence with thousands of words would take gigabytes, so it gets none.
        short = [sentence for sentence in sentences if not is_long(sentence)]
        values = iter(_ORDERS[self.by](self._assistant, short) if short else ())
        ranked = [NOTHING if is_long(sentence) else next(values) for sentence in sentences]
        return [self._listed(value, own) for value, own in zip(ranked, sentences, strict=True)]

    def _listed(self, value: Value, sentence: Sentence) -> Value | None:
        """A value as the list has it: 0 for an unfinished sentence without one, None for a finished one."""
        if value[0] > NOTHING[0]:
            return value
        word = self._unfinished(sentence)
        return None if word is None else (0.0, word)
