"""``EditedSentence``: mutable rows and comments of one sentence; unchanged lines keep their bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.problems import OF_TREES, Problem, ProblemKind
from arcwise.treebanks.rows import DEPS, HEAD, MISC, Row, RowKind, joined_text, row_kind, token_rows
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import find_cycle

Arcs = Sequence[tuple[str, str]]
"""Enhanced arcs: the ID of the head and the label."""
_ON = r"[0-9]+(?:[-.][0-9]+)?"
NOTE = re.compile(rf"(#\s*note)(?:\s+({_ON})(?:>({_ON}))?)?(\s*=\s*)(.*)")
"""A comment that is a note on the sentence, a row or an arc (head>word)."""
_CONFLICT = re.compile(rf"(#\s*conflict\s*=\s*)({_ON})(\s+)(\S+)(\s+(?:mine|theirs)=)(.*)")
_HEADS = ("Head", "NotHead")


def read_deps(deps: str) -> list[tuple[str, str]]:
    """Parse DEPS into (head, label) pairs.

    >>> read_deps("2:nsubj|8.1:obl:in")
    [('2', 'nsubj'), ('8.1', 'obl:in')]
    """
    arcs = [] if deps == "_" else [arc.partition(":") for arc in deps.split("|")]
    return [(head, label) for head, _, label in arcs]


def write_deps(arcs: Arcs) -> str:
    """Format arcs as DEPS, sorted by head, each once.

    >>> write_deps([("10", "obj"), ("8.1", "conj")])
    '8.1:conj|10:obj'
    """
    return "|".join(f"{head}:{label}" for head, label in sorted(set(arcs), key=_place)) or "_"


def _place(arc: tuple[str, str]) -> tuple[int, int, str]:
    head = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?", arc[0])  # CoNLL-X has another column here
    return (int(head[1]), int(head[2] or 0), arc[1]) if head else (0, 0, arc[1])


def renumbered_deps(deps: str, names: Mapping[str, str], gone: Collection[str]) -> str:
    """Renumber DEPS; arcs from IDs in ``gone`` are dropped, and repeated arcs merged.

    >>> renumbered_deps("2:nsubj|8.1:obl", {"2": "3"}, ["8.1"])
    '3:nsubj'
    """
    if deps == "_":
        return deps
    if deps == write_deps(read_deps(deps)):  # sorted, and stays sorted when two heads become one
        return write_deps(
            [(names.get(head, head), label) for head, label in read_deps(deps) if head not in gone]
        )
    arcs = [arc.partition(":") for arc in deps.split("|")]
    kept = [names.get(head, head) + sign + label for head, sign, label in arcs if head not in gone]
    return "|".join(dict.fromkeys(kept)) or "_"


def renumbered_misc(misc: str, names: Mapping[str, str]) -> str:
    """Renumber the attributes of MISC that refer to words.

    These are Head and NotHead (constraints), Alternatives (written by a parser) and CopyOf (of UD).

    >>> misc = "Head=2,5|SpaceAfter=No|Alternatives=5:obj:0.6,2:nmod:poss:0.2|CopyOf=5"
    >>> renumbered_misc(misc, {"2": "3", "5": "6"})
    'Head=3,6|SpaceAfter=No|Alternatives=6:obj:0.6,3:nmod:poss:0.2|CopyOf=6'
    """
    return "|".join(_renumbered_part(part, names) for part in misc.split("|"))


def _renumbered_part(part: str, names: Mapping[str, str]) -> str:
    key, _, value = part.partition("=")
    if key == "CopyOf":
        return f"{key}={names.get(value, value)}"
    if key in _HEADS:
        return f"{key}={','.join(names.get(head, head) for head in value.split(','))}"
    if key == "Alternatives":
        # A label may hold a comma: an arc begins with a number and a colon.
        return re.sub(r"(?<=[=,])([0-9]+)(?=:)", lambda m: names.get(m[1], m[1]), part)
    return part


def misc_heads(part: str) -> set[str]:
    """The IDs of words that an attribute of MISC refers to.

    >>> sorted(misc_heads("Alternatives=5:obj:0.6,2:nmod:poss:0.2"))
    ['2', '5']
    """
    key, _, value = part.partition("=")
    if key in _HEADS or key == "CopyOf":
        return set(value.split(","))
    return set(re.findall(r"(?<=[=,])[0-9]+(?=:)", part)) if key == "Alternatives" else set()


def renumbered_comment(line: str, names: Mapping[str, str], gone: Collection[str]) -> str | None:
    """Renumber a comment line that is a note or a conflict; None if it is about a row in ``gone``.

    >>> renumbered_comment("# note 5>3 = why?", {"5": "6"}, ())
    '# note 6>3 = why?'
    >>> renumbered_comment("# conflict = 3 head theirs=5", {"3": "4", "5": "6"}, ())
    '# conflict = 4 head theirs=6'
    """
    if note := NOTE.fullmatch(line):
        start, first, second, sign, text = note.groups()
        if first is None:
            return line
        if first in gone or second in gone:
            return None
        on = ">".join(dict.fromkeys(names.get(part, part) for part in (first, second) if part is not None))
        return f"{start} {on}{sign}{text}"
    if conflict := _CONFLICT.fullmatch(line):
        start, row, blank, column, theirs, value = conflict.groups()
        if row in gone:
            return None
        if column.lower() == "head":
            value = names.get(value, value)
        elif column.lower() == "deps":
            value = renumbered_deps(value, names, gone)
        return f"{start}{names.get(row, row)}{blank}{column}{theirs}{value}"
    return line


@dataclass
class Comment:
    """A comment line including its ``#``, and its line end."""

    line: str
    end: str

    @property
    def text(self) -> str:
        """The comment as in ``Sentence.comment_lines``."""
        return self.line[1:].strip()

    @property
    def key(self) -> str:
        """The part before ``=``."""
        return self.text.partition("=")[0].strip()

    @property
    def value(self) -> str:
        """The part after ``=``."""
        return self.text.partition("=")[2].strip()


