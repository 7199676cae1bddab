"""``Word`` and ``Token``: lightweight views of one word of a sentence, and of one token of its text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from arcwise.treebanks.field_values import EnhancedArc, LabelledArc, enhanced_arcs, pairs
from arcwise.treebanks.rows import TokenRow
from arcwise.treebanks.surface import space_after

if TYPE_CHECKING:
    from arcwise.treebanks.sentence import Sentence


class Word:
    """A syntactic word of a sentence. Columns have the text of the file: ``_`` where a value is missing.

    >>> from arcwise import Sentence, Tree
    >>> sentence = Sentence.from_words(["Birds", "sing"], tree=Tree.from_heads([2, 0], ["nsubj", "root"]))
    >>> birds = sentence.words[0]
    >>> birds, birds.head
    (<Word 1 Birds nsubj of 2 sing>, <Word 2 sing root>)
    >>> birds.head.children
    [<Word 1 Birds nsubj of 2 sing>]
    """

    __slots__ = ("id", "sentence")

    def __init__(self, sentence: Sentence, number: int) -> None:
        self.sentence = sentence
        self.id = number
        """1..n, as in the file and in ``Tree``; the index in ``sentence.words`` is one less."""

    @property
    def form(self) -> str:
        """The word form."""
        return self.sentence.forms[self.id - 1]

    @property
    def lemma(self) -> str:
        """LEMMA."""
        return self.sentence.lemmas[self.id - 1]

    @property
    def upos(self) -> str:
        """UPOS."""
        return self.sentence.upos[self.id - 1]

    @property
    def xpos(self) -> str:
        """XPOS."""
        return self.sentence.xpos[self.id - 1]

    @property
    def feats(self) -> dict[str, str]:
        """FEATS as a mapping: ``{"Case": "Nom"}``; a part without ``=`` has the value ``""``."""
        return pairs(self.sentence.feats[self.id - 1])

    @property
    def label(self) -> str:
        """DEPREL."""
        return self.sentence.deprels[self.id - 1]

    @property
    def deprel(self) -> str:
        """DEPREL: the same as ``label``, by the name of the column."""
        return self.label

    @property
    def deps(self) -> list[EnhancedArc]:
        """DEPS: the head (its ID as text) and the label of each arc; one head may have several labels."""
        return enhanced_arcs(self.sentence.deps[self.id - 1]) or []

    @property
    def misc(self) -> dict[str, str]:
        """MISC as a mapping."""
        return pairs(self.sentence.misc[self.id - 1])

    @property
    def head_id(self) -> int:
        """The ``id`` of the head; 0 for the root, -1 if unknown."""
        return self.sentence.head_ids[self.id]

    @property
    def head(self) -> Word | None:
        """The head; None for a root or an unknown head (``head_id`` distinguishes them)."""
        head = self.head_id
        return Word(self.sentence, head) if head > 0 else None

    @property
    def is_root(self) -> bool:
        """Whether its head is the root."""
        return self.head_id == 0

    @property
    def children(self) -> list[Word]:
        """The direct dependents, in order."""
        return [Word(self.sentence, child) for child in self.sentence.child_ids[self.id]]

    @property
    def lefts(self) -> list[Word]:
        """The direct dependents before the word, in order."""
        return [Word(self.sentence, child) for child in self.sentence.child_ids[self.id] if child < self.id]

    @property
    def rights(self) -> list[Word]:
        """The direct dependents after the word, in order."""
        return [Word(self.sentence, child) for child in self.sentence.child_ids[self.id] if child > self.id]

    @property
    def ancestors(self) -> list[Word]:
        """The head, its head and so on, up to a root; a cycle of heads ends before it repeats."""
        heads, above = self.sentence.head_ids, [self.id]
        while (head := heads[above[-1]]) > 0 and head < len(heads) and head not in above:
            above.append(head)
        return [Word(self.sentence, number) for number in above[1:]]

    @property
    def subtree(self) -> list[Word]:
        """This word and all its descendants, in order."""
        return [Word(self.sentence, number) for number in self._subtree_ids()]

    @property
    def left_edge(self) -> Word:
        """The first word of the subtree."""
        return Word(self.sentence, self._subtree_ids()[0])

    @property
    def right_edge(self) -> Word:
        """The last word of the subtree."""
        return Word(self.sentence, self._subtree_ids()[-1])

    def _subtree_ids(self) -> list[int]:
        children = self.sentence.child_ids
        subtree, seen = [self.id], {self.id}
        for number in subtree:  # grows during the loop; ``seen`` ends it where heads form a cycle
            new = [child for child in children[number] if child not in seen]
            subtree += new
            seen.update(new)
        return sorted(subtree)

    @property
    def head_probability(self) -> float | None:
        """The parser's probability of the head; None if the file has none."""
        return self.sentence.word_probabilities[0][self.id - 1]

    @property
    def label_probability(self) -> float | None:
        """The parser's joint probability of head and label; None if the file has none."""
        return self.sentence.word_probabilities[1][self.id - 1]

    @property
    def alternatives(self) -> list[LabelledArc]:
        """The most probable (head, label) pairs with their joint probability; empty if there are none.

        A word of a parsed document has three, computed on first use; a word of a treebank has those that
        ``arcwise parse --alternatives`` wrote.
        """
        return self.sentence.word_alternatives[self.id - 1]

    @property
    def start(self) -> int:
        """Start offset in the text, in characters. A word of a multiword token has the offsets of the token,
        because the text does not say where one word ends and the next begins."""
        return self.token.start

    @property
    def end(self) -> int:
        """End offset: one past the last character."""
        return self.token.end

    @property
    def token(self) -> Token:
        """The token of the text that this word is, or is part of."""
        rows = self.sentence.token_rows
        at = bisect_left(rows, self.id, key=lambda row: row.last)
        return Token(self.sentence, rows[at], at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, int, int]:
        # Each access creates a new view, so views compare by what they refer to.
        return id(self.sentence.treebank), self.sentence.number, self.id

    def __repr__(self) -> str:
        tag = "" if self.upos == "_" else f" {self.upos}"
        head = self.head
        label = "" if self.label == "_" else f" {self.label}"
        of = "" if head is None else f" of {head.id} {head.form}"
        return f"<Word {self.id} {self.form}{tag}{label}{of}>"


