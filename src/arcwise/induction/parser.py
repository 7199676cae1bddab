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
from arcwise.parsing.parser import TAGS, Capabilities, ParseOptions, SentenceConstraints, reject_constraints
from arcwise.parsing.parses import Analysis
from arcwise.treebanks import Treebank, as_treebank
from arcwise.treebanks.files import PathLike

VERSION = 1


@dataclass(frozen=True)
class DmvParser(Packable):
    """A DMV grammar, the column whose tags it reads, and whether it was learned without punctuation (then it parses without, too).

    Its trees are projective and have one root.
    """

    kind: ClassVar[str] = "dmv"
    grammar: DMV
    column: str = "upos"
    without_punctuation: bool = False

    @classmethod
    def load(cls, path: PathLike) -> DmvParser:
        """The grammar of a JSON file that ``arcwise induce`` wrote."""
        data = read_json(path)
        return cls(
            DMV.from_json(data, source=str(path)),
            str(data.get("column", "upos")),
            data.get("without_punctuation") is True,
        )

    def pack(self, precision: Precision = "float32") -> Packed:
        """Tags, column and parameters, in full whatever the precision. (On disk a grammar is JSON: ``save``.)"""
        header = {
            "tags": list(self.grammar.tags),
            "column": self.column,
            "without_punctuation": self.without_punctuation,
        }
        return Packed(self.kind, VERSION, header, {"log_probabilities": self.grammar.log_probabilities})

    @classmethod
    def unpack(cls, packed: Packed) -> DmvParser:
        """The grammar again."""
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
        """Write the grammar as JSON; probabilities are written in full, whatever the precision."""
        self.grammar.save(path, column=self.column, without_punctuation=self.without_punctuation)

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """The treebank with HEAD and DEPREL (``root`` and ``dep``) replaced by the best trees."""
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
        """``parse``; a grammar gives no arrays."""
        return Analysis(self.parse(treebank, options=options, constraints=constraints, threads=threads))

    @property
    def capabilities(self) -> Capabilities:
        """Projective trees with one root, learned from tags."""
        return Capabilities(projective=(True,), single_root=(True,), keep=(*TAGS, "deps"), supervised=False)

    @property
    def info(self) -> Mapping[str, Any]:
        """What the model is."""
        return {
            "kind": self.kind,
            "column": self.column,
            "without_punctuation": self.without_punctuation,
            "tags": list(self.grammar.tags),
            "parameters": self.grammar.features.count,
        }


@dataclass(frozen=True)
class Accuracy:
    """Shares of words whose head is right (``directed``), or whose arc is right up to its direction (``undirected``)."""

    directed: float
    undirected: float
    words: int


def attachment_accuracy(heads: Heads, gold: Heads, starts: np.ndarray) -> Accuracy:
    """Compare heads with gold heads, flat over all words; sentence s is ``starts[s] .. starts[s+1]-1``.

    Undirected: an arc h→m is right if the gold tree has h→m or m→h. Words without a gold head are left out.

    >>> attachment_accuracy(np.array([0, 1]), np.array([2, 0]), np.array([0, 2]))
    Accuracy(directed=0.0, undirected=0.5, words=2)
    """
    if len(heads) != len(gold):
        raise InputError(f"heads: found {len(heads)} words, expected {len(gold)} as in the gold treebank")
    known, found = gold >= 0, heads.astype(np.int64)
    first = np.repeat(starts[:-1].astype(np.int64), np.diff(starts))
    number = np.arange(len(gold)) - first + 1
    turned = (found > 0) & (gold[first + np.maximum(found, 1) - 1] == number)
    undirected = int((known & ((heads == gold) | turned)).sum())
    words = int(known.sum())
    return Accuracy(uas_las(gold, heads).uas, undirected / max(words, 1), words)
