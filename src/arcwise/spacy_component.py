"""arcwise inside a spaCy pipeline: ``nlp.add_pipe("arcwise")`` tags and parses spaCy's tokens.

spaCy finds the factory through the entry point ``spacy_factories`` of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from typing import Any

from arcwise.errors import InputError
from arcwise.models import load
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.document import Document, ParsedSentence
from arcwise.pipeline.pipeline import Pipeline
from arcwise.pipeline.text_batches import parse_together
from arcwise.treebanks.exchange.spacy_docs import SPACE_ATTRIBUTES, from_spacy, set_extensions, word_spans

_SET: list[int | str] = ["HEAD", "DEP", "POS", "TAG", "MORPH", "LEMMA"]
_BATCH = 128


class ArcwiseComponent:
    """Sets sentence boundaries (if none are set), POS, TAG, MORPH, LEMMA, HEAD and DEP of a spaCy ``Doc``.

    Confidences are ``token._.head_probability``, ``token._.label_probability`` (head and label jointly) and
    ``sent._.probability`` (the tree). With ``alternatives=k``, ``token._.alternatives`` has the k most
    probable pairs of head and label. Whitespace tokens are not parsed: they attach to the token before them,
    as in spaCy's own models."""

    def __init__(self, pipeline: Pipeline, *, alternatives: int = 0) -> None:
        self.pipeline = pipeline
        self.options = ParseOptions(confidence=True, alternatives=alternatives)
        self.options.check(pipeline.parser.kind, pipeline.parser.capabilities)

    def __call__(self, doc: Any) -> Any:
        """Annotate a document."""
        (parsed,) = self._parsed([doc])
        return parsed

    def pipe(self, stream: Iterable[Any], *, batch_size: int = _BATCH) -> Iterator[Any]:
        """Annotate a stream of documents, ``batch_size`` in one call of the parser."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            yield from self._parsed(batch)

    def _parsed(self, docs: list[Any]) -> list[Any]:
        spans = []
        for doc in docs:
            if len(doc) and not doc.has_annotation("SENT_START"):
                self._set_sentences(doc)
            spans.append(word_spans(doc))
        analyses = parse_together(
            [from_spacy(doc) for doc in docs],
            lambda joined: self.pipeline.analyse(joined, options=self.options),
            source="<spacy>",
        )
        for doc, doc_spans, analysis in zip(docs, spans, analyses, strict=True):
            if doc_spans:
                _annotate(doc, doc_spans, Document(analysis.treebank, parses=analysis.parses).sentences)
        return docs

    def _set_sentences(self, doc: Any) -> None:
        """Set the sentence boundaries that the pipeline's tokenizer finds in the text."""
        starts = {
            sentence.tokens[0].start for sentence in self.pipeline.tokenizer.tokenize(doc.text).treebank
        }
        first = next((token.i for token in doc if not token.is_space), 0)
        for token in doc:
            token.is_sent_start = token.i == 0 or (token.i > first and token.idx in starts)


def _annotate(doc: Any, spans: list[list[Any]], sentences: list[ParsedSentence]) -> None:
    """Write the parse into the document, and leave the rest (entities, user data) untouched."""
    from spacy.tokens import Doc

    columns: dict[str, Any] = _columns(doc, spans, sentences)
    words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
    parsed = Doc(doc.vocab, words=words, spaces=spaces, **columns)
    doc.from_array(_SET, parsed.to_array(_SET))
    for tokens, sentence in zip(spans, sentences, strict=True):
        for token, word in zip(tokens, sentence.words, strict=True):
            token._.head_probability, token._.label_probability = (
                word.head_probability,
                word.label_probability,
            )
            token._.alternatives = [list(arc) for arc in word.alternatives] or None
        tokens[0].sent._.probability = sentence.confidence


def _columns(doc: Any, spans: list[list[Any]], sentences: list[ParsedSentence]) -> dict[str, Any]:
    """Return the arguments of ``Doc`` for all tokens; whitespace as spaCy annotates it."""
    values_of: dict[str, list[Any]] = {name: [value] * len(doc) for name, value in SPACE_ATTRIBUTES.items()}
    values_of["lemmas"] = [token.text for token in doc]
    values_of["heads"] = [max(0, token.i - 1) for token in doc]
    for tokens, sentence in zip(spans, sentences, strict=True):
        span = tokens[0].sent
        for token in doc[span.start : tokens[0].i]:  # whitespace at the start of a sentence
            values_of["heads"][token.i] = tokens[0].i
        columns = (sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats)
        for name, values in zip(("lemmas", "pos", "tags", "morphs"), columns, strict=True):
            for token, value in zip(tokens, values, strict=True):
                values_of[name][token.i] = "" if value == "_" else value
        for token, word in zip(tokens, sentence.words, strict=True):
            values_of["heads"][token.i] = tokens[word.head_id - 1].i if word.head_id else token.i
            values_of["deps"][token.i] = word.label if word.head_id else "ROOT"
    return values_of


def make_component(nlp: Any, name: str, model: str = "en", alternatives: int = 0) -> ArcwiseComponent:
    """Create the component: ``nlp.add_pipe("arcwise", config={"model": "en"})``."""
    if not isinstance(model, str):
        raise InputError(f"model: found {model!r}, expected the name or file of a model")
    set_extensions()
    return ArcwiseComponent(load(model), alternatives=alternatives)


if find_spec("spacy") is not None:
    from spacy.language import Language

    Language.factory("arcwise", default_config={"model": "en", "alternatives": 0})(make_component)
