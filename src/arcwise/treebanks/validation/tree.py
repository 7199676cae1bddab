"""Level 2: check heads, the tree they form, and the enhanced graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from arcwise.treebanks.rows import DEPREL, DEPS, HEAD, UPOS, Row
from arcwise.treebanks.validation.fields import ENHANCED_HEAD, deps_pairs
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.inventory import universal
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.trees import find_cycle

_HEAD = re.compile(r"0|[1-9][0-9]*", re.ASCII)
BROKEN_DEPS = frozenset({"invalid-deps", "invalid-ehead", "unknown-ehead"})
"""If DEPS violates one of these rules, it does not form a graph."""
_FEW_WORDS = 200  # up to which plain loops are faster than arrays
_MAX_TRIED = 20_000_000  # pairs of a word and an arc in one sentence
OPEN = -1
"""The head of a word that is not annotated yet (``_``)."""


class RawTree:
    """Words, heads and labels of a sentence, a tree or part of one. Words are 1..n; 0 is the root."""

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
        row = self.rows[word]
        assert row is not None
        return row

    @cached_property
    def complete(self) -> bool:
        """Whether every word has a head."""
        return OPEN not in self.heads[1:]

    def changed(self, word: int, *, label: str | None = None, upos: str | None = None) -> RawTree:
        """A copy with another label or tag for one word; heads and cached properties are shared."""
        tree = object.__new__(RawTree)
        tree.__dict__.update(self.__dict__)
        if label is not None:
            tree.labels = [*self.labels[:word], label, *self.labels[word + 1 :]]
            tree.relations = [*self.relations[:word], universal(label), *self.relations[word + 1 :]]
        if upos is not None:
            tree.upos = [*self.upos[:word], upos, *self.upos[word + 1 :]]
        return tree

    @cached_property
    def _preorder(self) -> tuple[list[int], list[int]]:
        """For every node its place in a walk through the tree, and the last place among its descendants."""
        first, last = [0] * len(self.heads), [0] * len(self.heads)
        order: list[int] = []
        agenda = [word for word, head in enumerate(self.heads) if head < 0]  # the root node, and open words
        while agenda:
            node = agenda.pop()
            first[node] = last[node] = len(order)
            order.append(node)
            agenda += self.children[node]
        for node in reversed(order):
            head = self.heads[node]
            if head >= 0:
                last[head] = max(last[head], last[node])
        return first, last

    def dominates(self, head: int, word: int) -> bool:
        """Whether a word is below another, or the same."""
        first, last = self._preorder
        return first[head] <= first[word] <= last[head]

    def crossed(self, word: int) -> Iterator[int]:
        """The words between a word and its head that the head does not dominate; none if projective."""
        low, high = sorted((word, self.heads[word]))
        return (node for node in range(low + 1, high) if not self.dominates(self.heads[word], node))

    @cached_property
    def nonprojective(self) -> frozenset[int]:
        """The words whose arc from the head is not projective."""
        if len(self) <= _FEW_WORDS:
            return frozenset(
                word for word, head in enumerate(self.heads) if head >= 0 and any(self.crossed(word))
            )
        first, last = (np.array(places) for places in self._preorder)
        words = np.flatnonzero(np.array(self.heads) >= 0)
        heads = np.array(self.heads)[words]
        low, high = np.minimum(words, heads) + 1, np.maximum(words, heads)
        words, heads, low, high = (values[high > low] for values in (words, heads, low, high))
        # The lowest and the highest place in a range is that of two overlapping ranges of length 2 ** level.
        level = np.frexp(high - low)[1] - 1
        smallest, largest = np.zeros(len(words), np.int64), np.zeros(len(words), np.int64)
        least, most = first, first
        for step in range(int(level.max(initial=-1)) + 1):
            at = np.flatnonzero(level == step)
            end = high[at] - (1 << step)
            smallest[at] = np.minimum(least[low[at]], least[end])
            largest[at] = np.maximum(most[low[at]], most[end])
            width = 1 << step
            least = np.minimum(least[:-width], least[width:])
            most = np.maximum(most[:-width], most[width:])
        return frozenset(words[(smallest < first[heads]) | (largest > last[heads])].tolist())

    @cached_property
    def _sorted_nonprojective(self) -> list[int]:
        return sorted(self.nonprojective)[: _MAX_TRIED // (len(self) + 1) + 1]

    def made_nonprojective(self, word: int) -> list[int]:
        """The words whose arcs cover this word but not its head, and do not start at one of its ancestors.

        Such arcs are not projective. In very long sentences only the first of them are tried.
        """
        ancestors = set()
        node = word
        while node > 0:
            node = self.heads[node]
            ancestors.add(node)
        head = self.heads[word]
        low, high = (head, len(self) + 1) if head < word else (0, head)
        crossing = []
        for modifier in self._sorted_nonprojective:
            if not low < modifier < high:
                continue
            start = self.heads[modifier]
            covers = min(modifier, start) < word < max(modifier, start)
            # The arc must not reach beyond the head: its end on that side lies between the word and its head.
            inside = (
                start > head
                if head < word and modifier > word
                else start < head
                if head > word and modifier < word
                else True
            )
            if modifier != word and covers and inside and start not in ancestors:
                crossing.append(modifier)
        return crossing


def check_heads(raw: RawSentence, report: Report, *, partial: bool) -> RawTree | None:
    """Check HEAD of all words, and that the heads in HEAD and DEPS exist; return the tree if there is one."""
    node_ids = {row.id for row in raw.nodes} | {"0"}
    heads: list[int] = []
    sound = True
    for row in raw.words:
        head = row.fields[HEAD]
        if partial and head == "_":
            heads.append(OPEN)
            continue
        rule = (
            ""
            if head in node_ids and "." not in head
            else "unknown-head"
            if _HEAD.fullmatch(head)
            else "invalid-head"
        )
        if rule:
            sound = False
            outside = f"{head} is outside the sentence ({len(raw.words)} words)"
            message = outside if rule == "unknown-head" else f"{head!r} is not a number"
            report.add_field(rule, row, HEAD, message)
        else:
            heads.append(int(head))
    for row in raw.nodes:
        for head, _ in deps_pairs(row.fields[DEPS]) or ():
            if head not in node_ids and ENHANCED_HEAD.fullmatch(head):
                message = f"the head {head} is not a node of the sentence"
                report.add_field("unknown-ehead", row, DEPS, message)
    return _check_tree(raw, heads, report) if sound else None


def _check_tree(raw: RawSentence, heads: list[int], report: Report) -> RawTree | None:
    sound = True
    for row, head in zip(raw.words, heads, strict=True):
        if int(row.id) == head:
            sound = False
            report.add_field("head-self-loop", row, HEAD, f"word {row.id} is its own head")
    roots = [row.id for row, head in zip(raw.words, heads, strict=True) if head == 0]
    if len(roots) > 1:
        message = f"HEAD: the sentence has {len(roots)} roots (words {', '.join(roots)}) instead of one"
        report.add("multiple-roots", raw.first_row_line, message, row=roots[1], column="head")
    # Words that are their own heads are reported above, and not again as cycles.
    without_self_loops = [0 if head == word else head for word, head in enumerate(heads, 1)]
    cycle = sorted(find_cycle([OPEN, *without_self_loops]))
    if cycle:
        sound = False
        names = ", ".join(map(str, cycle))
        message = f"words {names} form a cycle"
        report.add_field("non-tree", raw.words[cycle[0] - 1], HEAD, message)
    return RawTree(raw.words, heads) if sound else None


def check_graph(raw: RawSentence, report: Report) -> None:
    """Check that every node is reachable from a root in DEPS, if the sentence has an enhanced graph."""
    children: dict[str, list[str]] = {}
    enhanced = False
    for row in raw.nodes:
        pairs = deps_pairs(row.fields[DEPS]) or ()
        enhanced = enhanced or bool(pairs) or row.kind == "empty"
        for head, _ in pairs:
            children.setdefault(head, []).append(row.id)
    if not enhanced:
        return
    reached, agenda = {"0"}, ["0"]
    while agenda:
        for node in children.get(agenda.pop(), ()):
            if node not in reached:
                reached.add(node)
                agenda.append(node)
    unreachable = [row for row in raw.nodes if row.id not in reached]
    if unreachable:
        names = ", ".join(row.id for row in unreachable)
        message = f"nodes not reachable from a root: {names}"
        report.add_field("unconnected-egraph", unreachable[0], DEPS, message)