class Words(Sequence[Word]):
    """A sequence of words of a sentence; slices have the same type."""

    __slots__ = ("_ids", "sentence")

    def __init__(self, sentence: Sentence, ids: range) -> None:
        self.sentence = sentence
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, at: int) -> Word: ...
    @overload
    def __getitem__(self, at: slice) -> Words: ...
    def __getitem__(self, at: int | slice) -> Word | Words:
        if isinstance(at, slice):
            return Words(self.sentence, self._ids[at])
        if not -len(self._ids) <= at < len(self._ids):
            raise IndexError(f"word {at} of {len(self._ids)}; words[0] is the word of id {self._ids.start}")
        return Word(self.sentence, self._ids[at])

    def __iter__(self) -> Iterator[Word]:
        sentence = self.sentence
        return (Word(sentence, number) for number in self._ids)

    def __repr__(self) -> str:
        forms = self.sentence.forms
        return f"<Words {' '.join(forms[number - 1] for number in self._ids)}>"


class Token:
    """A token of the text: a word, or a multiword token that covers several words.

    >>> from arcwise import Treebank
    >>> rows = "".join(row + "\\t_" * 8 + "\\n" for row in ("1-2\\tal", "1\\ta", "2\\tel")) + "\\n"
    >>> (token,) = Treebank.from_string(rows)[0].tokens
    >>> token, token.words
    (<Token 1-2 al 0:2>, <Words a el>)
    """

    __slots__ = ("_place", "_row", "sentence")

    def __init__(self, sentence: Sentence, row: TokenRow, place: int) -> None:
        self.sentence = sentence
        self._row = row
        self._place = place

    @property
    def id(self) -> str:
        """The ID as in the file: ``3`` or ``1-2``."""
        return self._row.fields[0]

    @property
    def form(self) -> str:
        """The FORM of the token."""
        return self._row.fields[1]

    @property
    def misc(self) -> dict[str, str]:
        """MISC of the token as a mapping."""
        return pairs(self._row.fields[9])

    @property
    def misc_text(self) -> str:
        """MISC of the token, as in the file."""
        return self._row.fields[9]

    @property
    def words(self) -> Words:
        """The words of the token."""
        return self.sentence.words[self._row.first - 1 : self._row.last]

    @property
    def is_multiword(self) -> bool:
        """Whether it is a multiword token."""
        return "-" in self._row.fields[0]

    @property
    def start(self) -> int:
        """Start offset in the text (``doc.text``), in characters; ``Surface`` defines that text."""
        return self.sentence.treebank.surface.places[self.sentence.number][self._place][0]

    @property
    def end(self) -> int:
        """End offset: one past the last character."""
        return self.sentence.treebank.surface.places[self.sentence.number][self._place][1]

    @property
    def space_after(self) -> str:
        """The white space that MISC states after the token; a space if it states nothing."""
        space = space_after(self._row.fields[9])
        return " " if space is None else space

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[int, int, int]:
        return id(self.sentence.treebank), self.sentence.number, self._place

    def __repr__(self) -> str:
        return f"<Token {self.id} {self.form} {self.start}:{self.end}>"
