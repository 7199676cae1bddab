"""A treebank from whatever a caller has: a treebank, a parsed document, sentences, or words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from arcwise.errors import InputError
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:
    TreebankLike: TypeAlias = Treebank | Sentence | Sequence[Sentence] | Sequence[Sequence[str]]

_EXPECTED = "expected a Treebank, a Sentence, or a list of sentences, each a Sentence or a list of words"


def treebank_of(given: Any) -> Treebank:
    """``given`` as a treebank; text is refused, since only a pipeline cuts it into words.

    >>> treebank_of([["Birds", "sing"], ["Fish", "swim"]])
    Treebank('<sentences>': 2 sentences, 4 words)
    """
    if isinstance(given, Treebank):
        return given
    if isinstance(given, Sentence):
        return Treebank.from_sentences([given])
    if isinstance(getattr(given, "treebank", None), Treebank):  # a Document
        return given.treebank  # type: ignore[no-any-return]
    if isinstance(given, str):
        raise InputError(
            f"treebank: found text, {_EXPECTED}; a pipeline parses text when it is called: nlp(text)"
        )
    if not isinstance(given, list | tuple):
        raise InputError(f"treebank: found {type(given).__name__}, {_EXPECTED}")
    if not given or any(isinstance(part, str) for part in given):
        found = "a list of strings" if given else "an empty list"
        raise InputError(f"treebank: found {found}, {_EXPECTED}: [['Birds', 'sing']]")
    return Treebank.from_sentences([_sentence(part, number) for number, part in enumerate(given)])


def _sentence(part: Any, number: int) -> Sentence:
    if isinstance(part, Sentence):
        return part
    if not isinstance(part, list | tuple) or not part or not all(isinstance(word, str) for word in part):
        raise InputError(f"treebank[{number}]: found {part!r}, expected a Sentence or a list of words")
    return Sentence.from_words(part)
