"""``Pipeline``: tokenizer, tagger and parser in one model file, from raw text to trees."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TextIO, TypeVar, overload

from arcwise.errors import ModelError
from arcwise.inference import Alternative
from arcwise.learning.model_file import Packed, Precision, write_model
from arcwise.parsing.parser import (
    TAGS,
    Capabilities,
    ParseOptions,
    Parser,
    SentenceConstraints,
    check_threads,
)
from arcwise.parsing.parses import Analysis, Parses
from arcwise.pipeline.document import Document
from arcwise.pipeline.tag_averaging import TagAveragedParser, packed_part
from arcwise.pipeline.text_batches import (
    BATCH_BYTES,
    batch_by_bytes,
    batch_items,
    checked_text,
    encoded,
    split_analysis,
)
from arcwise.text.tagger import Tagger
from arcwise.text.text_stream import Errors, stream_text
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Sentence, Treebank, as_treebank
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

    from arcwise.treebanks.coerce import TreebankLike
    from arcwise.treebanks.streaming import Readable

KIND = "pipeline"
VERSION = 2
_PIECE = 1 << 15
"""Bytes of a stream parsed at a time: memory grows with it (10 MB from 32 to 64 KB, with ``en``)."""
Context = TypeVar("Context")
"""Type of the context that callers of ``pipe`` pass along with a text."""


@dataclass(frozen=True)
class Shipped:
    """A shipped model, pickled by name: ``reload(*arguments(), card)`` restores it in another process."""

    parts: tuple[Any, ...]
    reload: Callable[..., Pipeline]
    arguments: Callable[[], tuple[Any, ...]]


def _pipeline_of(
    kind: type[Pipeline], tokenizer: Tokenizer, tagger: Tagger, parser: Parser, card: Mapping[str, Any]
) -> Pipeline:
    return kind(tokenizer, tagger, parser, card=card)


class Pipeline:
    """A tokenizer, a tagger and a parser in sequence.

    ``pipeline("Some text.")`` returns a ``Document``; ``parse`` tags and parses tokenized sentences.
    """

    kind: ClassVar[str] = KIND

    def __init__(
        self, tokenizer: Tokenizer, tagger: Tagger, parser: Parser, *, card: Mapping[str, Any] | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.tagger = tagger
        self.parser = parser
        self.card = dict(card or {})
        """Model card: language, treebank, licence, training command, scores."""
        self.shipped: Shipped | None = None
        """Set if this is a model shipped with arcwise."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the weights, or only the name of a shipped model, which the receiving process has too."""
        parts = self.tokenizer, self.tagger, self.parser
        if self.shipped is not None and all(a is b for a, b in zip(parts, self.shipped.parts, strict=True)):
            return self.shipped.reload, (*self.shipped.arguments(), self.card)
        return _pipeline_of, (type(self), *parts, self.card)

    def __repr__(self) -> str:
        card = ", ".join(str(self.card[key]) for key in ("language", "treebank") if self.card.get(key))
        parts = ", ".join(map(repr, (self.tokenizer, self.tagger, self.parser)))
        return f"<Pipeline{' for ' * bool(card)}{card}: {parts}>"

    def __call__(self, text: str, *, confidence: bool | None = None, threads: int = 1) -> Document:
        """Parse a text into a document.

        ``confidence``: whether to compute the confidences of tags, heads, labels and trees; by default, if
        the parser has exact probabilities (see ``default_options``).
        """
        options = self.default_options if confidence is None else ParseOptions(confidence=confidence)
        return self.analyse_texts([checked_text(text)], options=options, threads=threads)[0]

    @property
    def default_options(self) -> ParseOptions:
        """Options of ``nlp(text)``, ``pipe`` and ``stream`` unless others are given.

        A parser with distributions over trees computes confidences, exactly and at a fraction of the cost of
        the parse. Those of a transition-based parser are shares of a beam, which costs several times the
        greedy parse and may find another tree: only ``confidence=True`` asks for them.
        """
        can = self.parser.capabilities
        return ParseOptions(confidence=can.confidence and can.distributions)

    @overload
    def pipe(
        self,
        texts: Iterable[str],
        *,
        as_tuples: Literal[False] = ...,
        batch_size: int = ...,
        options: ParseOptions | None = ...,
        threads: int = ...,
    ) -> Iterator[Document]: ...
    @overload
    def pipe(
        self,
        texts: Iterable[tuple[str, Context]],
        *,
        as_tuples: Literal[True],
        batch_size: int = ...,
        options: ParseOptions | None = ...,
        threads: int = ...,
    ) -> Iterator[tuple[Document, Context]]: ...
    def pipe(
        self,
        texts: Iterable[Any],
        *,
        as_tuples: bool = False,
        batch_size: int = 256,
        options: ParseOptions | None = None,
        threads: int = 1,
    ) -> Iterator[Any]:
        """Parse many texts lazily and in order, with the memory of one batch.

        ``as_tuples``: items are pairs ``(text, context)``, and results pairs ``(document, context)``.
        ``batch_size``: texts per batch (fewer if they are long); results do not depend on it.
        ``options``: those of parsing (default: ``default_options``).
        """
        options = self.default_options if options is None else options
        for batch in batch_items(texts, batch_size, as_tuples=as_tuples):
            documents = self.analyse_texts([text for text, _ in batch], options=options, threads=threads)
            for document, (_, context) in zip(documents, batch, strict=True):
                yield (document, context) if as_tuples else document

    def analyse_texts(
        self, texts: Sequence[str], *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> list[Document]:
        """Parse many texts with one call each of tokenizer, tagger and parser.

        Each document is the same as if its text were parsed alone.
        """
        check_threads(threads)
        data = [encoded(checked_text(text, f"texts[{number}]")) for number, text in enumerate(texts)]
        documents: list[Document] = []
        left = iter(texts)
        for batch in batch_by_bytes(data):
            if options.k_best > 1 or len(batch[0]) > BATCH_BYTES:
                documents += [self._parse_long(text, options, threads, next(left)) for text in batch]
            else:
                treebank, counts = self.tokenizer.tokenize_texts(batch, threads=threads)
                analysis = self.analyse(treebank, options=options, threads=threads)
                parts = split_analysis(analysis, counts)
                documents += [Document(part.treebank, self, part.parses, next(left)) for part in parts]
        return documents

    def _parse_long(self, text: bytes, options: ParseOptions, threads: int, original: str) -> Document:
        """Parse one text of any length, in chunks."""
        pieces = list(self.analyses(io.BytesIO(text), options=options, threads=threads))
        whole = Treebank(b"".join(piece.treebank.data for piece in pieces), source="<text>")
        parses = [piece.parses for piece in pieces if piece.parses is not None]
        complete = bool(pieces) and len(parses) == len(pieces)
        # k best trees are several sentences each, whose text is not the original.
        kept = original if options.k_best == 1 else None
        return Document(whole, self, Parses.joined(parses) if complete else None, kept)

    def stream(
        self,
        stream: Readable | TextIO,
        *,
        source: str = "<text>",
        errors: Errors = "strict",
        paragraphs: bool = False,
        options: ParseOptions | None = None,
        threads: int = 1,
    ) -> Iterator[Document]:
        """Parse an open file of text (or UTF-8 bytes) of any length in bounded memory.

        ``paragraphs``: parse up to each blank line without waiting for the text after it; combined with
        ``arcwise.pipeline.pausing_reader.PausingReader``, a pipe or socket is parsed as text arrives.
        ``options``: those of parsing (default: ``default_options``).
        """
        options = self.default_options if options is None else options
        for piece in self.analyses(
            stream, source=source, errors=errors, paragraphs=paragraphs, options=options, threads=threads
        ):
            yield Document(piece.treebank, self, piece.parses)

    def analyses(
        self,
        stream: Readable | TextIO,
        *,
        source: str = "<text>",
        errors: Errors = "strict",
        paragraphs: bool = False,
        options: ParseOptions = ParseOptions(),
        threads: int = 1,
    ) -> Iterator[Analysis]:
        """Parse like ``stream``, but yield treebanks with their parses."""
        first = 0
        for treebank in stream_text(
            self.tokenizer, stream, source=source, errors=errors, paragraphs=paragraphs, piece=_PIECE
        ):
            yield self.analyse(treebank, options=options, threads=threads).numbered_from(first)
            first += len(treebank)

    def parse(
        self,
        treebank: TreebankLike,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """Return the treebank with LEMMA, UPOS, XPOS, FEATS, HEAD and DEPREL replaced.

        Tagger and parser respect the values that ``options.keep`` keeps. ``constraints``: for each sentence
        the constraints on its tree, or None. Sentences can also be lists of words: ``nlp.parse([["Birds",
        "sing"]])``.
        """
        return self.analyse(treebank, options=options, constraints=constraints, threads=threads).treebank

    def analyse(
        self,
        treebank: TreebankLike,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Analysis:
        """Parse, and return trees and probabilities as arrays too if there is one tree per sentence."""
        check_threads(threads)
        original = as_treebank(treebank)
        tagged = self._tagged(original, options, threads)
        parser: Any = self.parser
        writes_tags = bool(getattr(parser, "writes_tags", False))
        # With several trees per sentence, words of the output are not those of the input.
        if not writes_tags or options.k_best > 1 or options.kept.isdisjoint(TAGS):
            return self.parser.analyse(tagged, options=options, constraints=constraints, threads=threads)
        free = replace(options, keep=tuple(name for name in options.keep if name not in TAGS))
        analysis: Analysis = parser.analyse(tagged, options=free, constraints=constraints, threads=threads)
        return replace(analysis, treebank=parser.keep_tags(analysis.treebank, original, tagged, options))

    def alternatives(
        self,
        treebank: Treebank,
        *,
        k: int = 3,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> list[list[list[Alternative]]]:
        """Return each word's ``k`` best heads, each with its ``k`` best labels, given the constraints.

        The treebank is tagged first, as in ``parse``.
        """
        replace(options, alternatives=k).check(self.parser.kind, self.parser.capabilities)
        parser: Any = self.parser
        tagged = self._tagged(treebank, options, threads)
        return parser.alternatives(  # type: ignore[no-any-return]
            tagged, k=k, options=options, constraints=constraints, threads=threads
        )

    def sentence_alternatives(self, sentence: Sentence, *, k: int) -> list[list[Alternative]]:
        """Return the alternatives of a tagged sentence; empty lists if the parser gives none."""
        parser: Any = self.parser
        if not self.parser.capabilities.alternatives:
            return [[] for _ in range(len(sentence))]
        return parser.alternatives(Treebank.from_sentences([sentence]), k=k)[0]  # type: ignore[no-any-return]

    def _tagged(self, treebank: Treebank, options: ParseOptions, threads: int) -> Treebank:
        kept = [column for column in TAGS if column in options.kept]
        # A parser that averages over tags reads UposProb, whether or not the user wants it.
        confidence = options.confidence or isinstance(self.parser, TagAveragedParser)
        return self.tagger.tag(treebank, keep=kept, confidence=confidence, threads=threads)

    def pack(self, precision: Precision = "int8") -> Packed:
        """Pack all components; ``precision`` is that of the parser's weights, the others have 8 bits."""
        tokenizer, tagger = self.tokenizer.pack("int8"), self.tagger.pack("int8")
        parser = self.parser.pack(precision)
        header = {
            "card": self.card,
            "tokenizer": tokenizer.header,
            "tagger": tagger.header,
            "parser": {"kind": parser.kind, "version": parser.version, "header": parser.header},
        }
        parts = {"tokenizer": tokenizer, "tagger": tagger, "parser": parser}
        arrays = {
            f"{name}.{key}": values for name, part in parts.items() for key, values in part.arrays.items()
        }
        return Packed(KIND, VERSION, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed, *, parser_of: Callable[[Packed], Parser]) -> Self:
        """Restore a pipeline; ``parser_of`` restores its parser (``arcwise.models.open_packed``)."""
        packed.expect(KIND, VERSION)
        try:
            header = packed.header
            parser = header["parser"]
            return cls(
                Tokenizer.unpack(
                    packed_part(packed, "tokenizer", header["tokenizer"], Tokenizer.kind, Tokenizer.version)
                ),
                Tagger.unpack(packed_part(packed, "tagger", header["tagger"], Tagger.kind, Tagger.version)),
                parser_of(
                    packed_part(packed, "parser", parser["header"], parser["kind"], int(parser["version"]))
                ),
                card=header.get("card"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{packed.path}: is a damaged pipeline model ({error})") from error

    def save(self, path: PathLike, *, precision: Precision = "int8") -> None:
        """Write all components to one model file."""
        write_model(path, self.pack(precision))

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the parser, except for distributions, which only the parser itself gives."""
        return replace(self.parser.capabilities, distributions=False)

    @property
    def info(self) -> Mapping[str, Any]:
        """Model card and information on the parser."""
        return {"kind": KIND, **self.card, "parser": dict(self.parser.info)}


def as_pipeline(model: Parser) -> Pipeline | None:
    """Return the model if it is a pipeline, which parses raw text; None for a parser of sentences."""
    return model if isinstance(model, Pipeline) else None


def tree_parser(model: Parser) -> Parser:
    """Return the parser of a pipeline, or the model itself if it is a parser."""
    pipeline = as_pipeline(model)
    return model if pipeline is None else pipeline.parser
