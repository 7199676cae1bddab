"""The properties of all words and sentences of a treebank, as columns: numbers, or codes into a list of strings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arcwise.treebanks.columns import column_number
from arcwise.treebanks.search.syntax import MISSING, Property
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import UNKNOWN, tree_properties

Places = npt.NDArray[np.int64]
"""Words, numbered from 0 over the whole treebank; -1 for none."""
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """A text for each word (or sentence): ``strings[codes[i]]``."""

    codes: Places
    strings: list[str]

    @classmethod
    def of(cls, values: list[str]) -> Texts:
        """The texts as codes."""
        numbers: dict[str, int] = {}
        codes = np.fromiter((numbers.setdefault(v, len(numbers)) for v in values), np.int64, len(values))
        return cls(codes, list(numbers))

    def where(self, holds: Callable[[str], bool]) -> Flags:
        """For which it holds; asked once for each distinct text."""
        table = np.fromiter((holds(s) for s in self.strings), bool, len(self.strings))
        return table[self.codes] if len(table) else np.zeros(len(self.codes), bool)

    def mapped(self, change: Callable[[str], str]) -> Texts:
        """Each text changed; asked once for each distinct text."""
        made = Texts.of([change(s) for s in self.strings])
        return Texts(made.codes[self.codes], made.strings) if len(self.strings) else self

    def numbers(self) -> Floats:
        """The texts as numbers; NaN where one is none."""
        table = np.array([_number(s) for s in self.strings], float)
        return table[self.codes] if len(table) else np.zeros(len(self.codes))

    def at(self, places: Places) -> Texts:
        """The texts of other places; ``_`` for place -1."""
        strings = [*self.strings, MISSING]
        codes = np.append(self.codes, len(strings) - 1)
        return Texts(codes[places], strings)  # place -1 is the last


Values = Texts | Floats


def text_at(values: Values, place: int) -> str:
    """One value as a file has it: ``_`` for a number that is not there."""
    if isinstance(values, Texts):
        return values.strings[int(values.codes[place])]
    number = float(values[place])
    return MISSING if np.isnan(number) else f"{number:g}"


class Columns:
    """The words of a treebank and their properties. Each column is made when it is asked for, and kept."""

    def __init__(self, treebank: Treebank) -> None:
        self.treebank = treebank
        self.size = treebank.word_count
        starts = treebank.sentence_words.astype(np.int64)
        lengths = starts[1:] - starts[:-1]
        self.starts = starts
        """Shape (S+1,): the first word of each sentence."""
        self.sentence = np.repeat(np.arange(len(lengths)), lengths)
        self.first = np.repeat(starts[:-1], lengths)
        self.end = np.repeat(starts[1:], lengths)
        self.longest = int(lengths.max(initial=0))
        self._known: dict[tuple[str, Property], Values] = {}

    # ---- places of other words

    @cached_property
    def heads(self) -> npt.NDArray[np.int32]:
        """HEAD of every word: -1 for unknown, also where the file has what cannot be."""
        heads = self.treebank.heads
        possible = (heads >= 0) & (heads <= self.end - self.first)
        return np.where(possible, heads, np.int32(UNKNOWN)).astype(np.int32)

    @cached_property
    def up(self) -> Places:
        """The head of every word; -1 for the root and where it is not known."""
        return np.where(self.heads > 0, self.first + self.heads - 1, -1)

    @cached_property
    def family(self) -> Places:
        """Words with the same head have the same number; -1 where the head is not known."""
        return np.where(self.heads == 0, self.size + self.sentence, self.up)

    def step(self, name: str) -> Places:
        """The place of the head, the word before or the word after; -1 where there is none."""
        if name == "head":
            return self.up
        places = np.arange(self.size)
        if name == "next":
            return np.where(places + 1 < self.end, places + 1, -1)
        return np.where(places > self.first, places - 1, -1)

    def walk_up(self, places: Places) -> Iterator[Places]:
        """The words one step above, two steps above, …; -1 from the root on. Ends where a cycle would go on for ever."""
        with_none = np.append(self.up, -1)
        for _ in range(self.longest):
            places = with_none[places]
            if not (places >= 0).any():
                return
            yield places

    @cached_property
    def depth(self) -> Floats:
        """Arcs from the root to every word; NaN where the way is not known."""
        depth = np.full(self.size, np.nan)
        at = np.arange(self.size)
        level = 1.0
        depth[self.heads == 0] = 1
        for above in self.walk_up(at):
            level += 1
            depth[(above >= 0) & (np.append(self.heads, UNKNOWN)[above] == 0)] = level
        return depth

    @cached_property
    def _sound_heads(self) -> npt.NDArray[np.int32]:
        """HEAD, unknown for words whose way up is a cycle: files that are read as they are have such."""
        endless = np.zeros(self.size, bool)
        for steps, above in enumerate(self.walk_up(np.arange(self.size)), 1):
            endless = above >= 0 if steps == self.longest else endless  # more steps than a sentence has words
        return np.where(endless, np.int32(UNKNOWN), self.heads)

    # ---- properties

    def of_words(self, wanted: Property) -> Values:
        """A property of every word."""
        return self._keep("word", wanted, self._word_values)

    def of_sentences(self, wanted: Property) -> Values:
        """A property of every sentence."""
        return self._keep("sentence", wanted, self._sentence_values)

    def _keep(self, what: str, wanted: Property, make: Callable[[Property], Values]) -> Values:
        if (what, wanted) not in self._known:
            self._known[what, wanted] = make(wanted)
        return self._known[what, wanted]

    def _word_values(self, wanted: Property) -> Values:
        if wanted.steps:
            inner = self.of_words(Property(wanted.name, wanted.key, wanted.steps[1:]))
            places = self.step(wanted.steps[0])
            return inner.at(places) if isinstance(inner, Texts) else np.append(inner, np.nan)[places]
        if wanted.key is not None:
            key = wanted.key
            whole = self.of_words(Property(wanted.name))
            assert isinstance(whole, Texts)
            return whole.mapped(lambda field: value_of_key(field, key))
        if wanted.name == "udeprel":
            whole = self.of_words(Property("deprel"))
            assert isinstance(whole, Texts)
            return whole.mapped(lambda label: label.partition(":")[0] or MISSING)
        if wanted.name == "projective":
            crooked = tree_properties(self._sound_heads, self.treebank.sentence_words).non_projective_arcs
            return Texts(np.where(self.heads == UNKNOWN, 2, crooked.astype(np.int64)), ["yes", "no", MISSING])
        numbers: Mapping[str, Callable[[], Floats]] = {
            "id": lambda: (np.arange(self.size) - self.first + 1).astype(float),
            "head": lambda: np.where(self.heads == UNKNOWN, np.nan, self.heads),
            "distance": lambda: np.where(self.up >= 0, np.abs(np.arange(self.size) - self.up), np.nan),
            "depth": lambda: self.depth,
            "children": lambda: np.bincount(self.up[self.up >= 0], minlength=self.size).astype(float),
        }
        if wanted.name in numbers:
            return numbers[wanted.name]()
        layout = self.treebank.layout
        codes, strings = layout.column_codes(self.treebank.data, layout.word_rows, column_number(wanted.name))
        return Texts(codes.astype(np.int64), strings)

    def _sentence_values(self, wanted: Property) -> Values:
        if wanted.name == "length":
            return (self.starts[1:] - self.starts[:-1]).astype(float)
        if wanted.name in ("depth", "roots", "projective"):
            trees = tree_properties(self._sound_heads, self.treebank.sentence_words)
            if wanted.name == "projective":
                return Texts((trees.gap_degree > 0).astype(np.int64), ["yes", "no"])
            return (trees.depth if wanted.name == "depth" else trees.roots).astype(float)
        if wanted.name == "text":
            return Texts.of([sentence.text for sentence in self.treebank])
        if wanted.name == "comment" and wanted.key is None:
            return Texts.of(["\n".join(lines) or MISSING for lines in self.comment_lines])
        key = wanted.key if wanted.name == "comment" else "sent_id"
        return Texts.of([_comment(lines, key or "") for lines in self.comment_lines])

    @cached_property
    def comment_lines(self) -> list[list[str]]:
        """The comments of every sentence, without ``#``."""
        layout, data = self.treebank.layout, self.treebank.data
        starts = layout.sentence_bytes.astype(np.int64)
        marks = layout.marks.reshape(layout.row_count, -1) if layout.row_count else np.zeros((0, 1))
        rows = layout.sentence_rows.astype(np.int64)
        found: list[list[str]] = []
        for number, start in enumerate(starts[:-1].tolist()):
            row = int(rows[number])
            stop = int(marks[row, 0]) if row < rows[number + 1] else int(starts[number + 1])
            found.append(_comments(data[start:stop]))
        return found


def _comments(data: bytes) -> list[str]:
    lines: list[str] = []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:-1]:
        if line.startswith(b"#"):
            lines.append(line[1:].decode("utf-8", "replace").strip())
        else:
            lines.clear()  # what stands before a blank line is of no sentence
    return lines


def _comment(lines: list[str], key: str) -> str:
    """The value of the last comment with that key, as ``Sentence.comments`` has it."""
    for line in reversed(lines):
        name, _, value = line.partition("=")
        if name.strip() == key:
            return value.strip()
    return MISSING


def value_of_key(field: str, key: str) -> str:
    """The value of a key of FEATS or MISC, ``_`` if it is not there.

    >>> value_of_key("Case=Acc|Number=Sing", "Number"), value_of_key("_", "Case")
    ('Sing', '_')
    """
    for pair in field.split("|"):
        name, sign, value = pair.partition("=")
        if name == key and field != MISSING:
            return value if sign else ""
    return MISSING


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
