"""Suggestions of the assistant, checked against an enumeration of all trees."""

from itertools import product
from math import exp, log

import numpy as np
import pytest

from annotation.decided import LABELS, open_sentence, scored_parser, scores_of, sentence_of
from arcwise.annotation.assistant import Assistant
from arcwise.annotation.states import ArcDecisions
from arcwise.annotation.suggestions import SentenceSuggestions
from arcwise.errors import InputError
from arcwise.parsing.scored import ScoredParser, Temperatures
from arcwise.parsing.scorer import FunctionScorer
from arcwise.treebanks import Sentence, Treebank
from reference.enumerate_trees import TREE_CLASSES, all_trees

DECIDED = [
    ([-1, -1, -1, -1], ["_", "_", "_", "_"]),
    ([-1, 4, -1, -1], ["_", "_", "_", "_"]),
    ([2, 0, -1, -1], ["nsubj", "root", "_", "_"]),
    ([-1, -1, -1, -1], ["obj", "_", "_", "nsubj"]),
    ([-1, 3, -1, -1], ["_", "obj", "root", "_"]),
]


def labelled_trees(parser, sentence):
    """Every (heads, labels, probability) that the decisions allow; a decided label has probability 1."""
    decisions, scores = ArcDecisions.of(sentence), scores_of(parser)
    n = len(decisions)
    trees = parser.decoding.trees
    found = []
    for tree in all_trees(n, projective=trees.projective, single_root=trees.single_root):
        if any(own not in (-1, head) for own, head in zip(decisions.heads, tree[1:], strict=True)):
            continue
        for codes in product(range(len(LABELS)), repeat=n):
            own = [LABELS[code] for code in codes]
            stay = zip(decisions.heads, decisions.labels, own, strict=True)
            if any(label not in ("_", mine) for head, label, mine in stay if head < 0):
                continue
            value = sum(scores[code, tree[m], m] for m, code in enumerate(codes, 1))
            found.append((tuple(int(h) for h in tree[1:]), own, exp(value)))
    whole = sum(share for _, _, share in found)
    return [(heads, labels, share / whole) for heads, labels, share in found]


def heads_with_shares(every):
    shares = {}
    for heads, _, share in every:
        shares[heads] = shares.get(heads, 0) + share
    return shares


@pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)
@pytest.mark.parametrize(("heads", "labels"), DECIDED)
def test_every_number_against_all_trees(heads, labels, projective, single_root):
    sentence = sentence_of(heads, labels)
    parser = scored_parser(4, seed=3, projective=projective, single_root=single_root)
    thoughts = Assistant(parser, alternatives=1000, least=0).suggest(sentence)
    every = labelled_trees(parser, sentence)
    trees = heads_with_shares(every)
    for i, own in enumerate(thoughts.words):
        column = {h: sum(p for t, p in trees.items() if t[i] == h) for h in {t[i] for t in trees}}
        assert own.probability == pytest.approx(column[own.head], abs=1e-6)
        assert own.entropy == pytest.approx(-sum(p * log(p) for p in column.values() if p > 0), abs=1e-9)
        pairs = {}
        for t, names, p in every:
            label = labels[i] if labels[i] != "_" else names[i]
            pairs[t[i], label] = pairs.get((t[i], label), 0) + p
        assert own.label_probability == pytest.approx(pairs[own.head, own.label], abs=1e-6)
        found = {(h, label): p for h, label, p in own.alternatives}
        assert found == pytest.approx({pair: p for pair, p in pairs.items() if p >= 1e-12}, abs=1e-9)
        assert [p for _, _, p in own.alternatives] == sorted(found.values(), reverse=True)
    assert thoughts.entropy == pytest.approx(-sum(p * log(p) for p in trees.values()), abs=1e-9)
    proposed = tuple(own.head for own in thoughts.words)
    assert thoughts.probability == pytest.approx(trees[proposed], abs=1e-9)
    assert thoughts.note is None


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("decode", ["map", "mbr"])
def test_the_second_best_tree_is_the_best_of_the_others(seed, decode):
    parser = scored_parser(4, seed=seed, labelled=False, decode=decode)
    sentence = sentence_of([-1, -1, 2, -1])
    thoughts = Assistant(parser).suggest(sentence)
    scores = scores_of(parser)
    proposed = [own.head for own in thoughts.words]
    every = [tree[1:].tolist() for tree in all_trees(4, projective=True, single_root=True) if tree[3] == 2]
    others = [tree for tree in every if tree != proposed]
    value = {tuple(t): sum(scores[h, m] for m, h in enumerate(t, 1)) for t in every}
    second = thoughts.second_best
    assert second is not None
    assert list(second.heads) == max(others, key=lambda t: value[tuple(t)])
    whole = sum(exp(v) for v in value.values())
    assert second.probability == pytest.approx(exp(value[second.heads]) / whole)


