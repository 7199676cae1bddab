"""``NodeColumns``: the words of a treebank together with its empty nodes (``8.1``), for queries that search
for them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from arcwise.treebanks.columns import column_number
from arcwise.treebanks.rows import ID, NATIVE_KINDS
from arcwise.treebanks.search.syntax import (
    AllOf,
    AnyOf,
    Condition,
    Exists,
    Not,
    ParsedQuery,
    Pattern,
    Property,
    PropertyTest,
)
from arcwise.treebanks.search.values import Columns, Floats, Positions, Texts, Values
from arcwise.trees import UNKNOWN

_OF_TREES = ("head", "distance", "depth", "children", "projective")
"""Properties of the basic tree, which has no empty nodes."""


def includes_empty_nodes(condition: Condition) -> bool:
    """Whether a condition on a node tests ``empty``: only then can the node be an empty node."""
    if isinstance(condition, PropertyTest):
        return condition.property == Property("empty")
    if isinstance(condition, Not):
        return includes_empty_nodes(condition.condition)
    # The node of a relation in brackets is another one.
    return isinstance(condition, (AllOf, AnyOf)) and any(map(includes_empty_nodes, condition.conditions))


def asks_for_empty_nodes(parsed: ParsedQuery | Pattern) -> bool:
    """Whether any word of a query, matched or not, can be an empty node."""
    patterns = (parsed.pattern, *parsed.excluded) if isinstance(parsed, ParsedQuery) else (parsed,)
    return any(_mentions(condition) for pattern in patterns for condition in pattern.words.values())


def _mentions(condition: Condition) -> bool:
    if isinstance(condition, (Not, Exists)):
        return _mentions(condition.condition)
    if isinstance(condition, PropertyTest):
        return includes_empty_nodes(condition)
    return any(map(_mentions, condition.conditions))


def with_empty_nodes(columns: Columns) -> Columns:
    """The same columns with empty nodes among the words; computed once, the columns themselves without any.

    >>> from arcwise import Treebank
    >>> rows = ["1 Go _ _ _ _ 0 root _ _", "1.1 on _ _ _ _ _ _ 1:conj _", "2 ! _ _ _ _ 1 punct _ _"]
    >>> columns = Columns(Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n\\n"))
    >>> columns.size, with_empty_nodes(columns).size
    (2, 3)
    """
    if columns.nodes is None:
        empty = (columns.treebank.layout.row_kinds == NATIVE_KINDS.index("empty")).any()
        columns.nodes = NodeColumns(columns) if empty else columns
    return columns.nodes


class NodeColumns(Columns):
    """Columns over words and empty nodes, in the order of the file."""

    def __init__(self, words: Columns) -> None:
        super().__init__(words.treebank)
        self.of_tokens = words
        layout = self.treebank.layout
        kinds = layout.row_kinds
        self._rows = np.flatnonzero(kinds != NATIVE_KINDS.index("multiword")).astype(np.uint32)
        self.is_empty = kinds[self._rows] == NATIVE_KINDS.index("empty")
        self._counts = np.concatenate([[0], np.cumsum(~self.is_empty)]).astype(np.int64)
        self.words_before = self._counts
        starts = np.searchsorted(self._rows, layout.sentence_rows).astype(np.int64)
        self._place_nodes(starts, len(self._rows))
        self._words = np.flatnonzero(~self.is_empty)
        """The node of every word."""
        self.nodes = self

    @cached_property
    def _word_of_node(self) -> Positions:
        """The word of every node, -1 for empty nodes."""
        return np.where(self.is_empty, -1, self._counts[:-1])

    @cached_property
    def heads(self) -> npt.NDArray[np.int32]:
        """HEAD of every word, -1 of empty nodes."""
        return np.append(self.of_tokens.heads, np.int32(UNKNOWN))[self._word_of_node]

    @cached_property
    def up(self) -> Positions:
        """The node of the head of every word."""
        above = np.append(self.of_tokens.up, -1)[self._word_of_node]
        nodes: Positions = np.append(self._words, -1)[above]
        return nodes

    def step(self, name: str) -> Positions:
        """The node of the head, the previous or the next word."""
        if name == "head":
            return self.up
        # The number of the word before, or after; beyond the sentence there is none.
        number = self._counts[1:] if name == "next" else self._counts[:-1] - 1
        node = np.append(self._words, -1)[np.clip(number, -1, len(self._words))]
        return np.where((node >= self.first) & (node < self.end), node, -1)

    @cached_property
    def ids(self) -> list[str]:
        """The ID of every node; words are counted, because files read with ``strict=False`` may not."""
        numbers = self._counts[:-1] - self.of_tokens.starts[self.sentence] + 1
        ids = list(map(str, numbers.tolist()))
        empty = np.flatnonzero(self.is_empty)
        codes, strings = self.treebank.layout.column_codes(self.treebank.data, self._rows[empty], ID)
        for position, code in zip(empty.tolist(), codes.tolist(), strict=True):
            ids[position] = strings[code]
        return ids

    @cached_property
    def _empty_positions(self) -> dict[tuple[int, str], int]:
        positions = np.flatnonzero(self.is_empty).tolist()
        return {(int(self.sentence[position]), self.ids[position]): position for position in positions}

    def position(self, sentence: int, row: str) -> int:
        """The position of a node by its ID."""
        if "." in row:
            return self._empty_positions[sentence, row]
        return int(self._words[self.of_tokens.position(sentence, row)])

    def _enhanced_heads(self, children: Positions, heads: list[str]) -> Positions:
        sentences = self.sentence[children]
        words = self.of_tokens
        numbers = np.array([0 if "." in head else int(head) for head in heads], np.int64)
        position = words.starts[sentences] + numbers - 1
        inside = (numbers > 0) & (position < words.starts[sentences + 1])
        nodes: Positions = np.append(self._words, -1)[np.where(inside, position, -1)]
        for arc in np.flatnonzero(numbers == 0).tolist():
            nodes[arc] = self._empty_positions.get((int(sentences[arc]), heads[arc]), -1)
        return nodes

    def _word_values(self, prop: Property) -> Values:
        if prop.steps or prop.key is not None or prop.name == "udeprel":
            return super()._word_values(prop)
        if prop.name == "empty":
            return Texts(self.is_empty.astype(np.int64), ["no", "yes"])
        if prop.name == "id":
            return self._numbered_ids()
        if prop.name in _OF_TREES:
            values = self.of_tokens.of_words(prop)
            missing = self._word_of_node
            return values.at(missing) if isinstance(values, Texts) else np.append(values, np.nan)[missing]
        return self._file_column(self._rows, column_number(prop.name))

    def _numbered_ids(self) -> Floats:
        numbers = np.append(np.asarray(self.of_tokens.of_words(Property("id"))), np.nan)[self._word_of_node]
        for position in self._empty_positions.values():
            numbers[position] = float(self.ids[position])
        return numbers

    def _sentence_values(self, prop: Property) -> Values:
        return self.of_tokens.of_sentences(prop)
