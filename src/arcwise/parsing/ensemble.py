"""``MarginalEnsemble``: several parsers as one, whose marginals are the means of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np

from arcwise.errors import InputError, OptionError
from arcwise.inference.mixture import TreeMixtureBatch, mixture_weights
from arcwise.learning.model_file import Precision
from arcwise.parsing.output import annotated
from arcwise.parsing.parser import (
    Capabilities,
    ParseOptions,
    Parser,
    SentenceConstraints,
    reject_constraints,
)
from arcwise.parsing.parses import Analysis, Parses
from arcwise.treebanks import Treebank
from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.files import PathLike

_BATCH_SENTENCES = 64
"""Sentences whose dense labelled marginals are in memory at a time."""


class MarginalEnsemble:
    """A parser with the mean of several parsers' distributions over trees, of any kinds that have them.

    Unlike an ensemble that averages scores, members need not share features, labels or scale of scores, and a
    member that is wrong and certain cannot rule out a tree. Parsing is by minimum risk. It is a teacher too
    (``Distillation(MarginalEnsemble([…]))``). It has no model file: save its members.

    members: parsers with ``capabilities.distributions``. weights: theirs (default: equal).
    """

    kind: ClassVar[str] = "marginal-ensemble"

    def __init__(self, members: Sequence[Parser], weights: Sequence[float] | None = None) -> None:
        self.members = tuple(members)
        for member in self.members:
            if not member.capabilities.distributions:
                raise OptionError(
                    "members", f"found a {member.kind} parser, which has no distributions over trees"
                )
        if not self.members:
            raise InputError("members: found none, expected at least one parser")
        self.weights = mixture_weights(weights, len(self.members))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all members."""
        return tuple(dict.fromkeys(label for member in self.members for label in _labels(member)))

    @property
    def capabilities(self) -> Capabilities:
        """Minimum-risk trees of any class, and distributions."""
        return Capabilities(
            decoders=("mbr", "mbr-labelled"),
            projective=(True, False),
            single_root=(True, False),
            distributions=True,
        )

    @property
    def info(self) -> Mapping[str, Any]:
        """Kind, number of labels, and the members with their weights."""
        members = [member.kind for member in self.members]
        return {"kind": self.kind, "labels": len(self.labels), "members": members, "weights": self.weights}

    def distributions(
        self,
        sentences: Treebank,
        *,
        projective: bool | None = None,
        single_root: bool | None = None,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> TreeMixtureBatch:
        """Return the mean of the members' distributions.

        The class of trees is that of the first member unless ``projective`` and ``single_root`` say
        otherwise.
        """
        trees: dict[str, Any] = {"projective": projective, "single_root": single_root}
        parts: list[Any] = []
        for member in self.members:
            ask: Any = member  # ``distributions`` is a capability, not part of the protocol
            part = ask.distributions(sentences, constraints=constraints, threads=threads, **trees)
            trees = {"projective": part.tree_class.projective, "single_root": part.tree_class.single_root}
            parts.append(part)
        return TreeMixtureBatch(parts, self.weights.tolist())

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """Return the treebank with the minimum-risk trees."""
        return self.analyse(treebank, options=options, constraints=constraints, threads=threads).treebank

    def analyse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Analysis:
        """Like ``parse``, but also returns the parses as arrays."""
        treebank = as_treebank(treebank)
        options.check(self.kind, self.capabilities)
        options.reject(self.kind, "max_words")
        reject_constraints(self.kind, constraints)
        names = self.labels
        codes = {label: code for code, label in enumerate(names)}
        heads, labels = [np.empty(0, np.int32)], []
        for first in range(0, len(treebank), _BATCH_SENTENCES):
            mixture = self.distributions(
                treebank[first : first + _BATCH_SENTENCES],
                projective=options.projective,
                single_root=options.single_root,
                threads=threads,
            )
            labelled = options.decode == "mbr-labelled"
            for tree in mixture.minimum_labelled_risk() if labelled else mixture.minimum_risk():
                heads.append(tree.heads[1:])
                labels += [codes[label] for label in tree.labels[1:]] if tree.labels else [-1] * len(tree)
        parses = Parses(np.concatenate(heads), np.array(labels, np.int32), names)
        return Analysis(annotated(treebank, parses), parses)

    def pack(self, precision: Precision = "float32") -> NoReturn:
        """Raise ``InputError``: an ensemble of marginals has no model file."""
        raise InputError("a marginal ensemble has no model file; save its members")

    def save(self, path: PathLike, *, precision: Precision = "float32") -> NoReturn:
        """Raise ``InputError``, see ``pack``."""
        self.pack(precision)


def _labels(member: Parser) -> tuple[str, ...]:
    return tuple(getattr(member, "labels", ()))
