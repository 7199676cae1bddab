"""Align the sentences of two files, and the rows of two versions of a sentence."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby

from arcwise.treebanks.blocks import SentenceBlock, is_word

Key = Callable[[SentenceBlock], Hashable]
_SIMILAR = 0.5
"""Dice similarity from which two sentences can be versions of one."""
_RENAMED = 2
"""Consecutive sentences, of three words on average, that prove that sent_ids were renumbered."""
_FAR = 8
"""Number of sentences searched for a similar one."""
_SMALL = 400
"""Up to this many sentences without a unique one are compared by difflib, whose time is quadratic."""


def same_sentences(a: Sequence[SentenceBlock], b: Sequence[SentenceBlock]) -> dict[int, int]:
    r"""Align the sentences of two files: index in ``a`` → index in ``b``.

    Sentences of either side may stay unaligned. Criteria, in this order: the same sent_id and words; the same
    sent_id and half of the words; the same words in several consecutive sentences with other sent_ids; the
    same sent_id; the same words; half of the words, between aligned sentences. Each criterion is tried first
    between aligned neighbours, then anywhere.

    >>> row = "1\t{}\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> versions = (["Hi", "Ho"], ["Ho", "Hi", "He"])
    >>> a, b = ([SentenceBlock(row.format(form).encode()) for form in forms] for forms in versions)
    >>> same_sentences(a, b)
    {0: 1, 1: 0}
    """
    # The usual case: two annotations of one file need no alignment.
    if _same_places(a, b):
        return {i: i for i in range(len(a))}
    matching = _Matching(a, b)
    for key in (lambda block: block.body, _id_and_words):
        matching.in_place(key)
        matching.anywhere(key)
    matching.by_id(similar=True)
    matching.renamed()
    matching.by_id(similar=False)
    matching.in_place(lambda block: block.forms)
    matching.anywhere(lambda block: block.forms)
    matching.similar_in_place()
    return dict(sorted(matching.to_b.items()))


def _same_places(a: Sequence[SentenceBlock], b: Sequence[SentenceBlock]) -> bool:
    """Whether each sentence kept its position, sent_id and words, and no unchanged sentence moved."""
    if len(a) != len(b):
        return False
    changed = [(x, y) for x, y in zip(a, b, strict=True) if x.body != y.body]
    if not {x.body for x, _ in changed}.isdisjoint(y.body for _, y in changed):
        return False
    return all(_id_and_words(x) == _id_and_words(y) for x, y in changed)


def _id_and_words(block: SentenceBlock) -> Hashable:
    return block.sent_id, block.forms


class _Matching:
    """The sentences aligned so far."""

    def __init__(self, a: Sequence[SentenceBlock], b: Sequence[SentenceBlock]) -> None:
        self.a, self.b = a, b
        self.to_b: dict[int, int] = {}
        self.to_a: dict[int, int] = {}

    def pair(self, i: int, j: int) -> None:
        self.to_b[i], self.to_a[j] = j, i

    def open(self) -> tuple[list[int], list[int]]:
        """The unaligned sentences of both sides."""
        return (
            [i for i in range(len(self.a)) if i not in self.to_b],
            [j for j in range(len(self.b)) if j not in self.to_a],
        )

    def gaps(self) -> Iterator[tuple[list[int], list[int]]]:
        """Unaligned sentences of both sides between the same aligned neighbours."""
        pairs = sorted(self.to_b.items())
        # Moved sentences delimit nothing: gaps lie between the longest chain of pairs in order.
        chain = [pairs[at] for at in longest_increasing([j for _, j in pairs])]
        i = j = 0
        for end_i, end_j in [*chain, (len(self.a), len(self.b))]:
            mine = [x for x in range(i, end_i) if x not in self.to_b]
            theirs = [y for y in range(j, end_j) if y not in self.to_a] if mine else []
            if mine and theirs:
                yield mine, theirs
            i, j = end_i + 1, end_j + 1

    def in_place(self, key: Key) -> None:
        """Align sentences with the same key between the same neighbours, in order."""
        for mine, theirs in list(self.gaps()):
            keys = [key(self.a[i]) for i in mine], [key(self.b[j]) for j in theirs]
            for at, to in common(*keys):
                self.pair(mine[at], theirs[to])

    def anywhere(self, key: Key) -> None:
        """Align the remaining sentences with the same key, in order of appearance."""
        mine, theirs = self.open()
        if not mine or not theirs:
            return
        places: dict[Hashable, deque[int]] = defaultdict(deque)
        for j in theirs:
            places[key(self.b[j])].append(j)
        for i in mine:
            if candidates := places.get(key(self.a[i])):
                self.pair(i, candidates.popleft())

    def by_id(self, *, similar: bool) -> None:
        """Align the remaining sentences with the same sent_id, if it is unique on both sides."""
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
        """Align runs of sentences with the same words and other sent_ids, moved by the same distance.

        That happens when a file is renumbered; a single such sentence is no evidence against its sent_id.
        """
        for mine, theirs in list(self.gaps()):
            keys = [self.a[i].forms for i in mine], [self.b[j].forms for j in theirs]
            pairs = [(mine[at], theirs[to]) for at, to in common(*keys)]
            for _, group in groupby(pairs, key=lambda pair: pair[1] - pair[0]):
                row = list(group)
                if len(row) >= _RENAMED and sum(len(self.a[i].forms) for i, _ in row) >= 3 * _RENAMED:
                    for i, j in row:
                        self.pair(i, j)

    def similar_in_place(self) -> None:
        """Align similar sentences between the same neighbours, in order."""
        for mine, theirs in list(self.gaps()):
            start = 0
            for i in mine:
                near = [(similarity(self.a[i], self.b[j]), -j) for j in theirs[start : start + _FAR]]
                best, place = max(near, default=(0.0, 0))
                if best >= _SIMILAR:
                    self.pair(i, -place)
                    start = theirs.index(-place) + 1


def similarity(a: SentenceBlock, b: SentenceBlock) -> float:
    """The Dice coefficient of the words of two sentences, ignoring their order."""
    both = sum((Counter(a.forms) & Counter(b.forms)).values())
    return 2 * both / max(len(a.forms) + len(b.forms), 1)


def common(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Align equal values of two sequences in order, by patience diff.

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
    """Align values that all occur several times: by difflib, or by position if that aligns as many."""
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    aligned = [(at + k, to + k) for at, to, size in blocks for k in range(size)]
    in_place = [(at, at) for at, (x, y) in enumerate(zip(a, b, strict=False)) if x == y]
    return in_place if len(a) == len(b) and len(in_place) >= len(aligned) else aligned


def _unique_in_both(
    a: Sequence[Hashable], b: Sequence[Hashable], i: int, end_i: int, j: int, end_j: int
) -> list[tuple[int, int]]:
    """The longest common subsequence of the values that are unique on both sides."""
    once_a, once_b = Counter(a[i:end_i]), Counter(b[j:end_j])
    places = {b[y]: y for y in range(j, end_j) if once_b[b[y]] == 1}
    pairs = [(x, places[a[x]]) for x in range(i, end_i) if once_a[a[x]] == 1 and a[x] in places]
    return [pairs[at] for at in longest_increasing([y for _, y in pairs])]


def longest_increasing(values: Sequence[int]) -> list[int]:
    """The indices of a longest increasing subsequence of distinct numbers. O(n log n).

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


