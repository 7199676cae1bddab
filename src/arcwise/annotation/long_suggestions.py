"""Suggestions for very long sentences, parsed in pieces as by ``arcwise parse``.

Scores of all arcs and labels of a sentence take memory with the square of its length: 3.6 GB for 2,000 words.
"""

from __future__ import annotations

from collections.abc import Sequence

from arcwise.annotation.scored_sentence import proposed_tags, tagged_input
from arcwise.annotation.states import ArcDecisions, consistent
from arcwise.annotation.suggestions import SentenceSuggestions, WordSuggestion
from arcwise.inference import Alternative, LabelledArc
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.parsing.parses import Analysis, Parses
from arcwise.pipeline.pipeline import tree_parser
from arcwise.treebanks import Sentence, Treebank

MAX_WORDS = 500
"""The longest sentence that is scored whole: about 300 MB and a second."""
_ALTERNATIVE_WORDS = 1000
"""The longest sentence whose words have alternatives, which take more time than the parse."""


def is_long(sentence: Sentence) -> bool:
    """Whether a sentence is suggested in pieces."""
    return len(sentence) > MAX_WORDS


def suggest_in_pieces(
    model: Parser,
    sentence: Sentence,
    decisions: ArcDecisions,
    *,
    alternatives: int,
    least: float,
    legal: object | None = None,
) -> SentenceSuggestions:
    """Suggestions for a long sentence from a parser with probabilities.

    They are consistent with the decisions if no decision reaches from one piece into another, and otherwise
    made without them; the note says so.
    """
    source = sentence.treebank.source
    alternatives = alternatives if len(sentence) <= _ALTERNATIVE_WORDS else 0
    undecided = decisions.without(range(1, len(decisions) + 1))
    how = "consistent with the annotation"
    # Tagged without decisions: a tagger does not read them, and one pass serves both attempts.
    blank = Treebank(undecided.in_bytes(sentence.conllu_bytes), source=source)
    tagged = tagged_input(model, blank)
    tags, tag_probabilities = proposed_tags(model, blank, tagged)
    parses = None
    if any(decisions.decides(word) for word in range(1, len(decisions) + 1)):
        kept = Treebank(consistent(decisions).in_bytes(tagged.data), source=source)
        parses = _parses(model, kept, alternatives, keep=True, legal=legal)
    if parses is None:
        how = "regardless of the annotation" if decisions != undecided else how
        parses = _parses(model, tagged, alternatives, keep=False, legal=legal)
    conflict = decisions.conflict()
    note = f"{len(sentence)} words, more than {MAX_WORDS}: suggested in pieces, {how}"
    if parses is None or parses.probabilities is None:
        return SentenceSuggestions((), note=f"{len(sentence)} words, more than {MAX_WORDS}: no suggestions")
    names = (*parses.label_names, "_")
    words = []
    for i in range(len(decisions)):
        decided_head, decided_label = decisions.heads[i] >= 0, decisions.labels[i] != "_"
        words.append(
            WordSuggestion(
                decided_head,
                decided_label,
                decisions.heads[i] if decided_head else int(parses.heads[i]),
                decisions.labels[i] if decided_label else names[int(parses.labels[i])],
                float(parses.probabilities.head[i]),
                float(parses.probabilities.label[i]),
                alternatives=_arcs(parses.alternatives[i], least) if parses.alternatives else (),
                tags=tags[i],
                tag_probabilities=tag_probabilities[i],
            )
        )
    return SentenceSuggestions(
        tuple(words),
        entropy=float(parses.probabilities.head_entropy[0]),
        note=note if conflict is None else conflict.message,
        clash=() if conflict is None else conflict.words,
    )


def _parses(
    model: Parser, treebank: Treebank, alternatives: int, *, keep: bool, legal: object | None
) -> Parses | None:
    """The parse in pieces; None if the decisions to keep do not fit into pieces."""
    options = ParseOptions(
        keep=("head", "deprel") if keep else (),
        confidence=True,
        alternatives=alternatives,
        legal=legal,
        max_words=MAX_WORDS,
    )
    analysis: Analysis = tree_parser(model).analyse(treebank, options=options)
    parses = analysis.parses
    return None if parses is None or parses.unparsed else parses


def _arcs(alternatives: Sequence[Alternative], least: float) -> tuple[LabelledArc, ...]:
    arcs = [
        LabelledArc(arc.head, label, p)
        for arc in alternatives
        for label, p in arc.labels or (("_", arc.probability),)
        if p >= least
    ]
    return tuple(sorted(arcs, key=lambda arc: -arc.probability))
