"""Edits that change which rows there are; everything that names rows by number follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arcwise.errors import InputError
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits.edited_sentence import EditedRow, EditedSentence, Spans
from arcwise.treebanks.edits.references import read_deps, write_deps
from arcwise.treebanks.edits.values import check_deps

_SPACES = ("SpaceAfter", "SpacesAfter")


@dataclass(frozen=True)
class SplitWord:
    """A word becomes several. The part ``keep`` (from 1) keeps annotation and children; the others are open.

    ``multiword``: the old form stays as a multiword token over the parts. Otherwise they are words of their own, with SpaceAfter=No
    between them where the old form had no space. A word inside a multiword token makes that longer.
    """

    kind: ClassVar[str] = "split-word"
    row: str
    forms: tuple[str, ...]
    keep: int = 1
    multiword: bool = False

    def apply(self, sentence: EditedSentence) -> None:
        """Put the parts in the place of the word."""
        spans, kept = sentence.spans(), sentence.row(self.row, kinds=("word",))
        self._check(inside=_token_of(sentence, spans, kept) is not None)
        form, at = kept["form"], sentence.rows.index(kept)
        parts = [kept if i == self.keep else kept.open_row() for i in range(1, len(self.forms) + 1)]
        for part, own in zip(parts, self.forms, strict=True):
            part["form"] = own
        spans = [
            (row, parts[0] if first is kept else first, parts[-1] if last is kept else last)
            for row, first, last in spans
        ]
        sentence.rows[at : at + 1] = parts
        if self.multiword:
            token = _token(form, kept)
            _move_spaces(kept, token)
            sentence.rows.insert(at, token)
            spans.append((token, parts[0], parts[-1]))
        elif _token_of(sentence, spans, kept) is None:
            _move_spaces(kept, parts[-1])
            for part, space in zip(parts, _spaces_between(form, self.forms), strict=False):
                part.glued = not space
        sentence.renumber(spans)

    def _check(self, *, inside: bool) -> None:
        if len(self.forms) < 2 or not all(self.forms):
            raise InputError(f"forms: found {list(self.forms)}, expected at least two words")
        if not 1 <= self.keep <= len(self.forms):
            raise InputError(f"keep: found {self.keep}, expected 1..{len(self.forms)}")
        if inside and self.multiword:
            raise InputError(
                f"row {self.row}: found a word of a multiword token, expected one that is in none"
            )


@dataclass(frozen=True)
class JoinWords:
    """Neighbouring words become one. Of those that hang from none of the others, the one nearest to the root keeps its annotation; children of
    all hang from the new word.

    ``form``: by default what the text has there, with its spaces. A multiword token over just these words goes, and gives its form.
    """

    kind: ClassVar[str] = "join-words"
    first: str
    last: str
    form: str | None = None

    def apply(self, sentence: EditedSentence) -> None:
        """Put one word in the place of all."""
        spans, run = sentence.spans(), sentence.run(self.first, self.last)
        covered, inside = _relation(sentence, spans, run)
        kept = min(run, key=lambda row: _height(sentence, row, run))
        tokens = [run[0]] if inside else _tokens(sentence, covered, run)
        form = self.form or ("".join(row["form"] for row in run) if inside else _text(tokens))
        if not inside:
            _move_spaces(tokens[-1], kept)
        kept["form"] = form
        _forget(kept, {row.id for row in run})
        old = [row for row in run if row is not kept] + [row for row, _, _ in covered]
        rows = [row for row in sentence.rows if row is run[0] or row not in (kept, *old)]
        sentence.rows = [kept if row is run[0] else row for row in rows]
        members = set(map(id, run))
        rest = [
            (row, kept if id(first) in members else first, kept if id(last) in members else last)
            for row, first, last in spans
            if row not in old
        ]
        sentence.renumber(rest, moved={row.id: kept for row in old})


@dataclass(frozen=True)
class MakeMultiword:
    """A multiword token over words that are there, any number of them; ``form``: by default the words' forms together."""

    kind: ClassVar[str] = "make-multiword"
    first: str
    last: str
    form: str | None = None

    def apply(self, sentence: EditedSentence) -> None:
        """Put the token before its first word."""
        spans, run = sentence.spans(), sentence.run(self.first, self.last)
        for row in run:
            if (token := _token_of(sentence, spans, row)) is not None:
                raise InputError(
                    f"row {row.id}: is in the multiword token {token.id}, expected words that are in none"
                )
        token = _token(self.form or "".join(row["form"] for row in run), run[0])
        _move_spaces(run[-1], token)
        for row in run:
            row.drop_misc(*_SPACES)
        sentence.rows.insert(sentence.rows.index(run[0]), token)
        sentence.renumber([*spans, (token, run[0], run[-1])])


