"""What is done before it is asked for: the sentence that edits make is described while they go to the disk, and the parser thinks of what
an annotator does most often next, accepting the proposal of the next open word."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from arcwise.annotation.document import Document
from arcwise.annotation.store import block_digest
from arcwise.annotation.thoughts import Thoughts
from arcwise.errors import ArcwiseError, InputError
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.edits import Edit, edited
from arcwise.web.accepting import accepting
from arcwise.web.annotate_thinking import Model, Thinker
from arcwise.web.annotate_view import Json, View

Begun = tuple[bytes, "Future[Json]"]
"""The bytes of a sentence, and its description."""


class Ahead:
    """One thread that runs ahead of the requests. What it finds is used only if it turns out to be what is asked for."""

    def __init__(self, document: Document, view: View, thinker: Thinker) -> None:
        self._document, self._view, self._thinker = document, view, thinker
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="arcwise-ahead")
        self._next: tuple[Model | None, int, Begun] | None = None

    def begin(self, number: int, before: Sentence, edits: Sequence[Edit]) -> Begun | None:
        """Begin to describe what edits make of a sentence; None if they cannot be made."""
        try:
            block = edited(before.own_bytes, edits)
        except InputError:  # the document says what is wrong
            return None
        guessed, self._next = self._next, None  # used once: whoever gets it may change it
        if guessed is not None and guessed[:2] == (self._thinker.model, number) and guessed[2][0] == block:
            return guessed[2]
        return block, self._thread.submit(self._described, number, block)

    def _described(self, number: int, block: bytes) -> Json:
        return self._view.described(number, Treebank(block, strict=False)[0], block_digest(block))

    def sentence(self, number: int, begun: Begun | None) -> Json:
        """The sentence as it is now, with everything that is known of it."""
        if begun is None or self._document.block(number) != begun[0]:
            return self._view.sentence(number)
        return self._view.completed(number, begun[1].result())

    def next_word(self, number: int, rows: Sequence[str]) -> None:
        """Begin to describe the sentence with the proposal of the next open word accepted; ``rows``: those that were edited last."""
        self._thread.submit(self._accepted, number, rows)

    def _accepted(self, number: int, rows: Sequence[str]) -> None:
        model = self._thinker.model
        try:
            sentence, _ = self._view.present(number)
            edits = _accepting_next(sentence, self._thinker.known(sentence), rows)
            if edits:
                block = edited(sentence.own_bytes, edits)
                found: Future[Json] = Future()
                found.set_result(self._described(number, block))
                self._next = model, number, (block, found)
        except ArcwiseError:  # whoever does it is told
            return

    def close(self) -> None:
        """End; what is begun is done first."""
        self._thread.shutdown()


def _accepting_next(sentence: Sentence, thoughts: Thoughts | None, rows: Sequence[str]) -> list[Edit]:
    """The edits that accept the proposal of the first open word after some rows, else of the first one."""
    if thoughts is None:
        return []
    last = max((int(row) for row in rows if row.isdecimal()), default=0)
    open_words = [
        m for m, own in enumerate(thoughts.words, 1) if not (own.decided_head and own.decided_label)
    ]
    word = next((m for m in open_words if m > last), open_words[0] if open_words else None)
    return [] if word is None else accepting(sentence, thoughts, words=[str(word)])
