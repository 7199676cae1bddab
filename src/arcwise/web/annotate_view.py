"""Read-only answers of the server: sentences, lists, search hits, findings, differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from arcwise.annotation.editable import EditableTreebank
from arcwise.annotation.store import block_digest
from arcwise.annotation.suggestions import SentenceSuggestions
from arcwise.errors import ArcwiseError, InputError
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.edits import edit_to_json
from arcwise.treebanks.search import looks_like_grew, translate_grew
from arcwise.treebanks.search.mass_edit import Plan
from arcwise.web.annotate_checks import Checks
from arcwise.web.annotate_enhanced import enhanced_json
from arcwise.web.annotate_json import overview_json, reason_json, sentence_json, thought_json, thoughts_json
from arcwise.web.annotate_lists import Searches, Worklists, hit_rows
from arcwise.web.annotate_suggestions import SuggestionService

if TYPE_CHECKING:
    from arcwise.annotation.comparison import FileComparison

MAX_COUNT = 1000
"""Maximum number of sentences, findings or hits in one answer."""
Json = dict[str, Any]


class NotFound(ArcwiseError):
    """The requested sentence or word does not exist."""


@dataclass(frozen=True)
class View:
    """The document and the services that describe its sentences. Nothing here changes the document."""

    document: EditableTreebank
    suggestions: SuggestionService
    checks: Checks
    lists: Worklists
    searches: Searches
    comparison: FileComparison | None

    def sentences(self, first: int, count: int, worklist: str | None, query: str | None) -> Json:
        """A page of the list of sentences: in file order, of a worklist, or with search hits."""
        total, ready = len(self.document), True
        chosen: Sequence[tuple[int, float | None, int | None]]
        if worklist is not None:
            model = self.suggestions.model
            ranked = self.lists.get(worklist, model.assistant if model else None)
            items = ranked.items()
            total, ready = len(items), ranked.ready
            chosen = [
                # A sentence that the order cannot rank has no value.
                (item.number, item.value or None, item.word)
                for item in items[first : first + min(count, MAX_COUNT)]
            ]
        elif query is not None:
            hits = self.searches.sentences(query)
            total = len(hits)
            chosen = [(number, float(n), None) for number, n in hits[first : first + min(count, MAX_COUNT)]]
        else:
            chosen = [(n, None, None) for n in range(total)[first : first + min(count, MAX_COUNT)]]
        return {"items": list(self.overviews(chosen)), "total": total, "ready": ready}

    def overviews(self, chosen: Sequence[tuple[int, float | None, int | None]]) -> list[Json]:
        """List entries of sentences, from (number, value, word to look at)."""
        count, tags = len(self.document), self.checks.has_tags
        return [
            {**overview_json(self.document.sentence(number), number, tags=tags), "value": value, "word": word}
            for number, value, word in chosen
            # The document may have become shorter since the worklist or search was made.
            if number < count
        ]

    def sentence(self, number: int, *, gains: bool = False) -> Json:
        """One sentence with suggestions, findings, suspicious words and differences."""
        sentence, version = self.present(number)
        return self.completed(number, self.described(number, sentence, version, gains=gains))

    def described(self, number: int, sentence: Sentence, version: str, *, gains: bool = False) -> Json:
        """The part of the description that depends on the sentence alone, in the document or not."""
        return {
            **sentence_json(sentence, number, version),
            "thoughts": thoughts_json(self.suggest(sentence, gains=gains)),
            "findings": self.checks.of(sentence),
        }

    def completed(self, number: int, described: Json) -> Json:
        """Add the part of the description that depends on the document."""
        sentence = self.document.sentence(number) if self.comparison else None
        return {
            **described,
            "file": self.document.file_name(number),
            "doubts": self.suggestions.suspicious_words(number),
            "beside": self.comparison.of(number, sentence) if self.comparison and sentence else None,
        }

    def reconsider(self, number: int, word: int) -> Json:
        """The suggestion for a word if it were unannotated, and the decision that explains it."""
        sentence, _ = self.present(number)
        model = self.suggestions.model
        if model is None:
            raise InputError("there is no model; train one, or start the server with one")
        if not 1 <= word <= len(sentence):
            raise NotFound(f"word {word} does not exist; the sentence has {len(sentence)} words")
        changes = [change for change in model.assistant.explain_changes(sentence) if change.word == word]
        suggestion = model.assistant.reconsider(sentence, word)
        return {
            "row": str(word),
            "thought": thought_json(suggestion),
            "because": [reason_json(change) for change in changes],
        }

    def enhanced(self, number: int) -> Json:
        """The enhanced dependencies that rules make from the tree of a sentence."""
        sentence, version = self.present(number)
        return enhanced_json(sentence, version, with_case_feature=self.checks.has_case_feature)

    def search(self, query: str, first: int, count: int, cluster: tuple[str, Sequence[str]] | None) -> Json:
        """A page of search hits, of all or of a cluster: (properties, values).

        A Grew request is translated; the answer has the query.
        """
        query, translation = self.translated(query)
        hits = self.searches.hits(query) if cluster is None else self.searches.cluster(query, *cluster)
        shown = hits[first : first + min(count, MAX_COUNT)]
        named = {
            item["number"]: item for item in self.overviews([(hit.sentence, None, None) for hit in shown])
        }
        items = [
            {
                "sentence": hit.sentence,
                "sent_id": named[hit.sentence]["sent_id"],
                "text": named[hit.sentence]["text"],
                "words": hit_rows(hit),
            }
            for hit in shown
            if hit.sentence in named
        ]
        hints = [] if hits else self.searches.hints(query)
        sentences = len(set(hits.sentences))
        return {
            "hits": items,
            "total": len(hits),
            "sentences": sentences,
            "hints": hints,
            "translation": translation,
        }

    def translated(self, query: str) -> tuple[str, str | None]:
        """A query, and that it is the translation of a Grew request: the query again, else None."""
        if not looks_like_grew(query):
            return query, None
        translation = translate_grew(query)
        return translation, translation

    def table(self, query: str, properties: str, count: int) -> Json:
        """Clusters of search hits by properties of their words, largest first."""
        columns, clusters = self.searches.table(query, properties)
        shown = clusters[: min(count, MAX_COUNT)]
        return {
            "columns": columns,
            "clusters": [{"values": list(values), "count": n} for values, n in shown],
            "total": len(clusters),
        }

    def planned(self, plans: Sequence[Plan], first: int, count: int) -> Json:
        """A page of the preview of a mass edit."""
        changed = [plan for plan in plans if plan.edits]
        shown = {plan.sentence: plan for plan in changed[first : first + min(count, MAX_COUNT)]}
        items = [
            {
                "sentence": item["number"],
                "sent_id": item["sent_id"],
                "text": item["text"],
                "edits": [edit_to_json(edit) for edit in shown[item["number"]].edits],
                "hits": [hit_rows(hit) for hit in shown[item["number"]].hits],
            }
            for item in self.overviews([(number, None, None) for number in shown])
        ]
        refused = [
            {"sentence": plan.sentence, "words": hit_rows(refused.hit), "reason": refused.reason}
            for plan in plans
            for refused in plan.refused
        ]
        edits = sum(len(plan.edits) for plan in changed)
        return {
            "changes": items,
            "total": len(changed),
            "edits": edits,
            "refused": refused[:MAX_COUNT],
            "refused_total": len(refused),
        }

    def values(self, form: str, upos: str) -> Json:
        """Features and lemmas that the file has with a form and a UPOS."""
        return self.checks.values_json(form, upos)

    def validate(self, first: int, count: int, rule: str | None = None) -> Json:
        """A page of validation findings, as of ``arcwise validate``; unannotated words are not reported."""
        findings, ready = self.checks.whole()
        page = findings.to_json(first, min(count, MAX_COUNT), rule, self.checks.muted)
        return {**page, "language": self.checks.language_json(), "ready": ready}

    def history(self, count: int) -> Json:
        """The latest edits and their authors, newest first."""
        steps = self.document.latest_steps(min(count, MAX_COUNT))
        return {
            "steps": [
                {"description": step["description"], "by": step["by"], "at": _date(step["time"])}
                for step in steps
            ]
        }

    def suspicious(self, first: int, count: int) -> Json:
        """The state of the search for suspicious annotations, and a page of its results."""
        state, words = self.suggestions.detection()
        shown = words[first : first + min(count, MAX_COUNT)]
        named = {
            item["number"]: item
            for item in self.overviews([(word["sentence"], None, None) for word in shown])
        }
        items = [
            {**word, **{key: named[word["sentence"]][key] for key in ("sent_id", "text")}}
            for word in shown
            if word["sentence"] in named
        ]
        return {**state, "words": items, "total": len(words)}

    def differences(self, first: int, count: int) -> Json:
        """Agreement with the other file, and a page of differences."""
        return self.require_comparison().to_json(first, min(count, MAX_COUNT))

    def present(self, number: int) -> tuple[Sentence, str]:
        """The current sentence and its version."""
        self.check(number)
        block = self.document.block(number)
        return Treebank(block, source=self.document.source(number), strict=False)[0], block_digest(block)

    def suggest(self, sentence: Sentence, *, gains: bool = False) -> SentenceSuggestions | None:
        """Suggestions for a sentence; one that cannot be parsed gets a note instead."""
        try:
            return self.suggestions.suggest(sentence, gains=gains)
        except ArcwiseError as error:
            return SentenceSuggestions((), note=str(error))

    def check(self, number: int) -> None:
        """Raise ``NotFound`` if there is no such sentence."""
        if not 0 <= number < len(self.document):
            raise NotFound(
                f"sentence {number} does not exist; the file has {len(self.document)} sentences, from 0"
            )

    def require_comparison(self) -> FileComparison:
        """The comparison with the other file; ``InputError`` if there is none."""
        if self.comparison is None:
            raise InputError("there is no file to compare with; start the server with a second file")
        return self.comparison


def _date(nanoseconds: int | None) -> str | None:
    """A time of the journal in ISO 8601, to the second; None if it is not recorded.

    >>> _date(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20+00:00'
    """
    if nanoseconds is None:
        return None
    return datetime.fromtimestamp(nanoseconds // 10**9, timezone.utc).isoformat()
