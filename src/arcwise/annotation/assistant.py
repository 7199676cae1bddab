"""``Assistant``: live parser suggestions for a sentence under annotation.

A sentence is scored once; after each decision only exact inference under the decisions runs again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from arcwise.annotation.gains import Gains, expected_gains, head_entropies
from arcwise.annotation.long_suggestions import is_long, suggest_in_pieces
from arcwise.annotation.scored_sentence import Posterior, ScoredSentence, proposed_tags, tagged_input
from arcwise.annotation.states import ArcDecisions, consistent
from arcwise.annotation.suggestions import (
    AlternativeTree,
    SentenceSuggestions,
    SuggestionChange,
    WordSuggestion,
)
from arcwise.errors import InputError
from arcwise.parsing.legal import rules_of
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.parsing.scored import ScoredParser
from arcwise.pipeline.pipeline import tree_parser
from arcwise.treebanks import Sentence, Treebank

_MAX_ARCS = 1_000_000
"""The arcs of all sentences whose scores are cached; an arc has a score for each label."""


class Assistant:
    """Suggestions of a parser or pipeline. Decisions are read from the sentence (``annotation.states``).

    The suggestions equal the output of ``arcwise parse --keep lemma,upos,xpos,feats,head,deprel
    --confidence --max-words 500`` for the sentence with only its decisions. Thread-safe.

    >>> from arcwise.parsing.scorer import FunctionScorer
    >>> def near(sentence):
    ...     words = np.arange(len(sentence) + 1)
    ...     return -np.abs(words[:, None] - words).astype(float)
    >>> assistant = Assistant(ScoredParser(FunctionScorer(near)))
    >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t_\\t_\\t_\\n"
    >>> rows = row.format(1, "a", "_") + row.format(2, "b", 0) + row.format(3, "c", "_") + "\\n"
    >>> suggestions = assistant.suggest(Treebank.from_string(rows)[0])
    >>> [(word.decided_head, word.head, round(word.probability, 2)) for word in suggestions.words]
    [(False, 2, 0.79), (True, 0, 1.0), (False, 2, 0.79)]
    """

    def __init__(
        self,
        parser: Parser,
        *,
        alternatives: int = 10,
        least: float = 0.001,
        kept: int = 64,
        legal: object | None = None,
    ) -> None:
        """
        legal: rules for suggested trees (``ParseOptions.legal``), if the parser supports them.
        alternatives: maximum number of alternatives per word.
        least: minimum probability of an alternative.
        kept: number of sentences whose scores are cached.
        """
        if alternatives < 1:
            raise InputError(f"alternatives: found {alternatives}, expected at least 1")
        self.model = parser
        self._alternatives, self._least, self._kept = alternatives, least, kept
        supported = legal is not None and self.parser.capabilities.legal
        self._legal = rules_of(legal, lambda: self.parser.info.get("legal")) if supported else None
        self._scored: OrderedDict[tuple[Any, ...], ScoredSentence] = OrderedDict()
        # Called from several threads: those of requests, of the lookahead and of worklists.
        self._lock = Lock()

    @property
    def parser(self) -> Parser:
        """The parser, taken out of its pipeline if it is in one."""
        return tree_parser(self.model)

    @property
    def gives_probabilities(self) -> bool:
        """Whether the parser gives distributions; other parsers suggest trees only."""
        return isinstance(self.parser, ScoredParser)

    @property
    def labels(self) -> tuple[str, ...]:
        """The parser's labels."""
        return tuple(getattr(self.parser, "labels", ()))

    def suggest(self, sentence: Sentence, *, gains: bool = False) -> SentenceSuggestions:
        """Suggestions under all decisions of the sentence; ``gains``: with expected information gains."""
        decisions = ArcDecisions.of(sentence)
        if not self.gives_probabilities:
            return _suggest_tree_only(self.model, sentence, decisions)
        if is_long(sentence):
            return self._in_pieces(sentence, decisions)
        # No tree contains a cycle: inference ignores those decisions, and the page marks their words.
        usable = consistent(decisions)
        scored = self.scored(sentence)
        posterior = scored.under(usable)
        conflict = decisions.conflict()
        words = self._words(scored, posterior, decisions, usable)
        runner_up = posterior.second_best()
        suggestions = SentenceSuggestions(
            words,
            entropy=float(posterior.result.head_entropy[0]),
            probability=float(np.exp(posterior.result.log_probability[0])),
            second_best=runner_up and AlternativeTree(tuple(runner_up[0]), tuple(runner_up[1]), runner_up[2]),
            note=_note(posterior) if conflict is None else conflict.message,
            clash=() if conflict is None else conflict.words,
        )
        return suggestions if not gains else _with_gains(suggestions, posterior)

    def reconsider(self, sentence: Sentence, word: int) -> WordSuggestion:
        """The suggestion for a word (1..n) if it were undecided, all other decisions unchanged."""
        if not 1 <= word <= len(sentence):
            raise InputError(f"word: found {word}, expected 1..{len(sentence)}")
        # Without the decision itself, or it would confirm itself with probability 1.
        decisions = ArcDecisions.of(sentence).without([word])
        if not self.gives_probabilities:
            return _suggest_tree_only(self.model, sentence, decisions).words[word - 1]
        if is_long(sentence):
            suggested = self._in_pieces(sentence, decisions).words
            if not suggested:
                raise InputError(f"word: a sentence of {len(sentence)} words has no suggestions")
            return suggested[word - 1]
        scored, usable = self.scored(sentence), consistent(decisions)
        return self._words(scored, scored.under(usable), decisions, usable)[word - 1]

    def explain_changes(
        self, after: Sentence, before: Sentence | None = None
    ) -> tuple[SuggestionChange, ...]:
        """Suggestions that differ between ``before`` and ``after``, each with the decision that explains it.

        ``before`` has the same words as ``after``; None stands for the sentence without any decision.
        """
        if not self.gives_probabilities or (before is not None and len(before) != len(after)):
            return ()
        if is_long(after):  # an inference for each decision would take minutes
            return ()
        scored = self.scored(after)
        now = consistent(ArcDecisions.of(after))
        nothing = now.without(range(1, len(now) + 1))
        # Compared without cyclic decisions on both sides: a cycle would show up as an additional change.
        then = nothing if before is None else consistent(ArcDecisions.of(before))
        old, new = _suggested_arcs(scored, then), _suggested_arcs(scored, now)
        changed = [m for m in range(1, len(now) + 1) if old[m - 1] != new[m - 1] and not now.decides(m)]
        if not changed:
            return ()
        edited = [
            m
            for m in range(1, len(now) + 1)
            if (now.heads[m - 1], now.labels[m - 1]) != (then.heads[m - 1], then.labels[m - 1])
        ]
        # A decision explains a change if the suggestion is the old one again once that decision alone is
        # reverted.
        reverted = {m: _suggested_arcs(scored, consistent(now.like(then, m))) for m in edited}
        changes = []
        for m in changed:
            causes = [cause for cause in edited if reverted[cause][m - 1] == old[m - 1]]
            nearest = min(causes, key=lambda cause: abs(cause - m), default=None)
            changes.append(SuggestionChange(m, old[m - 1], new[m - 1], nearest))
        return tuple(changes)

    def scored(self, sentence: Sentence) -> ScoredSentence:
        """The sentence with its scores, cached by the parser's input: words and tags, not the tree."""
        key = _parser_input(sentence)
        with self._lock:
            if key in self._scored:
                self._scored.move_to_end(key)
                return self._scored[key]
        scored = self.score(sentence)  # outside the lock, so that other sentences need not wait
        with self._lock:
            self._scored[key] = scored
            arcs = sum(len(other.tags) ** 2 for other in self._scored.values())
            while len(self._scored) > self._kept or (arcs > _MAX_ARCS and len(self._scored) > 1):
                _, oldest = self._scored.popitem(last=False)
                arcs -= len(oldest.tags) ** 2
        return scored

    def score(self, sentence: Sentence) -> ScoredSentence:
        """Score a sentence without using the cache."""
        n = len(sentence)
        undecided = ArcDecisions((-1,) * n, ("_",) * n)
        # Scored without any decision, so that the cache serves every later state of the annotation.
        blank = Treebank(undecided.in_bytes(sentence.conllu_bytes), source=sentence.treebank.source)
        tagged = tagged_input(self.model, blank)
        tags, probabilities = proposed_tags(self.model, blank, tagged)
        parser: Any = self.parser
        scores = parser.scorer.scores(tagged, trees=parser.decoding.trees)
        return ScoredSentence(parser, tagged, scores, tags, probabilities, self._legal)

    def _in_pieces(self, sentence: Sentence, decisions: ArcDecisions) -> SentenceSuggestions:
        return suggest_in_pieces(
            self.model,
            sentence,
            decisions,
            alternatives=self._alternatives,
            least=self._least,
            legal=self._legal,
        )

    def _words(
        self, scored: ScoredSentence, posterior: Posterior, decisions: ArcDecisions, usable: ArcDecisions
    ) -> tuple[WordSuggestion, ...]:
        """One suggestion per word; a decision in a cycle gets the probability of its arc without it."""
        alternatives = posterior.alternatives(self._alternatives, self._least)
        entropies = head_entropies(posterior.marginals)
        heads, labels = posterior.heads, posterior.labels
        head_probabilities = posterior.result.head_probability
        joint_probabilities = posterior.label_probabilities
        words = []
        for i in range(len(decisions)):
            word = WordSuggestion(
                decisions.heads[i] >= 0,
                decisions.labels[i] != "_",
                heads[i],
                labels[i],
                float(head_probabilities[i]),
                joint_probabilities[i],
                float(entropies[i]),
                None,
                alternatives[i],
                scored.tags[i],
                scored.tag_probabilities[i],
            )
            if decisions.heads[i] != usable.heads[i]:
                word = _cyclic(word, i + 1, decisions, posterior)
            words.append(word)
        return tuple(words)


