"""Conversion to and from the conllu library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arcwise.optional import import_optional
from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:
    from arcwise.treebanks.coerce import TreebankLike


def to_conllu_library(treebank: TreebankLike) -> Any:
    """Convert to a ``SentenceList`` of the conllu library, without loss."""
    return import_optional("conllu").parse(as_treebank(treebank).text)


def from_conllu_library(sentences: Iterable[Any]) -> Treebank:
    """Make a treebank from ``TokenList`` sentences of the conllu library."""
    return Treebank.from_string("".join(s.serialize() for s in sentences), source="<conllu>")
