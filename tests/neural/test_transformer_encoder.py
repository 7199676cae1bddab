"""Words as pieces, windows, and the states of a transformer beside those that it gives when it is called by
hand."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcwise.neural.pieces import MAX_PIECES, PieceLayout, WordPieces, windows
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank
from neural.tiny_transformer import POSITIONS, WIDTH, byte_pieces, make_folder, torch, word_pieces

from arcwise.neural.data import Data  # isort: skip
from arcwise.neural.pretrained import Pretrained  # isort: skip
from arcwise.neural.transformer_encoder import TransformerEncoder  # isort: skip

NOTHING = "\u200b"
"""A word of which a tokenizer may make nothing."""


def treebank_of(*sentences: list[str]) -> Treebank:
    rows = ["".join(f"{i}\t{w}" + "\t_" * 8 + "\n" for i, w in enumerate(s, start=1)) for s in sentences]
    return Treebank.from_string("\n".join(rows) + "\n")


@pytest.fixture(scope="module", params=["bert", "roberta"])
def pretrained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pretrained:
    folder = make_folder(tmp_path_factory.mktemp(request.param), request.param)
    return Pretrained.read(str(folder))


def encoder_of(pretrained: Pretrained, *, layers: int = 1) -> TransformerEncoder:
    encoder = TransformerEncoder(pretrained.transformer, layers=layers)
    encoder.load(pretrained.weights)
    encoder.start()
    torch.nn.init.normal_(encoder.nothing)
    return encoder.eval()


def states(encoder: TransformerEncoder, pretrained: Pretrained, treebank: Treebank) -> list[np.ndarray]:
    """Of each sentence (n+1, width), all sentences in one batch."""
    unknown = np.full(treebank.word_count, -1, np.int32)
    data = Data.of(treebank, pretrained.transformer.pieces, unknown, unknown, (), "cpu")
    batch = data.batch(np.arange(len(treebank)))
    found = np.empty((len(data.heads), WIDTH), np.float32)
    with torch.no_grad():
        found[batch.positions.numpy()] = encoder(data.rows[batch.positions], batch).numpy()
    return [found[first:last] for first, last in zip(data.starts[:-1], data.starts[1:], strict=True)]


def by_hand(encoder: TransformerEncoder, pretrained: Pretrained, words: list[str], layers: int) -> np.ndarray:
    """(n, width): each window given to the transformer on its own; then the mean over the pieces of each
    word."""
    pieces = pretrained.transformer.pieces
    before, after = pieces.special
    cut = [pieces.of(word) for word in words]
    found = np.zeros((len(words), WIDTH))
    for window in windows([len(own) for own in cut], pieces.room):
        ids = [*before, *(p for own in cut[window.first : window.last] for p in own), *after]
        with torch.no_grad():
            output = encoder.model(input_ids=torch.tensor([ids]), output_hidden_states=True)
        vectors = torch.stack(output.hidden_states[-layers:]).mean(0)[0].numpy()
        place = len(before)
        for word in range(window.first, window.last):
            if window.own_first <= word < window.own_last:
                own = vectors[place : place + len(cut[word])]
                found[word] = own.mean(0) if len(own) else encoder.nothing.detach().numpy()
            place += len(cut[word])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, 2])
def test_states_are_those_of_the_transformer_called_by_hand(pretrained: Pretrained, layers: int) -> None:
    encoder = encoder_of(pretrained, layers=layers)
    sentences = [s.forms for s in small_treebank()]
    sentences += [["cat"], ["sings", NOTHING, "the", "ϗ☃"], [NOTHING], ["the", "cats"] * 60]
    found = states(encoder, pretrained, treebank_of(*map(list, sentences)))
    for words, own in zip(sentences, found, strict=True):
        np.testing.assert_allclose(own[0], encoder.root.detach().numpy())
        np.testing.assert_allclose(own[1:], by_hand(encoder, pretrained, list(words), layers), atol=2e-5)


def test_layers_differ(pretrained: Pretrained) -> None:
    one, two = (states(encoder_of(pretrained, layers=n), pretrained, small_treebank())[0][1:] for n in (1, 2))
    assert np.abs(one - two).max() > 0.01


def test_a_sentence_has_the_same_states_in_every_batch(pretrained: Pretrained) -> None:
    encoder, treebank = encoder_of(pretrained), small_treebank()
    together = states(encoder, pretrained, treebank)
    for number, own in enumerate(together):
        alone = states(encoder, pretrained, treebank[number : number + 1])[0]
        np.testing.assert_allclose(alone[1:], own[1:], atol=2e-5)


def test_a_thousand_words(pretrained: Pretrained) -> None:
    words = [["the", "cat", "sings"][i % 3] for i in range(1000)]
    (found,) = states(encoder_of(pretrained), pretrained, treebank_of(words))
    assert found.shape == (1001, WIDTH)
    assert np.isfinite(found).all()


def test_gradients_reach_the_whole_transformer(pretrained: Pretrained) -> None:
    encoder = encoder_of(pretrained)
    treebank = treebank_of(["the", "cat", NOTHING])
    unknown = np.full(3, -1, np.int32)
    data = Data.of(treebank, pretrained.transformer.pieces, unknown, unknown, (), "cpu")
    batch = data.batch(np.arange(1))
    encoder(data.rows[batch.positions], batch).pow(3).sum().backward()
    unreached = {"transformer.nothing"} if pretrained.transformer.pieces.of(NOTHING) else set()
    for name, parameters in encoder.parameter_of().items():
        if not name.endswith("key.bias"):  # adds the same to all scores of attention, so it has none
            assert (float(parameters[0].grad.abs().max()) > 0) == (name not in unreached), name


# ---- pieces


def test_word_pieces() -> None:
    pieces = WordPieces(word_pieces().to_str(), POSITIONS)
    vocabulary = word_pieces().get_vocab()
    assert pieces.of("cats") == [vocabulary["cat"], vocabulary["##s"]]
    assert pieces.of("The") == [vocabulary["the"]]
    assert pieces.of("☃") == [vocabulary["[UNK]"]]
    assert pieces.of(NOTHING) == []
    assert pieces.special == ((2,), (3,))
    assert pieces.room == POSITIONS - 2
    assert len(pieces.of("singing" * 50)) == pieces.room
    assert len(WordPieces(word_pieces().to_str(), 512).of("singing" * 50)) == MAX_PIECES


def test_bytes_have_a_space_before_each_word() -> None:
    pieces, known = WordPieces(byte_pieces().to_str(), POSITIONS), byte_pieces().get_vocab()
    assert pieces.of("ta") == [known["Ġt"], known["a"]]
    assert pieces.of("at") == [known["Ġ"], known["a"], known["t"]]
    assert pieces.special == ((0,), (2,))


def test_settings_of_the_tokenizer_that_cut_or_pad_are_left_out() -> None:
    tokenizer = word_pieces()
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=7)
    pieces = WordPieces(tokenizer.to_str(), POSITIONS)
    assert pieces.of("cat") == WordPieces(word_pieces().to_str(), POSITIONS).of("cat")
    assert len(pieces.of("singings")) > 2
    assert pieces.special == ((2,), (3,))


def test_rows() -> None:
    treebank = treebank_of(["cats", NOTHING], ["the"])
    known = word_pieces().get_vocab()
    rows = WordPieces(word_pieces().to_str(), POSITIONS).rows(treebank)
    assert rows.tolist() == [[known["cat"], known["##s"]], [-1, -1], [known["the"], -1]]
    assert WordPieces(word_pieces().to_str(), POSITIONS).rows(Treebank(b"")).shape == (0, 1)


# ---- windows


@given(st.integers(1, 12).flatmap(lambda room: st.tuples(st.lists(st.integers(0, room)), st.just(room))))
def test_windows(case: tuple[list[int], int]) -> None:
    """Each fits, each word has one window that it is inside of, and no window starts or ends before the one
    to its left."""
    counts, room = case
    found = windows(counts, room)
    assert [w for window in found for w in range(window.own_first, window.own_last)] == [*range(len(counts))]
    for window in found:
        assert window.first <= window.own_first <= window.own_last <= window.last
        assert sum(counts[window.first : window.last]) <= room
    for left, right in pairwise(found):
        assert left.first < right.first
        assert left.last < right.last


def test_windows_overlap_so_that_words_have_neighbours() -> None:
    found = windows([1] * 200, 40)
    assert len(found) == 7
    for left, right in pairwise(found):
        assert left.last - left.own_last >= 4
        assert right.own_first - right.first >= 4
    assert all(window.last - window.first == 40 for window in found)


@pytest.mark.parametrize("step", [1, 16])
def test_the_layout_of_pieces(step: int) -> None:
    """Two sentences, the second longer than a window, their rows in turns."""
    pieces = WordPieces(word_pieces().to_str(), POSITIONS)
    treebank = treebank_of(["cats", NOTHING, "the"], ["the", "cats", "sing"] * 20)
    rows, sentence = pieces.rows(treebank), np.repeat([0, 1], [3, 60])
    turns = np.argsort(np.concatenate([np.arange(3), np.arange(60)]), kind="stable")
    rows, sentence = rows[turns], sentence[turns]
    layout = PieceLayout.of(rows, sentence, pieces, 0, step)
    flat, lengths, counts, starts, order, row_of_place = layout.arrays
    assert layout.width <= POSITIONS
    assert len(flat) == len(lengths) * layout.width == len(row_of_place)
    for row in range(len(rows)):
        places = order[starts[row] : starts[row] + counts[row]]
        assert flat[places].tolist() == [piece for piece in rows[row].tolist() if piece >= 0]
        assert (row_of_place[places] == row).all()
    assert (row_of_place == len(rows)).sum() == len(flat) - counts.sum()
    for window, length in zip(flat.reshape(-1, layout.width), lengths, strict=True):
        assert (window[0], window[length - 1]) == (2, 3)
        assert (window[length:] == 0).all()


def test_the_folder_tells_how_many_pieces_go_at_once(tmp_path: Path) -> None:
    for kind in ("bert", "roberta"):
        folder = make_folder(tmp_path / kind, kind)
        assert Pretrained.read(str(folder)).transformer.window == POSITIONS
        (folder / "tokenizer_config.json").write_text('{"model_max_length": 12}')
        assert Pretrained.read(str(folder)).transformer.window == 12
        (folder / "tokenizer_config.json").write_text('{"model_max_length": 1000000000000000019884624838656}')
        assert Pretrained.read(str(folder)).transformer.window == POSITIONS
