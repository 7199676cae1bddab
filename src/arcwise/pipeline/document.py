"""``Document``: a parsed text, the result of ``arcwise.load(…)(text)``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from arcwise.inference import Alternative, LabelledArc, likeliest_arcs
from arcwise.parsing.parses import Parses, Probabilities
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.json_format import comment_number
from arcwise.treebanks.words import Token, Word
from arcwise.trees import draw

if TYPE_CHECKING:
    from arcwise.pipeline.pipeline import Pipeline

_SHOWN = 5
"""Sentences shown by ``repr`` and in notebooks."""
_ALTERNATIVES = 3
"""Pairs of head and label in ``word.alternatives``."""


class ParsedSentence(Sentence):
    """A sentence with its tree and the parser's confidence in it."""

    __slots__ = ("parses", "pipeline")

    def __init__(
        self, treebank: Treebank, number: int, pipeline: Pipeline | None, parses: Parses | None
    ) -> None:
        super().__init__(treebank, number)
        self.pipeline = pipeline
        self.parses = parses
        """Parses of the whole document."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.treebank, self.number, self.pipeline, self.parses)

    @property
    def _probabilities(self) -> Probabilities | None:
        return None if self.parses is None else self.parses.probabilities

    @property
    def confidence(self) -> float | None:
        """Probability of the unlabelled tree; None if the parser gave none."""
        probabilities = self._probabilities
        if probabilities is None:
            return comment_number(self, "tree_prob")
        return float(np.exp(probabilities.log_tree[self.number]))

    @cached_property
    def head_probabilities(self) -> list[float] | None:
        """Probability of each word's head; None if the parser gave none."""
        probabilities = self._probabilities
        if probabilities is None:
            return super().head_probabilities
        values: list[float] = probabilities.head[self._word_slice].tolist()
        return values

    @cached_property
    def label_probabilities(self) -> list[float] | None:
        """Joint probability of each word's head and label; None if the parser gave none."""
        probabilities = self._probabilities
        if probabilities is None:
            return super().label_probabilities
        values: list[float] = probabilities.label[self._word_slice].tolist()
        return values

    @cached_property
    def word_probabilities(self) -> tuple[list[float | None], list[float | None]]:
        """Probabilities of each word's head, and of head and label; None where the parser gave none."""
        heads, labels = self.head_probabilities, self.label_probabilities
        return super().word_probabilities if heads is None or labels is None else ([*heads], [*labels])

    @cached_property
    def word_alternatives(self) -> list[list[LabelledArc]]:
        """Most probable pairs of head and label of each word, from MISC or else from the parser."""
        written = super().word_alternatives
        if any(written):
            return written
        return [likeliest_arcs(alternatives, _ALTERNATIVES) for alternatives in self.alternatives()]

    @property
    def _word_slice(self) -> slice:
        starts = self.treebank.sentence_words
        return slice(int(starts[self.number]), int(starts[self.number + 1]))

    def alternatives(self, *, k: int = 3) -> list[list[Alternative]]:
        """Return each word's ``k`` best heads (0 is the root), each with its ``k`` best labels.

        Lists are empty if the parser gives no alternatives. ``for head, probability in …`` unpacks them.
        """
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
        """Draw the tree as SVG for notebooks."""
        from arcwise.visual import svg  # here and below: few programs draw, but all would pay for the import

        return svg(self, alternatives=self.alternatives())


class Document:
    """The parsed sentences of a text.

    A document is a sequence of sentences, as a sentence is one of words: ``len(doc)`` counts sentences, ``for
    sentence in doc`` yields them, and ``doc.words`` has all words.
    """

    def __init__(
        self,
        treebank: Treebank,
        pipeline: Pipeline | None = None,
        parses: Parses | None = None,
        text: str | None = None,
    ) -> None:
        """``text``: the parsed text; None rebuilds it from the tokens."""
        self.treebank = treebank
        self._text = text
        self.parses = parses
        """Trees and probabilities as arrays; None if the parser gives none."""
        self._pipeline = pipeline

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.treebank, self._pipeline, self.parses, self._text)

    @cached_property
    def sentences(self) -> list[ParsedSentence]:
        """Sentences with their trees."""
        numbers = range(len(self.treebank))
        return [ParsedSentence(self.treebank, i, self._pipeline, self.parses) for i in numbers]

    def __len__(self) -> int:
        """Number of sentences; ``len(doc.words)`` is that of words."""
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
    def words(self) -> list[Word]:
        """Words of all sentences, in order; ``word.id`` counts within its sentence."""
        return [word for sentence in self.sentences for word in sentence]

    @cached_property
    def tokens(self) -> list[Token]:
        """Tokens of the text with their offsets: ``doc.text[token.start : token.end]`` is ``token.form``.

        ``word.token`` is the token of a word. In a chunk of a longer text, offsets count from the start of
        that text.
        """
        return [token for sentence in self.sentences for token in sentence.tokens]

    @property
    def text(self) -> str:
        """The text: ``nlp(text).text`` is ``text``; elsewhere it is reconstructed from the tokens.

        Tokens have U+FFFD for NUL and a question mark for a lone surrogate, which CoNLL-U cannot contain;
        their offsets are the same.
        """
        return self.treebank.surface.text if self._text is None else self._text

    def to_conllu(self) -> str:
        """Return CoNLL-U text with confidences in MISC and comments."""
        return self.treebank.text

    def to_json(self) -> dict[str, Any]:
        """Return a lossless value for ``json.dumps``; docs/reference/json.md describes the fields."""
        return self.treebank.to_json()

    @classmethod
    def from_json(cls, values: Mapping[str, Any], *, pipeline: Pipeline | None = None) -> Document:
        """Restore a document with the probabilities in the JSON.

        Alternatives need the ``pipeline`` that made it.
        """
        return cls(Treebank.from_json(values), pipeline)

    def __repr__(self) -> str:
        shown = "\n\n".join(map(repr, self.sentences[:_SHOWN]))
        more = len(self) - _SHOWN
        return f"{shown}\n\n… and {more} more sentence{'s' * (more > 1)}" if more > 0 else shown

    def _repr_html_(self) -> str:
        """Draw the trees as SVG for notebooks."""
        from arcwise.visual import svg

        pictures = (
            svg(s, alternatives=s.alternatives(), name=f"arcwise-{id(self)}-{s.number}")
            for s in self.sentences[:_SHOWN]
        )
        return "\n".join(f'<div style="overflow-x: auto">{picture}</div>' for picture in pictures)

    def to_html(self, *, title: str = "Dependency trees") -> str:
        """Return an HTML page with all trees."""
        from arcwise.visual import html_parts

        alternatives = (sentence.alternatives() for sentence in self)
        return "".join(html_parts(self, title=title, alternatives=alternatives))