@dataclass(frozen=True)
class RemoveMultiword:
    """A multiword token (``3-4``) goes, its words stay, with SpaceAfter=No between them where they spell it."""

    kind: ClassVar[str] = "remove-multiword"
    row: str

    def apply(self, sentence: EditedSentence) -> None:
        """Take the token out."""
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
    """An empty node after a word (``8``; ``0``: before the first) or after an empty node (``8.1``)."""

    kind: ClassVar[str] = "add-empty-node"
    after: str
    form: str = "_"
    deps: tuple[tuple[str, str], ...] = ()

    def apply(self, sentence: EditedSentence) -> None:
        """Put the node there."""
        spans = sentence.spans()
        if self.after == "0":
            at, model = 0, sentence.rows[0]
        else:
            model = sentence.row(self.after, kinds=("word", "empty"))
            at = sentence.rows.index(model) + 1
        node = model.open_row(self.form or "_")
        node.kind = "empty"
        check_deps(sentence, node, self.deps)
        node["deps"] = write_deps(self.deps)
        sentence.rows.insert(at, node)
        sentence.renumber(spans)


@dataclass(frozen=True)
class RemoveEmptyNode:
    """An empty node goes, and the arcs of DEPS from it with it."""

    kind: ClassVar[str] = "remove-empty-node"
    row: str

    def apply(self, sentence: EditedSentence) -> None:
        """Take the node out."""
        node = sentence.row(self.row, kinds=("empty",))
        spans = sentence.spans()
        sentence.rows.remove(node)
        sentence.renumber(spans, gone=(node.id,))


def _token(form: str, model: EditedRow) -> EditedRow:
    row = EditedRow("multiword", [""] + ["_"] * (len(COLUMNS) - 1), model.end)
    row["form"] = form
    return row


def _members(sentence: EditedSentence, span: tuple[EditedRow, EditedRow, EditedRow]) -> list[EditedRow]:
    words = sentence.words()
    return words[words.index(span[1]) : words.index(span[2]) + 1]


def _token_of(sentence: EditedSentence, spans: Spans, word: EditedRow) -> EditedRow | None:
    """The multiword token that a word is in."""
    return next((span[0] for span in spans if word in _members(sentence, span)), None)


def _relation(sentence: EditedSentence, spans: Spans, run: list[EditedRow]) -> tuple[Spans, bool]:
    """The multiword tokens whose words are all in a run of words; and whether the run is a part of one."""
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
                f"words: found {run[0].id} to {run[-1].id}, expected not to cut through the multiword token {span[0].id}"
            )
    return covered, inside


def _tokens(sentence: EditedSentence, covered: Spans, run: list[EditedRow]) -> list[EditedRow]:
    """The rows that the text of a run of words is made of."""
    within = {id(row): span[0] for span in covered for row in _members(sentence, span)}
    found = [within.get(id(row), row) for row in run]
    return [row for i, row in enumerate(found) if i == 0 or row is not found[i - 1]]


def _text(tokens: list[EditedRow]) -> str:
    inner = "".join(row["form"] + ("" if row.glued else " ") for row in tokens[:-1])
    return inner + tokens[-1]["form"]


def _height(sentence: EditedSentence, row: EditedRow, run: list[EditedRow]) -> tuple[bool, bool, int]:
    """Sorts the words of a run: below no other of them first (no cycle comes of that), with a head before open, near the root before far."""
    by_id = {word.id: word for word in sentence.words()}
    above: list[EditedRow] = []
    at = by_id.get(row["head"])
    while at is not None and at not in above:
        above.append(at)
        at = by_id.get(at["head"])
    return any(word in run for word in above), row["head"] == "_", len(above)


def _forget(row: EditedRow, names: set[str]) -> None:
    """Take out of a row what names some words."""
    if row["head"] in names:
        row["head"] = row["deprel"] = "_"
    pairs = read_deps(row["deps"])
    if any(head in names for head, _ in pairs):
        row["deps"] = write_deps([pair for pair in pairs if pair[0] not in names])
    row.drop_misc_of(names)


def _move_spaces(source: EditedRow, target: EditedRow) -> None:
    """What follows the one follows the other now."""
    if source is target:
        return
    pairs = [pair for pair in source.misc if pair.partition("=")[0] in _SPACES]
    source.drop_misc(*_SPACES)
    target.drop_misc(*_SPACES)
    if pairs:
        target.set_misc([*target.misc, *pairs])


def _spaces_between(form: str, parts: tuple[str, ...]) -> list[bool]:
    """Whether a form has a space between each part and the next; none if the parts do not spell it."""
    spaces: list[bool] = []
    rest = form
    for part in parts:
        if not rest.lstrip().startswith(part):
            return [False] * (len(parts) - 1)
        spaces.append(rest != rest.lstrip())
        rest = rest.lstrip().removeprefix(part)
    return spaces[1:] if not rest else [False] * (len(parts) - 1)
