"""A parser over a tiny transformer: trained, kept, loaded, asked; its folder is needed for training alone."""

from __future__ import annotations

import pickle
import shutil
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.cli.main import run
from arcwise.errors import MissingExtraError, ModelError, OptionError
from arcwise.evaluation import evaluate
from arcwise.inference import TreeClass
from arcwise.learning.model_file import read_model, write_model
from arcwise.models import open_model
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.neural.model import dequantised
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank
from contracts.small_treebank import partial, small_treebank
from neural.tiny_transformer import WIDTH, make_folder, torch
from text.toy import toy_treebank

TREES = TreeClass(projective=False, single_root=True)
QUICK: dict[str, Any] = {
    "epochs": 2,
    "arc_size": 12,
    "label_size": 8,
    "device": "cpu",
    "batch_words": 12,
    "learning_rate": 0.01,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("encoders") / "tiny-bert")


def trained(folder: Path, dev: Any = None, train: Treebank | None = None, **options: Any) -> NeuralParser:
    config = NeuralConfig(encoder=str(folder), **(QUICK | options))
    return NeuralParser.train(train or small_treebank(), dev, config=config)


@pytest.fixture(scope="module")
def learned(folder: Path) -> NeuralParser:
    """A parser that knows the small treebank by heart, tags too."""
    options = {"epochs": 60, "encoder_rate": 1e-3, "dropout": 0.1, "learns": ("upos",)}
    return trained(folder, small_treebank(), **options)


# ---- learning


@pytest.mark.slow
def test_it_learns_a_treebank_by_heart(learned: NeuralParser) -> None:
    treebank = small_treebank()
    blank = treebank.annotate(heads=np.full(treebank.word_count, -1), deprel=["_"] * treebank.word_count)
    blank = blank.annotate(upos=["_"] * treebank.word_count)
    scores = evaluate(treebank, learned.parse(blank))
    assert scores.conll18["LAS"].f1 == 1
    assert scores.conll18["UPOS"].f1 > 0.8
    assert learned.info["dev_las"] == 1


def test_each_part_has_its_learning_rate(folder: Path) -> None:
    slow = 1e-30
    rates = ((slow, slow), (slow, 0.01), (0.001, slow), (0.001, 0.01))
    still, rest, none, both = (
        trained(folder, encoder_rate=one, learning_rate=other).model.members[0] for one, other in rates
    )

    def moved(member: Any) -> set[str]:
        return {name for name in still if not np.allclose(member[name], still[name], atol=1e-7)}

    unread = {"transformer.nothing"}
    # Products start at 0: while they stay there, no gradient reaches the transformer.
    assert moved(none) == set()
    assert moved(rest) == {name for name in still if not name.startswith("transformer.model")} - unread
    assert moved(both) == set(still) - unread


def test_it_starts_from_the_weights_of_the_folder(folder: Path) -> None:
    from safetensors.numpy import load_file

    given = load_file(folder / "model.safetensors")
    found = trained(folder, epochs=1, encoder_rate=1e-30).model.members[0]
    name = "encoder.layer.0.attention.self.query.weight"
    np.testing.assert_allclose(found[f"transformer.model.{name}"], given[name], atol=1e-7)
    assert not any("pooler" in name for name in found)


def test_the_same_seed_gives_the_same_model(folder: Path) -> None:
    one, same, other = (trained(folder, seed=seed, learns=("upos",)).pack().arrays for seed in (3, 3, 4))
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert any(not np.array_equal(one[name], other[name]) for name in one)


