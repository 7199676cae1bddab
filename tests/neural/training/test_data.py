"""Batches: every sentence in one of them, of like length, no larger than memory allows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from arcwise.neural import data as data_module
from arcwise.neural.inputs import ROOT
from arcwise.neural.network import Dropout
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank
from neural.training.tiny import SENTENCES, Tiny, sentences


def of_lengths(*lengths: int) -> Tiny:
    """Sentences with so many words."""
    text = conllu([" ".join(["a/DET/0/root", *["b/X/1/obj"] * (n - 1)]) for n in lengths])
    return Tiny.of(Treebank.from_string(text))


LENGTHS = [int(n) for n in np.random.default_rng(1).integers(1, 40, 300)]


@pytest.mark.parametrize("words", [1, 30, 200, 100_000])
@pytest.mark.parametrize("shuffled", [True, False])
def test_every_sentence_is_in_one_batch(words: int, shuffled: bool) -> None:
    tiny = of_lengths(*LENGTHS)
    order = np.random.default_rng(2).permutation(len(LENGTHS)) if shuffled else None
    found = list(tiny.data.batches(words, order))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(LENGTHS)))
    for batch in found:
        assert len(batch) == 1 or tiny.data.lengths[batch].sum() <= words


def test_sentences_of_a_batch_are_of_like_length() -> None:
    tiny = of_lengths(*LENGTHS)
    order = np.random.default_rng(2).permutation(len(LENGTHS))
    spread = [np.ptp(tiny.data.lengths[batch]) for batch in tiny.data.batches(200, order)]
    assert np.mean(spread) < 6
    assert [b.tolist() for b in tiny.data.batches(200, order)] == [
        b.tolist() for b in tiny.data.batches(200, order)
    ]


def test_long_sentences_make_small_batches_where_labels_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_module, "_MAX_SCORES", 5_000)
    tiny = of_lengths(*LENGTHS, 300)
    for batch in tiny.data.batches(100_000, states=4):
        widest = int(tiny.data.lengths[batch].max()) + 1
        assert len(batch) == 1 or len(batch) * widest**2 * 4 <= 5_000


def test_no_sentences() -> None:
    tiny = Tiny.of(Treebank.from_string(""))
    assert list(tiny.data.batches(100)) == []
    assert list(tiny.data.batches(100, np.zeros(0, np.int64))) == []


def test_data_are_rows_heads_and_labels_with_roots_before_sentences() -> None:
    tiny = Tiny.of(sentences("whole", "labels without heads", "one word"))
    assert tiny.data.starts.tolist() == [0, 4, 8, 10]
    assert tiny.data.lengths.tolist() == [3, 3, 1]
    assert tiny.data.heads.tolist() == [-1, 2, 3, 0, -1, -1, -1, 0, -1, 0]
    assert tiny.data.labels.tolist() == [-1, 0, 1, 3, -1, 0, 1, 3, -1, 3]
    assert (tiny.data.rows[[0, 4, 8]] == ROOT).all()
    assert (tiny.data.rows[1:4] != ROOT).all()
    assert (tiny.data.complete, tiny.data.heads_with_labels) == (False, False)
    whole = Tiny.of(sentences("whole")).data
    assert (whole.complete, whole.heads_with_labels) == (True, True)


def test_a_batch_is_where_its_sentences_are() -> None:
    tiny = Tiny.of(sentences())
    chosen = np.array([4, 1, 2])
    batch = tiny.data.batch(chosen)
    longest_first = chosen[np.argsort(-tiny.data.lengths[chosen], kind="stable")]
    padded = batch.padded(tiny.data.rows[batch.positions].double())
    for place, sentence in enumerate(longest_first):
        first, n = int(tiny.data.starts[sentence]), int(tiny.data.lengths[sentence])
        torch.testing.assert_close(padded[place, : n + 1], tiny.data.rows[first : first + n + 1].double())
        assert (padded[place, n + 1 :] == 0).all()
    assert batch.lengths.tolist() == tiny.data.lengths[longest_first].tolist()


# ---- what is left out in training


def test_dropout_is_the_same_in_a_whole_sentence_and_keeps_the_mean() -> None:
    tiny = Tiny.of(small_treebank(), hidden=32, arc_size=200, label_size=100)
    batch = tiny.data.batch(tiny.everything)
    rows = tiny.data.rows[batch.positions]
    torch.manual_seed(1)
    hidden = tiny.network.hidden(rows, batch, Dropout((0.0,) * 4, 0.3))
    for vectors in (hidden.arc_heads, hidden.arc_dependents, hidden.label_heads, hidden.label_dependents):
        assert vectors is not None
        kept = []
        for place, n in enumerate(batch.lengths.tolist()):
            own = vectors[place, : n + 1] != 0
            assert (own == own[:1]).all()  # a number is left out in all words of a sentence, or in none
            kept.append(own[0])
        assert (kept[0] != kept[1]).any()
        assert torch.stack(kept).double().mean() == pytest.approx(0.7, abs=0.06)
    states = hidden.states != 0
    for sentence in range(batch.size):
        own = states[batch.sentence == sentence]
        assert (own == own[:1]).all()
    totals = torch.zeros_like(hidden.arc_heads)
    with torch.no_grad():
        plain = tiny.network.hidden(rows, batch)
        for _ in range(200):
            totals += tiny.network.hidden(rows, batch, Dropout((0.0,) * 4, 0.05)).arc_heads / 200
    assert (totals - plain.arc_heads).abs().mean() < 0.1 * plain.arc_heads.abs().mean()


def test_values_of_words_are_left_out_and_roots_never_are() -> None:
    tiny = Tiny.of(sentences(*SENTENCES))
    batch = tiny.data.batch(tiny.everything)
    rows = tiny.data.rows[batch.positions]
    unknown = torch.where(rows == ROOT, ROOT, torch.zeros_like(rows))
    almost_all = Dropout((1 - 1e-12,) * rows.shape[1], 0.0)
    torch.testing.assert_close(
        tiny.network.encoded(rows, batch, almost_all), tiny.network.encoded(unknown, batch, None)
    )
    one = rows.clone()
    one[:, 1] = unknown[:, 1]
    some = Dropout((0.0, 1 - 1e-12, 0.0, 0.0), 0.0)
    torch.testing.assert_close(
        tiny.network.encoded(rows, batch, some), tiny.network.encoded(one, batch, None)
    )


def test_nothing_is_left_out_where_nothing_should_be() -> None:
    tiny = Tiny.of(sentences())
    batch = tiny.data.batch(tiny.everything)
    rows = tiny.data.rows[batch.positions]
    torch.testing.assert_close(
        tiny.network.encoded(rows, batch, Dropout((0.0,) * 4, 0.0)), tiny.network.encoded(rows, batch, None)
    )
