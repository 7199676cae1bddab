"""Edits of the comments of a sentence, including annotators' notes.

A note on a sentence is ``# note = …``, on a row ``# note 3 = …`` (or ``3-4``, ``8.1``), on an arc
``# note 5>3 = …`` (from head 5 to word 3; ``0>3`` from the root). Other tools preserve these lines like any
comment; arcwise also renumbers them when words are split, joined or removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from arcwise.errors import InputError
from arcwise.treebanks.edits.edited_sentence import NOTE, Comment, EditedSentence


@dataclass(frozen=True)
class SetComment:
    """Set the comment ``# key = value``: replace it in place, or add it after the other comments."""

    kind: ClassVar[str] = "set-comment"
    key: str
    value: str

    def apply(self, sentence: EditedSentence) -> None:
        """Set the comment."""
        _one_line(self.key, self.value)
        if not self.key.strip() or "=" in self.key:
            raise InputError(f"key: found {self.key!r}, expected a key without =")
        sentence.set_comment(self.key.strip(), self.value.strip())


@dataclass(frozen=True)
class AddComment:
    """Add a comment line after the others, even if its key exists already; ``text`` is without the ``#``."""

    kind: ClassVar[str] = "add-comment"
    text: str

    def apply(self, sentence: EditedSentence) -> None:
        """Add the line."""
        _one_line(self.text)
        sentence.add_comment(self.text.strip())


@dataclass(frozen=True)
class ReplaceComment:
    """Replace a comment line; ``text`` is the old line as in ``Sentence.comment_lines``."""

    kind: ClassVar[str] = "replace-comment"
    text: str
    new: str

    def apply(self, sentence: EditedSentence) -> None:
        """Replace the line."""
        _one_line(self.new)
        _find(sentence, self.text).line = f"# {self.new.strip()}".rstrip()


@dataclass(frozen=True)
class RemoveComment:
    """Remove the first comment line equal to ``text``, given as in ``Sentence.comment_lines``."""

    kind: ClassVar[str] = "remove-comment"
    text: str

    def apply(self, sentence: EditedSentence) -> None:
        """Remove the line."""
        sentence.comments.remove(_find(sentence, self.text))


@dataclass(frozen=True)
class SetNote:
    """Set a note on the sentence (``on=""``), a row (``"3"``) or an arc (``"5>3"``); "" removes it."""

    kind: ClassVar[str] = "set-note"
    on: str
    text: str

    def apply(self, sentence: EditedSentence) -> None:
        """Set or remove the note."""
        _one_line(self.text)
        _check_place(sentence, self.on)
        notes = [c for c in sentence.comments if (m := NOTE.fullmatch(c.line)) and _on(m) == self.on]
        for comment in notes[0 if not self.text.strip() else 1 :]:
            sentence.comments.remove(comment)
        if self.text.strip():
            line = f"note {self.on}".rstrip() + f" = {self.text.strip()}"
            if notes:
                notes[0].line = f"# {line}"
            else:
                sentence.add_comment(line)


@dataclass(frozen=True)
class AnnotatorNote:
    """A note in the comments of a sentence; ``on`` as in ``SetNote``."""

    on: str
    text: str


def notes_of(comment_lines: Iterable[str]) -> list[AnnotatorNote]:
    """Read the notes from the comments of a sentence (``Sentence.comment_lines``).

    >>> notes_of(["sent_id = a", "note = odd", "note 5>3 = why?"])
    [AnnotatorNote(on='', text='odd'), AnnotatorNote(on='5>3', text='why?')]
    """
    notes = (NOTE.fullmatch(f"# {line}") for line in comment_lines)
    return [AnnotatorNote(_on(note), note[5].strip()) for note in notes if note]


def _on(note: re.Match[str]) -> str:
    return ">".join(part for part in note.group(2, 3) if part is not None)


def _check_place(sentence: EditedSentence, on: str) -> None:
    head, arrow, word = on.partition(">")
    if arrow:
        sentence.row(word, kinds=("word", "empty"))
        if head not in sentence.node_ids():
            raise InputError(f"on: found an arc from {head!r}, expected 0 or the ID of a word or empty node")
    elif on:
        sentence.row(on)


def _find(sentence: EditedSentence, text: str) -> Comment:
    for comment in sentence.comments:
        if comment.text == text.strip():
            return comment
    raise InputError(f"text: found {text!r}, expected a comment of the sentence")


def _one_line(*texts: str) -> None:
    for text in texts:
        if "\n" in text or "\r" in text:
            raise InputError(f"comment: found a line break in {text!r}, expected one line")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"comment: found an unpaired surrogate in {text!r}, expected valid Unicode"
            ) from None
