"""Properties of all words and sentences of a treebank as columns of numbers or of coded strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.field_values import split_pairs
from arcwise.treebanks.rows import BOM, row_kind
from arcwise.treebanks.search.syntax import MISSING, Property
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import UNKNOWN, tree_properties

_MAX_WALKED = 10**9  # steps up; real treebanks need a few per word and level

Positions = npt.NDArray[np.int64]
"""Words, numbered from 0 over the whole treebank; -1 means no word."""
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """A text for each word (or sentence): ``strings[codes[i]]``."""

    codes: Positions
    strings: list[str]

    @classmethod
    def of(cls, values: list[str]) -> Texts:
        """Encode texts."""
        numbers: dict[str, int] = {}
        codes = np.fromiter((numbers.setdefault(v, len(numbers)) for v in values), np.int64, len(values))
        return cls(codes, list(numbers))

    def where(self, holds: Callable[[str], bool]) -> Flags:
        """Mask of texts for which a predicate is true; it is called once for each distinct text."""
        table = np.fromiter((holds(s) for s in self.strings), bool, len(self.strings))
        return table[self.codes] if len(table) else np.zeros(len(self.codes), bool)

    def mapped(self, change: Callable[[str], str]) -> Texts:
        """Apply a function, called once for each distinct text."""
        changed = Texts.of([change(s) for s in self.strings])
        return Texts(changed.codes[self.codes], changed.strings) if len(self.strings) else self

    def numbers(self) -> Floats:
        """The texts as numbers; NaN where a text is not a number."""
        table = np.array([_number(s) for s in self.strings], float)
        return table[self.codes] if len(table) else np.zeros(len(self.codes))

    def at(self, positions: Positions) -> Texts:
        """The texts at other positions; ``_`` at position -1."""
        strings = [*self.strings, MISSING]
        codes = np.append(self.codes, len(strings) - 1)
        return Texts(codes[positions], strings)  # position -1 reads the appended code


Values = Texts | Floats


def text_at(values: Values, position: int) -> str:
    """One value as it is written in a file: ``_`` for a missing number."""
    if isinstance(values, Texts):
        return values.strings[int(values.codes[position])]
    number = float(values[position])
    return MISSING if np.isnan(number) else f"{number:g}"


class Columns:
    """The words of a treebank and their properties; columns are computed on demand and cached."""

    def __init__(self, treebank: Treebank) -> None:
        self.treebank = treebank
        self._place_nodes(treebank.sentence_words.astype(np.int64), treebank.word_count)
        self.is_empty = np.zeros(self.size, bool)
        self.words_before: Positions | None = None
        """Shape (size+1,): the number of words before each node; None where all nodes are words."""
        self.nodes: Columns | None = None
        """The columns with empty nodes, once ``with_empty_nodes`` has made them."""
        self._cache: dict[tuple[str, Property], Values] = {}

    def _place_nodes(self, starts: Positions, size: int) -> None:
        lengths = starts[1:] - starts[:-1]
        self.size = size
        self.starts = starts
        """Shape (S+1,): the first word of each sentence, and the number of words."""
        self.sentence = np.repeat(np.arange(len(lengths)), lengths)
        self.first = np.repeat(starts[:-1], lengths)
        self.end = np.repeat(starts[1:], lengths)
        self.longest = int(lengths.max(initial=0))

    def position(self, sentence: int, row: str) -> int:
        """The position of a word by its sentence and ID."""
        return int(self.starts[sentence]) + int(row) - 1

    @cached_property
    def heads(self) -> npt.NDArray[np.int32]:
        """HEAD of every word; -1 where it is unknown or invalid."""
        heads = self.treebank.heads
        # Files read with ``strict=False`` can have heads outside the sentence.
        possible = (heads >= 0) & (heads <= self.end - self.first)
        return np.where(possible, heads, np.int32(UNKNOWN)).astype(np.int32)

    @cached_property
    def up(self) -> Positions:
        """The position of the head of every word; -1 if it is the root or unknown."""
        return np.where(self.heads > 0, self.first + self.heads - 1, -1)

    @cached_property
    def family(self) -> Positions:
        """A number that siblings share; -1 where the head is unknown."""
        # Children of a word share its position; roots share a number beyond all positions, by sentence.
        return np.where(self.heads == 0, self.size + self.sentence, self.up)

    def step(self, name: str) -> Positions:
        """The position of the head, the previous or the next word; -1 where there is none."""
        if name == "head":
            return self.up
        positions = np.arange(self.size)
        if name == "next":
            return np.where(positions + 1 < self.end, positions + 1, -1)
        return np.where(positions > self.first, positions - 1, -1)

    def walk_up(self, words: Positions) -> Iterator[Positions]:
        """Yield the ancestors one step up, two steps up, …; -1 above the root.

        Files read with ``strict=False`` can have cycles, so it stops after as many steps as words.
        """
        padded = np.append(self.up, -1)
        walked = 0
        for _ in range(self.longest):
            words = padded[words]
            walked += len(words)
            if walked > _MAX_WALKED:
                raise InputError("query: the trees are too deep for conditions on ancestors or depth")
            if not (words >= 0).any():
                return
            yield words

    @cached_property
    def depth(self) -> Floats:
        """The number of arcs from the root to every word; NaN where a head on the path is unknown."""
        # Pointer jumping: after each round, ``above`` is twice as many steps up, and ``steps`` counts them.
        above, steps = np.append(self.up, -1), np.append((self.up >= 0).astype(np.int64), 0)
        for _ in range(max(self.longest, 1).bit_length()):
            steps = steps + np.where(above >= 0, steps[above], 0)
            above = np.where(above >= 0, above[above], -1)
        # Where the paths from each word end after this many steps; a path into a cycle never ends.
        top = self._tops
        reaches_root = (top >= 0) & (np.append(self.heads, UNKNOWN)[top] == 0)
        return np.where(reaches_root, steps[:-1] + 1.0, np.nan)

    @cached_property
    def _tops(self) -> Positions:
        """The word at the end of the path up from every word; -1 if the path leads into a cycle."""
        # A word without a head above is its own end.
        words = np.arange(self.size)
        above = np.where(self.up >= 0, self.up, words)
        for _ in range(max(self.longest, 1).bit_length()):
            above = above[above]
        return np.where(self.up[above] >= 0, -1, above) if self.size else above

    @cached_property
    def _sound_heads(self) -> npt.NDArray[np.int32]:
        """HEAD, made unknown for words that lead into a cycle."""
        return np.where(self._tops < 0, np.int32(UNKNOWN), self.heads)

    @cached_property
    def _enhanced_arcs(self) -> tuple[Positions, Positions, Texts]:
        """The arcs of DEPS between nodes: heads, dependents and labels."""
        deps = self.of_words(Property("deps"))
        assert isinstance(deps, Texts)
        parsed = [_arcs(text) for text in deps.strings]
        arcs = [(word, *arc) for word, code in enumerate(deps.codes.tolist()) for arc in parsed[code]]
        children = np.array([word for word, _, _ in arcs], np.int64)
        heads = self._enhanced_heads(children, [head for _, head, _ in arcs])
        labels = Texts.of([label for _, _, label in arcs])
        there = heads >= 0
        return heads[there], children[there], Texts(labels.codes[there], labels.strings)

    def _enhanced_heads(self, children: Positions, heads: list[str]) -> Positions:
        """The nodes that heads in DEPS name, -1 where these columns have none."""
        numbers = np.array([0 if "." in head else int(head) for head in heads], np.int64)
        positions = self.first[children] + numbers - 1
        return np.where((numbers > 0) & (positions < self.end[children]), positions, -1)

    def enhanced(self, holds: Callable[[Texts], Flags] | None) -> tuple[Positions, Positions]:
        """Pairs of a word and a dependent in DEPS, each once; ``holds`` selects the labels."""
        heads, children, labels = self._enhanced_arcs
        if holds is not None:
            taken = holds(labels)
            heads, children = heads[taken], children[taken]
        keys = np.unique(heads * max(self.size, 1) + children)
        return keys // max(self.size, 1), keys % max(self.size, 1)

    def of_words(self, prop: Property) -> Values:
        """A property of every word."""
        return self._cached("word", prop, self._word_values)

    def of_sentences(self, prop: Property) -> Values:
        """A property of every sentence."""
        return self._cached("sentence", prop, self._sentence_values)

    def _cached(self, owner: str, prop: Property, compute: Callable[[Property], Values]) -> Values:
        if (owner, prop) not in self._cache:
            self._cache[owner, prop] = compute(prop)
        return self._cache[owner, prop]

    def _word_values(self, prop: Property) -> Values:
        if prop.steps:
            inner = self.of_words(Property(prop.name, prop.key, prop.steps[1:]))
            positions = self.step(prop.steps[0])
            return inner.at(positions) if isinstance(inner, Texts) else np.append(inner, np.nan)[positions]
        if prop.key is not None:
            key = prop.key
            whole = self.of_words(Property(prop.name))
            assert isinstance(whole, Texts)
            return whole.mapped(lambda field: value_of_key(field, key))
        if prop.name == "udeprel":
            whole = self.of_words(Property("deprel"))
            assert isinstance(whole, Texts)
            return whole.mapped(lambda label: label.partition(":")[0] or MISSING)
        if prop.name == "projective":
            trees = tree_properties(self._sound_heads, self.treebank.sentence_words)
            no = trees.non_projective_arcs.astype(np.int64)
            return Texts(np.where(self.heads == UNKNOWN, 2, no), ["yes", "no", MISSING])
        numbers: Mapping[str, Callable[[], Floats]] = {
            "id": lambda: (np.arange(self.size) - self.first + 1).astype(float),
            "head": lambda: np.where(self.heads == UNKNOWN, np.nan, self.heads),
            "distance": lambda: np.where(self.up >= 0, np.abs(np.arange(self.size) - self.up), np.nan),
            "depth": lambda: self.depth,
            "children": lambda: np.bincount(self.up[self.up >= 0], minlength=self.size).astype(float),
        }
        if prop.name in numbers:
            return numbers[prop.name]()
        if prop.name == "empty":
            return Texts(np.zeros(self.size, np.int64), ["no"])
        return self._file_column(self.treebank.layout.word_rows, column_number(prop.name))

    def _file_column(self, rows: npt.NDArray[np.uint32], column: int) -> Texts:
        codes, strings = self.treebank.layout.column_codes(self.treebank.data, rows, column)
        return Texts(codes.astype(np.int64), strings)

    def _sentence_values(self, prop: Property) -> Values:
        if prop.name == "length":
            return (self.starts[1:] - self.starts[:-1]).astype(float)
        if prop.name in ("depth", "roots", "projective"):
            trees = tree_properties(self._sound_heads, self.treebank.sentence_words)
            if prop.name == "projective":
                return Texts((trees.gap_degree > 0).astype(np.int64), ["yes", "no"])
            return (trees.depth if prop.name == "depth" else trees.roots).astype(float)
        if prop.name == "text":
            return Texts.of([sentence.text for sentence in self.treebank])
        if prop.name == "comment" and prop.key is None:
            return Texts.of(["\n".join(lines) or MISSING for lines in self.comment_lines])
        key = prop.key if prop.name == "comment" else "sent_id"
        return Texts.of([_comment(lines, key or "") for lines in self.comment_lines])

    @cached_property
    def comment_lines(self) -> list[list[str]]:
        """The comments of every sentence, without ``#``."""
        layout, data = self.treebank.layout, self.treebank.data
        starts = layout.sentence_bytes.astype(np.int64)
        marks = layout.marks.reshape(layout.row_count, -1) if layout.row_count else np.zeros((0, 1))
        rows = layout.sentence_rows.astype(np.int64)
        lines: list[list[str]] = []
        for number, start in enumerate(starts[:-1].tolist()):
            row = int(rows[number])
            stop = int(marks[row, 0]) if row < rows[number + 1] else int(starts[number + 1])
            lines.append(_comments(data[start:stop]))
        return lines