def _cyclic(
    suggestion: WordSuggestion, word: int, decisions: ArcDecisions, posterior: Posterior
) -> WordSuggestion:
    head, label = decisions.heads[word - 1], decisions.labels[word - 1]
    probability = float(posterior.marginals[head, word])
    joint = probability if label != "_" else None
    return replace(suggestion, head=head, label=label, probability=probability, label_probability=joint)


def _with_gains(suggestions: SentenceSuggestions, posterior: Posterior) -> SentenceSuggestions:
    gains = sentence_gains(posterior)
    words = [
        replace(word, gain=float(gain)) for word, gain in zip(suggestions.words, gains.values, strict=True)
    ]
    return replace(suggestions, words=tuple(words), gain_error=gains.error)


def sentence_gains(posterior: Posterior) -> Gains:
    """The expected information gain of each word of a sentence under its decisions."""
    weights = next(iter(posterior.weights.matrices()))
    return expected_gains(weights, posterior.marginals, posterior.trees)


def _note(posterior: Posterior) -> str | None:
    return "; ".join(note.text for note in posterior.notes) or None


def _suggested_arcs(scored: ScoredSentence, decisions: ArcDecisions) -> list[tuple[int, str]]:
    """Head and label of each word."""
    posterior = scored.under(decisions)
    return list(zip(posterior.heads, posterior.labels, strict=True))


