"""Treebanks to and from other libraries: pandas tables, sentences of the conllu library, spaCy documents.

None of them is needed by arcwise; a function asks for its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from arcwise.errors import InputError
from arcwise.optional import require
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.given import treebank_of
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:
    from arcwise.treebanks.given import TreebankLike

_SPACY_COLUMNS = {"lemma": "lemma_", "upos": "pos_", "xpos": "tag_", "deprel": "dep_"}


# ---- pandas


def to_pandas(treebank: TreebankLike) -> Any:
    """A table with a row per word of a treebank, or of a ``Document``: ``sentence`` (from 0), ``sent_id`` and the ten columns; ``id``
    and ``head`` are numbers.

    Multiword tokens and empty nodes have no row. HEAD is -1 where it is unknown.
    """
    pandas = _module("pandas")
    words = treebank_of(treebank)
    lengths = words.sentence_lengths.tolist()
    table: dict[str, Any] = {
        "sentence": [number for number, length in enumerate(lengths) for _ in range(length)],
        "sent_id": [s.sent_id for s in words for _ in range(len(s))],
        "id": [i for length in lengths for i in range(1, length + 1)],
    }
    for name in COLUMNS[1:]:
        table[name] = words.heads if name == "head" else words.column(name)
    return pandas.DataFrame(table)


def from_pandas(table: Any) -> Treebank:
    """A treebank from a table such as ``to_pandas`` gives; columns that are not there are left blank."""
    if "form" not in table:
        raise InputError(f"table: found the columns {', '.join(map(str, table))}, expected at least 'form'")
    groups = [table] if "sentence" not in table else [g for _, g in table.groupby("sentence", sort=False)]
    sentences: list[Sentence] = []
    for group in groups:
        columns: dict[str, Any] = {
            n: list(map(str, group[n])) for n in COLUMNS[2:] if n in group and n != "head"
        }
        ids = [i for i in group["sent_id"] if isinstance(i, str)][:1] if "sent_id" in group else []
        made = Sentence.from_words(
            list(map(str, group["form"])), comments={"sent_id": ids[0]} if ids else None, **columns
        )
        heads = group["head"].to_numpy("int32") if "head" in group else None
        sentences.append(made if heads is None else made.annotate(heads=heads))
    return Treebank.from_sentences(sentences, source="<pandas>")


# ---- conllu


def to_conllu_library(treebank: Treebank) -> Any:
    """A ``SentenceList`` of the conllu library, with everything that the file has."""
    return _module("conllu").parse(treebank.text)


def from_conllu_library(sentences: Iterable[Any]) -> Treebank:
    """A treebank from ``TokenList`` sentences of the conllu library."""
    return Treebank.from_string("".join(s.serialize() for s in sentences), source="<conllu>")


# ---- spaCy


def to_spacy(sentence: Sentence, vocab: Any = None) -> Any:
    """A spaCy ``Doc`` of one sentence: words, spaces, LEMMA, UPOS, XPOS, FEATS, HEAD and DEPREL."""
    spacy_tokens = _module("spacy.tokens")
    if vocab is None:
        vocab = _module("spacy").blank("xx").vocab
    tree = sentence.tree
    known = all(h >= 0 for h in tree.heads[1:])
    labels = sentence.deprels
    return spacy_tokens.Doc(
        vocab,
        words=sentence.forms,
        spaces=_spaces(sentence),
        lemmas=["" if v == "_" else v for v in sentence.lemmas],
        pos=["" if v == "_" else v for v in sentence.upos],
        tags=["" if v == "_" else v for v in sentence.xpos],
        morphs=["" if v == "_" else v for v in sentence.feats],
        heads=[int(h) - 1 if h > 0 else i for i, h in enumerate(tree.heads[1:])] if known else None,
        deps=[("ROOT" if tree.heads[i] == 0 else label) for i, label in enumerate(labels, 1)]
        if known
        else None,
    )


def from_spacy(doc: Any) -> Treebank:
    """A treebank from a spaCy ``Doc``: its sentences, or all of it as one where it has none."""
    spans = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
    return Treebank.from_sentences([_from_span(span) for span in spans if len(span)], source="<spacy>")


def _from_span(span: Any) -> Sentence:
    columns: dict[str, Any] = {
        name: [getattr(token, attribute) or "_" for token in span]
        for name, attribute in _SPACY_COLUMNS.items()
    }
    feats = [str(token.morph) or "_" for token in span]
    misc = ["_" if token.whitespace_ else "SpaceAfter=No" for token in span]
    made = Sentence.from_words([_one_line(token.text) for token in span], feats=feats, misc=misc, **columns)
    if not span.doc.has_annotation("DEP"):
        return made
    heads = [0 if token.head == token else token.head.i - span.start + 1 for token in span]
    labels = ["root" if head == 0 else label for head, label in zip(heads, columns["deprel"], strict=True)]
    return made.annotate(heads=np.array(heads, np.int32), deprel=labels)


def _one_line(text: str) -> str:
    """spaCy has tokens of white space, for which CoNLL-U has no place."""
    return "".join(c if c.isprintable() else "␣" for c in text) if text.strip() else "␣"


def _spaces(sentence: Sentence) -> list[bool]:
    """Whether a space follows each word; inside a multiword token none does."""
    spaces: list[bool] = []
    inside, after = 0, True
    for row in sentence.rows:
        first, _, last = row[0].partition("-")
        follows = "SpaceAfter=No" not in row[9].split("|")
        if last:
            inside, after = int(last), follows
        elif "." not in first:
            number = int(first)
            spaces.append(after if number == inside else follows and number > inside)
    return spaces


def _module(name: str) -> Any:
    from importlib import import_module

    require(name.split(".")[0])
    return import_module(name)