def _comments(data: bytes) -> list[str]:
    lines: list[str] = []
    for line in data.removeprefix(BOM).split(b"\n")[:-1]:
        if line.startswith(b"#"):
            lines.append(line[1:].decode("utf-8", "replace").strip())
        else:
            lines.clear()  # comments before a blank line belong to no sentence
    return lines


def _comment(lines: list[str], key: str) -> str:
    """The value of the last comment with the key, like ``Sentence.comments``."""
    for line in reversed(lines):
        name, _, value = line.partition("=")
        if name.strip() == key:
            return value.strip()
    return MISSING


def value_of_key(field: str, key: str) -> str:
    """The value of a key of FEATS or MISC, ``_`` if it is missing.

    >>> value_of_key("Case=Acc|Number=Sing", "Number"), value_of_key("_", "Case")
    ('Sing', '_')
    """
    return next((value for name, value in split_pairs(field) if name == key), MISSING)


def _arcs(deps: str) -> list[tuple[str, str]]:
    """The arcs of a field from words and empty nodes, not from the root."""
    arcs = []
    for part in deps.split("|"):
        head, colon, label = part.partition(":")
        if colon and len(head) < 20 and head != "0" and row_kind(head) in ("word", "empty"):
            arcs.append((head, label))
    return arcs


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
