"""Constrained parsing: collect constraints, parse sentences in groups, assemble the results.

Constraints come from kept columns, from MISC and from Python. ``ParseConstraints.of`` joins them for each
sentence, widens the class of trees where they need it, and groups sentences that can be parsed in one call.
``parse_groups`` parses the groups; ``assemble`` puts the parses together in the order of the treebank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from arcwise.errors import ConstraintError, InputError, NoTreeError
from arcwise.inference import Alternative, Constraints, TreeClass, fitting_class
from arcwise.inference.arc_matrices import Span
from arcwise.parsing.misc_form import read_constraints, sentence_name
from arcwise.parsing.parser import ParseOptions, SentenceConstraints
from arcwise.parsing.parses import (
    Codes,
    Floats,
    GoldProbabilities,
    KBestParses,
    Note,
    Parses,
    Probabilities,
    TreeProbabilities,
)
from arcwise.treebanks import Sentence, Treebank

P = TypeVar("P")
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ConstraintGroup:
    """Sentences parsed in one call: one tree class, constraints beyond required heads in all or none."""

    treebank: Treebank
    sentences: tuple[int, ...]
    """Their indices in the whole treebank."""
    trees: TreeClass
    constraints: tuple[Constraints | None, ...]
    """One per sentence; labels are those of words whose heads are free."""

    @property
    def is_free(self) -> bool:
        """Whether there are no constraints."""
        return all(constraints is None for constraints in self.constraints)

    @property
    def is_plain(self) -> bool:
        """Whether there are no constraints beyond required heads."""
        return all(constraints is None or _only_heads(constraints) for constraints in self.constraints)

    @property
    def spans(self) -> list[tuple[Span, ...]]:
        """The spans of each sentence that must be subtrees."""
        return [
            () if constraints is None else tuple(constraints.subtrees) for constraints in self.constraints
        ]

    def required(self) -> Codes | None:
        """The required head of each word, flat over all words, -1 where free; None if all are free."""
        if self.is_free:
            return None
        codes = np.full(self.treebank.word_count, -1, np.int32)
        for first, constraints in self._constrained():
            for h, m in constraints.required:
                codes[first + m - 1] = h
        return codes

    def labels(self, names: tuple[str, ...]) -> Codes | None:
        """The index of each word's required label, -1 where free; None if all are free."""
        if not any(constraints is not None and constraints.labels for constraints in self.constraints):
            return None
        codes = np.full(self.treebank.word_count, -1, np.int32)
        for first, constraints in self._constrained():
            for m, label in constraints.labels.items():
                codes[first + m - 1] = names.index(label)
        return codes

    def forbidden(self) -> npt.NDArray[np.bool_] | None:
        """The forbidden arcs, flat over (n+1)² arcs per sentence; None if only heads are required."""
        unlabelled = _without_labels(self.constraints)
        if all(constraints is None or _only_heads(constraints) for constraints in unlabelled):
            return None
        masks = []
        for n, constraints in zip(self.treebank.sentence_lengths.tolist(), unlabelled, strict=True):
            masks.append(~(constraints or Constraints()).mask(n, self.trees, None).ravel())
        return np.concatenate(masks)

    def part(self, places: Iterable[int], *, labels: bool = True) -> ConstraintGroup:
        """Some of the sentences, by their position in the group; ``labels=False`` drops label constraints."""
        places = list(places)
        constraints = [self.constraints[i] for i in places]
        if not labels:
            constraints = _without_labels(constraints)
        treebank = Treebank.from_sentences([self.treebank[i] for i in places], source=self.treebank.source)
        numbers = tuple(self.sentences[i] for i in places)
        return ConstraintGroup(treebank, numbers, self.trees, tuple(constraints))

    def _constrained(self) -> Iterator[tuple[int, Constraints]]:
        """The first word and the constraints of each sentence that has any."""
        starts = self.treebank.sentence_words.astype(int).tolist()
        return ((starts[i], part) for i, part in enumerate(self.constraints) if part is not None)


