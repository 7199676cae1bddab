"""Level 2: heads, the tree they form, the enhanced graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from arcwise.treebanks.rows import DEPREL, DEPS, HEAD, UPOS, Row
from arcwise.treebanks.validation.fields import ENHANCED_HEAD, deps_pairs
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.inventory import universal
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.trees import find_cycle

_HEAD = re.compile(r"0|[1-9][0-9]*", re.ASCII)
BROKEN_DEPS = frozenset({"invalid-deps", "invalid-ehead", "unknown-ehead"})
"""Rules without which DEPS forms no graph."""
OPEN = -1
"""The head of a word that nobody has decided yet (``_``)."""


class RawTree:
    """Words, heads and labels of a sentence whose heads form a tree, or part of one. Words are 1..n; 0 is the root."""

    def __init__(self, rows: Sequence[Row], heads: Sequence[int]) -> None:
        self.rows: list[Row | None] = [None, *rows]
        self.heads = [OPEN, *heads]
        self.labels = ["", *(row.fields[DEPREL] for row in rows)]
        self.relations = [universal(label) for label in self.labels]
        self.upos = ["", *(row.fields[UPOS] for row in rows)]
        self.children: list[list[int]] = [[] for _ in self.heads]
        for word, head in enumerate(self.heads[1:], 1):
            if head >= 0:
                self.children[head].append(word)

    def __len__(self) -> int:
        return len(self.heads) - 1

    def row(self, word: int) -> Row:
        """The row of a word."""
        found = self.rows[word]
        assert found is not None
        return found

    @cached_property
    def complete(self) -> bool:
        """Whether every word has a head."""
        return OPEN not in self.heads[1:]

    def changed(self, word: int, *, label: str | None = None, upos: str | None = None) -> RawTree:
        """The tree with another label or tag of one word."""
        other = object.__new__(RawTree)
        other.__dict__.update(self.__dict__)
        if label is not None:
            other.labels = [*self.labels[:word], label, *self.labels[word + 1 :]]
            other.relations = [*self.relations[:word], universal(label), *self.relations[word + 1 :]]
        if upos is not None:
            other.upos = [*self.upos[:word], upos, *self.upos[word + 1 :]]
        return other

    @cached_property
    def below(self) -> list[int]:
        """For every node the words below it, as bits."""
        found = [0] * len(self.heads)
        order = [0, *(word for word, head in enumerate(self.heads) if word and head < 0)]
        for node in order:
            order += self.children[node]
        for node in reversed(order):
            if self.heads[node] >= 0:
                found[self.heads[node]] |= found[node] | 1 << node
        return found

    def gap(self, word: int) -> int:
        """The words between a word and its head that are not below the head, as bits; 0: attached projectively."""
        low, high = sorted((word, self.heads[word]))
        return ((1 << high) - (1 << low + 1)) & ~self.below[self.heads[word]] if high - low > 1 else 0

    @cached_property
    def gaps(self) -> list[int]:
        """The gap of each word."""
        return [self.gap(word) if head >= 0 else 0 for word, head in enumerate(self.heads)]

    def made_nonprojective(self, word: int) -> list[int]:
        """The words whose arcs pass over this one and not over its head, and come from no word above it."""
        above = set()
        node = word
        while node > 0:
            node = self.heads[node]
            above.add(node)
        head = self.heads[word]
        low, high = (head, len(self) + 1) if head < word else (0, head)
        found = []
        for other in range(low + 1, high):
            start = self.heads[other]
            passes = min(other, start) < word < max(other, start)
            # the end of the arc on the head's side lies between the word and its head
            inside = (
                start > head
                if head < word and other > word
                else start < head
                if head > word and other < word
                else True
            )
            if other != word and passes and inside and start not in above:
                found.append(other)
        return found


def check_heads(raw: RawSentence, report: Report, *, partial: bool) -> RawTree | None:
    """HEAD of all words, and HEAD and DEPS against the words that there are; the tree, if there is one."""
    known = {row.id for row in raw.nodes} | {"0"}
    heads: list[int] = []
    sound = True
    for row in raw.words:
        head = row.fields[HEAD]
        if partial and head == "_":
            heads.append(OPEN)
            continue
        rule = (
            ""
            if head in known and "." not in head
            else "unknown-head"
            if _HEAD.fullmatch(head)
            else "invalid-head"
        )
        if rule:
            sound = False
            expected = f"0 or a word, 1 to {len(raw.words)}" if rule == "unknown-head" else "a number"
            report.add_field(rule, row, HEAD, f"found {head!r}, expected {expected}")
        else:
            heads.append(int(head))
    for row in raw.nodes:
        for head, _ in deps_pairs(row.fields[DEPS]) or ():
            if head not in known and ENHANCED_HEAD.fullmatch(head):
                message = f"found the head {head}, expected 0 or a node of the sentence"
                report.add_field("unknown-ehead", row, DEPS, message)
    return _check_tree(raw, heads, report) if sound else None


def _check_tree(raw: RawSentence, heads: list[int], report: Report) -> RawTree | None:
    sound = True
    for row, head in zip(raw.words, heads, strict=True):
        if int(row.id) == head:
            sound = False
            message = f"found word {row.id} as its own head, expected another"
            report.add_field("head-self-loop", row, HEAD, message)
    roots = [row.id for row, head in zip(raw.words, heads, strict=True) if head == 0]
    if len(roots) > 1:
        report.add(
            "multiple-roots",
            raw.first_row_line,
            f"HEAD: found {len(roots)} roots (words {', '.join(roots)}), expected one word with HEAD 0",
            row=roots[1],
            column="head",
        )
    others = [0 if head == word else head for word, head in enumerate(heads, 1)]
    cycle = sorted(find_cycle([OPEN, *others]))
    if cycle:
        sound = False
        names = ", ".join(map(str, cycle))
        message = f"found a cycle of words {names}, expected a tree"
        report.add_field("non-tree", raw.words[cycle[0] - 1], HEAD, message)
    return RawTree(raw.words, heads) if sound else None


def check_graph(raw: RawSentence, report: Report) -> None:
    """Whether every node is reached from a root in DEPS, if the sentence has an enhanced graph at all."""
    below: dict[str, list[str]] = {}
    enhanced = False
    for row in raw.nodes:
        pairs = deps_pairs(row.fields[DEPS]) or ()
        enhanced = enhanced or bool(pairs) or row.kind == "empty"
        for head, _ in pairs:
            below.setdefault(head, []).append(row.id)
    if not enhanced:
        return
    reached, waiting = {"0"}, ["0"]
    while waiting:
        for node in below.get(waiting.pop(), ()):
            if node not in reached:
                reached.add(node)
                waiting.append(node)
    lost = [row for row in raw.nodes if row.id not in reached]
    if lost:
        names = ", ".join(row.id for row in lost)
        message = f"found no way from a root to {names}, expected one to every node"
        report.add_field("unconnected-egraph", lost[0], DEPS, message)
