"""Edits that add or remove rows; everything that refers to rows by number is updated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arcwise.errors import InputError
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits.edited_sentence import (
    EditedSentence,
    Spans,
    drop_misc_about,
    read_deps,
    write_deps,
)
from arcwise.treebanks.edits.values import check_deps
from arcwise.treebanks.rows import Row, joined_text

_SPACES = ("SpaceAfter", "SpacesAfter")
MAX_PARTS = 100
"""The most words that one word can be split into."""


@dataclass(frozen=True)
class SplitWord:
    """Split a word into several.

    Part number ``keep`` (from 1) keeps the annotation and the children; the others have none.
    multiword: keep the old form as a multiword token over the parts. Otherwise parts that spell the old form
    are separate words, with SpaceAfter=No between them where it had no space; parts that do not spell it
    make a multiword token all the same, because the text stays what it is. Splitting a word of a multiword
    token makes that longer.
    """

    kind: ClassVar[str] = "split-word"
    row: str
    forms: tuple[str, ...]
    keep: int = 1
    multiword: bool = False

    def apply(self, sentence: EditedSentence) -> None:
        """Replace the word by its parts."""
        spans, kept = sentence.spans(), sentence.row(self.row, kinds=("word",))
        inside = _token_of(sentence, spans, kept) is not None
        self._check(inside=inside)
        old_form, at = kept["form"], sentence.rows.index(kept)
        spaces = _spaces_between(old_form, self.forms)
        parts = [kept if i == self.keep else kept.blank() for i in range(1, len(self.forms) + 1)]
        for part, form in zip(parts, self.forms, strict=True):
            part["form"] = form
        spans = [
            (row, parts[0] if first is kept else first, parts[-1] if last is kept else last)
            for row, first, last in spans
        ]
        sentence.rows[at : at + 1] = parts
        if not inside and (self.multiword or spaces is None):
            token = _new_token(old_form, kept)
            _move_spaces(kept, token)
            sentence.rows.insert(at, token)
            spans.append((token, parts[0], parts[-1]))
        elif spaces is not None and not inside:
            _move_spaces(kept, parts[-1])
            for part, space in zip(parts, spaces, strict=False):
                part.glued = not space
        sentence.renumber(spans)

    def _check(self, *, inside: bool) -> None:
        if len(self.forms) < 2 or not all(self.forms):
            raise InputError(f"forms: found {list(self.forms)}, expected at least two words")
        if len(self.forms) > MAX_PARTS:
            raise InputError(f"forms: found {len(self.forms)} words, expected at most {MAX_PARTS}")
        if not 1 <= self.keep <= len(self.forms):
            raise InputError(f"keep: found {self.keep}, expected 1..{len(self.forms)}")
        if inside and self.multiword:
            raise InputError(f"row {self.row}: is part of a multiword token; split only words outside of one")


@dataclass(frozen=True)
class JoinWords:
    """Join neighbouring words into one.

    The new word has the annotation of the word nearest to the root, among those that no other joined word
    dominates, and the children of all. ``form`` defaults to the text of the words, including spaces. A
    multiword token over exactly these words is removed and provides the form.
    """

    kind: ClassVar[str] = "join-words"
    first: str
    last: str
    form: str | None = None

    def apply(self, sentence: EditedSentence) -> None:
        """Replace the words by one."""
        spans, run = sentence.spans(), sentence.run(self.first, self.last)
        covered, inside = _relation(sentence, spans, run)
        kept = min(run, key=lambda row: _height(sentence, row, run))
        tokens = [run[0]] if inside else _tokens(sentence, covered, run)
        form = self.form or (
            "".join(row["form"] for row in run) if inside else joined_text(token.fields for token in tokens)
        )
        if not inside:
            _move_spaces(tokens[-1], kept)
        kept["form"] = form
        _drop_references(kept, {row.id for row in run})
        old = [row for row in run if row is not kept] + [row for row, _, _ in covered]
        rows = [row for row in sentence.rows if row is run[0] or row not in (kept, *old)]
        sentence.rows = [kept if row is run[0] else row for row in rows]
        members = set(map(id, run))
        other_spans = [
            (row, kept if id(first) in members else first, kept if id(last) in members else last)
            for row, first, last in spans
            if row not in old
        ]
        sentence.renumber(other_spans, moved={row.id: kept for row in old})


@dataclass(frozen=True)
class MakeMultiword:
    """Add a multiword token over two or more words; ``form`` defaults to their text, including spaces."""

    kind: ClassVar[str] = "make-multiword"
    first: str
    last: str
    form: str | None = None

    def apply(self, sentence: EditedSentence) -> None:
        """Insert the token before its first word."""
        spans, run = sentence.spans(), sentence.run(self.first, self.last)
        for row in run:
            if (token := _token_of(sentence, spans, row)) is not None:
                raise InputError(
                    f"row {row.id}: is in the multiword token {token.id}, expected words outside of one"
                )
        token = _new_token(self.form or joined_text(row.fields for row in run), run[0])
        _move_spaces(run[-1], token)
        for row in run:
            row.drop_misc(*_SPACES)
        sentence.rows.insert(sentence.rows.index(run[0]), token)
        sentence.renumber([*spans, (token, run[0], run[-1])])


@dataclass(frozen=True)
class RemoveMultiword:
    """Remove a multiword token (``3-4``); its words get SpaceAfter=No if their forms spell it."""

    kind: ClassVar[str] = "remove-multiword"
    row: str

    def apply(self, sentence: EditedSentence) -> None:
        """Remove the token."""
        token = sentence.row(self.row, kinds=("multiword",))
        spans = sentence.spans()
        words = _members(sentence, next(span for span in spans if span[0] is token))
        spelled = "".join(word["form"] for word in words) == token["form"]
        for word in words[:-1]:
            word.glued = spelled
        _move_spaces(token, words[-1])
        sentence.rows.remove(token)
        sentence.renumber([span for span in spans if span[0] is not token], moved={token.id: words[0]})


@dataclass(frozen=True)
class AddEmptyNode:
    """Add an empty node after a word (``8``; ``0`` is before the first) or an empty node (``8.1``)."""

    kind: ClassVar[str] = "add-empty-node"
    after: str
    form: str = "_"
    deps: tuple[tuple[str, str], ...] = ()

    def apply(self, sentence: EditedSentence) -> None:
        """Insert the node."""
        spans = sentence.spans()
        if self.after == "0":
            at, neighbour = 0, sentence.rows[0]
        else:
            neighbour = sentence.row(self.after, kinds=("word", "empty"))
            at = sentence.rows.index(neighbour) + 1
        node = neighbour.blank(self.form or "_")
        node.kind = "empty"
        check_deps(sentence, node, self.deps)
        node["deps"] = write_deps(self.deps)
        sentence.rows.insert(at, node)
        sentence.renumber(spans)


@dataclass(frozen=True)
class RemoveEmptyNode:
    """Remove an empty node, and the arcs of DEPS from it."""

    kind: ClassVar[str] = "remove-empty-node"
    row: str

    def apply(self, sentence: EditedSentence) -> None:
        """Remove the node."""
        node = sentence.row(self.row, kinds=("empty",))
        spans = sentence.spans()
        sentence.rows.remove(node)
        sentence.renumber(spans, gone=(node.id,))


def _new_token(form: str, neighbour: Row) -> Row:
    row = Row("multiword", [""] + ["_"] * (len(COLUMNS) - 1), end=neighbour.end)
    row["form"] = form
    return row


def _members(sentence: EditedSentence, span: tuple[Row, Row, Row]) -> list[Row]:
    words = sentence.words()
    return words[words.index(span[1]) : words.index(span[2]) + 1]


def _token_of(sentence: EditedSentence, spans: Spans, word: Row) -> Row | None:
    """The multiword token that a word belongs to."""
    return next((span[0] for span in spans if word in _members(sentence, span)), None)


def _relation(sentence: EditedSentence, spans: Spans, run: list[Row]) -> tuple[Spans, bool]:
    """The multiword tokens that lie within a run of words, and whether the run lies within one."""
    covered: Spans = []
    inside = False
    for span in spans:
        members = _members(sentence, span)
        common = [row for row in members if row in run]
        if common and len(common) == len(members):
            covered.append(span)
        elif common and len(common) == len(run):
            inside = True
        elif common:
            raise InputError(
                f"words: {run[0].id} to {run[-1].id} cut through the multiword token {span[0].id}, "
                "expected all of it or a part of it alone"
            )
    return covered, inside


def _tokens(sentence: EditedSentence, covered: Spans, run: list[Row]) -> list[Row]:
    """The tokens of the text that a run of words consists of."""
    token_of = {id(row): span[0] for span in covered for row in _members(sentence, span)}
    tokens = [token_of.get(id(row), row) for row in run]
    return [row for i, row in enumerate(tokens) if i == 0 or row is not tokens[i - 1]]


def _height(sentence: EditedSentence, row: Row, run: list[Row]) -> tuple[bool, bool, int]:
    """Sort key for the words of a run.

    Words that no other word of the run dominates come first (a cycle would result otherwise), then those with
    a head, then those near the root.
    """
    by_id = {word.id: word for word in sentence.words()}
    above: list[Row] = []
    at = by_id.get(row["head"])
    while at is not None and at not in above:
        above.append(at)
        at = by_id.get(at["head"])
    return any(word in run for word in above), row["head"] == "_", len(above)


def _drop_references(row: Row, ids: set[str]) -> None:
    """Remove everything from a row that refers to some words."""
    if row["head"] in ids:
        row["head"] = row["deprel"] = "_"
    arcs = read_deps(row["deps"])
    if any(head in ids for head, _ in arcs):
        row["deps"] = write_deps([arc for arc in arcs if arc[0] not in ids])
    drop_misc_about(row, ids)


def _move_spaces(source: Row, target: Row) -> None:
    """Move the attributes about the following white space from one row to another."""
    if source is target:
        return
    spaces = [part for part in source.misc if part.partition("=")[0] in _SPACES]
    source.drop_misc(*_SPACES)
    target.drop_misc(*_SPACES)
    if spaces:
        target.set_misc([*target.misc, *spaces])


def _spaces_between(form: str, parts: tuple[str, ...]) -> list[bool] | None:
    """Whether a form has a space between each part and the next; None if the parts do not spell it."""
    spaces: list[bool] = []
    rest = form
    for part in parts:
        if not rest.lstrip().startswith(part):
            return None
        spaces.append(rest != rest.lstrip())
        rest = rest.lstrip().removeprefix(part)
    return None if rest else spaces[1:]
