"""``Sentence``: a view of one sentence in the bytes of its treebank."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.treebanks.field_values import (
    HEAD_PROBABILITY,
    LABEL_PROBABILITY,
    LabelledArc,
    comment_values,
    probability,
    read_alternatives,
)
from arcwise.treebanks.rows import BOM, NATIVE_KINDS, TokenRow, joined_text, token_spans
from arcwise.treebanks.words import Token, Word, Words
from arcwise.trees import UNKNOWN, Tree

if TYPE_CHECKING:
    from arcwise.treebanks.treebank import Treebank


class Sentence:
    """One sentence of a treebank: a sequence of its words, and a view that decodes columns on first use.

    >>> sentence = Sentence.from_words(["Birds", "sing"], tree=Tree.from_heads([2, 0], ["nsubj", "root"]))
    >>> len(sentence), sentence[0].form, [word.form for word in sentence], sentence.root
    (2, 'Birds', ['Birds', 'sing'], <Word 2 sing root>)

    Columns cannot be assigned: ``annotate`` returns a changed sentence.
    """

    __slots__ = ("__dict__", "number", "treebank")
    treebank: Treebank
    number: int

    def __init__(self, treebank: Treebank, number: int) -> None:
        # As the slots do it: __setattr__ is for those who use a sentence, and would cost twice as much here.
        _set_treebank(self, treebank)
        _set_number(self, number)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to assign a column or anything else that the class defines."""
        # A cached property would take the value, and words and drawings would contradict the file.
        if isinstance(getattr(type(self), name, None), property | cached_property):
            raise AttributeError(
                f"{type(self).__name__}.{name} cannot be assigned; sentence.annotate(…) returns a changed "
                "sentence"
            )
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the decoded columns: decoding them again is cheaper than sending them.
        return type(self), (self.treebank, self.number)

    @classmethod
    def from_words(
        cls,
        forms: Sequence[str],
        *,
        tree: Tree | None = None,
        comments: Mapping[str, str] | None = None,
        **columns: Sequence[str],
    ) -> Sentence:
        """Create a sentence from word forms and any other columns (``upos=…``, ``lemma=…``).

        >>> Sentence.from_words(["Birds", "sing"], upos=["NOUN", "VERB"]).upos
        ['NOUN', 'VERB']
        """
        if not forms:
            raise InputError("forms: found no word, expected at least one")
        if not all(forms):
            raise InputError(f"forms: found an empty word at {list(forms).index('')}, expected text")
        rows = "".join(f"{i}\t_\t_\t_\t_\t_\t_\t_\t_\t_\n" for i in range(1, len(forms) + 1))
        from arcwise.treebanks.treebank import Treebank

        blank = Treebank.from_string(rows + "\n")
        if tree is not None:
            columns = {**columns, "deprel": columns.get("deprel") or ["_"] * len(forms)}
            if tree.labels is not None:
                columns["deprel"] = list(tree.labels[1:])
        return blank.annotate(
            form=forms,
            heads=None if tree is None else tree.heads[1:],
            comments=None if comments is None else [comments],
            strict=True,
            **columns,
        )[0]

    def __len__(self) -> int:
        """The number of words."""
        first, last = self._words
        return last - first

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    @overload
    def __getitem__(self, at: int) -> Word: ...
    @overload
    def __getitem__(self, at: slice) -> Words: ...
    def __getitem__(self, at: int | slice) -> Word | Words:
        """A word, from 0 as in ``words``; ``sentence[0].id`` is 1."""
        return self.words[at]

    def __repr__(self) -> str:
        return f"Sentence({' '.join(self.forms)!r})"

    def _column(self, number: int) -> list[str]:
        layout, data = self.treebank.fields
        return layout.column_strings(data, *self._words, number)

    @property
    def _words(self) -> tuple[int, int]:
        starts = self.treebank.sentence_words
        return int(starts[self.number]), int(starts[self.number + 1])

    @cached_property
    def forms(self) -> list[str]:
        """The word forms."""
        return self._column(1)

    @cached_property
    def lemmas(self) -> list[str]:
        """The LEMMA column."""
        return self._column(2)

    @cached_property
    def upos(self) -> list[str]:
        """The UPOS column (CPOSTAG in CoNLL-X)."""
        return self._column(3)

    @cached_property
    def xpos(self) -> list[str]:
        """The XPOS column (POSTAG in CoNLL-X)."""
        return self._column(4)

    @cached_property
    def feats(self) -> list[str]:
        """The FEATS column, as text."""
        return self._column(5)

    @cached_property
    def deprels(self) -> list[str]:
        """The DEPREL column."""
        return self._column(7)

    @cached_property
    def deps(self) -> list[str]:
        """The DEPS column, as text."""
        return self._column(8)

    @cached_property
    def misc(self) -> list[str]:
        """The MISC column, as text."""
        return self._column(9)

    @property
    def heads(self) -> npt.NDArray[np.int32]:
        """Shape (n+1,): ``heads[0] = -1``, -1 where a head is unknown."""
        first, last = self._words
        return np.concatenate([np.array([UNKNOWN], np.int32), self.treebank.heads[first:last]])

    @cached_property
    def tree(self) -> Tree:
        """The tree of HEAD and DEPREL; partial if heads are unknown."""
        return Tree(self.heads, ("", *self.deprels))

    @cached_property
    def rows(self) -> list[tuple[str, ...]]:
        """The ten fields of every row: words, multiword tokens (2-3) and empty nodes (8.1)."""
        starts = self.treebank.layout.sentence_rows
        return self.treebank.layout.row_strings(
            self.treebank.data, int(starts[self.number]), int(starts[self.number + 1])
        )

    @property
    def source_bytes(self) -> bytes:
        """The bytes of the sentence in its file, including comments and the final blank line."""
        starts = self.treebank.sentence_bytes
        return self.treebank.data[int(starts[self.number]) : int(starts[self.number + 1])]

    @property
    def own_bytes(self) -> bytes:
        """Deprecated name of ``source_bytes``."""
        warnings.warn("Sentence.own_bytes is now source_bytes", DeprecationWarning, stacklevel=2)
        return self.source_bytes

    @property
    def conllu_bytes(self) -> bytes:
        """``source_bytes`` as a self-contained block: no byte order mark, and always a final blank line."""
        data = self.source_bytes.removeprefix(BOM)
        if data.endswith((b"\n\n", b"\n\r\n")):
            return data
        newline = b"\r\n" if b"\r\n" in data else b"\n"
        return data + (newline if data.endswith(b"\n") else 2 * newline)

    @property
    def comment_lines(self) -> list[str]:
        """The comment lines before the first word, without the leading ``#`` and spaces."""
        return [line[1:].strip() for line in self.raw_comment_lines]

    @property
    def raw_comment_lines(self) -> list[str]:
        """The comment lines before the first word, exactly as in the file."""
        lines: list[str] = []
        rest = self.source_bytes.removeprefix(BOM)
        at = 0
        while at < len(rest):
            end = rest.find(b"\n", at)
            line = rest[at:] if end < 0 else rest[at:end]
            at = len(rest) if end < 0 else end + 1
            if line.startswith(b"#"):
                lines.append(line.decode("utf-8", "replace").removesuffix("\r"))
            elif line.strip():
                break
            else:
                lines.clear()  # a blank line separates these comments from the sentence
        return lines

    @property
    def comments(self) -> dict[str, str]:
        """The comments as a mapping; a comment without ``=`` has the value ``""``."""
        return comment_values(self.raw_comment_lines)

    @cached_property
    def head_probabilities(self) -> list[float] | None:
        """The probability of each head (HeadProb in MISC); None unless every word has one."""
        probabilities = self._misc_probabilities(HEAD_PROBABILITY)
        return [p for p in probabilities if p is not None] if None not in probabilities else None

    @cached_property
    def label_probabilities(self) -> list[float] | None:
        """The joint probability of head and label (DeprelProb in MISC); None unless every word has it."""
        probabilities = self._misc_probabilities(LABEL_PROBABILITY)
        return [p for p in probabilities if p is not None] if None not in probabilities else None

    def _misc_probabilities(self, key: str) -> list[float | None]:
        return [probability(misc, key) for misc in self.misc]

    @property
    def words(self) -> Words:
        """The words: ``words[0]`` is the first one, whose ``id`` is 1."""
        return Words(self, range(1, len(self) + 1))

    @property
    def root(self) -> Word | None:
        """The word whose head is the root, the first if there are several; None if there is none."""
        roots = self.child_ids[0]
        return Word(self, roots[0]) if roots else None

    @property
    def tokens(self) -> list[Token]:
        """The tokens of the text, with their offsets: multiword tokens, and words outside of them."""
        return [Token(self, row, at) for at, row in enumerate(self.token_rows)]

    # Cached lookups of Word and Token. None refers back to the sentence, so reference counting can free it.

    @cached_property
    def token_rows(self) -> list[TokenRow]:
        """The rows that are tokens of the text."""
        rows, layout = self.rows, self.treebank.layout
        if len(rows) == len(self):  # neither multiword tokens nor empty nodes
            return [TokenRow(fields, word, word) for word, fields in enumerate(rows, 1)]
        first = int(layout.sentence_rows[self.number])
        kinds = [NATIVE_KINDS[kind] for kind in layout.row_kinds[first : first + len(rows)].tolist()]
        spans = token_spans(kinds, [fields[0] for fields in rows])
        return [TokenRow(rows[index], first_word, last_word) for index, first_word, last_word in spans]

    @cached_property
    def head_ids(self) -> list[int]:
        """``heads`` as a list."""
        return [int(head) for head in self.heads]

    @cached_property
    def child_ids(self) -> list[list[int]]:
        """The dependents of the root and of each word."""
        children: list[list[int]] = [[] for _ in self.head_ids]
        for number, head in enumerate(self.head_ids):
            if 0 <= head < len(children):
                children[head].append(number)
        return children

    @cached_property
    def word_probabilities(self) -> tuple[list[float | None], list[float | None]]:
        """The probability of each head, and of each head with its label; None where the file has none."""
        return self._misc_probabilities(HEAD_PROBABILITY), self._misc_probabilities(LABEL_PROBABILITY)

    @cached_property
    def word_alternatives(self) -> list[list[LabelledArc]]:
        """The most probable (head, label) pairs of each word."""
        return [read_alternatives(misc) for misc in self.misc]

    @property
    def sent_id(self) -> str | None:
        """The value of the ``# sent_id`` comment."""
        return self.comments.get("sent_id")

    @property
    def text(self) -> str:
        """The ``# text`` comment, or the text that forms and SpaceAfter=No spell."""
        return self.comments.get("text") or joined_text(token.fields for token in self.token_rows)

    def to_conllu(self) -> str:
        """Return the sentence as CoNLL-U text, ending with a blank line."""
        return self.conllu_bytes.decode("utf-8", "replace")

    def to_json(self) -> dict[str, Any]:
        """Return the sentence as values for ``json.dumps``; see ``Treebank.to_json``."""
        from arcwise.treebanks.json_format import sentence_json

        return sentence_json(self)

    def with_tree(self, tree: Tree) -> Sentence:
        """Return the sentence with another HEAD column (and DEPREL, if the tree has labels)."""
        if tree.labels is None:
            return self.annotate(heads=tree.heads[1:])
        return self.annotate(heads=tree.heads[1:], deprel=tree.labels[1:])

    def annotate(
        self,
        *,
        heads: npt.NDArray[np.int32] | None = None,
        comments: Mapping[str, str] | None = None,
        **columns: Sequence[str],
    ) -> Sentence:
        """Return the sentence with columns replaced; see ``Treebank.annotate``."""
        from arcwise.treebanks.treebank import Treebank

        treebank = Treebank(self.conllu_bytes, source=self.treebank.source)
        lines = None if comments is None else [comments]
        return treebank.annotate(heads=heads, comments=lines, strict=True, **columns)[0]


_set_treebank: Any = Sentence.__dict__["treebank"].__set__
_set_number: Any = Sentence.__dict__["number"].__set__
