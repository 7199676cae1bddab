"""Level 2: check heads, the tree they form, and the enhanced graph."""

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
"""If DEPS violates one of these rules, it does not form a graph."""
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
    def descendants(self) -> list[int]:
        """For every node the set of words it dominates, as the bits of an integer (fast set operations)."""
        descendants = [0] * len(self.heads)
        order = [0, *(word for word, head in enumerate(self.heads) if word and head < 0)]
        for node in order:
            order += self.children[node]
        for node in reversed(order):
            if self.heads[node] >= 0:
                descendants[self.heads[node]] |= descendants[node] | 1 << node
        return descendants

    def gap(self, word: int) -> int:
        """The words between a word and its head that the head does not dominate, as bits; 0 if projective."""
        low, high = sorted((word, self.heads[word]))
        # The bits between both words, without those that the head dominates.
        return ((1 << high) - (1 << low + 1)) & ~self.descendants[self.heads[word]] if high - low > 1 else 0

    @cached_property
    def gaps(self) -> list[int]:
        """The gap of each word."""
        return [self.gap(word) if head >= 0 else 0 for word, head in enumerate(self.heads)]

    def made_nonprojective(self, word: int) -> list[int]:
        """The words whose arcs cover this word but not its head, and do not start at one of its ancestors."""
        ancestors = set()
        node = word
        while node > 0:
            node = self.heads[node]
            ancestors.add(node)
        head = self.heads[word]
        low, high = (head, len(self) + 1) if head < word else (0, head)
        crossing = []
        for modifier in range(low + 1, high):
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
