"""The conllu library: the same rows, as its own objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.exchange.libraries import library
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:
    from arcwise.treebanks.coerce import TreebankLike


def to_conllu_library(treebank: TreebankLike) -> Any:
    """A ``SentenceList`` of the conllu library, with everything that the file has."""
    return library("conllu").parse(as_treebank(treebank).text)


def from_conllu_library(sentences: Iterable[Any]) -> Treebank:
    """A treebank from ``TokenList`` sentences of the conllu library."""
    return Treebank.from_string("".join(s.serialize() for s in sentences), source="<conllu>")
