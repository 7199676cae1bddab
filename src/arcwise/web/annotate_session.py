"""One treebank while it is annotated: what each request of the page does with the document and with those who think about it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arcwise.annotation.document import AnnotationDocument, ChangedMeanwhile, DocumentChange
from arcwise.annotation.proposals import acceptance_edits, retraction_edits
from arcwise.errors import ArcwiseError, InputError
from arcwise.treebanks.edits import Edit, edit_from_json
from arcwise.web.annotate_checks import Checks
from arcwise.web.annotate_json import changed_json
from arcwise.web.annotate_lists import Searches, Worklists
from arcwise.web.annotate_lookahead import Lookahead
from arcwise.web.annotate_suggestions import SuggestionService
from arcwise.web.annotate_view import MAX_COUNT, Json, View
from arcwise.web.background import Background
from arcwise.web.events import Events

if TYPE_CHECKING:
    from arcwise.annotation.comparison import FileComparison
    from arcwise.parsing.parser import Parser

SAVED_AFTER = 2.0
"""Seconds without an edit after which the file is written."""
WATCHED = 0.5
"""Seconds between two looks at the file."""


class StaleVersion(ArcwiseError):
    """The page saw an older version of the sentence; ``present`` is what it is now."""

    def __init__(self, told: str, present: Json) -> None:
        super().__init__(told)
        self.present = present


class Session:
    """What the page may ask. Every method may be called from any thread. Changes are made one after the other; looking, thinking and
    checking wait for none of them."""

    def __init__(
        self,
        document: AnnotationDocument,
        *,
        events: Events,
        model: tuple[str, Parser] | None = None,
        beside: FileComparison | None = None,
    ) -> None:
        self.events = events
        self.background = Background(failed=lambda told: events.publish("failed", told=told))
        self._document = document
        self._changing = threading.RLock()
        self._thinker = SuggestionService(
            document.path, model, events, new_model=self._new_model, trained=self._doubt
        )
        self._checks = Checks(
            document, self.background, lambda version: events.publish("checked", version=version)
        )
        self._searches = Searches(document)
        self._lists = Worklists(document, self.background)
        self._beside = beside
        self.view = View(document, self._thinker, self._checks, self._lists, self._searches, beside)
        self._ahead = Lookahead(document, self.view, self._thinker)
        self._on_disk = "same"
        self._last_edit = self._saving_took = 0.0

    def _new_model(self) -> None:
        self._lists.forget()

    def _doubt(self) -> None:
        """After a training: which annotation would parsers that did not see it doubt?"""
        with contextlib.suppress(InputError):  # too little for that, or at it already
            self.find_doubts()

    def start(self) -> None:
        """Begin what is done in the background."""
        self.background.every(WATCHED, self._watch)
        self._checks.start()
        self.background.start()

    def close(self) -> None:
        """Save what is not saved, and let go of the file."""
        self.background.stop()
        self._checks.close()
        self._ahead.close()
        self._thinker.close()
        try:
            if not self._document.saved:
                self._document.save()
        finally:  # what cannot be saved stays in the journal
            self._document.close()

    def document(self) -> Json:
        """The file as a whole."""
        own = self._document
        return {
            "name": own.path.name,
            "sentences": len(own),
            "version": own.version,
            **self._thinker.to_json(),
            "inventory": self._checks.inventory_json(),
            "beside": self._beside.name if self._beside else None,
            "saved": own.saved,
            "on_disk": self._on_disk,
            "can_undo": own.can_undo,
            "can_redo": own.can_redo,
            "read_only": own.read_only,
            "notices": list(own.notices),
        }

    # ---- editing

    def edit(
        self, number: int, version: str | None, edits: Sequence[Mapping[str, Any]], *, page: str = ""
    ) -> Json:
        """The sentence after some edits. ``page``: who edits, so that it need not take in its own edits."""
        return self._edit(number, version, _edits(edits), page)

    def _edit(self, number: int, version: str | None, edits: Sequence[Edit], page: str) -> Json:
        before, _ = self.view.present(number)
        known = self._thinker.known(before)
        made = [*retraction_edits(before, edits), *edits]
        begun = self._ahead.begin(number, before, made)
        self._change(number, lambda: self._document.edit(number, made, version_of_block=version), page)
        after = self._ahead.sentence(number, begun)
        if after["thoughts"] is not None:
            rows = sorted({row for edit in edits if (row := getattr(edit, "row", None)) is not None})
            changed = changed_json(known, after["thoughts"], rows)
            after["thoughts"] = {**after["thoughts"], "changed": changed}
        return after

    def would(self, number: int, edits: Sequence[Mapping[str, Any]]) -> Json:
        """What there would be to see after some edits; nothing is changed."""
        return self._ahead.would(number, _edits(edits))

    def accept(
        self,
        number: int,
        version: str | None,
        words: Sequence[str] | None,
        threshold: float | None,
        *,
        page: str = "",
    ) -> Json:
        """The sentence with proposals made decisions: of some words, or of all that are probable enough."""
        sentence, present = self.view.present(number)
        if version not in (None, present):
            raise self._stale(number)
        edits = acceptance_edits(sentence, self.view.think(sentence), words=words, threshold=threshold)
        return self._edit(number, present, edits, page) if edits else self.view.sentence(number)

    def split(self, number: int, version: str | None, row: str, *, page: str = "") -> Json:
        """The first part of the sentence, which ends before a row."""
        split = self._document.split_sentence
        self._change(number, lambda: split(number, row, version_of_block=version), page)
        return self.view.sentence(number)

    def join(self, number: int, version: str | None, *, page: str = "") -> Json:
        """The sentence with the next one behind it."""
        join = self._document.join_sentences
        self._change(number, lambda: join(number, version_of_block=version), page)
        return self.view.sentence(number)

    def remove(self, number: int, version: str | None, *, page: str = "") -> Json:
        """Take a sentence out."""
        remove = self._document.remove_sentence
        self._change(number, lambda: remove(number, version_of_block=version), page)
        return {"sentences": len(self._document)}

    def insert(self, number: int | None, conllu: str, *, page: str = "") -> Json:
        """Put sentences before a sentence, or at the end."""
        with self._changing:
            at = len(self._document) if number is None else number
            self._tell(self._document.insert_sentences(at, conllu.encode("utf-8", "surrogatepass")), page)
        return {"number": at, "sentences": len(self._document)}

    def _change(self, number: int, change: Callable[[], DocumentChange | None], page: str) -> None:
        try:
            with self._changing:
                self.view.check(number)
                self._tell(change(), page)
        except ChangedMeanwhile:
            raise self._stale(number) from None

    def _stale(self, number: int) -> StaleVersion:
        return StaleVersion(
            f"sentence {number}: was changed meanwhile; this is how it is now", self.view.sentence(number)
        )

    def undo(self, *, page: str = "") -> Json:
        """One step back: where, and the sentence there; number None if there is nothing to undo."""
        return self._stepped(self._document.undo, page)

    def redo(self, *, page: str = "") -> Json:
        """One step forward again."""
        return self._stepped(self._document.redo, page)

    def _stepped(self, step: Callable[[], DocumentChange | None], page: str) -> Json:
        with self._changing:
            change = step()
            self._tell(change, page)
        if change is None:
            return {"number": None, "sentence": None, "told": None}
        number = min(change.first, len(self._document) - 1)
        return {
            "number": number,
            "sentence": self.view.sentence(number) if number >= 0 else None,
            "told": change.told,
        }

    def _tell(self, change: DocumentChange | None, page: str) -> None:
        """Everybody who thinks about sentences, and every page, of a change."""
        if change is None:
            return
        self._last_edit = time.monotonic()
        renumbered = any(len(part.before) != len(part.after) for part in change.parts)
        numbers = sorted(part.first + at for part in change.parts for at in range(len(part.after)))
        count = len(self._document)
        self._checks.changed(change)
        touched, now = numbers or [change.first], count if renumbered else None
        self._lists.changed(touched, now)
        self._thinker.changed(touched, now)
        if self._beside:
            self._beside.changed(renumbered=renumbered)
        self.events.publish(
            "changed",
            version=change.version,
            numbers=numbers[:MAX_COUNT],
            first=change.first,
            sentences=count,
            renumbered=renumbered,
            told=change.told,
            page=page,
        )

    # ---- the whole file

    def mass_edit(self, query: str, changes: str, *, apply: bool, page: str = "") -> Json:
        """What edits of all that a search finds would change; or, with ``apply``, make them: one step of undo."""
        if not apply:
            return self.view.planned(self._searches.plan(query, changes))
        with self._changing:
            edits = {plan.sentence: plan.edits for plan in self._searches.plan(query, changes) if plan.edits}
            self._tell(self._document.edit_many(edits, f"{changes} where {query}"), page)
            count = sum(len(own) for own in edits.values())
            return {"sentences": len(edits), "edits": count, "version": self._document.version}

    def adjudicate(self, number: int, choices: Sequence[Json], *, page: str = "") -> Json:
        """Decide differences of a sentence: each for ``a``, for ``b``, or for another value."""
        sentence, version = self.view.present(number)
        from arcwise.annotation.comparison import Choice

        made = [Choice.from_json(choice) for choice in choices]
        edits = self.view.needed_beside().adjudicating(sentence, number, made)
        return self._edit(number, version, edits, page)

    # ---- learning

    def training(self) -> Json:
        """Where the training stands."""
        return self._thinker.training()

    def train(self, *, cancel: bool = False) -> Json:
        """Begin to train on what is decided, or end it."""
        return self._thinker.cancel() if cancel else self._thinker.train(self._document.treebank())

    def use_model(self, which: str) -> Json:
        """Let another model think along."""
        self._thinker.use(which)
        return self._thinker.to_json()

    def find_doubts(self) -> Json:
        """Look for improbable annotation, in the background."""
        self._thinker.find_doubts(self._document.treebank())
        return {"started": True}

    # ---- the file on disk

    def save(self) -> Json:
        """Write the file."""
        began = time.monotonic()
        self._document.save()
        self._saving_took = time.monotonic() - began
        self._on_disk = "same"
        self.events.publish("saved", version=self._document.version)
        return {"saved": True, "version": self._document.version}

    def take_in(self, *, page: str = "") -> Json:
        """Merge what another program did to the file."""
        with self._changing:
            taken = self._document.merge_external_changes()
            self._on_disk = "same"
            self._tell(taken.change, page)
        return {
            "conflicts": len(taken.conflicts),
            "changed": taken.change is not None,
            "version": self._document.version,
        }

    def _watch(self) -> None:
        """Look at the file: was it changed by somebody else? Is there something to save, and a moment to do it?"""
        state = self._document.state_on_disk()
        if state != self._on_disk:
            self._on_disk = state
            self.events.publish("changed-on-disk", state=state)
        idle = time.monotonic() - self._last_edit
        if state == "same" and not self._document.saved and idle > max(SAVED_AFTER, 20 * self._saving_took):
            try:
                self.save()
            except (
                ArcwiseError
            ) as error:  # a full disk, say: the journal has it all, and it is tried again later
                self._last_edit = time.monotonic()
                self.events.publish("failed", told=str(error))


def _edits(given: Sequence[Mapping[str, Any]]) -> list[Edit]:
    if not given:
        raise InputError("edits: found none, expected at least one")
    return [edit_from_json(edit) for edit in given]
