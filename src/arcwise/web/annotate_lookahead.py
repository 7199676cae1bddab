"""Work ahead of requests: suggestions for an edited sentence before they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from arcwise.annotation.document import PreparedEdit
from arcwise.annotation.editable import EditableTreebank
from arcwise.annotation.proposals import retraction_edits
from arcwise.annotation.store import block_digest
from arcwise.errors import InputError
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.edits import Edit
from arcwise.web.annotate_suggestions import LoadedModel, SuggestionService
from arcwise.web.annotate_view import Json, View


class Description(NamedTuple):
    """An edit and the description of the sentence that it produces."""

    edit: PreparedEdit
    sentence: Future[Json]


class Lookahead:
    """One thread that works ahead of requests.

    A result is used only for exactly the edit, sentence and model it is for.
    """

    def __init__(self, document: EditableTreebank, view: View, suggestions: SuggestionService) -> None:
        self._document, self._view, self._suggestions = document, view, suggestions
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="arcwise-lookahead")
        self._next: tuple[LoadedModel | None, int, Description] | None = None

    def begin(self, number: int, before: Sentence, edits: Sequence[Edit]) -> Description | None:
        """Start to describe the sentence that edits produce; None if they are invalid."""
        # Taken out at once: a prediction serves one edit.
        predicted, self._next = self._next, None
        if predicted is not None:
            model, sentence, description = predicted
            if (model, sentence) == (self._suggestions.model, number) and description.edit.applies_to(
                before.source_bytes, edits
            ):
                return description
        try:
            edit = PreparedEdit.of(before.source_bytes, edits)
        except InputError:  # the document reports it, after its check of the version
            return None
        return Description(edit, self._thread.submit(self._describe, number, edit))

    def _describe(self, number: int, edit: PreparedEdit) -> Json:
        return self._view.described(number, Treebank(edit.after, strict=False)[0], block_digest(edit.after))

    def sentence(self, number: int, description: Description | None) -> Json:
        """The current sentence; computed again unless it is the one described."""
        if description is None or self._document.block(number) != description.edit.after:
            return self._view.sentence(number)
        return self._view.completed(number, description.sentence.result())

    def would(self, number: int, edits: Sequence[Edit]) -> Json:
        """The sentence as it would be after some edits, and its current version; changes nothing."""
        model = self._suggestions.model
        sentence, version = self._view.present(number)
        edit = PreparedEdit.of(sentence.source_bytes, [*retraction_edits(sentence, edits), *edits])
        future: Future[Json] = Future()
        future.set_result(self._describe(number, edit))
        self._next = model, number, Description(edit, future)
        return {"version": version, "sentence": self._view.completed(number, future.result())}

    def close(self) -> None:
        """Stop the thread after its current work."""
        self._thread.shutdown()
