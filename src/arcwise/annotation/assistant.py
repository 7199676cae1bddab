"""``Assistant``: a parser that thinks along while a sentence is annotated. Scores once a sentence, then exact inference under the decisions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from arcwise.annotation.gains import Gains, expected_gains, head_entropies
from arcwise.annotation.plain_thoughts import plain_thoughts
from arcwise.annotation.scored_sentence import Inferred, ScoredSentence
from arcwise.annotation.states import Decisions, consistent
from arcwise.annotation.tagging import proposed_tags, seen_by_parser
from arcwise.annotation.thoughts import OtherTree, Reason, Thought, Thoughts
from arcwise.errors import InputError
from arcwise.parsing.parser import Parser
from arcwise.parsing.scored import ScoredParser
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Sentence, Treebank


class Assistant:
    """What a parser, or a pipeline, has to say of sentences. Decisions are read from the sentence (``annotation.states``).

    What it says equals what ``arcwise parse --keep lemma,upos,xpos,feats,head,deprel --confidence`` says of the sentence with its
    decisions alone. It may be asked from several threads.

    >>> from arcwise.parsing.scorer import FunctionScorer
    >>> def near(sentence):
    ...     words = np.arange(len(sentence) + 1)
    ...     return -np.abs(words[:, None] - words).astype(float)
    >>> assistant = Assistant(ScoredParser(FunctionScorer(near)))
    >>> rows = "1\\ta\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n2\\tb\\t_\\t_\\t_\\t_\\t0\\t_\\t_\\t_\\n3\\tc\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
    >>> thoughts = assistant.think(Treebank.from_string(rows)[0])
    >>> [(own.decided_head, own.head, round(own.probability, 2)) for own in thoughts.words]
    [(False, 2, 0.79), (True, 0, 1.0), (False, 2, 0.79)]
    """

    def __init__(
        self, parser: Parser, *, alternatives: int = 10, least: float = 0.001, kept: int = 64
    ) -> None:
        """``alternatives``: so many of each word at most, none below the probability ``least``; ``kept``: of so many sentences scores are
        kept."""
        if alternatives < 1:
            raise InputError(f"alternatives: found {alternatives}, expected at least 1")
        self.model = parser
        self._alternatives, self._least, self._kept = alternatives, least, kept
        self._scored: OrderedDict[tuple[Any, ...], ScoredSentence] = OrderedDict()
        self._lock = Lock()

    @property
    def parser(self) -> Parser:
        """The parser, without the pipeline that it may be in."""
        return self.model.parser if isinstance(self.model, Pipeline) else self.model

    @property
    def gives_probabilities(self) -> bool:
        """Whether the parser gives distributions; others propose trees alone."""
        return isinstance(self.parser, ScoredParser)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the parser gives."""
        return tuple(getattr(self.parser, "labels", ()))

    # ---- thinking

    def think(self, sentence: Sentence, *, gains: bool = False) -> Thoughts:
        """Proposals, probabilities and alternatives under all decisions of the sentence; ``gains``: also what each answer would settle."""
        decisions = Decisions.of(sentence)
        if not self.gives_probabilities:
            return plain_thoughts(self.model, sentence, decisions)
        usable = consistent(decisions)
        scored = self.scored(sentence)
        inferred = scored.under(usable)
        clash = decisions.clash()
        words = self._words(scored, inferred, decisions, usable)
        found = inferred.second_best()
        thoughts = Thoughts(
            words,
            entropy=float(inferred.result.head_entropy[0]),
            probability=float(np.exp(inferred.result.log_probability[0])),
            second_best=None if found is None else OtherTree(tuple(found[0]), tuple(found[1]), found[2]),
            note=_note(inferred) if clash is None else clash.told,
            clash=() if clash is None else clash.words,
        )
        return thoughts if not gains else _with_gains(thoughts, inferred)

    def reconsider(self, sentence: Sentence, word: int) -> Thought:
        """The thought about a word as if it were open, all other decisions standing."""
        if not 1 <= word <= len(sentence):
            raise InputError(f"word: found {word}, expected 1..{len(sentence)}")
        decisions = Decisions.of(sentence).without([word])
        if not self.gives_probabilities:
            return plain_thoughts(self.model, sentence, decisions).words[word - 1]
        scored, usable = self.scored(sentence), consistent(decisions)
        return self._words(scored, scored.under(usable), decisions, usable)[word - 1]

    def because(self, after: Sentence, before: Sentence | None = None) -> tuple[Reason, ...]:
        """Why proposals of ``after`` are not those of ``before`` (None: of the sentence with nothing decided): for each word whose
        proposal is another one, the one decision without which it would be what it was. Both have the same words."""
        if not self.gives_probabilities or (before is not None and len(before) != len(after)):
            return ()
        scored = self.scored(after)
        now = consistent(Decisions.of(after))
        nothing = now.without(range(1, len(now) + 1))
        then = nothing if before is None else consistent(Decisions.of(before))
        was, found = _proposals(scored, then), _proposals(scored, now)
        changed = [m for m in range(1, len(now) + 1) if was[m - 1] != found[m - 1] and not now.decides(m)]
        if not changed:
            return ()
        others = [
            m
            for m in range(1, len(now) + 1)
            if (now.heads[m - 1], now.labels[m - 1]) != (then.heads[m - 1], then.labels[m - 1])
        ]
        without = {m: _proposals(scored, consistent(now.like(then, m))) for m in others}
        reasons = []
        for m in changed:
            alone = [other for other in others if without[other][m - 1] == was[m - 1]]
            nearest = min(alone, key=lambda other: abs(other - m), default=None)
            reasons.append(Reason(m, was[m - 1], found[m - 1], nearest))
        return tuple(reasons)

    # ---- scores

    def scored(self, sentence: Sentence) -> ScoredSentence:
        """The sentence with its scores: found once for what the parser sees of it, its words and tags."""
        key = _seen(sentence)
        with self._lock:
            if key in self._scored:
                self._scored.move_to_end(key)
                return self._scored[key]
        found = self.score(sentence)
        with self._lock:
            self._scored[key] = found
            while len(self._scored) > self._kept:
                self._scored.popitem(last=False)
        return found

    def score(self, sentence: Sentence) -> ScoredSentence:
        """The same, found anew and not kept."""
        n = len(sentence)
        nothing = Decisions((-1,) * n, ("_",) * n)
        blank = Treebank(nothing.in_bytes(sentence.conllu_bytes), source=sentence.treebank.source)
        seen = seen_by_parser(self.model, blank)
        tags, upos = proposed_tags(self.model, blank, seen)
        parser: Any = self.parser
        scores = parser.scorer.scores(seen, trees=parser.decoding.trees)
        return ScoredSentence(parser, seen, scores, tags, upos)

    def _words(
        self, scored: ScoredSentence, inferred: Inferred, decisions: Decisions, usable: Decisions
    ) -> tuple[Thought, ...]:
        """A thought a word; of a decision that clashes, the parser's view of its arc."""
        alternatives = inferred.alternatives(self._alternatives, self._least)
        entropies = head_entropies(inferred.marginals)
        heads, labels = inferred.heads, inferred.labels
        head_shares = inferred.result.head_probability
        both = inferred.label_probabilities
        words = []
        for i in range(len(decisions)):
            own = Thought(
                decisions.heads[i] >= 0,
                decisions.labels[i] != "_",
                heads[i],
                labels[i],
                float(head_shares[i]),
                both[i],
                float(entropies[i]),
                None,
                alternatives[i],
                scored.tags[i],
                scored.upos_probabilities[i],
            )
            if decisions.heads[i] != usable.heads[i]:
                own = _clashing(own, i + 1, decisions, inferred)
            words.append(own)
        return tuple(words)