def test_beside_a_tree_of_minimum_risk_the_second_tree_may_be_the_best():
    for seed in range(60):
        sentence = open_sentence(4)
        best, safest = (
            Assistant(scored_parser(4, seed=seed, labelled=False, decode=decode)).suggest(sentence)
            for decode in ("map", "mbr")
        )
        heads = tuple(own.head for own in best.words)
        if heads != tuple(own.head for own in safest.words):
            assert safest.second_best is not None
            assert safest.second_best.heads == heads
            return
    pytest.fail("no seed tells the two apart")


def test_no_second_tree_where_all_is_decided():
    thoughts = Assistant(scored_parser(3)).suggest(sentence_of([2, 0, 2], ["nsubj", "root", "obj"]))
    assert thoughts.second_best is None
    assert thoughts.entropy == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)
def test_a_decision_conditions_the_distribution_whatever_temperatures_and_smoothing(projective, single_root):
    parser = scored_parser(
        4, seed=8, projective=projective, single_root=single_root, temperatures=Temperatures(1.7, 0.6, 0.05)
    )
    assistant = Assistant(parser)
    free = assistant.scored(open_sentence(4)).under(ArcDecisions.of(open_sentence(4)))
    weights = next(iter(free.weights.matrices()))
    trees = all_trees(4, projective=projective, single_root=single_root)
    trees = trees[trees[:, 2] == 4]
    shares = np.exp([sum(weights[t[m], m] for m in range(1, 5)) for t in trees])
    shares /= shares.sum()
    thoughts = assistant.suggest(sentence_of([-1, 4, -1, -1]))
    for m, own in enumerate(thoughts.words, 1):
        assert own.probability == pytest.approx(shares[trees[:, m] == own.head].sum(), abs=1e-6)


def test_gains_only_where_asked_for():
    assistant = Assistant(scored_parser(4))
    assert all(own.gain is None for own in assistant.suggest(open_sentence(4)).words)
    thoughts = assistant.suggest(sentence_of([2, -1, -1, -1]), gains=True)
    assert thoughts.words[0].gain == 0
    assert all(own.gain >= own.entropy - thoughts.gain_error for own in thoughts.words)  # m itself is settled


def test_decisions_outside_the_class_widen_it():
    assistant = Assistant(scored_parser(4, projective=True))
    thoughts = assistant.suggest(sentence_of([3, 4, -1, -1]))
    assert [own.head for own in thoughts.words[:2]] == [3, 4]
    assert thoughts.note is not None
    assert "crossing arcs (3 → 1 and 4 → 2)" in thoughts.note
    thoughts = assistant.suggest(sentence_of([0, 0, -1, -1]))
    assert thoughts.note is not None
    assert "several roots (1 and 2)" in thoughts.note