@dataclass(frozen=True)
class ParseConstraints:
    """All constraints on the parse of a treebank, in groups."""

    treebank: Treebank
    groups: tuple[ConstraintGroup, ...]
    labels: dict[int, str] = field(default_factory=dict)
    """Word of the treebank → its label in the output, whatever the parser predicts."""
    notes: tuple[Note, ...] = ()
    unparsed: tuple[int, ...] = ()
    """Sentences left unchanged, because no tree satisfies their constraints."""

    @classmethod
    def of(
        cls,
        treebank: Treebank,
        options: ParseOptions,
        constraints: SentenceConstraints,
        trees: TreeClass,
        label_names: tuple[str, ...],
        *,
        max_group: int | None = None,
    ) -> ParseConstraints:
        """Collect the constraints of a treebank in groups of at most ``max_group`` sentences.

        ``trees`` and ``label_names`` are the parser's. Raises ``ConstraintError`` if ``constraints``
        contradict each other or name a label that the parser does not have; a contradiction in the file
        leaves its sentence unparsed.
        """
        if constraints is not None and len(constraints) != len(treebank):
            raise InputError(
                f"constraints: found {len(constraints)}, expected one for each of {len(treebank)} sentences"
            )
        any_constraints = (
            constraints is not None or options.misc_constraints or options.kept & {"head", "deprel"}
        )
        if not any_constraints or not len(treebank):
            whole = ConstraintGroup(treebank, tuple(range(len(treebank))), trees, (None,) * len(treebank))
            return cls(treebank, tuple(_pieces(whole, max_group)))
        collector = _Collector(treebank, options, constraints, trees, label_names)
        for sentence in treebank:
            collector.add(sentence)
        return cls(
            treebank,
            tuple(piece for group in collector.groups() for piece in _pieces(group, max_group)),
            collector.labels,
            tuple(collector.notes),
            tuple(collector.unparsed),
        )


class _Collector:
    """Collects the constraints of one sentence after the other."""

    def __init__(
        self,
        treebank: Treebank,
        options: ParseOptions,
        constraints: SentenceConstraints,
        trees: TreeClass,
        label_names: tuple[str, ...],
    ) -> None:
        self.treebank, self.constraints, self.trees = treebank, constraints, trees
        self.names = frozenset(label_names)
        self.misc = read_constraints(treebank) if options.misc_constraints else [None] * len(treebank)
        self.heads = np.asarray(treebank.heads) if "head" in options.kept else None
        self.deprels = treebank.column("deprel") if "deprel" in options.kept and label_names else None
        self.labels: dict[int, str] = {}
        self.notes: list[Note] = []
        self.unparsed: list[int] = []
        self.by_class: dict[tuple[TreeClass, bool], list[tuple[int, Constraints | None]]] = {}

    def add(self, sentence: Sentence) -> None:
        s = sentence.number
        from_python = self.constraints[s] if self.constraints is not None else None
        try:
            joined, kept_labels = self._join(sentence, from_python)
            if joined is None and not kept_labels:
                return self._put(s, None, self.trees)
            joined = joined or Constraints()
            fitting = fitting_class(joined, len(sentence), self.trees)
        except ConstraintError as error:
            if from_python is not None:
                # A mistake in Python is the caller's; one in a file concerns one sentence of many.
                raise ConstraintError(f"{sentence_name(sentence)}: {error}") from error
            self.unparsed.append(s)
            self.notes.append(
                Note.of(sentence, f"left unchanged: no tree satisfies its constraints ({error})")
            )
            return None
        if fitting.reason:
            text = f"its constraints need {fitting.reason}, which this sentence may therefore have"
            self.notes.append(Note.of(sentence, text))
        first = int(self.treebank.sentence_words[s])
        headed = {m for _, m in joined.required}
        labels = {**joined.labels, **kept_labels}
        self.labels |= {first + m - 1: label for m, label in labels.items()}
        # A label constrains the search only where the head is free, and only if the parser has it.
        open_labels = {m: label for m, label in labels.items() if m not in headed and label in self.names}
        return self._put(s, replace(joined, labels=open_labels), fitting.trees)

    def _join(
        self, sentence: Sentence, from_python: Constraints | None
    ) -> tuple[Constraints | None, dict[int, str]]:
        """Join the constraints of a sentence from all sources; and its kept labels."""
        s = sentence.number
        first, last = (int(i) for i in self.treebank.sentence_words[s : s + 2])
        parts = [part for part in (from_python, self.misc[s]) if part is not None]
        for part in parts:
            self._check_labels(part, last - first)
        if self.heads is not None and (self.heads[first:last] >= 0).any():
            heads = self.heads[first:last].tolist()
            parts.append(Constraints(required=[(h, m) for m, h in enumerate(heads, 1) if h >= 0]))
        kept_labels: dict[int, str] = {}
        if self.deprels is not None:
            kept_labels = {m: label for m, label in enumerate(self.deprels[first:last], 1) if label != "_"}
        joined: Constraints | None = None
        for part in parts:
            joined = part.joined(joined)
        if joined is not None:
            joined.joined(Constraints(labels=kept_labels))  # raises if a label is contradicted
        return joined, kept_labels

    def _check_labels(self, constraints: Constraints, n: int) -> None:
        for m, label in constraints.labels.items():
            if not 1 <= m <= n:
                raise ConstraintError(f"labels: found word {m}, expected 1..{n}")
            if label not in self.names:
                expected = (
                    f"expected one of {', '.join(sorted(self.names))}"
                    if self.names
                    else "the parser has no labels"
                )
                raise ConstraintError(f"labels: found {label!r} for word {m}, {expected}")

    def _put(self, s: int, constraints: Constraints | None, trees: TreeClass) -> None:
        is_plain = constraints is None or _only_heads(constraints)
        self.by_class.setdefault((trees, is_plain), []).append((s, constraints))

    def groups(self) -> Iterator[ConstraintGroup]:
        for (trees, _), members in self.by_class.items():
            sentences = tuple(s for s, _ in members)
            # The common case, all sentences in one group, keeps the treebank and copies no bytes.
            if len(sentences) == len(self.treebank):
                treebank = self.treebank
            else:
                treebank = Treebank.from_sentences(
                    [self.treebank[s] for s in sentences], source=self.treebank.source
                )
            yield ConstraintGroup(treebank, sentences, trees, tuple(c for _, c in members))