def _suggest_tree_only(model: Parser, sentence: Sentence, decisions: ArcDecisions) -> SentenceSuggestions:
    """Suggestions of a parser without a distribution: one tree, around the decisions if it can."""
    parser = tree_parser(model)
    constrained = parser.capabilities.keep_heads
    usable = consistent(decisions)
    kept = usable if constrained else usable.without(range(1, len(usable) + 1))
    treebank = Treebank(kept.in_bytes(sentence.conllu_bytes), source=sentence.treebank.source)
    tagged = tagged_input(model, treebank)
    tags, probabilities = proposed_tags(model, treebank, tagged)
    parsed = parser.parse(tagged, options=ParseOptions(keep_heads=constrained))[0]
    words = []
    for i, (head, label) in enumerate(zip(parsed.heads[1:].tolist(), parsed.deprels, strict=True)):
        decided_head, decided_label = decisions.heads[i] >= 0, decisions.labels[i] != "_"
        words.append(
            WordSuggestion(
                decided_head,
                decided_label,
                decisions.heads[i] if decided_head else head,
                decisions.labels[i] if decided_label else label,
                tags=tags[i],
                tag_probabilities=probabilities[i],
            )
        )
    conflict = decisions.conflict()
    name = getattr(parser, "description", parser.kind)
    how = "consistent with the annotation" if constrained else "regardless of the annotation"
    note = f"this model ({name}) suggests a tree {how}, without probabilities or alternatives"
    return SentenceSuggestions(
        tuple(words),
        note=note if conflict is None else conflict.message,
        clash=() if conflict is None else conflict.words,
    )


def _parser_input(sentence: Sentence) -> tuple[Any, ...]:
    """The parser's input: all columns except those of the tree, and MISC without parser output."""
    columns: Sequence[Sequence[str]] = (
        sentence.forms,
        sentence.lemmas,
        sentence.upos,
        sentence.xpos,
        sentence.feats,
    )
    return (*map(tuple, columns), tuple(map(_without_probabilities, sentence.misc)))


def _without_probabilities(misc: str) -> str:
    if "Prob=" not in misc and "Alternatives=" not in misc:  # the usual case, without splitting
        return misc
    kept = [pair for pair in misc.split("|") if not pair.partition("=")[0].endswith(("Prob", "Alternatives"))]
    return "|".join(kept) or "_"