def same_shape(a: SentenceBlock, b: SentenceBlock) -> bool:
    """Whether no word was split, joined, added, removed or moved between two versions of a sentence."""
    if [row[0] for row in a.rows] != [row[0] for row in b.rows]:
        return False
    if a.forms == b.forms:
        return True
    in_place = sum(x == y for x, y in zip(a.forms, b.forms, strict=True))
    shifted = sum(size for *_, size in _matcher(a.forms, b.forms).get_matching_blocks())
    return shifted <= in_place + 1  # one more equal word may be chance


def same_rows(a: SentenceBlock, b: SentenceBlock) -> dict[bytes, bytes]:
    """Align the rows of two versions of a sentence: ID in ``a`` → ID in ``b``, including the root ``0``.

    Words are aligned by their forms, and where a run of words was replaced by equally many. Multiword tokens
    and empty nodes follow their words.
    """
    if same_shape(a, b):
        return {b"0": b"0"} | {row[0]: row[0] for row in a.rows}
    to = {b"0": b"0"}
    for kind, i, end_i, j, end_j in _matcher(a.forms, b.forms).get_opcodes():
        if kind == "equal" or (kind == "replace" and end_i - i == end_j - j):
            to |= {x[0]: y[0] for x, y in zip(a.words[i:end_i], b.words[j:end_j], strict=True)}
    for row in a.rows:
        image = renumbered(row[0], to)
        if not is_word(row[0]) and image in b.by_id:
            to[row[0]] = image
    return to


def renumbered(row: bytes, to: Mapping[bytes, bytes]) -> bytes | None:
    """Renumber the ID of a row; None if a word of it has no new number.

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
    """Whether every row keeps its number, so that references need no renumbering."""
    return all(to.get(row[0]) == row[0] for row in block.rows)


def carried(value: bytes, column: str, to: Mapping[bytes, bytes]) -> bytes | None:
    """Renumber the words that HEAD or DEPS refers to; None if one of them has no new number.

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
    # autojunk would ignore frequent words of long sentences.
    return SequenceMatcher(None, a, b, autojunk=False)