def _clashing(thought: Thought, word: int, decisions: Decisions, inferred: Inferred) -> Thought:
    head, label = decisions.heads[word - 1], decisions.labels[word - 1]
    share = float(inferred.marginals[head, word])
    both = share if label != "_" else None
    return replace(thought, head=head, label=label, probability=share, label_probability=both)


def _with_gains(thoughts: Thoughts, inferred: Inferred) -> Thoughts:
    found = sentence_gains(inferred)
    words = [replace(own, gain=float(gain)) for own, gain in zip(thoughts.words, found.values, strict=True)]
    return replace(thoughts, words=tuple(words), gain_error=found.error)


def sentence_gains(inferred: Inferred) -> Gains:
    """The expected gain of each word of a sentence under its decisions."""
    weights = next(iter(inferred.weights.matrices()))
    return expected_gains(weights, inferred.marginals, inferred.trees)


def _note(inferred: Inferred) -> str | None:
    told = "; ".join(note.text for note in inferred.notes)
    return told or None


def _proposals(scored: ScoredSentence, decisions: Decisions) -> list[tuple[int, str]]:
    """Head and label of each word."""
    inferred = scored.under(decisions)
    return list(zip(inferred.heads, inferred.labels, strict=True))


def _seen(sentence: Sentence) -> tuple[Any, ...]:
    """What a parser may see of a sentence: every column but those of trees, and MISC without what parsers write there."""
    columns: Sequence[Sequence[str]] = (
        sentence.forms,
        sentence.lemmas,
        sentence.upos,
        sentence.xpos,
        sentence.feats,
    )
    misc = tuple(_without_probabilities(own) for own in sentence.misc)
    return (*map(tuple, columns), misc)


def _without_probabilities(misc: str) -> str:
    if "Prob=" not in misc and "Alternatives=" not in misc:
        return misc
    kept = [pair for pair in misc.split("|") if not pair.partition("=")[0].endswith(("Prob", "Alternatives"))]
    return "|".join(kept) or "_"
