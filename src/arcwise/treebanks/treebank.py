"""``Treebank``: the bytes of a CoNLL file, and a native index of sentences, rows and fields.

A treebank is immutable: annotating returns a new one whose bytes differ only in the annotated columns. These
bytes are written when they are first needed: a tagger's columns go to the parser without becoming bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks.columns import (
    COLUMNS,
    ColumnValues,
    column_number,
    comment_bytes,
    misc_pairs,
    string_column,
)
from arcwise.treebanks.files import PathLike, open_output, read_bytes, refuse_other_format
from arcwise.treebanks.problems import Problem, ProblemKind, describe
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.surface import Surface

_MAX_BYTES = 2**32 - 2  # the native index stores offsets as uint32


class _Unwritten(NamedTuple):
    """An annotation kept separate from the bytes that it annotates."""

    layout: native.TreebankLayout
    """The index of the bytes, with the annotated columns."""
    data: bytes
    changes_heads: bool


class Treebank(Sequence[Sentence]):
    """A sequence of sentences over the exact bytes of a CoNLL-U or CoNLL-X file.

    >>> treebank = Treebank.from_string("1\\tHello\\t_\\tINTJ\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n")
    >>> len(treebank), treebank[0].forms, treebank[0].tree
    (1, ['Hello'], Tree.from_heads([0], ['root']))
    >>> print(treebank.annotate(upos=["X"]).text, end="")
    1	Hello	_	X	_	_	0	root	_	_
    <BLANKLINE>
    """

    def __init__(
        self, data: bytes, *, source: str = "<string>", strict: bool = True, first_line: int = 1
    ) -> None:
        """Index ``data``. ``strict``: raise ``InputError`` for the first problem."""
        if len(data) > _MAX_BYTES:
            raise InputError(
                f"{source}: is larger than 4 GB; read it piece by piece with arcwise.treebanks.stream"
            )
        self.source = source
        self.first_line = first_line
        self._data: bytes | None = data
        self._unwritten: _Unwritten | None = None
        self._written_sentences: npt.NDArray[np.uint32] | None = None
        if strict:
            self._index(strict=True)

    def __getstate__(self) -> dict[str, Any]:
        # Native objects do not pickle; the index is rebuilt on first use.
        return {
            "source": self.source,
            "first_line": self.first_line,
            "_data": self.data,
            "_unwritten": None,
            "_written_sentences": None,
        }

    def _index(self, *, strict: bool) -> None:
        """Build the index; ``strict``: raise ``InputError`` for the first problem."""
        if self.layout.problems and strict:
            raise InputError(str(self._problem(*self.layout.problems[0])))

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        # Read first: another thread may write the bytes, index them and drop the annotation meanwhile.
        unwritten = self._unwritten
        if self._data is None:
            assert unwritten is not None
            data, self._written_sentences = native.treebank_written(unwritten.layout, unwritten.data)
            if len(data) > _MAX_BYTES:
                raise InputError(
                    f"{self.source}: is larger than 4 GB once annotated; annotate it piece by piece"
                )
            self._data = data
        return self._data

    @cached_property
    def layout(self) -> native.TreebankLayout:
        """The native index of ``data``, built on first use, since a parse that is only written needs none."""
        layout = native.treebank_layout(self.data)
        self._unwritten = None  # the bytes and their index have everything
        return layout

    @property
    def fields(self) -> tuple[native.TreebankLayout, bytes]:
        """The index and the bytes from which native functions read the fields of words.

        These are ``layout`` and ``data``, unless this is an annotation that is not written yet: then its
        columns are separate from the bytes that it annotates, and reading them writes nothing.
        """
        unwritten = self._unwritten
        # New heads are checked while their bytes are indexed: a cycle is a problem.
        if unwritten is None or unwritten.changes_heads:
            return self.layout, self.data
        return unwritten.layout, unwritten.data

    @property
    def _structure(self) -> native.TreebankLayout:
        """An index with the right numbers of sentences and words, which annotating does not change."""
        unwritten = self._unwritten
        return self.layout if unwritten is None else unwritten.layout

    @classmethod
    def read(cls, path: PathLike, *, strict: bool = True) -> Treebank:
        """Read a file (also .gz, .xz, .zst, or ``-`` for standard input).

        Raises ``InputError`` if it has no sentence.
        """
        data = read_bytes(path)
        refuse_other_format(data, path)
        treebank = cls(data, source=str(path), strict=strict)
        if not len(treebank) and not treebank.layout.problems:
            raise InputError(f"{path}: found no sentence, expected CoNLL-U")
        return treebank

    @classmethod
    def from_string(cls, text: str, *, source: str = "<string>", strict: bool = True) -> Treebank:
        """Create a treebank from CoNLL-U text."""
        # Text that was decoded with surrogateescape gets its bytes back.
        return cls(text.encode("utf-8", "surrogateescape"), source=source, strict=strict)

    @classmethod
    def from_sentences(cls, sentences: Iterable[Sentence], *, source: str = "<sentences>") -> Treebank:
        """Concatenate sentences, with their comments."""
        # Not strict: sentences were checked when their treebank was read.
        return cls(b"".join(s.conllu_bytes for s in sentences), source=source, strict=False)

    def write(self, path: PathLike) -> None:
        """Write the bytes to a file, atomically."""
        with open_output(path) as stream:
            stream.write(self.data)

    @property
    def text(self) -> str:
        """The treebank as CoNLL-U text."""
        return self.data.decode("utf-8", "replace")

    def __len__(self) -> int:
        return self._structure.sentence_count

    @overload
    def __getitem__(self, at: int) -> Sentence: ...
    @overload
    def __getitem__(self, at: slice) -> Treebank: ...
    def __getitem__(self, at: int | slice) -> Sentence | Treebank:
        if isinstance(at, slice):
            return Treebank.from_sentences(
                [self[i] for i in range(*at.indices(len(self)))], source=self.source
            )
        if not -len(self) <= at < len(self):
            raise IndexError(f"sentence {at} of {len(self)}")
        return Sentence(self, at % len(self))

    def spread(self, most: int) -> Treebank:
        """Return at most ``most`` sentences, evenly spread, since treebanks are often sorted by genre.

        >>> len(Treebank(b"1\\ta\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n" * 5).spread(2))
        2
        """
        if len(self) <= most:
            return self
        chosen = np.linspace(0, len(self) - 1, most).round().astype(int)
        return Treebank.from_sentences([self[int(i)] for i in chosen], source=self.source)

    def __iter__(self) -> Iterator[Sentence]:
        return (Sentence(self, i) for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Treebank({self.source!r}: {len(self)} sentences, {self.word_count} words)"

    @property
    def word_count(self) -> int:
        """The number of (syntactic) words of all sentences."""
        return self._structure.word_count

    @cached_property
    def surface(self) -> Surface:
        """The text that the sentences come from, and the places of their tokens in it."""
        return Surface.of(self)

    def to_json(self) -> dict[str, Any]:
        """Return the treebank as values for ``json.dumps``, without loss.

        The fields are described in docs/reference/json.md.

        >>> values = Treebank.from_string("1\\tHi\\t_\\tINTJ\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n").to_json()
        >>> values["sentences"][0]["words"]
        [{'id': 1, 'form': 'Hi', 'upos': 'INTJ', 'head': 0, 'label': 'root', 'start': 0, 'end': 2}]
        """
        from arcwise.treebanks.json_format import document_json

        return document_json(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any], *, source: str = "<json>") -> Treebank:
        """Create a treebank from such values, or from those of one sentence.

        Only the forms of words are required.

        >>> Treebank.from_json({"sentences": [{"words": [{"form": "Birds"}, {"form": "sing"}]}]})[0].forms
        ['Birds', 'sing']
        """
        from arcwise.treebanks.json_format import treebank_text

        return cls.from_string(treebank_text(values), source=source)

    @property
    def sentence_words(self) -> npt.NDArray[np.uint32]:
        """Shape (S+1,): the words of sentence s are ``sentence_words[s] .. sentence_words[s+1]-1``."""
        return self._structure.sentence_words

    @property
    def sentence_bytes(self) -> npt.NDArray[np.uint32]:
        """Shape (S+1,): the bytes of sentence s are ``data[sentence_bytes[s] : sentence_bytes[s+1]]``."""
        # Writing an annotation sets them too, so that cutting a parse apart does not require indexing its
        # bytes.
        if self.data and self._written_sentences is not None:
            return self._written_sentences
        return self.layout.sentence_bytes

    @property
    def sentence_lengths(self) -> npt.NDArray[np.int64]:
        """Shape (S,): the number of words of each sentence."""
        starts = self.sentence_words.astype(np.int64)
        return starts[1:] - starts[:-1]

    @property
    def heads(self) -> npt.NDArray[np.int32]:
        """The head of every word, -1 where it is unknown; flat, see ``sentence_words``."""
        return self.fields[0].heads

    def column(self, name: str) -> list[str]:
        """Return one column of every word, flat over all sentences."""
        layout, data = self.fields
        return layout.column_strings(data, 0, self.word_count, column_number(name))

    def annotate(
        self,
        *,
        heads: npt.NDArray[np.int32] | None = None,
        misc_update: ColumnValues | None = None,
        comments: Sequence[Mapping[str, str]] | None = None,
        strict: bool = True,
        **columns: ColumnValues,
    ) -> Treebank:
        """Return a treebank with columns of its words replaced; all other bytes stay unchanged.

        heads: one int per word; -1 writes ``_``.
        columns: ``form``, ``lemma``, ``upos``, ``xpos``, ``feats``, ``deprel``, ``deps`` or ``misc``, each
        with one string per word, or ``Coded``.
        misc_update: ``Key=Value|…`` per word; replaces attributes with the same key and keeps the others;
        "" changes nothing.
        comments: per sentence, ``# key = value`` lines to add.
        strict: require that the heads form trees.
        """
        layout, data = self.fields
        if layout.problems:
            raise InputError(
                f"{self._problem(*layout.problems[0])} (only a file without problems can be annotated)"
            )
        replaced = [(column_number(name), string_column(values, name)) for name, values in columns.items()]
        added = None if misc_update is None else misc_pairs(misc_update)
        new_heads = None if heads is None else np.ascontiguousarray(heads, np.int32)
        lengths = [*((column, len(values)) for column, values in replaced)]
        lengths += [] if added is None else [(column_number("misc"), len(added))]
        lengths += [] if new_heads is None else [(column_number("head"), len(new_heads))]
        for column, length in lengths:
            if length != self.word_count:
                raise InputError(
                    f"{COLUMNS[column]}: found {length} values, expected {self.word_count}, one per word"
                )
        # The first 64 KiB show which line ends a file has; searching a large file would be slow.
        newline = "\r\n" if b"\r\n" in data[: 1 << 16] else "\n"
        lines = [] if comments is None else [comment_bytes(c, newline) for c in comments]
        if lines and len(lines) != len(self):
            raise InputError(f"comments: found {len(lines)}, expected {len(self)}, one per sentence")
        changes_heads = heads is not None or "head" in columns
        annotated = self._with(
            native.treebank_annotated(layout, data, replaced, new_heads, added, lines),
            data,
            changes_heads=changes_heads,
        )
        # Other columns cannot break a file without problems: values have neither tabs nor line breaks.
        if "id" in columns or (strict and changes_heads):
            annotated._index(strict=strict)
        return annotated

    def with_forms(self, forms: native.StringColumn) -> Treebank:
        """Return a view with other FORMs, from which features are extracted; the file may have problems."""
        layout, data = self.fields
        columns = [(column_number("form"), forms)]
        return self._with(native.treebank_annotated(layout, data, columns), data)

    def _with(self, layout: native.TreebankLayout, data: bytes, *, changes_heads: bool = False) -> Treebank:
        """Return an annotation of ``data``, unwritten."""
        annotated = Treebank(b"", source=self.source, strict=False, first_line=self.first_line)
        annotated._data = None
        annotated._unwritten = _Unwritten(layout, data, changes_heads)
        return annotated

    @property
    def problems(self) -> list[Problem]:
        """All problems of the file, in order (empty after a strict read)."""
        return self.first_problems(len(self.layout.problems))

    def first_problems(self, count: int) -> list[Problem]:
        """Return the first ``count`` problems, at a cost that does not depend on how many follow."""
        return [self._problem(*p) for p in self.layout.problems[:count]]

    def line_at(self, offset: int) -> int:
        """Return the line of the file that contains a byte of ``data``."""
        return self.first_line + self.data.count(b"\n", 0, offset)

    def _problem(self, kind: int, sentence: int, offset: int, number: int) -> Problem:
        line_start = self.data.rfind(b"\n", 0, offset) + 1
        line_end = self.data.find(b"\n", offset)
        row = (
            self.data[line_start : None if line_end < 0 else line_end].decode("utf-8", "replace").rstrip("\r")
        )
        field = (
            self.data[offset : None if line_end < 0 else line_end].decode("utf-8", "replace").split("\t")[0]
        )
        sent_id = Sentence(self, sentence).sent_id if sentence < len(self) else None
        return Problem(
            ProblemKind(kind),
            self.source,
            self.line_at(offset),
            sent_id,
            sentence,
            describe(ProblemKind(kind), number, row if kind == 0 else field, row.split("\t")[0]),
        )
