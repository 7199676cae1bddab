"""arcwise inside a spaCy pipeline: ``nlp.add_pipe("arcwise")`` tags and parses spaCy's tokens.

spaCy finds the factory through the entry point ``spacy_factories`` of the package.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from arcwise.errors import InputError
from arcwise.models import load
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks.exchange import from_spacy

_SET: list[int | str] = ["HEAD", "DEP", "POS", "TAG", "MORPH", "LEMMA"]


class ArcwiseComponent:
    """Sets sentence boundaries (if none are set), POS, TAG, MORPH, LEMMA, HEAD and DEP of a spaCy ``Doc``.

    The probability of each token's head is in ``token._.head_probability``.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def __call__(self, doc: Any) -> Any:
        if not len(doc):
            return doc
        if not doc.has_annotation("SENT_START"):
            self._set_sentences(doc)
        analysis = self.pipeline.analyse(from_spacy(doc), options=ParseOptions(confidence=True))
        parsed = analysis.treebank
        from spacy.tokens import Doc

        offsets = np.repeat(np.asarray(parsed.sentence_words[:-1], int), parsed.sentence_lengths)
        heads = [
            int(h) - 1 + int(o) if h > 0 else i
            for i, (h, o) in enumerate(zip(parsed.heads, offsets, strict=True))
        ]
        columns = {name: parsed.column(name) for name in ("lemma", "upos", "xpos", "feats", "deprel")}
        named = {"lemma": "lemmas", "upos": "pos", "xpos": "tags", "feats": "morphs"}
        values: dict[str, Any] = {
            target: ["" if value == "_" else value for value in columns[name]]
            for name, target in named.items()
        }
        made = Doc(
            doc.vocab,
            words=[token.text for token in doc],
            spaces=[bool(token.whitespace_) for token in doc],
            heads=heads,
            deps=["ROOT" if heads[i] == i else label for i, label in enumerate(columns["deprel"])],
            **values,
        )
        doc.from_array(_SET, made.to_array(_SET))  # what else the document has (entities, user data) stays
        if analysis.parses is not None and analysis.parses.probabilities is not None:
            for token, p in zip(doc, analysis.parses.probabilities.head, strict=True):
                token._.head_probability = float(p)
        return doc

    def _set_sentences(self, doc: Any) -> None:
        """Sentence boundaries from the text, as the pipeline's own tokenizer sees them."""
        found = self.pipeline.tokenizer.tokenize(doc.text).treebank
        starts = {_first_place(sentence.rows) for sentence in found}
        for token in doc:
            token.is_sent_start = token.i == 0 or token.idx in starts


def _first_place(rows: list[tuple[str, ...]]) -> int:
    pair = next(p for p in rows[0][9].split("|") if p.startswith("TokenRange="))
    return int(pair.removeprefix("TokenRange=").partition(":")[0])


def make_component(nlp: Any, name: str, model: str = "en") -> ArcwiseComponent:
    """The factory: ``nlp.add_pipe("arcwise", config={"model": "en"})``."""
    from spacy.tokens import Token

    if not isinstance(model, str):
        raise InputError(f"model: found {model!r}, expected the name or file of a model")
    if not Token.has_extension("head_probability"):
        Token.set_extension("head_probability", default=None)
    return ArcwiseComponent(load(model))


if find_spec("spacy") is not None:
    from spacy.language import Language

    Language.factory("arcwise", default_config={"model": "en"})(make_component)
