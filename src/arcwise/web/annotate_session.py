"""One annotation session: the operations of the page on the document and its services."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcwise.annotation.document import ChangedMeanwhile, DocumentChange
from arcwise.annotation.editable import EditableTreebank
from arcwise.annotation.pasted_text import sentences_from_text
from arcwise.annotation.project import AnnotationProject
from arcwise.annotation.proposals import acceptance_edits, retraction_edits
from arcwise.annotation.retokenizing import retokenizing_edits
from arcwise.errors import ArcwiseError, InputError
from arcwise.treebanks.edits import Edit, edit_from_json, edit_to_json
from arcwise.web.annotate_checks import Checks
from arcwise.web.annotate_consistency import Consistency
from arcwise.web.annotate_files import ProjectFiles
from arcwise.web.annotate_json import changed_json
from arcwise.web.annotate_lists import HitKey, Searches, Worklists
from arcwise.web.annotate_lookahead import Lookahead
from arcwise.web.annotate_suggestions import SuggestionService
from arcwise.web.annotate_view import MAX_COUNT, Json, NotFound, View
from arcwise.web.background import Background
from arcwise.web.events import Events

if TYPE_CHECKING:
    from arcwise.annotation.comparison import FileComparison
    from arcwise.mining.answers import Verdict
    from arcwise.parsing.parser import Parser
    from arcwise.treebanks.adjudication import Choice

GUIDELINES = "https://universaldependencies.org/u/"
"""The address of the UD guidelines for labels (``dep/nsubj.html``) and tags (``pos/NOUN.html``)."""
SAVED_AFTER = 2.0
"""Seconds without an edit before the file is saved."""
WATCHED = 0.5
"""Seconds between checks of the file on disk."""


class StaleVersion(ArcwiseError):
    """The request refers to an older version of the sentence; ``present`` is the current one."""

    def __init__(self, message: str, present: Json) -> None:
        super().__init__(message)
        self.present = present


class Session:
    """The operations of the page.

    Thread-safe: changes are serialised; reading, suggestions and checks run in parallel.
    """

    def __init__(
        self,
        document: EditableTreebank,
        *,
        events: Events,
        model: tuple[str, Parser] | None = None,
        comparison: FileComparison | None = None,
        legal: object | None = None,
    ) -> None:
        self.events = events
        self.background = Background(failed=lambda message: events.publish("failed", message=message))
        self._document = document
        self._changing = threading.RLock()
        self._suggestions = SuggestionService(
            document.stem,
            model,
            events,
            legal=legal,
            new_model=lambda: self._lists.forget(),
            trained=self._detect_errors,
            annotated=lambda: (treebank for _, treebank in document.batches()),
            verdicts=self._verdicts,
        )
        self._checks = Checks(
            document, self.background, lambda version: events.publish("checked", version=version)
        )
        self.consistency = Consistency(
            document, lambda version: events.publish("consistency", version=version)
        )
        self._searches = Searches(document)
        self._lists = Worklists(document, self.background, has_tags=lambda: self._checks.has_tags)
        self._files = (
            ProjectFiles(document, self.background, has_tags=lambda: self._checks.has_tags)
            if isinstance(document, AnnotationProject)
            else None
        )
        self._comparison = comparison
        self.view = View(document, self._suggestions, self._checks, self._lists, self._searches, comparison)
        self._lookahead = Lookahead(document, self.view, self._suggestions)
        self._on_disk = "same"
        self._last_edit = self._saving_took = 0.0

    def _detect_errors(self) -> None:
        """Look for suspicious annotations after a training."""
        with contextlib.suppress(InputError):  # too few sentences, or already running
            self.detect_errors()

    @property
    def path(self) -> Path:
        """The edited file."""
        return self._document.path

    def start(self) -> None:
        """Start the background work."""
        self.background.every(WATCHED, self._watch)
        self._checks.start()
        if self._files:
            self._files.start()
        self.background.start()

    def close(self) -> None:
        """Save unsaved edits and release the file."""
        # Background first: a step must not touch a closed document.
        self.background.stop()
        self._checks.close()
        self.consistency.close()
        self._lookahead.close()
        self._suggestions.close()
        try:
            if not self._document.saved:
                self._document.save()
        finally:  # edits that cannot be saved stay in the journal
            self._document.close()

    def document(self) -> Json:
        """The state of the whole file."""
        document = self._document
        return {
            "name": document.path.resolve().name,
            "is_project": self._files is not None,
            "sentences": len(document),
            "version": document.version,
            **self._suggestions.to_json(),
            "inventory": self._checks.inventory_json(),
            "needs_upos": self._checks.has_tags,
            "beside": self._comparison.name if self._comparison else None,
            "saved": document.saved,
            "on_disk": self._on_disk,
            "can_undo": document.can_undo,
            "can_redo": document.can_redo,
            "read_only": document.read_only,
            "notices": list(document.notices),
            "guidelines": GUIDELINES,
        }

    def files(self) -> Json:
        """The files of a project and their progress; one file alone has no list."""
        return self._files.to_json() if self._files else {"files": []}

    def edit(
        self, number: int, version: str | None, edits: Sequence[Mapping[str, Any]], page: str = ""
    ) -> Json:
        """Edit a sentence and return it.

        ``page``: the window that edits, which ignores the event of its own edit.
        """
        return self._edit(number, version, _edits(edits), page)

    def _edit(self, number: int, version: str | None, edits: Sequence[Edit], page: str) -> Json:
        # Read outside the lock; the version is checked again by the document.
        before, _ = self.view.present(number)
        earlier = self._suggestions.cached(before)
        all_edits = [*retraction_edits(before, edits), *edits]
        # Suggestions for the new sentence are computed in another thread while the journal is flushed to
        # disk.
        description = self._lookahead.begin(number, before, all_edits)
        prepared = None if description is None else description.edit
        edit = self._document.edit
        self._change(
            number, lambda: edit(number, all_edits, version_of_block=version, prepared=prepared), page
        )
        after = self._lookahead.sentence(number, description)
        if after["thoughts"] is not None:
            rows = sorted({row for edit in edits if (row := getattr(edit, "row", None)) is not None})
            changed = changed_json(earlier, after["thoughts"], rows)
            after["thoughts"] = {**after["thoughts"], "changed": changed}
        return after

    def would(self, number: int, edits: Sequence[Mapping[str, Any]]) -> Json:
        """The sentence as it would be after some edits; changes nothing."""
        return self._lookahead.would(number, _edits(edits))

    def accept(
        self,
        number: int,
        version: str | None,
        words: Sequence[str] | None,
        columns: Sequence[str],
        threshold: float | None,
        page: str = "",
    ) -> Json:
        """Accept suggestions in some columns: of some words, or of all that reach the threshold."""
        sentence, present = self.view.present(number)
        if version not in (None, present):
            raise self._stale(number)
        suggestions = self.view.suggest(sentence)
        edits = acceptance_edits(sentence, suggestions, words=words, columns=columns, threshold=threshold)
        return self._edit(number, present, edits, page) if edits else self.view.sentence(number)

    def tokenization(self, number: int) -> Json:
        """The edits that cut a sentence as the tokenizer of the model does; changes nothing."""
        tokenizer = self._suggestions.tokenizer()
        if tokenizer is None:
            raise InputError("there is no model with a tokenizer; train one, or start the server with one")
        sentence, version = self.view.present(number)
        edits = retokenizing_edits(sentence, tokenizer[1])
        return {"tokenizer": tokenizer[0], "version": version, "edits": [edit_to_json(e) for e in edits]}

    def split(self, number: int, version: str | None, row: str, page: str = "") -> Json:
        """Split a sentence before a row and return its first part."""
        split = self._document.split_sentence
        self._change(number, lambda: split(number, row, version_of_block=version), page)
        return self.view.sentence(number)

    def join(self, number: int, version: str | None, page: str = "") -> Json:
        """Join a sentence with the next one."""
        join = self._document.join_sentences
        self._change(number, lambda: join(number, version_of_block=version), page)
        return self.view.sentence(number)

    def remove(self, number: int, version: str | None, page: str = "") -> Json:
        """Remove a sentence."""
        remove = self._document.remove_sentence
        self._change(number, lambda: remove(number, version_of_block=version), page)
        return {"sentences": len(self._document)}

    def insert(
        self,
        number: int | None,
        conllu: str | None,
        text: str | None,
        page: str = "",
        *,
        file: str | None = None,
    ) -> Json:
        """Insert sentences, as CoNLL-U or as text with one per line: before a sentence, at the end, or at the
        end of a file of the project."""
        if (conllu is None) == (text is None):
            raise InputError("insert: expected either conllu or text")
        if file is not None and number is not None:
            raise InputError("insert: expected either before or file")
        tokenizer = None if text is None else self._suggestions.tokenizer()
        with self._changing:
            at = len(self._document) if number is None else number
            if text is not None:
                existing = self._document.treebank().data
                data = sentences_from_text(text, tokenizer and tokenizer[1], existing)
            else:
                data = str(conllu).encode("utf-8", "surrogatepass")
            if file is not None:
                change = self._project().append_sentences(file, data)
                at = len(self._document) if change is None else change.parts[-1].first
            else:
                change = self._document.insert_sentences(at, data)
            self._announce(change, page)
        return {"number": at, "sentences": len(self._document), "tokenizer": tokenizer and tokenizer[0]}

    def _project(self) -> AnnotationProject:
        if not isinstance(self._document, AnnotationProject):
            raise InputError("file: only one file is open")
        return self._document

    def _change(self, number: int, change: Callable[[], DocumentChange | None], page: str) -> None:
        try:
            with self._changing:
                self.view.check(number)
                self._announce(change(), page)
        except ChangedMeanwhile:
            raise self._stale(number) from None

    def _stale(self, number: int) -> StaleVersion:
        return StaleVersion(
            f"sentence {number}: was changed in the meantime; the answer has its current version",
            self.view.sentence(number),
        )

    def undo(self, page: str = "") -> Json:
        """Undo one step: its sentence; the number is None if there is nothing to undo."""
        return self._step(self._document.undo, page)

    def redo(self, page: str = "") -> Json:
        """Redo one step."""
        return self._step(self._document.redo, page)

    def _step(self, step: Callable[[], DocumentChange | None], page: str) -> Json:
        with self._changing:
            change = step()
            self._announce(change, page)
        if change is None:
            return {"number": None, "sentence": None, "description": None}
        number = min(change.first, len(self._document) - 1)
        return {
            "number": number,
            "sentence": self.view.sentence(number) if number >= 0 else None,
            "description": change.description,
        }

    def _announce(self, change: DocumentChange | None, page: str) -> None:
        """Tell all services and all pages about a change."""
        if change is None:
            return
        self._last_edit = time.monotonic()
        renumbered = any(len(splice.before) != len(splice.after) for splice in change.parts)
        numbers = sorted(splice.first + at for splice in change.parts for at in range(len(splice.after)))
        count = len(self._document)
        # In the thread of the edit, so that the answer already has the new state.
        self._checks.changed(change)
        self.consistency.changed(change)
        touched, new_count = numbers or [change.first], count if renumbered else None
        self._lists.changed(touched, new_count)
        self._suggestions.changed(touched, new_count)
        if self._files:
            self._files.changed(change)
        if self._comparison:
            self._comparison.changed(renumbered=renumbered)
        self.events.publish(
            "changed",
            version=change.version,
            # A mass edit may change every sentence; the event stays small.
            numbers=numbers[:MAX_COUNT],
            first=change.first,
            sentences=count,
            renumbered=renumbered,
            description=change.description,
            page=page,
        )

    def mass_edit_preview(
        self, query: str, changes: str, first: int, count: int, *, skipped: Collection[HitKey] = ()
    ) -> Json:
        """A page of the edits that a mass edit would make. skipped: hits to leave as they are."""
        version = self._document.version  # read first, so that an edit meanwhile makes the preview stale
        plans = self._searches.plan(query, changes, skipped)
        return {**self.view.planned(plans, first, count), "version": version}

    def mass_edit(
        self,
        query: str,
        changes: str,
        version: int | None = None,
        *,
        skipped: Collection[HitKey] = (),
        page: str = "",
    ) -> Json:
        """Edit all search hits, as one undo step.

        version: of the file that was previewed (None: any); skipped: hits to leave as they are.
        """
        with self._changing:
            if version is not None and version != self._document.version:
                raise InputError("mass edit: the file has changed since the preview; preview the edit again")
            edits = {
                plan.sentence: plan.edits
                for plan in self._searches.plan(query, changes, skipped)
                if plan.edits
            }
            self._announce(self._document.edit_many(edits, f"{changes} where {query}"), page)
            count = sum(map(len, edits.values()))
            return {"sentences": len(edits), "edits": count, "version": self._document.version}

    def mute(self, rule: str, *, muted: bool) -> Json:
        """Mute a validation rule for the files of the folder, or report it again."""
        self._checks.mute(rule, muted=muted)
        return {"muted": sorted(self._checks.muted)}

    def find_inconsistencies(self) -> Json:
        """Compare the file with itself, a large one in the background."""
        with self._changing:  # no edit between the version of the file and its contents
            self.consistency.find()
        return {"started": True}

    def adjudicate(self, number: int, choices: Sequence[Choice], page: str = "") -> Json:
        """Resolve differences of a sentence: each in favour of ``a``, ``b``, or another value."""
        sentence, version = self.view.present(number)
        edits = self.view.require_comparison().adjudication_edits(sentence, number, choices)
        return self._edit(number, version, edits, page)

    def training(self) -> Json:
        """The state of the training."""
        return self._suggestions.training()

    def train(self, *, cancel: bool = False) -> Json:
        """Start a training on the current annotation, or stop it."""
        return self._suggestions.cancel() if cancel else self._suggestions.train(self._document.treebank())

    def use_model(self, which: str) -> Json:
        """Switch the model that gives suggestions."""
        self._suggestions.use(which)
        return self._suggestions.to_json()

    def _verdicts(self) -> dict[str, str]:
        """The answers about suspicious annotations of all files, by the keys of words."""
        from arcwise.mining.answers import ReviewAnswers

        document = self._document
        files = (
            [d.path for d in document.documents] if isinstance(document, AnnotationProject) else [self.path]
        )
        return {key: line[0] for file in files for key, line in ReviewAnswers.beside(str(file)).lines.items()}

    def judge(self, number: int, row: str, verdict: Verdict) -> Json:
        """Store an answer about a suspicious annotation next to the file, and rerank the others."""
        from arcwise.annotation.states import only_decided
        from arcwise.mining.answers import ReviewAnswers, word_key
        from arcwise.mining.words import FlatWords

        with self._changing:
            sentence, _ = self.view.present(number)
            if not (row.isdecimal() and 1 <= int(row) <= len(sentence)):
                raise NotFound(f"word {row} does not exist; the sentence has {len(sentence)} words")
            words, word = FlatWords(only_decided([sentence])), int(row) - 1
            answers = ReviewAnswers.beside(self._document.source(number))
            answers.add(words, word, verdict, first=number)
            self._suggestions.answer_suspicion(word_key(words, word), verdict)
        return {"answers": len(answers.lines)}

    def detect_errors(self) -> Json:
        """Look for suspicious annotations in the background."""
        self._suggestions.detect_errors(self._document.treebank())
        return {"started": True}

    def save(self) -> Json:
        """Save the file."""
        began = time.monotonic()
        self._document.save()
        self._saving_took = time.monotonic() - began
        self._on_disk = "same"
        self.events.publish("saved", version=self._document.version)
        return {"saved": True, "version": self._document.version}

    def merge_external_changes(self, page: str = "") -> Json:
        """Merge the changes that another program made to the file."""
        with self._changing:
            merge = self._document.merge_external_changes()
            self._on_disk = "same"
            self._announce(merge.change, page)
        return {
            "conflicts": len(merge.conflicts),
            "changed": merge.change is not None,
            "version": self._document.version,
        }

    def _watch(self) -> None:
        """Notice changes of the file on disk, and save after a pause in editing."""
        state = self._document.state_on_disk()
        if state != self._on_disk:
            # Remembered, so that pages are notified once and not at every check.
            self._on_disk = state
            self.events.publish("changed-on-disk", state=state)
        idle = time.monotonic() - self._last_edit
        # A large file takes long to write: saving may take at most a twentieth of the time.
        pause = max(SAVED_AFTER, 20 * self._saving_took)
        if state == "same" and not self._document.saved and idle > pause:
            try:
                self.save()
            except (
                ArcwiseError
            ) as error:  # a full disk, say; the journal has every edit, and saving is retried
                self._last_edit = time.monotonic()
                self.events.publish("failed", message=str(error))


def _edits(values: Sequence[Mapping[str, Any]]) -> list[Edit]:
    if not values:
        raise InputError("edits: the list is empty; expected at least one edit")
    return [edit_from_json(edit) for edit in values]