def _without_labels(constraints: Sequence[Constraints | None]) -> list[Constraints | None]:
    return [None if part is None else replace(part, labels={}) for part in constraints]


def _only_heads(constraints: Constraints) -> bool:
    # Compared as a whole, so that a new kind of constraint cannot be forgotten here.
    return constraints == Constraints(required=constraints.required)


def _pieces(group: ConstraintGroup, size: int | None) -> Iterator[ConstraintGroup]:
    if size is None or len(group.sentences) <= size:
        yield group
        return
    for start in range(0, len(group.sentences), size):
        yield group.part(range(start, min(start + size, len(group.sentences))))


def parse_groups(
    constraints: ParseConstraints, parse: Callable[[ConstraintGroup], tuple[P, Codes]]
) -> tuple[list[tuple[ConstraintGroup, P]], list[Note], list[int]]:
    """Parse every group; returns the parses, all notes, and the sentences left unchanged.

    ``parse`` returns the parses of a group and, for each sentence, whether it has a tree. A sentence without
    a tree that has the required labels is parsed again without them (they are written all the same); without
    a tree then, it stays unchanged. Raises ``NoTreeError`` if a sentence without constraints has no tree.
    """
    parts: list[tuple[ConstraintGroup, P]] = []
    notes, unparsed = list(constraints.notes), list(constraints.unparsed)
    waiting = list(constraints.groups)
    while waiting:
        group = waiting.pop(0)
        parses, parsed = parse(group)
        failed = np.flatnonzero(np.asarray(parsed) == 0).tolist()
        if not failed:
            parts.append((group, parses))
            continue
        # The others are parsed again: their results were computed in one call with the failed ones.
        if len(failed) < len(group.sentences):
            waiting.append(group.part(i for i in range(len(group.sentences)) if i not in failed))
        for i in failed:
            required, sentence = group.constraints[i], constraints.treebank[group.sentences[i]]
            if required is None:
                raise NoTreeError(f"{sentence_name(sentence)}: no tree of the class has a finite score")
            if required.labels:
                labels = ", ".join(required.labels.values())
                text = f"no tree has the required labels ({labels}); heads are chosen without them"
                waiting.append(group.part([i], labels=False))
            else:
                text = "left unchanged: the parser has no tree that satisfies its constraints"
                unparsed.append(sentence.number)
            notes.append(Note.of(sentence, text))
    return parts, sorted(notes, key=lambda note: note.sentence), unparsed


