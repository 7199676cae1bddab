"""What a person decided before a parse: values that are kept, constraints of MISC and of Python; and the groups of sentences that can then be
parsed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from arcwise.errors import ConstraintError, InputError
from arcwise.inference import Constraints, TreeClass, fitting_class
from arcwise.inference.arc_matrices import Span
from arcwise.parsing.misc_form import read_constraints, sentence_name
from arcwise.parsing.parser import Given, ParseOptions
from arcwise.parsing.parses import Codes, Note
from arcwise.treebanks import Sentence, Treebank


@dataclass(frozen=True)
class Group:
    """Sentences that are parsed together: of one class of trees, all with or all without constraints beyond required heads."""

    treebank: Treebank
    sentences: tuple[int, ...]
    """Their numbers in the treebank that is parsed."""
    trees: TreeClass
    constraints: tuple[Constraints | None, ...]
    """Of each of them; labels are those of words whose heads are open."""

    @property
    def is_free(self) -> bool:
        """Whether nothing is decided."""
        return all(own is None for own in self.constraints)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is decided but heads."""
        return all(own is None or _only_heads(own) for own in self.constraints)

    @property
    def spans(self) -> list[tuple[Span, ...]]:
        """Those of each sentence that must be subtrees."""
        return [() if own is None else tuple(own.subtrees) for own in self.constraints]

    def required(self) -> Codes | None:
        """The head that each word must have, flat over all words, -1 where it is free; None if all are."""
        if self.is_free:
            return None
        codes = np.full(self.treebank.word_count, -1, np.int32)
        for first, own in self._each():
            for h, m in own.required:
                codes[first + m - 1] = h
        return codes

    def labels(self, names: tuple[str, ...]) -> Codes | None:
        """The number of the label that each word must have, -1 where it is free; None if all are."""
        if not any(own is not None and own.labels for own in self.constraints):
            return None
        codes = np.full(self.treebank.word_count, -1, np.int32)
        for first, own in self._each():
            for m, label in own.labels.items():
                codes[first + m - 1] = names.index(label)
        return codes

    def forbidden(self) -> npt.NDArray[np.bool_] | None:
        """Flat over the (n+1)² arcs of all sentences: those that must not be; None if there are none beyond required heads."""
        if all(own is None or _only_heads(replace(own, labels={})) for own in self.constraints):
            return None
        masks = []
        for n, own in zip(self.treebank.sentence_lengths.tolist(), self.constraints, strict=True):
            known = Constraints() if own is None else replace(own, labels={})
            masks.append(~known.mask(n, self.trees, None).ravel())
        return np.concatenate(masks)

    def part(self, places: Iterable[int], *, labels: bool = True) -> Group:
        """Some of the sentences, by their places in the group; ``labels=False``: with no label decided."""
        places = list(places)
        constraints = [self.constraints[i] for i in places]
        if not labels:
            constraints = [own and replace(own, labels={}) for own in constraints]
        treebank = Treebank.from_sentences([self.treebank[i] for i in places], source=self.treebank.source)
        return Group(treebank, tuple(self.sentences[i] for i in places), self.trees, tuple(constraints))

    def _each(self) -> Iterator[tuple[int, Constraints]]:
        starts = self.treebank.sentence_words.astype(int).tolist()
        return ((starts[i], own) for i, own in enumerate(self.constraints) if own is not None)


@dataclass(frozen=True)
class Decisions:
    """Everything that is decided of a treebank: its groups, the labels that stay, and what there is to say."""

    treebank: Treebank
    groups: tuple[Group, ...]
    labels: dict[int, str] = field(default_factory=dict)
    """Word of the treebank → the label that stays, whatever the parser says."""
    notes: tuple[Note, ...] = ()
    unparsed: tuple[int, ...] = ()
    """Sentences whose decisions fit no tree: they stay as they are."""

    @classmethod
    def of(
        cls,
        treebank: Treebank,
        options: ParseOptions,
        given: Given,
        trees: TreeClass,
        label_names: tuple[str, ...],
        *,
        most: int | None = None,
    ) -> Decisions:
        """The decisions of a treebank, for a parser of trees ``trees`` with these labels, in groups of at most ``most`` sentences.

        ``ConstraintError`` if the constraints of Python (``given``) clash, or name a label that the parser does not have; those of the
        file that clash leave their sentence unparsed.
        """
        if given is not None and len(given) != len(treebank):
            raise InputError(
                f"constraints: found {len(given)}, expected one for each of {len(treebank)} sentences"
            )
        decided = given is not None or options.misc_constraints or options.kept & {"head", "deprel"}
        if not decided or not len(treebank):
            everything = Group(treebank, tuple(range(len(treebank))), trees, (None,) * len(treebank))
            return cls(treebank, tuple(_pieces(everything, most)))
        collected = _Collected(treebank, options, given, trees, label_names)
        for sentence in treebank:
            collected.add(sentence)
        return cls(
            treebank,
            tuple(piece for group in collected.groups() for piece in _pieces(group, most)),
            collected.labels,
            tuple(collected.notes),
            tuple(collected.unparsed),
        )


