"""``SoftTargets`` against dictionaries: sparse marginals, mixtures, other alphabets, choices of words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.distillation import soft_targets
from arcwise.distillation.soft_targets import MIN_LABEL_PROBABILITY, MIN_LABEL_SHARE, SoftTargets

NAMES = ("a", "b", "c")
Plain = list[dict[tuple[int, int], float]]


def plain(arcs: SoftTargets) -> Plain:
    """Of each word: (head, label) → share."""
    return [
        {
            (int(arcs.heads[at]), int(arcs.labels[at])): float(arcs.probabilities[at])
            for at in range(arcs.starts[w], arcs.starts[w + 1])
        }
        for w in range(len(arcs))
    ]


def same(found: Plain, wanted: Plain) -> bool:
    return len(found) == len(wanted) and all(
        own.keys() == other.keys() and all(own[k] == pytest.approx(other[k]) for k in own)
        for own, other in zip(found, wanted, strict=True)
    )


def marginals(lengths: list[int], seed: int = 1) -> list[npt.NDArray[np.float64]]:
    """Labelled marginals of words by themselves; column 0 and the diagonal are 0."""
    rng, found = np.random.default_rng(seed), []
    for n in lengths:
        dense = np.exp(3 * rng.normal(size=(3, n + 1, n + 1)))
        dense[:, :, 0] = 0
        dense[:, np.arange(n + 1), np.arange(n + 1)] = 0
        dense[:, :, 1:] /= dense[:, :, 1:].sum((0, 1))
        found.append(dense)
    return found


@pytest.mark.parametrize("least", [0.0, 0.05, 0.5])
def test_marginals_become_the_heads_above_a_share_and_the_best_of_each_word(least: float) -> None:
    dense = marginals([3, 1, 4])
    arcs = SoftTargets.from_marginals(dense, NAMES, least=least)
    wanted: Plain = []
    for own in dense:
        for m in range(1, own.shape[2]):
            heads = own[:, :, m].sum(0)
            kept = {}
            for h in np.flatnonzero(heads >= min(least, heads.max())):
                if not heads[h]:
                    continue
                needed = min(max(MIN_LABEL_SHARE * heads[h], MIN_LABEL_PROBABILITY), own[:, h, m].max())
                labels = {k: own[k, h, m] for k in range(3) if own[k, h, m] >= needed}
                kept |= {(int(h), k): heads[h] * p / sum(labels.values()) for k, p in labels.items()}
            wanted.append({key: p / sum(kept.values()) for key, p in kept.items()})
    assert same(plain(arcs), wanted)


def test_what_is_said_of_heads_stays_when_labels_are_left_out() -> None:
    dense = marginals([5])
    arcs = SoftTargets.from_marginals(dense, NAMES, least=0.0)
    heads = np.zeros((6, 6))
    np.add.at(heads, (arcs.heads, arcs.words + 1), arcs.probabilities)
    assert len(arcs.heads) < (dense[0] > 0).sum()
    assert np.allclose(heads, dense[0].sum(0), atol=1e-12)


@pytest.mark.parametrize("least", [0.0, 0.1, 0.9])
def test_arcs_above_a_share(least: float) -> None:
    arcs = SoftTargets.from_marginals(marginals([4, 2]), NAMES, least=0.0)
    wanted = []
    for own in plain(arcs):
        kept = {key: p for key, p in own.items() if p >= min(least, max(own.values()))}
        wanted.append({key: p / sum(kept.values()) for key, p in kept.items()})
    assert same(plain(arcs.prune(least)), wanted)


def test_words_of_which_nothing_is_said() -> None:
    arcs = SoftTargets.from_marginals(marginals([3]), NAMES, least=0.0)
    own = plain(arcs)
    assert same(plain(arcs.without_words(np.array([False, True, False]))), [own[0], {}, own[2]])


def test_marginals_without_labels() -> None:
    dense = [own.sum(0) for own in marginals([3])]
    arcs = SoftTargets.from_marginals(dense, (), least=0.0)
    assert set(arcs.labels.tolist()) == {-1}
    assert all(
        own[h, -1] == pytest.approx(dense[0][h, m]) for m, own in enumerate(plain(arcs), 1) for h, _ in own
    )


def test_trees_are_arcs_of_share_1_and_unknown_words_have_none() -> None:
    heads, labels = np.array([2, -1, 0, 1], np.int32), np.array([1, 2, -1, 0], np.int32)
    assert plain(SoftTargets.from_trees(heads, labels, NAMES)) == [{(2, 1): 1.0}, {}, {}, {(1, 0): 1.0}]
    assert plain(SoftTargets.from_trees(heads, labels, ())) == [
        {(2, -1): 1.0},
        {},
        {(0, -1): 1.0},
        {(1, -1): 1.0},
    ]


def test_a_mixture_is_the_share_of_one_and_the_rest_of_the_other() -> None:
    teacher = SoftTargets.from_marginals(marginals([3]), NAMES, least=0.2)
    gold = SoftTargets.from_trees(np.array([2, -1, 0], np.int32), np.array([1, 0, 2], np.int32), NAMES)
    mixed = plain(teacher.interpolate(gold, np.array([0.25, 0.25, 1.0])))
    own = plain(teacher)
    wanted = {key: 0.75 * p for key, p in own[0].items()}
    wanted[2, 1] = wanted.get((2, 1), 0.0) + 0.25
    assert same(mixed, [wanted, own[1], {(0, 2): 1.0}])


def test_a_word_of_which_the_teacher_says_nothing_has_its_own_tree() -> None:
    silent = SoftTargets.from_trees(np.array([-1], np.int32), np.array([-1], np.int32), NAMES)
    gold = SoftTargets.from_trees(np.array([0], np.int32), np.array([2], np.int32), NAMES)
    assert plain(silent.interpolate(gold, np.array([0.5]))) == [{(0, 2): 1.0}]


def test_gold_and_a_sure_teacher_give_exactly_1() -> None:
    gold = SoftTargets.from_trees(np.array([0], np.int32), np.array([2], np.int32), NAMES)
    for share in np.linspace(0, 1, 101):
        assert gold.interpolate(gold, np.array([share])).probabilities.tolist() == [1.0]


def test_in_another_alphabet_unknown_labels_leave_their_share_to_the_others_of_the_arc() -> None:
    arcs = SoftTargets.from_marginals(marginals([3]), NAMES, least=0.0)
    found = plain(arcs.with_labels(("c", "x", "a")))
    for own, other in zip(plain(arcs), found, strict=True):
        kept = {}
        for h in {head for head, _ in own}:
            labels = {{0: 2, 2: 0}[k]: p for (head, k), p in own.items() if head == h and k != 1}
            arc = sum(p for (head, _), p in own.items() if head == h)
            kept |= {(h, k): arc * p / sum(labels.values()) for k, p in labels.items()}
        assert same([other], [{key: p / sum(kept.values()) for key, p in kept.items()}])


def test_without_labels_they_are_summed_out() -> None:
    arcs = SoftTargets.from_marginals(marginals([3]), NAMES, least=0.0)
    for own, other in zip(plain(arcs), plain(arcs.with_labels(())), strict=True):
        for h in {head for head, _ in own}:
            assert other[h, -1] == pytest.approx(sum(p for (head, _), p in own.items() if head == h))


def test_words_can_be_chosen_and_treebanks_joined() -> None:
    first, second = (SoftTargets.from_marginals(marginals([n], seed=n), NAMES, least=0.1) for n in (3, 2))
    both = SoftTargets.concatenate([first, second])
    assert plain(both) == plain(first) + plain(second)
    chosen = np.array([4, 0, 2])
    assert plain(both.select_words(chosen)) == [plain(both)[w] for w in chosen]


def test_many_words_are_worked_at_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    arcs = SoftTargets.from_marginals(marginals([3, 4, 2]), NAMES, least=0.05)
    gold = SoftTargets.from_trees(np.zeros(9, np.int32), np.arange(9, dtype=np.int32) % 3, NAMES)
    share = np.linspace(0, 1, 9)
    whole = plain(arcs.interpolate(gold, share)), plain(arcs.with_labels(("c", "a")))
    monkeypatch.setattr(soft_targets, "_CHUNK_WORDS", 2)
    assert (plain(arcs.interpolate(gold, share)), plain(arcs.with_labels(("c", "a")))) == whole
