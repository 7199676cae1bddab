"""Which sentences of two files are the same, and which rows of two versions of a sentence."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby

from arcwise.treebanks.blocks import SentenceBlock

Key = Callable[[SentenceBlock], Hashable]
_SIMILAR = 0.5
"""Sentences that share this much of their words may be versions of one sentence."""
_RENAMED = 2
"""So many sentences in a row, of three words in the mean, show that a file was numbered anew."""
_FAR = 8
"""How many sentences are looked at for a similar one."""
_SMALL = 400
"""Stretches of this many sentences, all of which occur several times, are compared by difflib, which takes the square of it."""


def same_sentences(a: Sequence[SentenceBlock], b: Sequence[SentenceBlock]) -> dict[int, int]:
    r"""The numbers of sentences of ``a`` → of the same sentences in ``b``; a sentence of either side may have none.

    Sentences are the same by sent_id and words; by sent_id, if half of their words are the same; by words, if several in a row have them under
    other names; by sent_id alone; by words; and between sentences that are the same, if half of their words are. Each is first looked for in
    its place, then elsewhere.

    >>> row = "1\t{}\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> a, b = ([SentenceBlock(row.format(form).encode()) for form in forms] for forms in (["Hi", "Ho"], ["Ho", "Hi", "He"]))
    >>> same_sentences(a, b)
    {0: 1, 1: 0}
    """
    if _same_places(a, b):
        return {i: i for i in range(len(a))}
    found = _Matching(a, b)
    for key in (lambda block: block.body, _id_and_words):
        found.in_place(key)
        found.anywhere(key)
    found.by_id(similar=True)
    found.renamed()
    found.by_id(similar=False)
    found.in_place(lambda block: block.forms)
    found.anywhere(lambda block: block.forms)
    found.similar_in_place()
    return dict(sorted(found.to_b.items()))


def _same_places(a: Sequence[SentenceBlock], b: Sequence[SentenceBlock]) -> bool:
    """Whether each sentence stands where it stood, with its sent_id and words, and none is found elsewhere as it was."""
    if len(a) != len(b):
        return False
    changed = [(x, y) for x, y in zip(a, b, strict=True) if x.body != y.body]
    if not {x.body for x, _ in changed}.isdisjoint(y.body for _, y in changed):
        return False
    return all(_id_and_words(x) == _id_and_words(y) for x, y in changed)


def _id_and_words(block: SentenceBlock) -> Hashable:
    return block.sent_id, block.forms


class _Matching:
    """Pairs of sentences found so far."""

    def __init__(self, a: Sequence[SentenceBlock], b: Sequence[SentenceBlock]) -> None:
        self.a, self.b = a, b
        self.to_b: dict[int, int] = {}
        self.to_a: dict[int, int] = {}

    def pair(self, i: int, j: int) -> None:
        self.to_b[i], self.to_a[j] = j, i

    def open(self) -> tuple[list[int], list[int]]:
        """The sentences of both sides that have no partner."""
        return (
            [i for i in range(len(self.a)) if i not in self.to_b],
            [j for j in range(len(self.b)) if j not in self.to_a],
        )

    def gaps(self) -> Iterator[tuple[list[int], list[int]]]:
        """Sentences without partner that stand between the same pairs, where both sides have some."""
        pairs = sorted(self.to_b.items())
        chain = [pairs[at] for at in longest_increasing([j for _, j in pairs])]
        i = j = 0
        for end_i, end_j in [*chain, (len(self.a), len(self.b))]:
            mine = [x for x in range(i, end_i) if x not in self.to_b]
            theirs = [y for y in range(j, end_j) if y not in self.to_a] if mine else []
            if mine and theirs:
                yield mine, theirs
            i, j = end_i + 1, end_j + 1

    def in_place(self, key: Key) -> None:
        """Pair sentences of the same key that stand between the same pairs, in order."""
        for mine, theirs in list(self.gaps()):
            keys = [key(self.a[i]) for i in mine], [key(self.b[j]) for j in theirs]
            for at, to in common(*keys):
                self.pair(mine[at], theirs[to])

    def anywhere(self, key: Key) -> None:
        """Pair what is left of the same key, the first with the first."""
        mine, theirs = self.open()
        if not mine or not theirs:
            return
        places: dict[Hashable, deque[int]] = defaultdict(deque)
        for j in theirs:
            places[key(self.b[j])].append(j)
        for i in mine:
            if found := places.get(key(self.a[i])):
                self.pair(i, found.popleft())

    def by_id(self, *, similar: bool) -> None:
        """Pair what is left of the same sent_id, if it is the only one of both sides."""
        mine, theirs = self.open()
        ids = [(self.a[i].sent_id, i) for i in mine], [(self.b[j].sent_id, j) for j in theirs]
        once = [Counter(name for name, _ in side) for side in ids]
        places = dict(ids[1])
        for name, i in ids[0]:
            if name is None or once[0][name] != 1 or once[1][name] != 1:
                continue
            if not similar or similarity(self.a[i], self.b[places[name]]) >= _SIMILAR:
                self.pair(i, places[name])

    def renamed(self) -> None:
        """Pair sentences of the same words whatever their names, where several in a row stand as many places further on: a file that was
        numbered anew. One alone proves nothing against its name."""
        for mine, theirs in list(self.gaps()):
            keys = [self.a[i].forms for i in mine], [self.b[j].forms for j in theirs]
            pairs = [(mine[at], theirs[to]) for at, to in common(*keys)]
            for _, group in groupby(pairs, key=lambda pair: pair[1] - pair[0]):
                row = list(group)
                if len(row) >= _RENAMED and sum(len(self.a[i].forms) for i, _ in row) >= 3 * _RENAMED:
                    for i, j in row:
                        self.pair(i, j)

    def similar_in_place(self) -> None:
        """Pair similar sentences that stand between the same pairs, in order."""
        for mine, theirs in list(self.gaps()):
            start = 0
            for i in mine:
                near = [(similarity(self.a[i], self.b[j]), -j) for j in theirs[start : start + _FAR]]
                best, place = max(near, default=(0.0, 0))
                if best >= _SIMILAR:
                    self.pair(i, -place)
                    start = theirs.index(-place) + 1


def similarity(a: SentenceBlock, b: SentenceBlock) -> float:
    """The share of words that two sentences have in common, whatever their order (Dice)."""
    both = sum((Counter(a.forms) & Counter(b.forms)).values())
    return 2 * both / max(len(a.forms) + len(b.forms), 1)


def common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places with the same value, in order on both sides: what patience diff finds.

    >>> common("xaby", "xcaby")
    [(0, 0), (1, 2), (2, 3), (3, 4)]
    """
    pairs: list[tuple[int, int]] = []
    work = [(0, len(a), 0, len(b))]
    while work:
        i, end_i, j, end_j = work.pop()
        while i < end_i and j < end_j and a[i] == b[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        while i < end_i and j < end_j and a[end_i - 1] == b[end_j - 1]:
            end_i, end_j = end_i - 1, end_j - 1
            pairs.append((end_i, end_j))
        if i == end_i or j == end_j:
            continue
        anchors = _unique_in_both(a, b, i, end_i, j, end_j)
        if not anchors and max(end_i - i, end_j - j) <= _SMALL:
            pairs += [(i + at, j + to) for at, to in _of_repeated(a[i:end_i], b[j:end_j])]
            continue
        pairs += anchors
        for at, to in [*anchors, (end_i, end_j)] if anchors else []:
            work.append((i, at, j, to))
            i, j = at + 1, to + 1
    return sorted(pairs)


def _of_repeated(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The same where every value occurs several times: what difflib finds, or what stands at the same place, if that is as much."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    found = [(at + k, to + k) for at, to, size in blocks for k in range(size)]
    in_place = [(at, at) for at, (x, y) in enumerate(zip(a, b, strict=False)) if x == y]
    return in_place if len(a) == len(b) and len(in_place) >= len(found) else found


def _unique_in_both(
    a: Sequence[Hashable], b: Sequence[Hashable], i: int, end_i: int, j: int, end_j: int
) -> list[tuple[int, int]]:
    """The longest row of values that occur once in each stretch, in order on both sides."""
    once_a, once_b = Counter(a[i:end_i]), Counter(b[j:end_j])
    places = {b[y]: y for y in range(j, end_j) if once_b[b[y]] == 1}
    pairs = [(x, places[a[x]]) for x in range(i, end_i) if once_a[a[x]] == 1 and a[x] in places]
    return [pairs[at] for at in longest_increasing([y for _, y in pairs])]


def longest_increasing(values: Sequence[int]) -> list[int]:
    """The places of a longest increasing row of distinct numbers. O(n log n).

    >>> longest_increasing([5, 1, 2, 9, 3])
    [1, 2, 4]
    """
    ends: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for at, value in enumerate(values):
        length = bisect_left(ends, value)
        before.append(places[length - 1] if length else -1)
        if length == len(ends):
            ends.append(value)
            places.append(at)
        else:
            ends[length], places[length] = value, at
    chain: list[int] = []
    at = places[-1] if places else -1
    while at >= 0:
        chain.append(at)
        at = before[at]
    return chain[::-1]


# ---- rows


def same_shape(a: SentenceBlock, b: SentenceBlock) -> bool:
    """Whether the rows of two versions of a sentence are the same: no word was split, joined, added, removed or moved, though forms may differ."""
    if [row[0] for row in a.rows] != [row[0] for row in b.rows]:
        return False
    if a.forms == b.forms:
        return True
    in_place = sum(x == y for x, y in zip(a.forms, b.forms, strict=True))
    shifted = sum(size for *_, size in _matcher(a.forms, b.forms).get_matching_blocks())
    return shifted <= in_place + 1  # one word alone may be the same by chance


def same_rows(a: SentenceBlock, b: SentenceBlock) -> dict[bytes, bytes]:
    """IDs of rows of ``a`` → IDs of the same rows of ``b``, and the root, ``0``. Words are the same by their forms, and where as many are
    replaced by as many; multiword tokens and empty nodes go with their words."""
    if same_shape(a, b):
        return {b"0": b"0"} | {row[0]: row[0] for row in a.rows}
    to = {b"0": b"0"}
    for kind, i, end_i, j, end_j in _matcher(a.forms, b.forms).get_opcodes():
        if kind == "equal" or (kind == "replace" and end_i - i == end_j - j):
            to |= {x[0]: y[0] for x, y in zip(a.words[i:end_i], b.words[j:end_j], strict=True)}
    for row in a.rows:
        image = renumbered(row[0], to)
        if not row[0].isdigit() and image in b.by_id:
            to[row[0]] = image
    return to


def renumbered(row: bytes, to: Mapping[bytes, bytes]) -> bytes | None:
    """The ID of a row by new numbers of the words; None if a word has none.

    >>> renumbered(b"2-3", {b"2": b"3", b"3": b"4"}), renumbered(b"2.1", {b"2": b"3"}), renumbered(b"5", {})
    (b'3-4', b'3.1', None)
    """
    if row in to:
        return to[row]
    first, dash, last = row.partition(b"-")
    if dash:
        return to[first] + b"-" + to[last] if first in to and last in to else None
    before, dot, rest = row.partition(b".")
    return to[before] + b"." + rest if dot and before in to else None


def numbered_alike(block: SentenceBlock, to: Mapping[bytes, bytes]) -> bool:
    """Whether every row of a sentence has the same number on the other side: then what names rows needs no other numbers."""
    return all(to.get(row[0]) == row[0] for row in block.rows)


def carried(value: bytes, column: str, to: Mapping[bytes, bytes]) -> bytes | None:
    """The value of a field by new numbers of the words, which HEAD and DEPS name; None if it names one that has none.

    >>> to = {b"0": b"0", b"2": b"3"}
    >>> carried(b"2", "head", to), carried(b"0:root|2.1:obl:in", "deps", to), carried(b"5", "head", to)
    (b'3', b'0:root|3.1:obl:in', None)
    """
    if value == b"_" or column not in ("head", "deps"):
        return value
    if column == "head":
        return to.get(value)
    parts = [part.partition(b":") for part in value.split(b"|")]
    heads = [renumbered(head, to) for head, _, _ in parts]
    if None in heads:
        return None
    return b"|".join(
        (head or b"") + colon + rest for head, (_, colon, rest) in zip(heads, parts, strict=True)
    )


def _matcher(a: Sequence[bytes], b: Sequence[bytes]) -> SequenceMatcher[bytes]:
    return SequenceMatcher(None, a, b, autojunk=False)
