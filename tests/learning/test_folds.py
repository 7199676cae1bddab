"""Cross-validation of parsers: what is held out is not learned from, and what it tells is what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from arcwise.cli.main import run
from arcwise.errors import ArcwiseError, InputError, OptionError
from arcwise.evaluation.attachment import UasLas, uas_las
from arcwise.evaluation.calibration import calibration
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning import folds as folds_module
from arcwise.learning.cross_validation import FoldScores, best_epoch, pooled
from arcwise.learning.folds import (
    Folds,
    development,
    shared_words,
    warnings,
)
from arcwise.parsing import ParseOptions
from arcwise.parsing.calibration import (
    confidence_text,
    confidence_warning,
    fit_common_temperatures,
    match_label_temperature,
)
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank

BITS = {"arc_bits": 12, "row_bits": 13}


def noisy(sentences: int, seed: int = 0) -> Treebank:
    """Sentences whose heads no parser can know for sure: a PP depends on the verb or on the noun, by
    chance."""
    rng = np.random.default_rng(seed)
    nouns, verbs = ["cats", "dogs", "men", "fish"], ["see", "eat", "know"]
    rows = []
    for _ in range(sentences):
        a, b, c = (nouns[i] for i in rng.integers(0, 4, 3))
        head = "2" if rng.random() < 0.7 else "3"
        label = "obl" if head == "2" else "nmod"
        rows.append(
            f"{a}/N/2/nsubj {verbs[rng.integers(0, 3)]}/V/0/root {b}/N/2/obj with/P/5/case "
            f"{c}/N/{head}/{label}"
        )
    return Treebank.from_string(conllu(rows), source=f"noisy{seed}.conllu")


def test_each_sentence_is_held_out_once() -> None:
    bank = small_treebank(crossing=True)
    parts = Folds(3).split(bank)
    assert [len(part) for _, part in parts] == [4, 3, 3]
    held_out = [s.sent_id for _, part in parts for s in part]
    assert sorted(held_out) == sorted(s.sent_id for s in bank)
    for others, part in parts:
        assert {s.sent_id for s in others} | {s.sent_id for s in part} == {s.sent_id for s in bank}
        assert not {s.sent_id for s in others} & {s.sent_id for s in part}
    with pytest.raises(InputError, match="at least 11"):
        Folds(11).split(bank)


def test_what_development_data_are() -> None:
    small, tiny, dev = noisy(20), noisy(5), noisy(3)
    assert development(small, "7fold") == Folds(7)
    assert development(small, "auto") == Folds(5)
    assert development(tiny, "auto") is None
    assert development(noisy(1001), "auto") is None
    assert development(small, "none") is None
    assert development(small, dev) is dev
    for wrong in ("fold", "5 fold", "dev.conllu", "1fold", "21fold"):
        with pytest.raises(OptionError):
            development(small, wrong)


def test_overlap_and_tiny_development_data_are_told() -> None:
    train, other = noisy(300, 1), small_treebank()
    assert shared_words(train, train) == 1
    assert shared_words(train, other) == 0
    assert any("also in the training data" in line for line in warnings(train, train))
    assert [line for line in warnings(train, other) if "only" in line]
    assert not [line for line in warnings(train, other) if "also" in line]
    assert not warnings(train, Folds(5))
    assert "not calibrated" in warnings(train, None)[0]


def test_doubts_are_found_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(folds_module, "shared_words", lambda *both: asked.append(both) or 1.0)
    bank, config = small_treebank(), GraphConfig(epochs=1, **BITS)
    trained = GraphParser.train(bank, bank, config=config)
    assert len(asked) == 1
    assert trained.model.report["calibration"]["doubts"] == warnings(bank, bank)


def test_the_best_epoch_is_that_of_all_words_together() -> None:
    one = FoldScores(300, (UasLas(0.5, 0.5), UasLas(0.7, 0.6), UasLas(0.7, 0.4)))
    two = FoldScores(100, (UasLas(0.9, 0.9), UasLas(0.9, 0.5)))  # ended early
    epoch, scores = best_epoch([one, two])
    assert epoch == 1
    assert [score.las for score in scores] == pytest.approx([0.6, 0.575, 0.425])
    assert pooled([1, 3], [UasLas(1, 1), UasLas(0, 0)]).uas == 0.25


def by_hand(bank: Treebank, folds: Folds, config: GraphConfig) -> Iterator[tuple[GraphParser, Treebank]]:
    for others, part in folds.split(bank):
        yield GraphParser.train(others, config=config), part


@pytest.mark.slow
def test_epoch_and_temperatures_are_those_of_parsers_trained_by_hand() -> None:
    """Each part parsed by a parser trained on the others, for every number of epochs."""
    bank, folds = noisy(40), Folds(4)
    found = GraphParser.train(bank, "4fold", config=GraphConfig(epochs=4, **BITS))
    las = []
    for epochs in range(1, 5):
        right = []
        for parser, part in by_hand(bank, folds, GraphConfig(epochs=epochs, **BITS)):
            parsed = parser.parse(part)
            score = uas_las(part.heads, parsed.heads, part.column("deprel"), parsed.column("deprel"))
            right.append((score.las, part.word_count))
        las.append(sum(share * words for share, words in right) / bank.word_count)
    assert found.model.report["epoch"] == int(np.argmax(las)) + 1
    assert [told["las"] for told in found.model.report["folds"]] == pytest.approx(las)
    chosen = GraphConfig(epochs=found.model.report["epoch"], **BITS)
    held_out = [(parser.with_temperatures, part) for parser, part in by_hand(bank, folds, chosen)]
    best = match_label_temperature(held_out, fit_common_temperatures(held_out, steps=12))
    if found.decoding.projective == chosen.projective:  # the same trees
        assert found.model.temperature == pytest.approx(best.heads)
        assert found.model.label_temperature == pytest.approx(best.labels)
        assert found.model.smoothing == pytest.approx(best.smoothing)
    again = GraphParser.train(bank, config=chosen)  # it learned from everything
    assert (found.model.weights == again.model.weights).all()
    assert found.model.config.epochs == 4


def test_confidences_from_folds_are_honest_and_those_without_are_not() -> None:
    """What a parser says of new sentences, trained on 60 of the same kind, of which 30 % cannot be known:
    the mean over four draws."""
    config = GraphConfig(epochs=5, **BITS)

    def error(parser: GraphParser, new: Treebank) -> float:
        parses = parser.parses(new, options=ParseOptions(confidence=True))
        assert parses.probabilities is not None
        return calibration(parses.probabilities.head, parses.heads == new.heads).error

    folded, same = [], []
    for seed in (3, 5, 7, 9):
        train, new = noisy(60, seed), noisy(400, seed + 1)
        folded.append(error(GraphParser.train(train, "5fold", config=config), new))
        same.append(error(GraphParser.train(train, train, config=config), new))
    assert max(folded) < 0.08
    assert np.mean(folded) < np.mean(same)


@pytest.mark.parametrize("trainer", ["log-linear", "latent", "perceptron"])
def test_folds_work_for_other_trainers_and_values_of_c(trainer: str) -> None:
    config = GraphConfig(trainer=trainer, epochs=2, **BITS)
    parser = GraphParser.train(noisy(20), "2fold", config=config)
    assert parser.model.report["dev"] == "2fold"
    assert parser.model.temperature != 1
    if trainer == "log-linear":
        tried = GraphParser.train(noisy(20), "2fold", config=GraphConfig(epochs=2, try_C=(0.01, 1.0), **BITS))
        assert tried.model.config.C in (0.01, 1.0)


@pytest.mark.slow
def test_a_transition_parser_is_cross_validated_too() -> None:
    config = TransitionConfig(epochs=3, move_bits=12, label_bits=10)
    bank = noisy(40)
    found = TransitionParser.train(bank, "4fold", config=config)
    report = found.model.report
    assert report["epoch"] == 1 + int(np.argmax([told["las"] for told in report["folds"]]))
    again = TransitionParser.train(
        bank, config=TransitionConfig(epochs=report["epoch"], move_bits=12, label_bits=10)
    )
    assert (found.model.weights == again.model.weights).all()
    assert found.model.temperature != 1
    assert report["calibration"]["error"] < 0.2
    with_dev = TransitionParser.train(bank, noisy(120, 5), config=config)
    assert with_dev.model.temperature != 1
    told = confidence_text(with_dev.info)
    assert told is not None
    assert "noisy5.conllu" in told
    assert confidence_warning(found.info) is None


# ---- the command line


def command(folder: Path, *more: str) -> int:
    noisy(12).write(folder / "train.conllu")
    (folder / "config.toml").write_text("epochs = 2\narc_bits = 12\nrow_bits = 13\n")
    return run(
        [
            "train",
            "--train",
            str(folder / "train.conllu"),
            "--model",
            str(folder / "m"),
            "--config",
            str(folder / "config.toml"),
            *more,
        ]
    )


def test_a_small_treebank_is_cross_validated_unless_told_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path) == 0
    assert "fold 5 of 5" in capsys.readouterr().err
    assert run(["info", str(tmp_path / "m")]) == 0
    assert "confidences are calibrated on 5fold of the training data" in capsys.readouterr().out
    assert run(["parse", str(tmp_path / "train.conllu"), "--model", str(tmp_path / "m"), "--confidence"]) == 0
    assert "warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "dev, said", [("none", "not calibrated"), ("train.conllu", "also in the training data")]
)
def test_confidences_that_mean_little_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], dev: str, said: str
) -> None:
    given = dev if dev == "none" else str(tmp_path / dev)
    assert command(tmp_path, "--dev", given) == 0
    assert said in capsys.readouterr().err
    assert run(["info", str(tmp_path / "m")]) == 0
    assert said in capsys.readouterr().out
    data, model = str(tmp_path / "train.conllu"), str(tmp_path / "m")
    assert run(["parse", data, "--model", model, "--confidence"]) == 0
    assert said in capsys.readouterr().err
    assert run(["parse", data, "--model", model]) == 0
    assert capsys.readouterr().err == ""


def test_wrong_folds_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("1fold", "99fold", "13fold"):
        assert command(tmp_path, "--dev", wrong) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
        assert not (tmp_path / "m").exists()


def test_ctrl_c_in_a_fold_leaves_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has learned from all the data by then."""
    from arcwise.graph.trainers import MarginTrainer

    def stop(*_: object) -> dict[str, float]:
        raise KeyboardInterrupt

    monkeypatch.setattr(MarginTrainer, "epoch", stop)
    with pytest.raises(KeyboardInterrupt):
        GraphParser.train(noisy(12), "2fold", config=GraphConfig(epochs=2, **BITS))


def test_sizes_are_as_documented() -> None:
    assert (folds_module.SMALLEST, folds_module.SMALL, folds_module.TINY_DEV) == (10, 1000, 500)
    assert issubclass(OptionError, ArcwiseError)