Spans = list[tuple[Row, Row, Row]]
"""Multiword tokens, each with its first and last word."""


class EditedSentence:
    """A sentence being edited: leading lines, comments, rows and trailing blank lines."""

    def __init__(self, data: bytes) -> None:
        # surrogateescape: invalid UTF-8 survives an edit of other fields.
        *complete, rest = data.decode("utf-8", "surrogateescape").split("\n")
        lines = [(line[:-1], "\r\n") if line.endswith("\r") else (line, "\n") for line in complete]
        lines += [(rest, "")] if rest else []
        mark = "\ufeff" if lines and lines[0][0].startswith("\ufeff") else ""
        if mark:
            lines[0] = lines[0][0].removeprefix(mark), lines[0][1]
        first = next((i for i, (text, _) in enumerate(lines) if text and text[0] != "#"), len(lines))
        start = first
        # Only the comments right before the rows are the sentence's own; the rest stays in `lead`.
        while start > 0 and lines[start - 1][0].startswith("#"):
            start -= 1
        stop = next((i for i in range(first, len(lines)) if not lines[i][0]), len(lines))
        self.lead = mark + "".join(text + end for text, end in lines[:start])
        self.comments = [Comment(text, end) for text, end in lines[start:first]]
        self.rows = [_row(text, end) for text, end in lines[first:stop]]
        self.tail = "".join(text + end for text, end in lines[stop:])
        self.newline = "\r\n" if any(row.end == "\r\n" for row in self.rows) else "\n"
        self.unsound: str | None = None
        """Why the rows cannot be numbered; words can then be neither split nor joined."""
        self._rows_by_id: dict[str, list[Row]] | None = None

    @classmethod
    def checked(cls, data: bytes) -> EditedSentence:
        """Read one sentence and note whether its rows can be numbered; ``InputError`` unless it is one."""
        treebank = Treebank(data, strict=False)
        if len(treebank) != 1:
            raise InputError(f"found {len(treebank)} sentences, expected the bytes of one")
        sentence = cls(data)
        sentence.unsound = next((p.message for p in treebank.problems if p.kind not in OF_TREES), None)
        return sentence

    def data(self) -> bytes:
        """The bytes of the sentence."""
        pieces = [(c.line, c.end) for c in self.comments] + [("\t".join(r.fields), r.end) for r in self.rows]
        last = len(pieces) - 1 if not self.tail else len(pieces)
        body = "".join(
            text + (end or (self.newline if i < last else "")) for i, (text, end) in enumerate(pieces)
        )
        return (self.lead + body + self.tail).encode("utf-8", "surrogateescape")

    def row(self, identifier: str, *, kinds: tuple[RowKind, ...] = ("word", "multiword", "empty")) -> Row:
        """Return the row with an ID; ``InputError`` if there is none of these kinds, or it is broken."""
        for row in self.rows if self._rows_by_id is None else self._rows_by_id.get(identifier, []):
            if row.id == identifier and row.kind in kinds:
                if len(row.fields) != len(COLUMNS):
                    raise InputError(
                        f"row {identifier}: found {len(row.fields)} columns, expected {len(COLUMNS)}"
                    )
                return row
        names = {"word": "a word", "multiword": "a multiword token", "empty": "an empty node"}
        expected = " or ".join(names[kind] for kind in kinds) if len(kinds) < 3 else "a row"
        raise InputError(f"row: found {identifier!r}, expected the ID of {expected} of the sentence")

    def index_rows(self, fixed: bool) -> None:
        """Look rows up by ID in an index while rows and IDs are ``fixed``: many edits take linear time."""
        if not fixed:
            self._rows_by_id = None
        elif self._rows_by_id is None:
            self._rows_by_id = {}
            for row in self.rows:
                self._rows_by_id.setdefault(row.id, []).append(row)

    def words(self) -> list[Row]:
        """The rows of words."""
        return [row for row in self.rows if row.kind == "word"]

    def run(self, first: str, last: str) -> list[Row]:
        """Return the words from one ID to another, at least two."""
        words = self.words()
        start, stop = (words.index(self.row(identifier, kinds=("word",))) for identifier in (first, last))
        if stop <= start:
            raise InputError(f"words: found {first} to {last}, expected at least two words in order")
        return words[start : stop + 1]

    def spans(self) -> Spans:
        """Return the multiword tokens with their end words; ``InputError`` if rows cannot be numbered."""
        if self.unsound is not None:
            raise InputError(f"{self.unsound}; fix this first")
        by_id = {row.id: row for row in self.words()}
        spans: Spans = []
        for row in self.rows:
            if row.kind == "multiword":
                first, _, last = row.id.partition("-")
                spans.append((row, by_id[first], by_id[last]))
        return spans

    def node_ids(self) -> set[str]:
        """The IDs that DEPS may refer to: the root, words and empty nodes."""
        return {"0"} | {row.id for row in self.rows if row.kind in ("word", "empty")}

    def comment(self, key: str) -> Comment | None:
        """The first comment with a key."""
        return next((c for c in self.comments if c.key == key and "=" in c.line), None)

    def set_comment(self, key: str, value: str) -> None:
        """Replace the value of the first comment with a key, or add one."""
        comment = self.comment(key)
        if comment is None:
            self.add_comment(f"{key} = {value}")
        else:
            before, sign, old = comment.line.partition("=")
            blank = old[: len(old) - len(old.lstrip())] or " "
            comment.line = f"{before}{sign}{blank}{value}".rstrip()

    def add_comment(self, text: str) -> None:
        """Add a comment after the others."""
        self.comments.append(Comment(f"# {text}".rstrip(), self.newline))

    def text(self) -> str:
        """The text that the tokens spell, which ``# text`` should have."""
        return joined_text(row.fields for row in token_rows(self.rows) if len(row.fields) == len(COLUMNS))

    def _numbered(self) -> Iterable[tuple[int, Row]]:
        word = 0
        for row in self.rows:
            word += row.kind == "word"
            yield word, row

    def renumber(
        self,
        spans: Spans,
        *,
        moved: Mapping[str, Row] | None = None,
        gone: Collection[str] = (),
        start: tuple[int, int] = (0, 0),
    ) -> None:
        """Number the rows again after some were added or removed, and update every reference to them.

        moved: old IDs of removed rows, each with the row that replaces it. gone: old IDs that nothing
        replaces.
        start: the last word, and the last empty node after it, that precede the first row.
        """
        fresh = self._count(*start, gone)
        for row, first, last in spans:
            fresh[id(row)] = f"{fresh[id(first)]}-{fresh[id(last)]}"
        names = {row.id: fresh[id(row)] for row in self.rows if row.kind != "comment" and row.id}
        names |= {old: fresh[id(row)] for old, row in (moved or {}).items()}
        self._rename(fresh, names, gone)

    def _count(self, start: int, minor: int, gone: Collection[str]) -> dict[int, str]:
        """The new IDs; gaps in the numbers of empty nodes stay, unless a removed node left them."""
        fresh: dict[int, str] = {}
        for word, row in self._numbered():
            if row.kind == "word":
                minor, fresh[id(row)] = 0, str(start + word)
            elif row.kind == "empty":
                base, _, number = row.id.partition(".")
                removed = sum(
                    name.startswith(f"{base}.") and int(name.partition(".")[2]) < int(number)
                    for name in gone
                    if number
                )
                minor = max(int(number or 0) - removed, minor + 1)
                fresh[id(row)] = f"{start + word}.{minor}"
        return fresh

    def _rename(self, fresh: Mapping[int, str], names: Mapping[str, str], gone: Collection[str]) -> None:
        for row in self.rows:
            if row.kind != "comment":
                row.fields[0] = fresh[id(row)]
                if row.kind == "word":
                    row.fields[HEAD] = names.get(row.fields[HEAD], row.fields[HEAD])
                row.fields[DEPS] = renumbered_deps(row.fields[DEPS], names, gone)
                row.fields[MISC] = renumbered_misc(row.fields[MISC], names)
        for comment in list(self.comments):
            line = renumbered_comment(comment.line, names, gone)
            if line is None:
                self.comments.remove(comment)
            else:
                comment.line = line


