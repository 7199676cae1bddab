"""Changes of words in a mass edit: joining the words of each hit, splitting one, making a multiword token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from arcwise.errors import InputError
from arcwise.treebanks.edits import Edit, JoinWords, MakeMultiword, SplitWord, edited
from arcwise.treebanks.search.query import Hit
from arcwise.treebanks.search.syntax import Scanner, check_matched

Kind = Literal["join", "multiword", "split"]
_KIND = re.compile(rf"({'|'.join(get_args(Kind))})(?![^\s;])")


@dataclass(frozen=True)
class WordChange:
    """A change of words. ``words``: names of the words it concerns; ``forms``: those of the parts."""

    kind: Kind
    words: tuple[str, ...]
    forms: tuple[str, ...] = ()

    def edit(self, hit: Hit, block: bytes, taken: Iterable[str]) -> Edit:
        """The edit of a hit in the bytes of its sentence; ``InputError`` with the reason if there is none.

        taken: IDs of words that earlier hits of the sentence change.
        """
        rows = sorted({hit.row(name) for name in self.words}, key=float)
        if overlap := set(rows) & set(taken):
            raise InputError(f"an earlier hit changes word {min(overlap, key=float)}")
        if self.kind == "split":
            edit: Edit = SplitWord(rows[0], self.forms)
        else:
            # Words between them would be joined too, although the query does not mention them.
            if any("." in row for row in rows) or int(rows[-1]) - int(rows[0]) != len(rows) - 1:
                raise InputError(f"words {', '.join(rows)} are not neighbours")
            change = JoinWords if self.kind == "join" else MakeMultiword
            edit = change(rows[0], rows[-1])
        edited(block, [edit])
        return edit

    def rows(self, hit: Hit) -> set[str]:
        """The IDs of the words it changes."""
        return {hit.row(name) for name in self.words}


def read_word_change(scan: Scanner, names: Sequence[str]) -> WordChange | None:
    """Read a change of words; None if the text is something else.

    change = ( "join" | "multiword" ) [ name name { name } ] | "split" [ name ] value value { value }

    >>> read_word_change(Scanner("split 2 'do' 'n\\\\'t'", "changes"), ["1", "2"])
    WordChange(kind='split', words=('2',), forms=('do', "n't"))
    >>> read_word_change(Scanner("join", "changes"), ["1", "2"])
    WordChange(kind='join', words=('1', '2'), forms=())
    """
    match = _KIND.match(scan.text, scan.at)
    if match is None:
        return None
    kind: Kind = match[1]  # type: ignore[assignment]
    if not names:
        raise scan.error("the query matches only sentences; changes need matched words")
    start = scan.at
    scan.take(kind)
    if kind == "split":
        words = _names(scan, names, most=1) or (names[0],)
        forms = []
        while not scan.is_done and not scan.sees(";"):
            forms.append(scan.value())
            scan.skip()
        if len(forms) < 2:
            raise scan.error("expected the forms of the parts, such as split 'do' \"n't\"")
    else:
        words, forms = _names(scan, names, most=len(names)) or tuple(names), []
        if len(words) < 2:
            raise scan.error("expected a query with two words or more", unexpected=kind, at=start)
    if scan.take(";") or not scan.is_done:
        raise scan.error(f"{kind} is the only change of a mass edit")
    return WordChange(kind, words, tuple(forms))


def _names(scan: Scanner, names: Sequence[str], *, most: int) -> tuple[str, ...]:
    """Read names of matched words: ``@v``, or ``1`` where it is one."""
    read: list[str] = []
    while len(read) < most and not scan.is_done:
        at = scan.at
        name = scan.name()
        if name is None and (rest := scan.text[at:].split()) and rest[0] in names:
            name = rest[0]
            scan.at = at + len(name)
        if name is None:
            break
        if name not in names:
            scan.at = at
            check_matched(scan, name, names)
        read.append(name)
        scan.skip()
    return tuple(read)