def test_decisions_that_clash_are_named_and_the_rest_is_thought_about():
    assistant = Assistant(scored_parser(4))
    thoughts = assistant.suggest(sentence_of([2, 1, -1, 3], ["nsubj", "_", "_", "_"]), gains=True)
    assert thoughts.note == "the arcs 2 → 1 and 1 → 2 form a cycle, which no tree can have"
    assert thoughts.clash == (1, 2)
    assert [own.head for own in thoughts.words[:2]] == [2, 1]
    assert all(own.decided_head for own in thoughts.words[:2])
    alone = assistant.suggest(sentence_of([-1, -1, -1, 3], ["nsubj", "_", "_", "_"]))
    assert [own.probability for own in thoughts.words[2:]] == [own.probability for own in alone.words[2:]]
    given = {h: p for h, _, p in alone.words[0].alternatives}
    assert thoughts.words[0].probability == pytest.approx(given[2], abs=1e-6)


def test_a_label_that_the_parser_does_not_know_stays():
    thoughts = Assistant(scored_parser(3)).suggest(sentence_of([-1, -1, 1], ["vocative", "_", "dep"]))
    first, _, third = thoughts.words
    assert (first.label, first.decided_label, first.decided_head) == ("vocative", True, False)
    assert first.label_probability == first.probability
    assert {label for _, label, _ in first.alternatives} == {"vocative"}
    assert (third.head, third.label, third.label_probability) == (1, "dep", pytest.approx(1))


def test_a_decided_head_leaves_the_label_open():
    own = Assistant(scored_parser(3)).suggest(sentence_of([3, -1, -1])).words[0]
    assert own.decided_head
    assert not own.decided_label
    assert {head for head, _, _ in own.alternatives} == {3}
    assert sum(p for _, _, p in own.alternatives) == pytest.approx(1, abs=0.01)
    assert own.label == own.alternatives[0].label


def test_reconsidering_a_word_takes_its_decision_away():
    assistant = Assistant(scored_parser(4, seed=2))
    decided, without = sentence_of([2, 4, -1, 0]), sentence_of([2, -1, -1, 0])
    assert assistant.reconsider(decided, 2) == assistant.suggest(without).words[1]
    with pytest.raises(InputError, match=r"word: found 5, expected 1\.\.4"):
        assistant.reconsider(decided, 5)


# ---- why a proposal changed


@pytest.mark.parametrize("seed", range(12))
def test_because_by_its_definition(seed):
    parser = scored_parser(5, seed=seed)
    assistant = Assistant(parser)
    rng = np.random.default_rng(seed)
    after = [-1] * 5
    tree = all_trees(5, projective=True, single_root=True)
    for m in rng.choice(5, 2, replace=False):
        after[m] = int(tree[rng.integers(len(tree))][m + 1])
    if ArcDecisions(tuple(after), ("_",) * 5).conflict() is not None:
        return

    def proposals(heads):
        return [(own.head, own.label) for own in assistant.suggest(sentence_of(heads)).words]

    was, now = proposals([-1] * 5), proposals(after)
    reasons = {own.word: own for own in assistant.explain_changes(sentence_of(after))}
    open_words = [i for i in range(5) if after[i] < 0]
    assert set(reasons) == {i + 1 for i in open_words if was[i] != now[i]}
    for word, reason in reasons.items():
        i = word - 1
        assert (reason.was, reason.now) == (was[i], now[i])
        alone = [
            m + 1
            for m in range(5)
            if after[m] >= 0 and proposals([*after[:m], -1, *after[m + 1 :]])[i] == was[i]
        ]
        assert (reason.because in alone) if alone else (reason.because is None)


def test_because_names_the_decision_that_came_since():
    scores = np.zeros((5, 5))
    scores[0, 2] = scores[2, 1] = scores[2, 3] = scores[3, 4] = 4  # 4 hangs from 3 unless 3 is below 4
    scores[2, 4] = 3
    assistant = Assistant(ScoredParser(FunctionScorer(lambda sentence: scores)))
    before, after = sentence_of([2, -1, -1, -1]), sentence_of([2, -1, 4, -1])
    (reason,) = assistant.explain_changes(after, before)
    assert (reason.word, reason.was, reason.now, reason.because) == (4, (3, "_"), (2, "_"), 3)
    assert assistant.explain_changes(before, before) == ()


