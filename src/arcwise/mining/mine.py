"""``mine``: rank the words of a treebank by the probability that their annotation is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError, OptionError
from arcwise.mining.combiner import Combiner, mean_log_odds, shipped_combiner
from arcwise.mining.crossfit import EFFORTS, Crossfitted, Effort, TagEvidence, crossfit, model_evidence
from arcwise.mining.evidence import Floats, universal
from arcwise.mining.features import ErrorFeatures
from arcwise.mining.precedents import PrecedentsOfWords
from arcwise.mining.proposals import Proposals
from arcwise.mining.signal import Measurement
from arcwise.mining.signals import SIGNALS, chosen_signals
from arcwise.mining.words import FlatWords
from arcwise.parsing.parser import Parser
from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class SuspectedError:
    """A word whose annotation is doubtful."""

    sentence: int
    """Index in the treebank, from 0."""
    word: int
    """1..n."""
    sent_id: str | None
    form: str
    upos: str
    head: int
    label: str
    probability: float
    """Probability that the head or the label is wrong."""
    proposed_head: int
    """The best alternative; -1 if there is none."""
    proposed_label: str
    proposed_fields: tuple[tuple[str, str], ...]
    """(column, value) proposed for UPOS, LEMMA or FEATS."""
    reasons: tuple[str, ...]
    signals: tuple[str, ...]
    """Names of the signals that gave reasons."""

    @property
    def change(self) -> str:
        """The kind of error, e.g. ``obl → nmod`` or ``head of obl``."""
        if self.proposed_head < 0:
            return self.label
        if universal(self.label) == universal(self.proposed_label):
            return f"head of {universal(self.label)}"
        return f"{universal(self.label)} → {universal(self.proposed_label)}"


@dataclass(frozen=True)
class MiningResult:
    """The measurements of all words, from which the ranked list is made."""

    words: FlatWords
    measurements: dict[str, Measurement]
    proposals: Proposals
    features: ErrorFeatures
    log_odds: Floats
    """Log-odds of an error, for every word; -inf where nothing is annotated."""
    precedents: PrecedentsOfWords = field(default_factory=PrecedentsOfWords)
    """Revisions of other treebanks of the language."""

    @property
    def treebank(self) -> Treebank:
        """The treebank."""
        return self.words.treebank

    @property
    def probabilities(self) -> Floats:
        """The probability of an error, for every word."""
        return np.asarray(1 / (1 + np.exp(-self.log_odds)))

    def ranking(self, log_odds: Floats | None = None) -> list[int]:
        """Annotated words as flat indices, most suspicious first; equal ones in the order of the file.

        ``log_odds``: others than those of the result, after a review.
        """
        values = self.log_odds if log_odds is None else log_odds
        order = np.argsort(-values, kind="stable")
        return [int(word) for word in order if np.isfinite(values[word])]

    def suspects(
        self, most: int | None = None, *, least: float = 0.0, log_odds: Floats | None = None
    ) -> list[SuspectedError]:
        """The ``most`` most suspicious words with a probability of at least ``least``."""
        values = self.log_odds if log_odds is None else log_odds
        probabilities = 1 / (1 + np.exp(-values))
        ranking = [word for word in self.ranking(values) if probabilities[word] >= least]
        return [self.suspect(word, float(probabilities[word])) for word in ranking[:most]]

    def suspect(self, word: int, probability: float | None = None) -> SuspectedError:
        """One word as a ``SuspectedError``."""
        words, number = self.words, int(self.words.sentence[word])
        reasons = {name: measurement.reasons(word) for name, measurement in self.measurements.items()}
        reasons["precedents"] = self.precedents.reasons(word)
        return SuspectedError(
            sentence=number,
            word=int(words.position[word]),
            sent_id=self.treebank[number].sent_id,
            form=words.forms[word],
            upos=words.upos[word],
            head=int(words.heads[word]),
            label=words.deprels[word],
            probability=float(self.probabilities[word]) if probability is None else probability,
            proposed_head=int(self.proposals.heads[word]),
            proposed_label=str(self.proposals.labels[word]),
            proposed_fields=tuple(sorted(self.proposals.fields.get(word, {}).items())),
            reasons=tuple(line for lines in reasons.values() for line in lines),
            signals=tuple(name for name, lines in reasons.items() if lines),
        )


def mine(
    treebank: Treebank,
    *,
    signals: Sequence[str] = (),
    time: str | Effort = "fast",
    combiner: Combiner | None = None,
    crossfitted: Crossfitted | None = None,
    models: Sequence[Parser] = (),
    seed: int = 1,
    engine: Engine = ThisProcess(),
    report: Callable[[str], None] = lambda line: None,
) -> MiningResult:
    """Rank the words of a treebank by the probability that their head or label is wrong.

    signals: names of ``SIGNALS``; empty for all. With all of them, a combiner trained on the revision
        histories of treebanks gives the probability; with some, the mean of their log-odds.
    time: ``fast`` or ``full``, or an ``Effort``.
    combiner: used instead of the shipped one.
    crossfitted: evidence computed earlier for the same treebank.
    models: parsers trained on other treebanks, which judge the words as well.
    engine: where the parsers are trained; the result does not depend on it.

    >>> rows = "1 Birds bird NOUN _ _ 2 nsubj _ _", "2 sing sing VERB _ _ 0 root _ _", ""
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n")
    >>> len(mine(treebank, signals=["frames", "rules"]).suspects())
    2
    """
    if isinstance(time, str) and time not in EFFORTS:
        raise OptionError("time", f"found {time!r}, expected one of {', '.join(EFFORTS)}")
    effort = EFFORTS[time] if isinstance(time, str) else time
    chosen = chosen_signals(signals)
    crossfits = any(signal.crossfits for signal in chosen)
    if not (np.asarray(treebank.heads) >= 0).any():
        raise InputError(f"{treebank.source}: no head is annotated, so there is nothing to check")
    if crossfitted is None:
        crossfitted = no_evidence(treebank)
        if crossfits:
            crossfitted = crossfit(treebank, effort=effort, seed=seed, engine=engine, report=report)
    for number, model in enumerate(models if crossfits else (), 1):
        crossfitted = crossfitted.with_parser(f"model {number}", model_evidence(model, treebank))
    words = FlatWords(treebank)
    measurements = {}
    for signal in chosen:
        measurements[signal.name] = signal.measure(words, crossfitted)
    proposals = Proposals.of(words, list(measurements.values()))
    features = ErrorFeatures.of(words, measurements, proposals)
    combiner = combiner or shipped_combiner()
    precedents = PrecedentsOfWords()
    if combiner is not None and len(chosen) == len(SIGNALS):
        log_odds = combiner.log_odds(features)
        precedents = combiner.precedents_of(features)
        proposals = precedents.propose(words, proposals)
    else:
        log_odds = mean_log_odds([measurement.score for measurement in measurements.values()])
    log_odds = np.where(words.heads >= 0, log_odds, -np.inf)
    return MiningResult(words, measurements, proposals, features, log_odds, precedents)


def no_evidence(treebank: Treebank) -> Crossfitted:
    """The empty result of cross-fitting without parsers."""
    count = treebank.word_count
    tags = TagEvidence(np.full(count, "_", object), np.full(count, np.nan))
    return Crossfitted({}, tags, np.zeros(len(treebank), np.int64))