def _row(text: str, end: str) -> Row:
    if text.startswith("#"):
        return Row("comment", [text], end=end)
    fields = text.split("\t")
    kind = row_kind(fields[0])
    # The native reader counts a row with a broken ID as a word, and messages number words as it does.
    return Row("word" if kind == "broken" else kind, fields, end=end)


def drop_misc_about(row: Row, words: Collection[str]) -> None:
    """Remove the attributes of MISC that refer to some words; MISC keeps its exact text if none does."""
    kept = [part for part in row.misc if misc_heads(part).isdisjoint(words)]
    if len(kept) < len(row.misc):
        row.set_misc(kept)


def check_readable(before: bytes, after: bytes, *, added: int = 0) -> None:
    """Raise ``InputError`` if ``after`` has a new problem, or does not have ``added`` more sentences."""
    old = native.treebank_layout(before)
    new = Treebank(after, strict=False)
    if not new.layout.problems and len(new) == old.sentence_count + added:
        return
    # By kind and number: an edit may move an old problem to another row.
    allowed = Counter(kind for kind, *_ in old.problems)
    for problem in new.problems:
        allowed[problem.kind] -= 1
        if allowed[problem.kind] < 0:
            raise InputError(_message(new[problem.sentence], problem))
    if len(new) != old.sentence_count + added:
        raise InputError(f"found {len(new)} sentences after the edit, expected {old.sentence_count + added}")


def _message(sentence: Sentence, problem: Problem) -> str:
    if problem.kind != ProblemKind.CYCLE:
        return problem.message
    cycle, forms = find_cycle(sentence.head_ids), sentence.forms
    start = cycle.index(min(cycle))
    path = [*cycle[start:], *cycle[:start], cycle[start]]
    return f"head: found the cycle {' → '.join(f'{w} ({forms[w - 1]})' for w in path)}, expected a tree"
