"""The parses of a treebank from those of its groups, with the labels that stay written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arcwise.inference import Alternative
from arcwise.parsing.decisions import Decisions, Group
from arcwise.parsing.parses import Asked, Codes, KBestParses, Note, Parses, Probabilities, Shares, TreeShares

Indices = npt.NDArray[np.int64]


def assembled(
    decisions: Decisions,
    parts: Sequence[tuple[Group, Parses]],
    notes: Sequence[Note],
    unparsed: Sequence[int],
    label_names: tuple[str, ...],
) -> Parses:
    """One parse of the whole treebank. ``unparsed`` sentences keep their heads and labels."""
    treebank = decisions.treebank
    names, stay = _labels_that_stay(decisions, label_names, unparsed)
    if _is_whole(decisions, parts) and not stay:
        return replace(parts[0][1], notes=tuple(notes))
    heads = np.array(treebank.heads, np.int32)
    labels = np.full(len(heads), -1, np.int32)
    words = [_words(decisions, group) for group, _ in parts]
    for own, (_, parses) in zip(words, parts, strict=True):
        heads[own], labels[own] = parses.heads, parses.labels
    for word, code in stay.items():
        labels[word] = code
    return Parses(
        heads,
        labels,
        names,
        _probabilities(decisions, parts, words, list(decisions.labels)),
        _alternatives(decisions, parts, words),
        tuple(notes),
        tuple(sorted(unparsed)),
    )


def assembled_k_best(
    decisions: Decisions,
    parts: Sequence[tuple[Group, KBestParses]],
    notes: Sequence[Note],
    unparsed: Sequence[int],
    label_names: tuple[str, ...],
) -> KBestParses:
    """The k best trees of the whole treebank; ``unparsed`` sentences have one, their own."""
    treebank = decisions.treebank
    names, stay = _labels_that_stay(decisions, label_names, unparsed)
    if _is_whole(decisions, parts) and not stay:
        return replace(parts[0][1], notes=tuple(notes))
    trees: list[list[_Tree]] = [[] for _ in range(len(treebank))]
    for group, parses in parts:
        for s, own in zip(group.sentences, _trees(group, parses), strict=True):
            trees[s] = own
    starts = treebank.sentence_words.astype(int).tolist()
    for s in range(len(treebank)):
        first, last = starts[s], starts[s + 1]
        if s in unparsed:
            trees[s] = [_Tree.own(treebank.heads[first:last])]
        for word in (word for word in range(first, last) if word in stay):
            for tree in trees[s]:
                tree.labels[word - first] = stay[word]
                tree.label[word - first] = tree.head[word - first]
    flat = [tree for own in trees for tree in own]
    return KBestParses(
        np.array([len(own) for own in trees], np.int64),
        np.concatenate([tree.heads for tree in flat]),
        np.concatenate([tree.labels for tree in flat]),
        np.array([tree.score for tree in flat]),
        names,
        TreeShares(
            np.concatenate([tree.head for tree in flat]),
            np.concatenate([tree.label for tree in flat]),
            np.array([tree.log_tree for tree in flat]),
        ),
        notes=tuple(notes),
        unparsed=tuple(sorted(unparsed)),
    )


def _is_whole(decisions: Decisions, parts: Sequence[tuple[Group, object]]) -> bool:
    """Whether there is one part, and it has all sentences."""
    return len(parts) == 1 and len(parts[0][0].sentences) == len(decisions.treebank)


class _Tree:
    """One of the k best trees of a sentence."""

    def __init__(
        self, heads: Codes, labels: Codes, score: float, head: Shares, label: Shares, log_tree: float
    ) -> None:
        self.heads, self.labels, self.score = heads, np.array(labels), score
        self.head, self.label, self.log_tree = head, np.array(label), log_tree

    @classmethod
    def own(cls, heads: Codes) -> _Tree:
        zeros = np.zeros(len(heads), np.float32)
        return cls(heads, np.full(len(heads), -1, np.int32), 0.0, zeros, zeros, -np.inf)


def _trees(group: Group, parses: KBestParses) -> list[list[_Tree]]:
    shares = parses.shares
    assert shares is not None
    found: list[list[_Tree]] = []
    word = tree = 0
    for n, count in zip(group.treebank.sentence_lengths.tolist(), parses.counts.tolist(), strict=True):
        own = []
        for _ in range(count):
            at = slice(word, word + n)
            own.append(
                _Tree(
                    parses.heads[at],
                    parses.labels[at],
                    float(parses.scores[tree]),
                    shares.head[at],
                    shares.label[at],
                    float(shares.log_tree[tree]),
                )
            )
            word, tree = word + n, tree + 1
        found.append(own)
    return found


def _words(decisions: Decisions, group: Group) -> Indices:
    """The words of a group, by their numbers in the treebank."""
    starts = decisions.treebank.sentence_words.astype(np.int64)
    return np.concatenate([np.arange(starts[s], starts[s + 1]) for s in group.sentences])


def _labels_that_stay(
    decisions: Decisions, names: tuple[str, ...], unparsed: Sequence[int]
) -> tuple[tuple[str, ...], dict[int, int]]:
    """All labels, those that the parser does not know at the end; and word → number of the label that stays."""
    stay = dict(decisions.labels)
    starts = decisions.treebank.sentence_words.astype(int)
    if unparsed and names:
        column = decisions.treebank.column("deprel")
        stay |= {w: column[w] for s in unparsed for w in range(starts[s], starts[s + 1]) if column[w] != "_"}
    every = tuple(dict.fromkeys((*names, *stay.values()))) if names else ()
    codes = {label: code for code, label in enumerate(every)}
    return every, {word: codes[label] for word, label in stay.items()} if names else {}


def _probabilities(
    decisions: Decisions, parts: Sequence[tuple[Group, Parses]], words: Sequence[Indices], kept: list[int]
) -> Probabilities | None:
    known = [parses.probabilities for _, parses in parts]
    if not known or any(own is None for own in known):
        return None
    count, sentences = decisions.treebank.word_count, len(decisions.treebank)
    head, label = np.zeros(count, np.float32), np.zeros(count, np.float32)
    log_tree, entropy = np.full(sentences, -np.inf), np.zeros(sentences)
    asked_head, asked_label = np.zeros(count, np.float32), np.full(count, -1, np.float32)
    is_asked = all(own is not None and own.asked is not None for own in known)
    for at, (group, _), own in zip(words, parts, known, strict=True):
        assert own is not None
        sentence = np.array(group.sentences, np.int64)
        head[at], label[at] = own.head, own.label
        log_tree[sentence], entropy[sentence] = own.log_tree, own.head_entropy
        if own.asked is not None:
            asked_head[at], asked_label[at] = own.asked.head, own.asked.label
    label[kept] = head[kept]  # what is kept is certain
    asked = Asked(asked_head, asked_label) if is_asked else None
    return Probabilities(head, label, log_tree, entropy, asked)


def _alternatives(
    decisions: Decisions, parts: Sequence[tuple[Group, Parses]], words: Sequence[Indices]
) -> list[Sequence[Alternative]] | None:
    if not parts or any(parses.alternatives is None for _, parses in parts):
        return None
    found: list[Sequence[Alternative]] = [[] for _ in range(decisions.treebank.word_count)]
    for at, (_, parses) in zip(words, parts, strict=True):
        for word, own in zip(at.tolist(), parses.alternatives or (), strict=True):
            found[word] = own
    for word, label in decisions.labels.items():
        found[word] = [own.labelled_as(label) for own in found[word]]
    return found
