"""``as_treebank``: coerce a treebank, a parsed document, sentences or lists of words to a ``Treebank``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from arcwise.errors import InputError
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:

    class HasTreebank(Protocol):
        """A ``Document``, which lives above this package."""

        treebank: Treebank

    TreebankLike: TypeAlias = Treebank | Sentence | HasTreebank | Sequence[Sentence] | Sequence[Sequence[str]]

_EXPECTED = "expected a Treebank, a Sentence, or a list of sentences, each a Sentence or a list of words"


def as_treebank(value: Any) -> Treebank:
    """Return ``value`` as a treebank.

    Raises ``InputError`` for plain text, which only a pipeline can tokenize.

    >>> as_treebank([["Birds", "sing"], ["Fish", "swim"]])
    Treebank('<sentences>': 2 sentences, 4 words)
    """
    if isinstance(value, Treebank):
        return value
    if isinstance(value, Sentence):
        return Treebank.from_sentences([value])
    if isinstance(getattr(value, "treebank", None), Treebank):  # a Document, which lives above this package
        return value.treebank  # type: ignore[no-any-return]
    if isinstance(value, str):
        raise InputError(
            f"treebank: found text, {_EXPECTED}; a pipeline parses text when it is called: nlp(text)"
        )
    if not isinstance(value, list | tuple):
        raise InputError(f"treebank: found {type(value).__name__}, {_EXPECTED}")
    if not value or any(isinstance(item, str) for item in value):
        contents = "a list of strings" if value else "an empty list"
        raise InputError(f"treebank: found {contents}, {_EXPECTED}: [['Birds', 'sing']]")
    return Treebank.from_sentences([_sentence(item, number) for number, item in enumerate(value)])


def _sentence(item: Any, number: int) -> Sentence:
    if isinstance(item, Sentence):
        return item
    if not isinstance(item, list | tuple) or not item or not all(isinstance(word, str) for word in item):
        raise InputError(f"treebank[{number}]: found {item!r}, expected a Sentence or a list of words")
    if not all(item):
        raise InputError(f"treebank[{number}]: found an empty word at {list(item).index('')}, expected text")
    return Sentence.from_words(item)