def test_training_goes_on_where_it_was_killed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from arcwise.neural.trainer import NetworkTrainer

    class Killed(BaseException):
        pass

    config = NeuralConfig(encoder=str(folder), **(QUICK | {"epochs": 4, "ensemble": 2}))
    whole = NeuralParser.train(small_treebank(), config=config)
    epoch, done = NetworkTrainer.epoch, []

    def killed(self: Any, number: int, *others: Any) -> Any:
        if len(done) == 6:
            raise Killed
        done.append(number)
        return epoch(self, number, *others)

    monkeypatch.setattr("arcwise.neural.checkpoint.MIN_INTERVAL", 0.0)
    monkeypatch.setattr(NetworkTrainer, "epoch", killed)
    with pytest.raises(Killed):
        NeuralParser.train(small_treebank(), config=config, checkpoint=tmp_path / "c")
    monkeypatch.setattr(NetworkTrainer, "epoch", epoch)
    again = NeuralParser.train(small_treebank(), config=config, checkpoint=tmp_path / "c")
    assert done == [1, 2, 3, 4, 1, 2]
    for one, other in zip(whole.model.members, again.model.members, strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_checkpoint_of_another_transformer_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "copied" / folder.name  # the same name
    shutil.copytree(folder, other)
    from safetensors.numpy import load_file, save_file

    arrays = load_file(other / "model.safetensors")
    arrays["embeddings.word_embeddings.weight"][7] += 1
    save_file(arrays, other / "model.safetensors", metadata={"format": "pt"})
    options = {"config": NeuralConfig(encoder=str(folder), **QUICK), "checkpoint": tmp_path / "c"}
    NeuralParser.train(small_treebank(), **options)
    with pytest.raises(ModelError, match="belongs to a training run with other options or data"):
        NeuralParser.train(
            small_treebank(), **(options | {"config": NeuralConfig(encoder=str(other), **QUICK)})
        )


def test_folds_and_partial_trees(folder: Path) -> None:
    parser = trained(folder, "2fold", partial())
    assert parser.info["dev"] == "2fold"
    assert parser.model.temperatures.heads != 1


@pytest.mark.parametrize("objective", ["softmax-margin", "hinge", "risk", "head-by-head"])
def test_every_objective(folder: Path, objective: str) -> None:
    history = trained(folder, epochs=6, objective=objective, encoder_rate=1e-3).info["history"]
    assert history[-1]["loss"] < history[0]["loss"]


# ---- scores


@pytest.mark.parametrize("labelled, clusters, ensemble", [(True, 1, 1), (False, 1, 1), (True, 2, 2)])
def test_scores_are_those_of_the_networks(folder: Path, labelled: bool, clusters: int, ensemble: int) -> None:
    parser = trained(folder, labelled=labelled, clusters=clusters, ensemble=ensemble)
    treebank = small_treebank()
    found = parser.scorer.scores(treebank, trees=TREES).dense_arrays()
    for number, matrix in enumerate(found):
        wanted = [_score(parser, member, treebank[number : number + 1]) for member in range(ensemble)]
        arcs = np.mean([own[0] for own in wanted], axis=0)
        there = ~np.eye(len(arcs), dtype=bool)
        there[:, 0] = False
        if not labelled:
            np.testing.assert_allclose(matrix[there], arcs[there], atol=1e-4)
            continue
        labels = np.mean([own[1] for own in wanted], axis=0)  # (h, m, states)
        labels = legal(parser, labels)
        by_label = labels.reshape(*arcs.shape, len(parser.labels), clusters)
        with np.errstate(divide="ignore"):
            by_label = np.log(np.exp(by_label).sum(-1)) + arcs[..., None]
        if ensemble == 1 or clusters == 1:
            np.testing.assert_allclose(matrix[:, there], by_label[there].T, atol=1e-4)
        np.testing.assert_allclose(np.log(np.exp(matrix[:, there]).sum(0)), arcs[there], atol=1e-4)


def legal(parser: NeuralParser, labels: np.ndarray) -> np.ndarray:
    """log P(state | arc), (h, m, states), normalised over the states that the rule of the root allows."""
    is_root = np.arange(labels.shape[-1]) // parser.model.shape.clusters == parser.labels.index("root")
    from_root = np.arange(len(labels)) == 0
    allowed = np.where(is_root[None, None] == from_root[:, None, None], labels, -np.inf)
    return allowed - np.log(np.exp(allowed).sum(-1, keepdims=True))


def _score(parser: NeuralParser, member: int, treebank: Treebank) -> tuple[np.ndarray, np.ndarray]:
    """Arcs and log P(state | arc) of one sentence, from the arrays of a member by the definition, its states
    by the encoder."""
    from arcwise.neural.data import Data

    network = parser.scorer.networks[member]
    unknown = np.full(treebank.word_count, -1, np.int32)
    data = Data.of(treebank, parser.model.transformer.pieces, unknown, unknown, (), "cpu")  # type: ignore[union-attr]
    batch = data.batch(np.arange(1))
    with torch.no_grad():
        states = network.encoded(data.rows[batch.positions], batch, None).numpy().astype(np.float64)
    own = dequantised(parser.model.members[member])

    def side(name: str) -> np.ndarray:
        out = states @ own[f"{name}.weight"].T + own[f"{name}.bias"]
        return np.where(out > 0, out, 0.1 * out)

    heads, dependents = side("arc_head"), side("arc_dependent")
    arcs = heads @ own["arc.product"] @ dependents.T + (heads @ own["arc.head"])[:, None]
    if not parser.labels:
        return arcs, arcs
    heads, dependents = side("label_head"), side("label_dependent")
    scores = np.einsum("hr,srq,mq->hms", heads, own["label.product"], dependents) + own["label.bias"]
    scores += (heads @ own["label.head"].T)[:, None] + (dependents @ own["label.dependent"].T)[None]
    return arcs, scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def test_temperatures_divide_arcs_and_labels(folder: Path) -> None:
    parser, treebank = trained(folder, clusters=2), small_treebank()
    other = parser.with_temperatures(2.0, 0.5)
    assert other.scorer.networks is parser.scorer.networks
    plain, tempered = (p.scorer.scores(treebank, trees=TREES) for p in (parser, other))
    for number in range(len(treebank)):
        arcs, labels = _score(parser, 0, treebank[number : number + 1])
        by_state = legal(parser, labels / 0.5).reshape(*arcs.shape, len(parser.labels), 2)
        there = ~np.eye(len(arcs), dtype=bool)
        there[:, 0] = False
        with np.errstate(divide="ignore"):
            wanted = np.log(np.exp(by_state).sum(-1)) + arcs[..., None] / 2.0
        np.testing.assert_allclose(tempered.dense_arrays()[number][:, there], wanted[there].T, atol=1e-4)
    assert plain.dense_arrays()[0].tolist() != tempered.dense_arrays()[0].tolist()


def test_a_long_sentence_and_one_word(learned: NeuralParser) -> None:
    for n in (1, 300):
        rows = "".join(f"{i}\t{('the', 'cat', 'sings')[i % 3]}" + "\t_" * 8 + "\n" for i in range(1, n + 1))
        parsed = learned.parse(Treebank.from_string(rows + "\n"), options=ParseOptions(confidence=True))
        assert parsed[0].tree.is_complete
    assert len(learned.parse(Treebank(b""))) == 0


def test_sentences_in_several_groups(learned: NeuralParser, monkeypatch: pytest.MonkeyPatch) -> None:
    treebank = Treebank.from_string(small_treebank().text * 3)
    whole = learned.parse(treebank, options=ParseOptions(confidence=True))
    monkeypatch.setattr("arcwise.neural.parser._SENTENCES", 5)
    parts = learned.parse(treebank, options=ParseOptions(confidence=True))
    assert whole.data == parts.data


def test_the_device_can_be_chosen(learned: NeuralParser) -> None:
    treebank = small_treebank()
    assert learned.scorer.device == "cpu"  # type: ignore[union-attr]
    for options in (ParseOptions(device="cpu"), ParseOptions(device="auto", k_best=2)):
        assert learned.parse(treebank, options=options)
    if not torch.cuda.is_available():
        with pytest.raises(OptionError, match="device: found cuda, but torch finds no GPU"):
            learned.parse(treebank, options=ParseOptions(device="cuda"))


# ---- model files


def test_files_pickles_and_copies(learned: NeuralParser, tmp_path: Path) -> None:
    options = ParseOptions(confidence=True)
    wanted = learned.parse(small_treebank(), options=options).data
    learned.save(tmp_path / "m")
    assert open_model(tmp_path / "m").parse(small_treebank(), options=options).data == wanted
    assert pickle.loads(pickle.dumps(learned)).parse(small_treebank(), options=options).data == wanted
    assert str(tmp_path) not in str(read_model(tmp_path / "m").header)
    assert read_model(tmp_path / "m").header["config"]["encoder"] == "tiny-bert"
    learned.save(tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()


@pytest.mark.parametrize("precision, error", [("float16", 0.02), ("int8", 0.2)])
def test_less_precision(learned: NeuralParser, tmp_path: Path, precision: Any, error: float) -> None:
    learned.save(tmp_path / "m", precision="float32")
    learned.save(tmp_path / "small", precision=precision)
    small = open_model(tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < 0.8 * (tmp_path / "m").stat().st_size
    assert isinstance(small, NeuralParser)
    both = [p.scorer.scores(small_treebank(), trees=TREES).dense_arrays() for p in (learned, small)]
    for one, other in zip(*both, strict=True):
        there = np.isfinite(one)
        assert np.abs(one[there] - other[there]).max() < error * np.abs(one[there]).max()
    assert evaluate(small_treebank(), small.parse(small_treebank())).conll18["LAS"].f1 > 0.9


def test_the_folder_is_not_needed_to_parse(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "gone"
    shutil.copytree(folder, copied)
    parser = trained(copied)
    parser.save(tmp_path / "m")
    shutil.rmtree(copied)
    assert open_model(tmp_path / "m").parse(small_treebank()).data == parser.parse(small_treebank()).data


def test_a_damaged_file(learned: NeuralParser, tmp_path: Path) -> None:
    packed = learned.pack()
    name = "member.0.transformer.model.embeddings.word_embeddings.weight"
    for change, told in (
        (lambda a: a.pop(name), "has no array 'transformer.model.embeddings.word_embeddings.weight'"),
        (lambda a: a.update({name: a[name][:3]}), "has shape"),
        (lambda a: a.update({name: a[name] * np.float32("nan")}), "not finite"),
        (lambda a: a.pop("tokenizer"), "has no array 'tokenizer'"),
    ):
        arrays = dict(packed.arrays)
        change(arrays)
        write_model(tmp_path / "m", replace(packed, arrays=arrays))
        with pytest.raises(ModelError, match=told):
            open_model(tmp_path / "m")


def test_info_needs_no_torch_and_parsing_says_what_is_missing(
    learned: NeuralParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    learned.save(tmp_path / "m")
    (tmp_path / "t.conllu").write_text(small_treebank().text)
    told_of = {"transformers": "transformers, which is", "torch": "torch and transformers, which are"}
    for missing, names in told_of.items():
        monkeypatch.setitem(sys.modules, missing, None)
        assert run(["info", str(tmp_path / "m"), "--all"]) == 0
        assert "tiny-bert" in capsys.readouterr().out
        assert run(["parse", str(tmp_path / "t.conllu"), "--model", str(tmp_path / "m")]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"arcwise: this needs {names} not installed: ")
        assert told.count("\n") == 1
        with pytest.raises(MissingExtraError, match=missing):
            NeuralConfig(encoder="anywhere").refuse_unread()


def test_the_command_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.conllu").write_text(small_treebank().text)
    (tmp_path / "c.toml").write_text("arc_size = 8\nlabel_size = 4\nencoder_layers = 2\nencoder_rate = 1e-3")
    files = {"--train": "t.conllu", "--dev": "t.conllu", "--model": "m", "--config": "c.toml"}
    options = [word for option, name in files.items() for word in (option, str(tmp_path / name))]
    options += ["--encoder", str(folder), "--epochs", "2", "--device", "cpu", "--precision", "float16"]
    assert run(["train", "--parser", "neural", *options]) == 0
    told = capsys.readouterr().err
    assert "cost of the stored precision" in told
    assert "Loading" not in told
    parse = ["parse", str(tmp_path / "t.conllu"), "--model", str(tmp_path / "m")]
    assert run([*parse, "--device", "cpu", "--confidence"]) == 0
    assert capsys.readouterr().out.count("HeadProb") == small_treebank().word_count
    assert run([*parse, "--k-best", "2", "--threads", "2"]) == 0
    assert run(["parse", str(tmp_path / "t.conllu"), "--device", "cpu"]) == 2
    assert capsys.readouterr().err.startswith("arcwise: --device: found cpu, which a ")


def test_nothing_is_asked_of_the_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    trained(folder, epochs=1).parse(small_treebank())


def test_a_pipeline(folder: Path, tmp_path: Path) -> None:
    options = QUICK | {"encoder": str(folder), "batch_words": 200}
    config = PipelineConfig(kind="neural", jackknife=0)
    pipeline = train_pipeline(toy_treebank()[:40], toy_treebank()[40:50], config=config, parser=options)
    pipeline.save(tmp_path / "m", precision="int8")
    again = open_model(tmp_path / "m")
    assert again.parse(toy_treebank()[:3]).data
    assert pipeline.parser.model.shape.width == WIDTH  # type: ignore[union-attr]
