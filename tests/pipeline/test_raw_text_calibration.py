"""Temperatures fitted on raw text: the mean confidence of a pipeline equals its accuracy there."""

from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.models import open_model
from arcwise.models.raw_text import calibrate_on_raw_text, raw_text_bins
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing.scored import ScoredParser
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Treebank
from text.toy import toy_treebank

SMALL = {"epochs": 3, "arc_bits": 14, "row_bits": 13}
CONFIG = PipelineConfig(jackknife=2)


@pytest.fixture(scope="module")
def gold() -> Treebank:
    return toy_treebank()


@pytest.fixture(scope="module")
def pipeline(gold: Treebank) -> Pipeline:
    """A pipeline that knows little and says that it is sure."""
    trained = train_pipeline(gold[:8], None, config=CONFIG, parser=SMALL)
    assert isinstance(trained.parser, ScoredParser)
    return Pipeline(trained.tokenizer, trained.tagger, trained.parser.with_temperatures(0.1, 0.3))


def test_mean_confidence_equals_accuracy(pipeline: Pipeline, gold: Treebank) -> None:
    before = raw_text_bins(pipeline, gold)
    assert before["HeadProb"].overconfidence > 0.05
    after = raw_text_bins(calibrate_on_raw_text(pipeline, gold), gold)
    assert abs(after["HeadProb"].overconfidence) < 0.01
    assert abs(after["DeprelProb"].overconfidence) < 0.01


def test_weights_and_smoothing_stay(pipeline: Pipeline, gold: Treebank) -> None:
    assert isinstance(pipeline.parser, ScoredParser)
    smoothed = pipeline.parser.with_temperatures(0.5, 0.5, 0.2)
    fitted = calibrate_on_raw_text(Pipeline(pipeline.tokenizer, pipeline.tagger, smoothed), gold).parser
    assert isinstance(fitted, ScoredParser)
    assert fitted.fitted.smoothing == 0.2
    packed, before = fitted.pack(), smoothed.pack()
    assert all((packed.arrays[name] == values).all() for name, values in before.arrays.items())


def test_training_fits_on_the_raw_text_of_dev(gold: Treebank) -> None:
    dev = gold[:40]
    trained = train_pipeline(gold, dev, config=CONFIG, parser=SMALL)
    assert trained.parser.info["calibration"]["on"].startswith("the raw text of ")
    assert isinstance(trained.parser, ScoredParser)
    again = calibrate_on_raw_text(trained, dev).parser
    assert isinstance(again, ScoredParser)
    assert "dev" in trained.info


def test_a_greedy_parser_stays_as_it_is(gold: Treebank) -> None:
    config = PipelineConfig(kind="transition", jackknife=2)
    trained = train_pipeline(gold[:20], None, config=config, parser={"epochs": 1})
    assert calibrate_on_raw_text(trained, gold) is trained


def test_partial_trees_are_refused_and_skipped_in_training(pipeline: Pipeline, gold: Treebank) -> None:
    heads = gold.heads.copy()
    heads[3] = -1
    partial = gold.annotate(heads=heads)
    with pytest.raises(InputError, match="expected a head for every word"):
        calibrate_on_raw_text(pipeline, partial)
    trained = train_pipeline(gold, partial, config=CONFIG, parser=SMALL)
    assert not trained.parser.info["calibration"]["on"].startswith("the raw text")


def test_the_command(
    pipeline: Pipeline, gold: Treebank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, treebank, fitted = tmp_path / "m.arcwise", tmp_path / "gold.conllu", tmp_path / "fitted.arcwise"
    pipeline.save(model)
    treebank.write_bytes(gold.data)
    arguments = ["calibrate", str(treebank), "--raw-text", "--model"]
    assert run([*arguments, str(model), "-o", str(fitted)]) == 0
    out = capsys.readouterr().out
    assert out.count("expected calibration error") == 4
    calibrated = open_model(fitted)
    assert isinstance(calibrated, Pipeline)
    assert abs(raw_text_bins(calibrated, gold)["HeadProb"].overconfidence) < 0.01
    parser = tmp_path / "p.arcwise"
    assert isinstance(pipeline.parser, ScoredParser)
    pipeline.parser.save(parser)
    assert run([*arguments, str(parser)]) == 2
    assert "--raw-text" in capsys.readouterr().err
