"""What is done before it is asked for: the sentence that edits make is described while they go to the disk; and the page may ask what there would
be to see after the edits that the next key makes, before it is pressed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from arcwise.annotation.document import AnnotationDocument
from arcwise.annotation.proposals import retraction_edits
from arcwise.annotation.store import block_digest
from arcwise.errors import InputError
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.edits import Edit, edited
from arcwise.web.annotate_suggestions import LoadedModel, SuggestionService
from arcwise.web.annotate_view import Json, View

Begun = tuple[bytes, "Future[Json]"]
"""The bytes of a sentence, and its description."""


class Lookahead:
    """One thread that runs ahead of the requests. What it finds is used only if it turns out to be what is asked for."""

    def __init__(self, document: AnnotationDocument, view: View, thinker: SuggestionService) -> None:
        self._document, self._view, self._thinker = document, view, thinker
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="arcwise-ahead")
        self._next: tuple[LoadedModel | None, int, Begun] | None = None

    def begin(self, number: int, before: Sentence, edits: Sequence[Edit]) -> Begun | None:
        """Begin to describe what edits make of a sentence; None if they cannot be made."""
        try:
            block = edited(before.source_bytes, edits)
        except InputError:  # the document says what is wrong
            return None
        guessed, self._next = self._next, None
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

    def would(self, number: int, edits: Sequence[Edit]) -> Json:
        """The sentence as it would be after some edits, and the version that it has now; nothing is changed."""
        model = self._thinker.model
        sentence, version = self._view.present(number)
        block = edited(sentence.source_bytes, [*retraction_edits(sentence, edits), *edits])
        found: Future[Json] = Future()
        found.set_result(self._described(number, block))
        self._next = model, number, (block, found)
        return {"version": version, "sentence": self._view.completed(number, found.result())}

    def close(self) -> None:
        """End; what is begun is done first."""
        self._thread.shutdown()