# ---- scores once a sentence


def counting(parser):
    calls = []
    scores = scores_of(parser)

    def function(sentence):
        calls.append(sentence.forms)
        return scores

    return ScoredParser(FunctionScorer(function, LABELS), decoding=parser.decoding), calls


def test_scores_are_found_once_for_what_the_parser_sees():
    parser, calls = counting(scored_parser(3))
    assistant = Assistant(parser)
    assistant.suggest(open_sentence(3), gains=True)
    assistant.suggest(sentence_of([2, -1, -1], misc={2: "HeadProb=0.5|DeprelProb=0.1"}))
    assistant.explain_changes(sentence_of([2, 0, -1]))
    assert len(calls) == 1
    other = Treebank.from_string(open_sentence(3).to_conllu().replace("X", "Y"))[0]
    assistant.suggest(other)
    assert len(calls) == 2


def test_only_so_many_sentences_are_kept():
    parser, calls = counting(scored_parser(3))
    assistant = Assistant(parser, kept=2)
    texts = [open_sentence(3).to_conllu().replace("w1", form) for form in "abcab"]
    for text in texts:
        assistant.suggest(Treebank.from_string(text)[0])
    assert len(calls) == 5
    assistant.suggest(Treebank.from_string(texts[-1])[0])
    assert len(calls) == 5


def test_options_are_checked():
    with pytest.raises(InputError, match="alternatives: found 0, expected at least 1"):
        Assistant(scored_parser(2), alternatives=0)


def near_heads(sentence: Sentence) -> np.ndarray:
    words = np.arange(len(sentence) + 1)
    return -np.abs(words[:, None] - words).astype(float)


def test_a_long_sentence_is_suggested_in_pieces_around_its_decisions() -> None:
    """Decisions inside a piece are kept; one that reaches into another piece makes all of them unused."""
    assistant = Assistant(ScoredParser(FunctionScorer(near_heads)))

    def suggested(decided: dict[int, int]) -> SentenceSuggestions:
        rows = (f"{m}\tw\t_\t_\t_\t_\t{decided.get(m, '_')}\t_\t_\t_\n" for m in range(1, 701))
        return assistant.suggest(Treebank.from_string("".join(rows) + "\n")[0])

    free, near, far = suggested({}), suggested({5: 9}), suggested({5: 650})
    assert (
        free.note
        == near.note
        == ("700 words, more than 500: suggested in pieces, consistent with the annotation")
    )
    assert far.note == "700 words, more than 500: suggested in pieces, regardless of the annotation"
    assert [s.words[4].decided_head for s in (free, near, far)] == [False, True, True]
    assert (near.words[4].head, near.words[4].probability, far.words[4].head) == (9, 1.0, 650)
    assert all(len(s.words) == 700 and sum(w.head == 0 for w in s.words) == 1 for s in (free, near))
    assert (
        assistant.reconsider(
            Treebank.from_string(
                "".join(f"{m}\tw\t_\t_\t_\t_\t{9 if m == 5 else '_'}\t_\t_\t_\n" for m in range(1, 701))
                + "\n"
            )[0],
            5,
        ).head
        == free.words[4].head
    )


def test_scores_of_long_sentences_do_not_fill_the_memory() -> None:
    assistant = Assistant(ScoredParser(FunctionScorer(near_heads)))
    for length in (450, 460, 470, 480, 490, 500):
        rows = (f"{m}\tw\t_\t_\t_\t_\t_\t_\t_\t_\n" for m in range(1, length + 1))
        assistant.scored(Treebank.from_string("".join(rows) + "\n")[0])
    assert [len(scored.tags) for scored in assistant._scored.values()] == [470, 480, 490, 500]
