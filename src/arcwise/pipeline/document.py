"""``Document``: a text with its trees, as ``arcwise.load(…)`` gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from arcwise.inference import Alternative, LabelledArc, likeliest_arcs
from arcwise.parsing.parses import Parses, Probabilities
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.json_format import comment_number
from arcwise.treebanks.words import Token
from arcwise.trees import draw
from arcwise.visual import html_parts, svg

if TYPE_CHECKING:
    from arcwise.pipeline.pipeline import Pipeline

_SHOWN = 5
"""Sentences that ``repr`` and notebooks show."""
_ALTERNATIVES = 3
"""Pairs of head and label that ``word.alternatives`` tells."""


class ParsedSentence(Sentence):
    """A sentence with a tree and how sure the parser is of it."""

    __slots__ = ("parses", "pipeline")

    def __init__(
        self, treebank: Treebank, number: int, pipeline: Pipeline | None, parses: Parses | None
    ) -> None:
        super().__init__(treebank, number)
        self.pipeline = pipeline
        self.parses = parses
        """Of the whole document."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.treebank, self.number, self.pipeline, self.parses)

    @property
    def _probabilities(self) -> Probabilities | None:
        return None if self.parses is None else self.parses.probabilities

    @property
    def confidence(self) -> float | None:
        """The probability of the whole tree (labels left open); None if the parser gave none."""
        found = self._probabilities
        if found is None:
            return comment_number(self, "tree_prob")
        return float(np.exp(found.log_tree[self.number]))

    @cached_property
    def head_probabilities(self) -> list[float] | None:
        """How sure the parser is of each word's head; None if it did not say."""
        found = self._probabilities
        return super().head_probabilities if found is None else found.head[self._own_words].tolist()

    @cached_property
    def label_probabilities(self) -> list[float] | None:
        """How sure the parser is of each word's head and label together; None if it did not say."""
        found = self._probabilities
        return super().label_probabilities if found is None else found.label[self._own_words].tolist()

    @cached_property
    def word_probabilities(self) -> tuple[list[float | None], list[float | None]]:
        """How sure the parser is of the head of each word, and of head and label; None where it did not say."""
        heads, labels = self.head_probabilities, self.label_probabilities
        return super().word_probabilities if heads is None or labels is None else ([*heads], [*labels])

    @cached_property
    def word_alternatives(self) -> list[list[LabelledArc]]:
        """The likeliest pairs of head and label of each word: those that were written, or else what the parser says."""
        told = super().word_alternatives
        return told if any(told) else [likeliest_arcs(own, _ALTERNATIVES) for own in self.alternatives()]

    @property
    def _own_words(self) -> slice:
        starts = self.treebank.sentence_words
        return slice(int(starts[self.number]), int(starts[self.number + 1]))

    def alternatives(self, *, k: int = 3) -> list[list[Alternative]]:
        """For each word its ``k`` most probable heads (0 is the root) with their probabilities, each with its ``k`` most probable labels;
        empty lists if the parser knows none. ``for head, probability in …`` unpacks them."""
        if self.pipeline is None:
            return [[] for _ in range(len(self))]
        return self.pipeline.sentence_alternatives(self, k=k)

    def __repr__(self) -> str:
        tags = self.upos if any(tag != "_" for tag in self.upos) else None
        drawn = draw(
            self.tree,
            self.forms,
            tags=tags,
            probabilities=self.head_probabilities,
            label_probabilities=self.label_probabilities,
        )
        return f"{self.text}\n{drawn}"

    def _repr_svg_(self) -> str:
        """The tree as a picture, for notebooks."""
        return svg(self, alternatives=self.alternatives())


class Document:
    """The sentences of a text, in order."""

    def __init__(
        self, treebank: Treebank, pipeline: Pipeline | None = None, parses: Parses | None = None
    ) -> None:
        self.treebank = treebank
        self.parses = parses
        """Its trees and their probabilities as arrays; None if the parser gives none."""
        self._pipeline = pipeline

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.treebank, self._pipeline, self.parses)

    @cached_property
    def sentences(self) -> list[ParsedSentence]:
        """The sentences with their trees."""
        numbers = range(len(self.treebank))
        return [ParsedSentence(self.treebank, i, self._pipeline, self.parses) for i in numbers]

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.treebank)

    def __iter__(self) -> Iterator[ParsedSentence]:
        return iter(self.sentences)

    @overload
    def __getitem__(self, at: int) -> ParsedSentence: ...
    @overload
    def __getitem__(self, at: slice) -> list[ParsedSentence]: ...
    def __getitem__(self, at: int | slice) -> ParsedSentence | list[ParsedSentence]:
        return self.sentences[at]

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens of the text, with their places in it: ``doc.text[token.start : token.end]`` is ``token.form``.

        Words have them too: ``word.token``. (Of a piece of a longer text, places count from the beginning of the whole.)
        """
        return [token for sentence in self.sentences for token in sentence.tokens]

    @property
    def text(self) -> str:
        """The text, put together again from what its tokens say; ``nlp(text).text`` is ``text``."""
        return self.treebank.surface.text

    def to_conllu(self) -> str:
        """The document as CoNLL-U text, confidences in MISC and comments."""
        return self.treebank.text

    def to_json(self) -> dict[str, Any]:
        """The document as values for ``json.dumps``, with all that CoNLL-U has; docs/reference/json.md tells the fields."""
        return self.treebank.to_json()

    @classmethod
    def from_json(cls, values: Mapping[str, Any], *, pipeline: Pipeline | None = None) -> Document:
        """The document again. Probabilities are those that JSON has; with the ``pipeline`` that made it, alternatives can be asked for."""
        return cls(Treebank.from_json(values), pipeline)

    def __repr__(self) -> str:
        shown = "\n\n".join(map(repr, self.sentences[:_SHOWN]))
        more = len(self) - _SHOWN
        return f"{shown}\n\n… and {more} more sentence{'s' * (more > 1)}" if more > 0 else shown

    def _repr_html_(self) -> str:
        """The trees as pictures, for notebooks."""
        pictures = (
            svg(s, alternatives=s.alternatives(), name=f"arcwise-{id(self)}-{s.number}")
            for s in self.sentences[:_SHOWN]
        )
        return "\n".join(f'<div style="overflow-x: auto">{picture}</div>' for picture in pictures)

    def to_html(self, *, title: str = "Dependency trees") -> str:
        """A page of its own with every tree."""
        others = (sentence.alternatives() for sentence in self)
        return "".join(html_parts(self, title=title, alternatives=others))
