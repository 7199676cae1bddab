"""``DmvParser``: an induced grammar as a parser, for ``arcwise parse --model dmv.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from arcwise.errors import InputError, ModelError
from arcwise.evaluation.attachment import uas_las
from arcwise.induction.dmv import DMV, Heads, read_json
from arcwise.learning.model_file import Packable, Packed, Precision
from arcwise.parsing.parser import (
    TAGS,
    Capabilities,
    ParseOptions,
    SentenceConstraints,
    check_threads,
    reject_constraints,
)
from arcwise.parsing.parses import Analysis
from arcwise.treebanks import Treebank, as_treebank
from arcwise.treebanks.files import PathLike

VERSION = 1


@dataclass(frozen=True)
class DmvParser(Packable):
    """A DMV grammar with the column of its tags; ``without_punctuation`` if it was trained that way.

    Its trees are projective and have one root.
    """

    kind: ClassVar[str] = "dmv"
    grammar: DMV
    column: str = "upos"
    without_punctuation: bool = False

    @classmethod
    def load(cls, path: PathLike) -> DmvParser:
        """Read a grammar that ``arcwise induce`` wrote as JSON."""
        data = read_json(path)
        return cls(
            DMV.from_json(data, source=str(path)),
            str(data.get("column", "upos")),
            data.get("without_punctuation") is True,
        )

    def pack(self, precision: Precision = "float32") -> Packed:
        """Pack tags, column and parameters, in full precision. (On disk a grammar is JSON: ``save``.)"""
        header = {
            "tags": list(self.grammar.tags),
            "column": self.column,
            "without_punctuation": self.without_punctuation,
        }
        return Packed(self.kind, VERSION, header, {"log_probabilities": self.grammar.log_probabilities})

    @classmethod
    def unpack(cls, packed: Packed) -> DmvParser:
        """Restore a packed grammar."""
        packed.expect(cls.kind, VERSION)
        try:
            header = packed.header
            return cls(
                DMV(tuple(header["tags"]), packed.array("log_probabilities")),
                str(header["column"]),
                header.get("without_punctuation") is True,
            )
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise ModelError(f"{packed.path}: is a damaged dmv model ({error})") from error

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the grammar as JSON, in full precision."""
        self.grammar.save(path, column=self.column, without_punctuation=self.without_punctuation)

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """Replace HEAD and DEPREL (``root`` and ``dep``) by the Viterbi trees."""
        check_threads(threads)
        options.check("dmv", self.capabilities)
        reject_constraints("dmv", constraints)
        return self.grammar.parse_treebank(
            as_treebank(treebank),
            column=self.column,
            without_punctuation=self.without_punctuation,
            threads=threads,
        )

    def analyse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Analysis:
        """Like ``parse``; a grammar has no score arrays."""
        return Analysis(self.parse(treebank, options=options, constraints=constraints, threads=threads))

    @property
    def capabilities(self) -> Capabilities:
        """Projective trees with one root, unsupervised."""
        return Capabilities(projective=(True,), single_root=(True,), keep=(*TAGS, "deps"), supervised=False)

    @property
    def info(self) -> Mapping[str, Any]:
        """Description of the model."""
        return {
            "kind": self.kind,
            "column": self.column,
            "without_punctuation": self.without_punctuation,
            "tags": list(self.grammar.tags),
            "parameters": self.grammar.features.count,
        }


@dataclass(frozen=True)
class Accuracy:
    """Directed and undirected attachment accuracy of ``words`` words."""

    directed: float
    undirected: float
    words: int


def attachment_accuracy(heads: Heads, gold: Heads, starts: np.ndarray) -> Accuracy:
    """Compare heads with gold heads, flat over all words; sentence s is ``starts[s] .. starts[s+1]-1``.

    Undirected: an arc h→m is correct if the gold tree has h→m or m→h. Words without a gold head are skipped.

    >>> attachment_accuracy(np.array([0, 1]), np.array([2, 0]), np.array([0, 2]))
    Accuracy(directed=0.0, undirected=0.5, words=2)
    """
    if len(heads) != len(gold):
        raise InputError(f"heads: found {len(heads)} words, expected {len(gold)} as in the gold treebank")
    annotated, predicted = gold >= 0, heads.astype(np.int64)
    first = np.repeat(starts[:-1].astype(np.int64), np.diff(starts))
    number = np.arange(len(gold)) - first + 1
    turned = (predicted > 0) & (gold[first + np.maximum(predicted, 1) - 1] == number)
    undirected = int((annotated & ((heads == gold) | turned)).sum())
    words = int(annotated.sum())
    return Accuracy(uas_las(gold, heads).uas, undirected / max(words, 1), words)
