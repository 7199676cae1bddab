"""Validation findings, and the inventory of labels and tags, updated with each edit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arcwise.annotation.background_job import BackgroundJob, run_task
from arcwise.annotation.document import DocumentChange
from arcwise.annotation.editable import EditableTreebank
from arcwise.annotation.language_beside import LanguageBeside
from arcwise.annotation.muted_rules import MutedRules
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.validation import RELATIONS, UPOS_TAGS, Inventory, check_sentence
from arcwise.web.background import Background

BATCH = 50
"""Sentences counted in one background step."""
MAX_FINDINGS = 100_000
"""Findings that can be listed, errors first; beyond them the first of every rule are, and all are counted."""
Json = dict[str, Any]


@dataclass(frozen=True)
class FileFindings:
    """The findings of one version of the file."""

    version: int = -1
    findings: Sequence[Json] = ()
    """Errors first."""
    rules: Sequence[Json] = ()
    """``{rule, warning, count}``, errors first; the counts are complete."""
    language_version: int = 0
    """The version of the language data that were checked against."""

    def to_json(self, first: int, count: int, rule: str | None, muted: Collection[str] = ()) -> Json:
        """A page of the findings: of all rules that are not muted, or of one rule."""
        listed = [
            finding
            for finding in self.findings
            if (finding["rule"] not in muted if rule is None else finding["rule"] == rule)
        ]
        rules = [group for group in self.rules if group["rule"] not in muted]
        counted = rules if rule is None else [group for group in self.rules if group["rule"] == rule]
        return {
            "findings": listed[first : first + count],
            "listed": len(listed),
            "total": sum(group["count"] for group in counted),
            "errors": sum(group["count"] for group in rules if not group["warning"]),
            "rules": rules,
            "muted": sorted(muted),
            "version": self.version,
        }


class Counts:
    """Frequencies of labels, tags and features."""

    def __init__(self) -> None:
        self.arcs: Counter[tuple[str, str, str]] = Counter()
        self.xpos: Counter[str] = Counter()
        self.feats: Counter[str] = Counter()
        self.features: dict[str, Counter[str]] = {}
        """UPOS → features (``Number=Plur``)."""
        self.lemmas: dict[str, Counter[tuple[str, str]]] = {}
        """Form in lower case → (UPOS, lemma)."""

    def add(self, treebank: Treebank, sign: int = 1) -> None:
        """Count a treebank; ``sign=-1`` subtracts it."""
        for arc, count in Inventory.of(treebank).arcs.items():
            self.arcs[arc] += sign * count
        for tag, count in Counter(treebank.column("xpos")).items():
            self.xpos[tag] += sign * count
        upos = treebank.column("upos")
        for (tag, feats), count in Counter(zip(upos, treebank.column("feats"), strict=True)).items():
            of_tag = self.features.setdefault(tag, Counter())
            for pair in feats.split("|"):
                self.feats[pair] += sign * count
                of_tag[pair] += sign * count
        words = zip(treebank.column("form"), upos, treebank.column("lemma"), strict=True)
        for (form, tag, lemma), count in Counter(words).items():
            if lemma != "_":
                self.lemmas.setdefault(form.lower(), Counter())[tag, lemma] += sign * count

    def seen_features(self, upos: str) -> list[tuple[str, list[str]]]:
        """Attributes seen with a UPOS (empty: with any), each with its values, most frequent first."""
        counter = self.features.get(upos, Counter()) if upos else self.feats
        values: dict[str, list[str]] = {}
        for pair, count in counter.most_common():
            name, equals, value = pair.partition("=")
            if count > 0 and equals:
                values.setdefault(name, []).append(value)
        return list(values.items())

    def seen_lemmas(self, form: str, upos: str) -> list[tuple[str, int]]:
        """Lemmas of a form with their counts: first those with the same UPOS, most frequent first."""
        counter = self.lemmas.get(form.lower(), Counter())
        ranked = sorted(counter.items(), key=lambda entry: (entry[0][0] != upos, -entry[1], entry[0][1]))
        lemmas: dict[str, int] = {}
        for (_, lemma), count in ranked:
            if count > 0:
                lemmas[lemma] = lemmas.get(lemma, 0) + count
        return list(lemmas.items())

    def inventory(self) -> Inventory:
        """The inventory that validation takes."""
        # Counts are subtracted as sentences change, so zeros stay behind.
        arcs = {arc: count for arc, count in self.arcs.items() if count > 0}
        return Inventory(arcs, any(count > 0 and feats != "_" for feats, count in self.feats.items()))


class Checks:
    """Findings of the current sentences, and the inventory of the file."""

    def __init__(
        self, document: EditableTreebank, background: Background, checked: Callable[[int], None]
    ) -> None:
        """``checked`` is called, from any thread, with the version of the file after it was validated."""
        self._document, self._background, self._checked = document, background, checked
        self._muted_rules = MutedRules(document.stem)
        self._muted = self._muted_rules.read()
        self._language = LanguageBeside(document.stem)
        self._lock = threading.Lock()
        self._counts = Counts()
        self._next = 0
        """The first sentence not counted yet."""
        self._seen = document.version
        """The document version of the counts."""
        self._inventory, self._is_fresh = Inventory(), False
        self._refresh_language()
        self._had_tags: bool | None = None
        self._whole = FileFindings()
        self._checking = False
        self._job: BackgroundJob | None = None

    def start(self) -> None:
        """Start counting the file in the background."""
        self._background.add(self._step)

    def _step(self) -> bool:
        """Count some more sentences, then rebuild the inventory if something changed."""
        with self._lock:
            if self._seen != self._document.version:  # ``changed`` is about to be called for a newer edit
                # Not counted now: the old and the new version of a sentence would be mixed.
                return True
            count = len(self._document)
            if self._next >= count:
                if not self._is_fresh:
                    inventory = replace(self._counts.inventory(), language=self._language.data)
                    self._inventory, self._is_fresh = inventory, True
                return False
            last = min(self._next + BATCH, count)
            data = b"".join(self._document.block(number) for number in range(self._next, last))
            if self._seen != self._document.version:  # edited while it was read: count this batch again
                return True
            self._counts.add(Treebank(data, strict=False))
            self._next, self._is_fresh = last, False
            return True

    def changed(self, change: DocumentChange) -> None:
        """Update the counts."""
        with self._lock:
            for splice in change.parts:  # from the end of the file to its start, so that numbers stay valid
                counted = max(0, min(self._next - splice.first, len(splice.before)))
                if not counted:
                    continue
                self._counts.add(Treebank(b"".join(splice.before[:counted]), strict=False), -1)
                stay = splice.after if counted == len(splice.before) else splice.after[:counted]
                self._counts.add(Treebank(b"".join(stay), strict=False))
                self._next += len(stay) - counted
            self._seen, self._is_fresh = change.version, False
        self._background.add(self._step)

    def inventory_json(self) -> Json:
        """Labels, tags and features, most frequent first; universal values that the file lacks come last."""
        with self._lock:
            counts = self._counts
            frequencies = {
                "deprel": Counter[str](),
                "upos": Counter[str](),
                "xpos": counts.xpos,
                "feats": counts.feats,
            }
            for (_, upos, deprel), count in counts.arcs.items():
                frequencies["upos"][upos] += count
                frequencies["deprel"][deprel] += count
            listed = {
                name: [v for v, n in counter.most_common() if n > 0 and v not in ("_", "")]
                for name, counter in frequencies.items()
            }
            universal = {"deprel": RELATIONS, "upos": UPOS_TAGS}
            for name, values in universal.items():
                listed[name] += [value for value in sorted(values) if value not in listed[name]]
            return {**listed, "ready": self._next >= len(self._document)}

    def values_json(self, form: str, upos: str) -> Json:
        """Features and lemmas that the file has with a form and a UPOS: by attribute, and with counts."""
        with self._lock:
            return {
                "features": self._counts.seen_features(upos),
                "lemmas": self._counts.seen_lemmas(form, upos),
            }

    @property
    def has_tags(self) -> bool:
        """Whether some word of the file has a UPOS; a word then needs one to count as annotated."""
        with self._lock:
            has_tags = any(count > 0 and upos != "_" for (_, upos, _), count in self._counts.arcs.items())
            if has_tags or self._next >= len(self._document):
                return has_tags
        if self._had_tags is None:  # not counted yet: looked up once, usually in the first batch
            batches = (treebank for _, treebank in self._document.batches())
            self._had_tags = any(tag != "_" for treebank in batches for tag in treebank.column("upos"))
        return self._had_tags

    @property
    def has_case_feature(self) -> bool:
        """Whether nouns have the feature Case, as far as the file is counted."""
        with self._lock:
            of_nouns = self._counts.features.get("NOUN", Counter())
            return any(count > 0 and pair.startswith("Case=") for pair, count in of_nouns.items())

    def of(self, sentence: Sentence) -> list[Json]:
        """The findings of a sentence, without muted rules."""
        self._refresh_language()
        findings = check_sentence(sentence, self._inventory, partial=True)
        return [finding.to_json() for finding in findings if finding.rule not in self._muted]

    def _refresh_language(self) -> None:
        """Take over language data that were edited since the last check."""
        if self._language.refresh():
            with self._lock:
                self._inventory = replace(self._inventory, language=self._language.data)

    def language_json(self) -> Json | None:
        """The file of language data that findings are based on, and why it cannot be read, if so."""
        language = self._language
        return None if language.path is None else {"file": language.path.name, "error": language.error}

    def mute(self, rule: str, *, muted: bool) -> None:
        """Mute a rule for the project, or report it again."""
        self._muted_rules.set(rule, muted=muted)
        self._muted = self._muted_rules.read()
        self._checked(self._whole.version)

    @property
    def muted(self) -> frozenset[str]:
        """The muted rules."""
        return self._muted

    def whole(self) -> tuple[FileFindings, bool]:
        """The findings of the file, and whether they are of the current version.

        A large file is validated in a child process; until that ends, the findings of the earlier version are
        returned.
        """
        self._refresh_language()
        version, language = self._document.version, self._language.version
        with self._lock:
            if self._is_current(version, language) or self._checking:
                return self._whole, self._is_current(version, language)
            self._checking = True
        path = None if self._language.data is None else str(self._language.path)
        self._job = run_task(
            "validate",
            {"most": MAX_FINDINGS, "language": path},
            self._document.treebank().data,
            lambda message: self._finished(version, language, message),
        )
        with self._lock:
            return self._whole, self._is_current(version, language)

    def _is_current(self, version: int, language: int) -> bool:
        return (self._whole.version, self._whole.language_version) == (version, language)

    def _finished(self, version: int, language: int, message: Mapping[str, Any]) -> None:
        with self._lock:
            # Reset whatever happened, or a failed check would block all later ones.
            self._checking = False
            if message["end"] == "done":
                self._whole = FileFindings(version, message["findings"], message["rules"], language)
        self._checked(version)

    def close(self) -> None:
        """Stop a running check."""
        if self._job is not None and self._checking:
            self._job.cancel()
