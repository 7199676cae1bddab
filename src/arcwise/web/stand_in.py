"""Stand-ins for annotation.document and annotation.assistant until those are here; nothing is kept on disk before ``save``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from arcwise.errors import ArcwiseError, InputError
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Sentence, Treebank, open_output
from arcwise.treebanks.edits import Edit, edited


class ChangedMeanwhile(ArcwiseError):
    """The sentence is another one than the caller saw."""


@dataclass(frozen=True)
class Change:
    version: int
    first: int
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    told: str


def digest(block: bytes) -> str:
    return hashlib.blake2b(block, digest_size=8).hexdigest()


class Document:
    def __init__(self, path: str, blocks: list[bytes]) -> None:
        self.path, self.blocks = path, blocks
        self.version = self._saved = 0
        self._done: list[Change] = []
        self._undone: list[Change] = []

    @classmethod
    def open(cls, path: str) -> Document:
        return cls(path, [s.whole_bytes for s in Treebank.read(path)])

    def __len__(self) -> int:
        return len(self.blocks)

    def block(self, number: int) -> bytes:
        return self.blocks[number]

    def sentence(self, number: int) -> Sentence:
        return Treebank(self.blocks[number], strict=False)[0]

    def treebank(self) -> Treebank:
        return Treebank(b"".join(self.blocks), source=self.path, strict=False)

    def _change(self, first: int, count: int, after: Sequence[bytes], told: str) -> Change:
        for block in after:
            Treebank(block)
        self.version += 1
        change = Change(self.version, first, tuple(self.blocks[first : first + count]), tuple(after), told)
        self.blocks[first : first + count] = after
        self._done.append(change)
        self._undone.clear()
        return change

    def edit(self, number: int, edits: Sequence[Edit], *, version_of_block: str | None = None) -> Change:
        block = self.blocks[number]
        if version_of_block not in (None, digest(block)):
            raise ChangedMeanwhile(f"sentence {number}: was changed meanwhile")
        return self._change(number, 1, [edited(block, edits)], "edit")

    def edit_many(self, edits: Mapping[int, Sequence[Edit]], told: str) -> Change:
        first, last = min(edits), max(edits)
        return self._change(
            first,
            last + 1 - first,
            [edited(self.blocks[i], edits.get(i, ())) for i in range(first, last + 1)],
            told,
        )

    def split_sentence(self, number: int, before_row: str) -> Change:
        raise InputError("split: not here yet")

    def join_sentences(self, number: int) -> Change:
        raise InputError("join: not here yet")

    def _step(self, source: list[Change], target: list[Change], back: bool) -> Change | None:
        if not source:
            return None
        change = source.pop()
        target.append(change)
        old, new = (change.after, change.before) if back else (change.before, change.after)
        self.blocks[change.first : change.first + len(old)] = new
        self.version += 1
        return Change(self.version, change.first, old, new, change.told)

    def undo(self) -> Change | None:
        return self._step(self._done, self._undone, True)

    def redo(self) -> Change | None:
        return self._step(self._undone, self._done, False)

    @property
    def can_undo(self) -> bool:
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    @property
    def saved(self) -> bool:
        return self._saved == self.version

    def save(self) -> None:
        with open_output(self.path) as out:
            out.write(b"".join(self.blocks))
        self._saved = self.version

    def state_on_disk(self) -> Literal["same", "changed", "gone"]:
        return "same" if Path(self.path).exists() else "gone"


@dataclass(frozen=True)
class Thought:
    decided_head: bool
    decided_label: bool
    head: int
    label: str
    probability: float
    label_probability: float
    entropy: float
    gain: float | None
    alternatives: tuple[tuple[int, str, float], ...]


@dataclass(frozen=True)
class Thoughts:
    words: tuple[Thought, ...]
    entropy: float
    second_best: tuple[tuple[int, ...], tuple[str, ...], float] | None
    note: str | None


class Assistant:
    def __init__(self, parser: Any) -> None:
        self._parser = parser

    def think(self, sentence: Sentence, *, gains: bool = False) -> Thoughts:
        from math import log

        proposed = [("HeadProb=" in misc) for misc in sentence.misc]
        heads = [-1 if p else int(h) for p, h in zip(proposed, sentence.heads[1:], strict=True)]
        labels = ["_" if p else label for p, label in zip(proposed, sentence.deprels, strict=True)]
        plain = ["_"] * len(labels)
        import numpy as np

        asked = Treebank(sentence.whole_bytes, strict=False).annotate(
            heads=np.array(heads, np.int32), deprel=labels, misc=plain, strict=False
        )
        options = ParseOptions(confidence=True, alternatives=6, keep=("head", "deprel"))
        found = self._parser.parse(asked, options=options)[0]
        words = []
        for at in range(len(found)):
            pairs = dict(pair.partition("=")[::2] for pair in found.misc[at].split("|"))
            others = tuple(
                (int(h), label, float(p))
                for h, label, p in (
                    a.rsplit(":", 1)[0].split(":", 1) + [a.rsplit(":", 1)[1]]
                    for a in pairs["Alternatives"].split(",")
                )
            )
            entropy = -sum(p * log(p) for *_, p in others if p > 0)
            words.append(
                Thought(
                    heads[at] >= 0,
                    labels[at] != "_",
                    int(found.heads[at + 1]),
                    found.deprels[at],
                    float(pairs["HeadProb"]),
                    float(pairs["DeprelProb"]),
                    entropy,
                    entropy if gains else None,
                    others,
                )
            )
        return Thoughts(tuple(words), sum(w.entropy for w in words), None, None)
