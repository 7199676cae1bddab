"""What the page looks at: sentences with all that is known of them, lists of sentences, findings and differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arcwise.annotation.document import AnnotationDocument
from arcwise.annotation.store import block_digest
from arcwise.annotation.suggestions import SentenceSuggestions
from arcwise.errors import ArcwiseError, InputError
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.edits import edit_to_json
from arcwise.treebanks.search import Hit
from arcwise.treebanks.search.mass_edit import Plan
from arcwise.web.annotate_checks import Checks
from arcwise.web.annotate_json import overview_json, reason_json, sentence_json, thought_json, thoughts_json
from arcwise.web.annotate_lists import Searches, Worklists
from arcwise.web.annotate_suggestions import SuggestionService

if TYPE_CHECKING:
    from arcwise.annotation.comparison import FileComparison

MAX_COUNT = 1000
"""Sentences, findings or hits of one answer."""
Json = dict[str, Any]


class NotFound(ArcwiseError):
    """There is no such sentence."""


@dataclass(frozen=True)
class View:
    """The document, and those who know something of its sentences. Nothing here changes it."""

    document: AnnotationDocument
    thinker: SuggestionService
    checks: Checks
    lists: Worklists
    searches: Searches
    beside: FileComparison | None

    # ---- sentences

    def sentences(self, first: int, count: int, worklist: str | None, query: str | None) -> Json:
        """A part of the list of sentences, in the order of the file, of a worklist, or those that a search finds."""
        total, ready = len(self.document), True
        chosen: Sequence[tuple[int, float | None, int | None]]
        if worklist is not None:
            model = self.thinker.model
            found = self.lists.get(worklist, model.assistant if model else None)
            items = found.items()
            total, ready = len(items), found.ready
            chosen = [
                (item.number, item.value, item.word) for item in items[first : first + min(count, MAX_COUNT)]
            ]
        elif query is not None:
            hits = self.searches.sentences(query)
            total = len(hits)
            chosen = [(number, float(n), None) for number, n in hits[first : first + min(count, MAX_COUNT)]]
        else:
            chosen = [(n, None, None) for n in range(total)[first : first + min(count, MAX_COUNT)]]
        return {"items": list(self.overviews(chosen)), "total": total, "ready": ready}

    def overviews(self, chosen: Sequence[tuple[int, float | None, int | None]]) -> list[Json]:
        count = len(self.document)
        return [
            {**overview_json(self.document.sentence(number), number), "value": value, "word": word}
            for number, value, word in chosen
            if number < count
        ]

    def sentence(self, number: int, *, gains: bool = False) -> Json:
        """One sentence with everything that is known of it."""
        sentence, version = self.present(number)
        return self.completed(number, self.described(number, sentence, version, gains=gains))

    def described(self, number: int, sentence: Sentence, version: str, *, gains: bool = False) -> Json:
        """What is known of a sentence from itself, whether the document has it already or not."""
        return {
            **sentence_json(sentence, number, version),
            "thoughts": thoughts_json(self.think(sentence, gains=gains)),
            "findings": self.checks.of(sentence),
        }

    def completed(self, number: int, described: Json) -> Json:
        """The same with what is known of the sentence in the document."""
        sentence = self.document.sentence(number) if self.beside else None
        return {
            **described,
            "doubts": self.thinker.doubts(number),
            "beside": self.beside.of(number, sentence) if self.beside and sentence else None,
        }

    def reconsider(self, number: int, word: int) -> Json:
        """The alternatives of a word as if it were open, and why its proposal is what it is."""
        sentence, _ = self.present(number)
        model = self.thinker.model
        if model is None:
            raise InputError("model: there is none, expected one that thinks along")
        if not 1 <= word <= len(sentence):
            raise NotFound(f"word: found {word}, expected 1 to {len(sentence)}")
        reasons = [reason for reason in model.assistant.explain_changes(sentence) if reason.word == word]
        thought = model.assistant.reconsider(sentence, word)
        return {
            "row": str(word),
            "thought": thought_json(thought),
            "because": [reason_json(r) for r in reasons],
        }

    # ---- of the whole file

    def search(self, query: str, first: int, count: int) -> Json:
        """What a search finds."""
        hits = self.searches.hits(query)
        shown = hits[first : first + min(count, MAX_COUNT)]
        named = {
            item["number"]: item for item in self.overviews([(hit.sentence, None, None) for hit in shown])
        }
        items = [
            {
                "sentence": hit.sentence,
                "sent_id": named[hit.sentence]["sent_id"],
                "text": named[hit.sentence]["text"],
                "words": _ids(hit),
            }
            for hit in shown
            if hit.sentence in named
        ]
        return {"hits": items, "total": len(hits), "sentences": len({hit.sentence for hit in hits})}

    def planned(self, plans: Sequence[Plan]) -> Json:
        changed = [plan for plan in plans if plan.edits]
        shown = {plan.sentence: plan for plan in changed[:MAX_COUNT]}
        items = [
            {
                "sentence": item["number"],
                "sent_id": item["sent_id"],
                "text": item["text"],
                "edits": [edit_to_json(edit) for edit in shown[item["number"]].edits],
            }
            for item in self.overviews([(number, None, None) for number in shown])
        ]
        refused = [
            {"sentence": plan.sentence, "words": _ids(refused.hit), "reason": refused.reason}
            for plan in plans
            for refused in plan.refused
        ]
        edits = sum(len(plan.edits) for plan in changed)
        return {"changes": items, "total": len(changed), "edits": edits, "refused": refused[:MAX_COUNT]}

    def validate(self, first: int, count: int) -> Json:
        """What is wrong with the file, as ``arcwise validate`` tells it; words that are open are not wrong."""
        version, findings, ready = self.checks.whole()
        shown = findings[first : first + min(count, MAX_COUNT)]
        return {"findings": shown, "total": len(findings), "version": version, "ready": ready}

    def differences(self, first: int, count: int) -> Json:
        """Where the two annotations differ, and how well they agree."""
        return self.needed_beside().to_json(first, min(count, MAX_COUNT))

    # ---- what the rest is made of

    def present(self, number: int) -> tuple[Sentence, str]:
        self.check(number)
        block = self.document.block(number)
        return Treebank(block, source=str(self.document.path), strict=False)[0], block_digest(block)

    def think(self, sentence: Sentence, *, gains: bool = False) -> SentenceSuggestions | None:
        try:
            return self.thinker.think(sentence, gains=gains)
        except ArcwiseError as error:  # rows that nobody can read
            return SentenceSuggestions((), note=str(error))

    def check(self, number: int) -> None:
        if not 0 <= number < len(self.document):
            raise NotFound(f"sentence: found {number}, expected 0 to {len(self.document) - 1}")

    def needed_beside(self) -> FileComparison:
        if self.beside is None:
            raise InputError("beside: there is no other file, expected the server to be started with one")
        return self.beside


def _ids(hit: Hit) -> dict[str, str]:
    """The words of a hit, by name, as IDs of rows."""
    return {name: str(word) for name, word in hit.words.items()}