def assemble(
    constraints: ParseConstraints,
    parts: Sequence[tuple[ConstraintGroup, Parses]],
    notes: Sequence[Note],
    unparsed: Sequence[int],
    label_names: tuple[str, ...],
) -> Parses:
    """Assemble the parse of the whole treebank; ``unparsed`` sentences keep their heads and labels."""
    treebank = constraints.treebank
    names, kept_labels = _kept_labels(constraints, label_names, unparsed)
    # One group without kept labels is already in the order of the treebank: nothing to copy.
    if _is_whole(constraints, parts) and not kept_labels:
        return replace(parts[0][1], notes=tuple(notes))
    # A copy of the treebank's heads, so that unparsed sentences keep theirs.
    heads = np.array(treebank.heads, np.int32)
    labels = np.full(len(heads), -1, np.int32)
    words = [_words(constraints, group) for group, _ in parts]
    for at, (_, parses) in zip(words, parts, strict=True):
        heads[at], labels[at] = parses.heads, parses.labels
    for word, code in kept_labels.items():
        labels[word] = code
    return Parses(
        heads,
        labels,
        names,
        _probabilities(constraints, parts, words),
        _alternatives(constraints, parts, words),
        tuple(notes),
        tuple(sorted(unparsed)),
    )


def assemble_k_best(
    constraints: ParseConstraints,
    parts: Sequence[tuple[ConstraintGroup, KBestParses]],
    notes: Sequence[Note],
    unparsed: Sequence[int],
    label_names: tuple[str, ...],
) -> KBestParses:
    """Assemble the k best trees of the whole treebank; an ``unparsed`` sentence has one tree, its own."""
    treebank = constraints.treebank
    names, kept_labels = _kept_labels(constraints, label_names, unparsed)
    if _is_whole(constraints, parts) and not kept_labels:
        return replace(parts[0][1], notes=tuple(notes))
    trees: list[list[_Tree]] = [[] for _ in range(len(treebank))]
    for group, parses in parts:
        for s, sentence_trees in zip(group.sentences, _trees(group, parses), strict=True):
            trees[s] = sentence_trees
    starts = treebank.sentence_words.astype(int).tolist()
    for s in range(len(treebank)):
        first, last = starts[s], starts[s + 1]
        if s in unparsed:
            trees[s] = [_Tree.unchanged(treebank.heads[first:last])]
        for word in (word for word in range(first, last) if word in kept_labels):
            for tree in trees[s]:
                tree.labels[word - first] = kept_labels[word]
                # A kept label is certain given its head, so the joint probability is the head's.
                tree.label[word - first] = tree.head[word - first]
    flat = [tree for sentence_trees in trees for tree in sentence_trees]
    return KBestParses(
        np.array([len(sentence_trees) for sentence_trees in trees], np.int64),
        np.concatenate([tree.heads for tree in flat]),
        np.concatenate([tree.labels for tree in flat]),
        np.array([tree.score for tree in flat]),
        names,
        TreeProbabilities(
            np.concatenate([tree.head for tree in flat]),
            np.concatenate([tree.label for tree in flat]),
            np.array([tree.log_tree for tree in flat]),
        ),
        notes=tuple(notes),
        unparsed=tuple(sorted(unparsed)),
    )


def _is_whole(constraints: ParseConstraints, parts: Sequence[tuple[ConstraintGroup, object]]) -> bool:
    return len(parts) == 1 and len(parts[0][0].sentences) == len(constraints.treebank)


class _Tree:
    """One of the k best trees of a sentence."""

    def __init__(
        self, heads: Codes, labels: Codes, score: float, head: Floats, label: Floats, log_tree: float
    ) -> None:
        # Copies: kept labels are written into them, and the arrays of the group are shared views.
        self.heads, self.labels, self.score = heads, np.array(labels), score
        self.head, self.label, self.log_tree = head, np.array(label), log_tree

    @classmethod
    def unchanged(cls, heads: Codes) -> _Tree:
        zeros = np.zeros(len(heads), np.float32)
        # No probability can be stated for a tree that the parser did not choose: log 0.
        return cls(heads, np.full(len(heads), -1, np.int32), 0.0, zeros, zeros, -np.inf)