class _Collected:
    """The decisions of one sentence after the other."""

    def __init__(
        self,
        treebank: Treebank,
        options: ParseOptions,
        given: Given,
        trees: TreeClass,
        label_names: tuple[str, ...],
    ) -> None:
        self.treebank, self.given, self.trees = treebank, given, trees
        self.names = frozenset(label_names)
        self.misc = read_constraints(treebank) if options.misc_constraints else [None] * len(treebank)
        self.heads = np.asarray(treebank.heads) if "head" in options.kept else None
        self.deprels = treebank.column("deprel") if "deprel" in options.kept and label_names else None
        self.labels: dict[int, str] = {}
        self.notes: list[Note] = []
        self.unparsed: list[int] = []
        self.found: dict[tuple[TreeClass, bool], list[tuple[int, Constraints | None]]] = {}

    def add(self, sentence: Sentence) -> None:
        s = sentence.number
        own = self.given[s] if self.given is not None else None
        try:
            decided, kept = self._decided(sentence, own)
            if decided is None and not kept:
                return self._put(s, None, self.trees)
            decided = decided or Constraints()
            fitting = fitting_class(decided, len(sentence), self.trees)
        except ConstraintError as error:
            if own is not None:
                raise ConstraintError(f"{sentence_name(sentence)}: {error}") from error
            self.unparsed.append(s)
            self.notes.append(
                Note.of(sentence, f"left as it is, because what is decided fits no tree: {error}")
            )
            return None
        if fitting.reason:
            text = f"what is decided needs {fitting.reason}, which this sentence may therefore have"
            self.notes.append(Note.of(sentence, text))
        first = int(self.treebank.sentence_words[s])
        headed = {m for _, m in decided.required}
        stay = {**decided.labels, **kept}
        self.labels |= {first + m - 1: label for m, label in stay.items()}
        open_labels = {m: label for m, label in stay.items() if m not in headed and label in self.names}
        return self._put(s, replace(decided, labels=open_labels), fitting.trees)

    def _decided(
        self, sentence: Sentence, own: Constraints | None
    ) -> tuple[Constraints | None, dict[int, str]]:
        """The constraints of a sentence, and the labels that it keeps."""
        s = sentence.number
        first, last = (int(i) for i in self.treebank.sentence_words[s : s + 2])
        parts = [part for part in (own, self.misc[s]) if part is not None]
        for part in parts:
            self._check_labels(part)
        if self.heads is not None and (self.heads[first:last] >= 0).any():
            heads = self.heads[first:last].tolist()
            parts.append(Constraints(required=[(h, m) for m, h in enumerate(heads, 1) if h >= 0]))
        kept: dict[int, str] = {}
        if self.deprels is not None:
            kept = {m: label for m, label in enumerate(self.deprels[first:last], 1) if label != "_"}
        decided: Constraints | None = None
        for part in parts:
            decided = part.joined(decided)
        if decided is not None:
            decided.joined(Constraints(labels=kept))  # a clash is told
        return decided, kept

    def _check_labels(self, constraints: Constraints) -> None:
        for m, label in constraints.labels.items():
            if label not in self.names:
                known = (
                    f"expected one of {', '.join(sorted(self.names))}"
                    if self.names
                    else "the parser has none"
                )
                raise ConstraintError(f"labels: found {label!r} for word {m}, {known}")

    def _put(self, s: int, constraints: Constraints | None, trees: TreeClass) -> None:
        is_plain = constraints is None or _only_heads(constraints)
        self.found.setdefault((trees, is_plain), []).append((s, constraints))

    def groups(self) -> Iterator[Group]:
        for (trees, _), own in self.found.items():
            sentences = tuple(s for s, _ in own)
            if len(sentences) == len(self.treebank):
                treebank = self.treebank
            else:
                treebank = Treebank.from_sentences(
                    [self.treebank[s] for s in sentences], source=self.treebank.source
                )
            yield Group(treebank, sentences, trees, tuple(c for _, c in own))


def _only_heads(constraints: Constraints) -> bool:
    return constraints == Constraints(required=constraints.required)


def _pieces(group: Group, most: int | None) -> Iterator[Group]:
    if most is None or len(group.sentences) <= most:
        yield group
        return
    for start in range(0, len(group.sentences), most):
        yield group.part(range(start, min(start + most, len(group.sentences))))
