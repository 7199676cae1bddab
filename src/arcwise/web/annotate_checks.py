"""What is wrong with sentences, and what labels and tags the file has: counted in the background, kept up to date with each edit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from arcwise.annotation.background_job import BackgroundJob, validation_findings
from arcwise.annotation.document import AnnotationDocument, DocumentChange
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.validation import RELATIONS, UPOS_TAGS, Inventory, check_sentence
from arcwise.web.background import Background

BATCH = 50
"""Sentences that are counted in one go."""
AT_ONCE = 1 << 18
"""Bytes of a file that is checked as a whole while the page waits; a larger one is checked in a process of its own."""
MAX_FINDINGS = 10_000
Json = dict[str, Any]


class Counts:
    """How often labels, tags and features occur."""

    def __init__(self) -> None:
        self.arcs: Counter[tuple[str, str, str]] = Counter()
        self.xpos: Counter[str] = Counter()
        self.feats: Counter[str] = Counter()

    def add(self, treebank: Treebank, sign: int = 1) -> None:
        """Count a treebank; ``sign`` -1: it is gone."""
        for arc, count in Inventory.of(treebank).arcs.items():
            self.arcs[arc] += sign * count
        for tag, count in Counter(treebank.column("xpos")).items():
            self.xpos[tag] += sign * count
        for feats, count in Counter(treebank.column("feats")).items():
            for pair in feats.split("|"):
                self.feats[pair] += sign * count

    def inventory(self) -> Inventory:
        """Labels and tags as validation wants them."""
        arcs = {arc: count for arc, count in self.arcs.items() if count > 0}
        return Inventory(arcs, any(count > 0 and feats != "_" for feats, count in self.feats.items()))


class Checks:
    """The findings of sentences as they are now, and the inventory of the file."""

    def __init__(
        self, document: AnnotationDocument, background: Background, checked: Callable[[int], None]
    ) -> None:
        """``checked`` is called, from any thread, when the whole file was checked: with its version."""
        self._document, self._background, self._checked = document, background, checked
        self._lock = threading.Lock()
        self._counts = Counts()
        self._next = 0
        """The first sentence that is not counted yet."""
        self._seen = document.version
        """The version that the counts are of."""
        self._inventory, self._is_fresh = Inventory(), False
        self._whole: tuple[int, list[Json]] = -1, []
        self._checking = False
        self._job: BackgroundJob | None = None

    # ---- counting

    def start(self) -> None:
        """Count the file, in the background."""
        self._background.add(self._step)

    def _step(self) -> bool:
        """Count some more sentences; then make the inventory anew if something changed."""
        with self._lock:
            if self._seen != self._document.version:  # an edit that we are told of in a moment
                return True
            count = len(self._document)
            if self._next >= count:
                if not self._is_fresh:
                    self._inventory, self._is_fresh = self._counts.inventory(), True
                return False
            last = min(self._next + BATCH, count)
            data = b"".join(self._document.block(number) for number in range(self._next, last))
            if self._seen != self._document.version:
                return True
            self._counts.add(Treebank(data, strict=False))
            self._next, self._is_fresh = last, False
            return True

    def changed(self, change: DocumentChange) -> None:
        """Keep the counts up to date."""
        with self._lock:
            for part in change.parts:  # from the end of the file to its start
                counted = max(0, min(self._next - part.first, len(part.before)))
                if not counted:
                    continue
                self._counts.add(Treebank(b"".join(part.before[:counted]), strict=False), -1)
                stay = part.after if counted == len(part.before) else part.after[:counted]
                self._counts.add(Treebank(b"".join(stay), strict=False))
                self._next += len(stay) - counted
            self._seen, self._is_fresh = change.version, False
        self._background.add(self._step)

    def inventory_json(self) -> Json:
        """Labels, tags and features, the most frequent first; universal ones that the file does not have come last."""
        with self._lock:
            counts = self._counts
            found = {
                "deprel": Counter[str](),
                "upos": Counter[str](),
                "xpos": counts.xpos,
                "feats": counts.feats,
            }
            for (_, upos, deprel), count in counts.arcs.items():
                found["upos"][upos] += count
                found["deprel"][deprel] += count
            listed = {
                name: [v for v, n in own.most_common() if n > 0 and v not in ("_", "")]
                for name, own in found.items()
            }
            known = {"deprel": RELATIONS, "upos": UPOS_TAGS}
            for name, values in known.items():
                listed[name] += [value for value in sorted(values) if value not in listed[name]]
            return {**listed, "ready": self._next >= len(self._document)}

    # ---- checking

    def of(self, sentence: Sentence) -> list[Json]:
        """What is wrong with a sentence."""
        return [finding.to_json() for finding in check_sentence(sentence, self._inventory, partial=True)]

    def whole(self) -> tuple[int, list[Json], bool]:
        """What is wrong with the file: the version that was checked, the findings, and whether it is the present version. A large file
        is checked in a process of its own; until that is done, the findings are those of before."""
        version = self._document.version
        with self._lock:
            known, found = self._whole
            if known == version or self._checking:
                return known, found, known == version
            self._checking = True
        data = self._document.treebank().data
        if len(data) <= AT_ONCE:
            self._heard(version, {"end": "done", "findings": validation_findings(data, MAX_FINDINGS)})
        else:
            self._job = BackgroundJob(
                "validate", {"most": MAX_FINDINGS}, data, lambda told: self._heard(version, told)
            )
        with self._lock:
            known, found = self._whole
        return known, found, known == version

    def _heard(self, version: int, told: Mapping[str, Any]) -> None:
        with self._lock:
            self._checking = False
            if told["end"] == "done":
                self._whole = version, told["findings"]
        self._checked(version)

    def close(self) -> None:
        """End a check that is not over."""
        if self._job is not None and self._checking:
            self._job.cancel()