def _trees(group: ConstraintGroup, parses: KBestParses) -> Iterator[list[_Tree]]:
    """The trees of each sentence of a group."""
    probabilities = parses.probabilities
    assert probabilities is not None
    word = tree = 0
    for n, count in zip(group.treebank.sentence_lengths.tolist(), parses.counts.tolist(), strict=True):
        trees = []
        for _ in range(count):
            at = slice(word, word + n)
            trees.append(
                _Tree(
                    parses.heads[at],
                    parses.labels[at],
                    float(parses.scores[tree]),
                    probabilities.head[at],
                    probabilities.label[at],
                    float(probabilities.log_tree[tree]),
                )
            )
            word, tree = word + n, tree + 1
        yield trees


def _words(constraints: ParseConstraints, group: ConstraintGroup) -> Indices:
    """The indices of a group's words in the whole treebank."""
    starts = constraints.treebank.sentence_words.astype(np.int64)
    return np.concatenate([np.arange(starts[s], starts[s + 1]) for s in group.sentences])


def _kept_labels(
    constraints: ParseConstraints, names: tuple[str, ...], unparsed: Sequence[int]
) -> tuple[tuple[str, ...], dict[int, int]]:
    """All label names, those unknown to the parser last; and word → index of the label that it keeps."""
    if not names:
        return (), {}
    kept = dict(constraints.labels)
    if unparsed:
        starts = constraints.treebank.sentence_words.astype(int)
        column = constraints.treebank.column("deprel")
        kept |= {w: column[w] for s in unparsed for w in range(starts[s], starts[s + 1]) if column[w] != "_"}
    # Unknown labels come last, so that the parser's own codes stay what they are.
    all_names = tuple(dict.fromkeys((*names, *kept.values())))
    codes = {label: code for code, label in enumerate(all_names)}
    return all_names, {word: codes[label] for word, label in kept.items()}


def _probabilities(
    constraints: ParseConstraints, parts: Sequence[tuple[ConstraintGroup, Parses]], words: Sequence[Indices]
) -> Probabilities | None:
    by_part = [parses.probabilities for _, parses in parts]
    if not by_part or any(part is None for part in by_part):
        return None
    count, sentences = constraints.treebank.word_count, len(constraints.treebank)
    head, label = np.zeros(count, np.float32), np.zeros(count, np.float32)
    log_tree, entropy = np.full(sentences, -np.inf), np.zeros(sentences)
    gold_head, gold_label = np.zeros(count, np.float32), np.full(count, -1, np.float32)
    has_gold = all(part is not None and part.gold is not None for part in by_part)
    for at, (group, _), part in zip(words, parts, by_part, strict=True):
        assert part is not None
        sentence = np.array(group.sentences, np.int64)
        head[at], label[at] = part.head, part.label
        log_tree[sentence], entropy[sentence] = part.log_tree, part.head_entropy
        if part.gold is not None:
            gold_head[at], gold_label[at] = part.gold.head, part.gold.label
    kept = list(constraints.labels)
    label[kept] = head[kept]  # a kept label is certain given its head
    gold = GoldProbabilities(gold_head, gold_label) if has_gold else None
    return Probabilities(head, label, log_tree, entropy, gold)


def _alternatives(
    constraints: ParseConstraints, parts: Sequence[tuple[ConstraintGroup, Parses]], words: Sequence[Indices]
) -> list[Sequence[Alternative]] | None:
    if not parts or any(parses.alternatives is None for _, parses in parts):
        return None
    by_word: list[Sequence[Alternative]] = [[] for _ in range(constraints.treebank.word_count)]
    for at, (_, parses) in zip(words, parts, strict=True):
        for word, alternatives in zip(at.tolist(), parses.alternatives or (), strict=True):
            by_word[word] = alternatives
    for word, label in constraints.labels.items():
        by_word[word] = [alternative.labelled_as(label) for alternative in by_word[word]]
    return by_word
