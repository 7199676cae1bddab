"""train, parse, info, features from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

import arcwise
from arcwise.cli.main import run
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a treebank, a configuration and a model trained on the command line."""
    folder = tmp_path_factory.mktemp("graph")
    small_treebank(crossing=True).write(folder / "train.conllu.gz")
    (folder / "config.toml").write_text(
        'trainer = "mira"\nepochs = 3\nC = 1.0\narc_bits = 14\nrow_bits = 15\n'
    )
    assert train(folder) == 0
    return folder


def train(folder: Path, *more: str, model: str = "model") -> int:
    data = str(folder / "train.conllu.gz")
    return run(
        [
            "train",
            "--train",
            data,
            "--dev",
            data,
            "--model",
            str(folder / model),
            "--config",
            str(folder / "config.toml"),
            *more,
        ]
    )


def test_from_treebank_to_confident_parse(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.conllu"
    arguments = [
        "parse",
        str(folder / "train.conllu.gz"),
        "--model",
        str(folder / "model"),
        "-o",
        str(output),
    ]
    assert run([*arguments, "--confidence", "--threads", "2"]) == 0
    gold, parsed = Treebank.read(folder / "train.conllu.gz"), Treebank.read(output)
    assert np.mean(parsed.heads == gold.heads) > 0.9
    assert "HeadProb=" in parsed[0].misc[0]
    assert "tree_entropy" in parsed[0].comments


def test_progress_goes_to_standard_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(folder, "--epochs", "2", "--precision", "int8", "--projective", model="other") == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2 sentences with crossing arcs were projectivised" in shown.err
    assert "epoch 2/2  loss" in shown.err
    assert "dev UAS" in shown.err
    assert "cost of the stored precision" in shown.err
    assert train(folder, "--quiet", model="other") == 0
    assert capsys.readouterr().err == ""


def test_the_same_seed_gives_the_same_model(folder: Path) -> None:
    assert train(folder, "--threads", "2", model="again") == 0
    assert (folder / "model").read_bytes() == (folder / "again").read_bytes()


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(folder / "model")]) == 0
    assert "trainer: mira" in capsys.readouterr().out
    assert run(["info", str(folder / "model"), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["train_sentences"] == 10
    assert info["config"]["epochs"] == 3


def test_printed_templates_can_be_given_back(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["features", "--feature-column", "MISC:Cluster"]) == 0
    printed = capsys.readouterr().out
    assert '"h.misc.Cluster m.upos @ direction"' in printed
    assert run(["features", "--model", str(folder / "model")]) == 0
    in_use = capsys.readouterr().out
    assert "lemma" not in in_use  # the column is empty in the training data
    (tmp_path / "own.toml").write_text(in_use)
    assert run(["features", "--config", str(tmp_path / "own.toml")]) == 0
    assert capsys.readouterr().out == in_use


def test_k_best_and_kept_heads(folder: Path, tmp_path: Path) -> None:
    source = str(folder / "train.conllu.gz")
    assert (
        run(["parse", source, "--model", str(folder / "model"), "-o", str(tmp_path / "k"), "--k-best", "3"])
        == 0
    )
    assert len(Treebank.read(tmp_path / "k")) > 10
    assert (
        run(["parse", source, "--model", str(folder / "model"), "-o", str(tmp_path / "h"), "--keep-heads"])
        == 0
    )
    assert Treebank.read(tmp_path / "h").heads.tolist() == Treebank.read(source).heads.tolist()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["parse", "{train}", "--model", "{folder}/none"], "none: no such model file"),
        (["parse", "{train}", "--model", "{train}"], "is not an arcwise model"),
        (["parse", "{folder}/none", "--model", "{model}"], "none: no such file"),
        (
            ["parse", "{train}", "--model", "{model}", "--decode", "best"],
            "--decode: found 'best', expected one of map",
        ),
        (["parse", "{train}", "--model", "{model}", "--beam", "4"], "--beam: found 4"),
        (
            ["train", "--train", "{train}", "--model", "{folder}/x", "--parser", "magic"],
            "--parser: found 'magic', expected one of graph, transition, neural, siblings\n",
        ),
        (
            ["train", "--train", "{train}", "--model", "{folder}/x", "--trainer", "svm"],
            "trainer: found 'svm'",
        ),
        (["train", "--train", "{train}", "--model", "{folder}/no/x", "--epochs", "1"], "no such folder"),
        (
            ["train", "--train", "{train}", "--model", "{folder}/x", "--precision", "int4"],
            "precision: found 'int4'",
        ),
        (
            ["train", "--train", "{train}", "--model", "{folder}/x", "--feature-column", "WORD:1"],
            "--feature-column: found 'WORD:1', expected MISC:KEY",
        ),
        (["info", "{train}"], "is not an arcwise model"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    places = {"train": folder / "train.conllu.gz", "model": folder / "model", "folder": folder}
    assert run([argument.format(**places) for argument in arguments]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert shown.out == ""
    assert not (folder / "x").exists()


def test_calibrate_stores_a_temperature(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["calibrate", str(folder / "train.conllu.gz"), "--model", str(folder / "model")]
    assert run([*arguments, "-o", str(tmp_path / "fitted"), "--plot", str(tmp_path / "plot.svg")]) == 0
    shown = capsys.readouterr().out
    assert "expected calibration error" in shown
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    assert run(["info", str(tmp_path / "fitted"), "--json"]) == 0
    fitted = json.loads(capsys.readouterr().out)["temperature"]
    assert f"fitted: temperature {fitted:.4g}" in shown
    assert run([*arguments, "--plot", str(tmp_path / "plot.doc")]) == 2


def test_calibrate_takes_a_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = Path(arcwise.__file__).parent / "data" / "sample-gold.conllu"
    fitted = tmp_path / "fitted.arcwise"
    assert run(["calibrate", str(gold), "--model", "en", "-o", str(fitted)]) == 0
    shown = capsys.readouterr().out
    assert "fitted, head and label: temperature" in shown
    assert run(["info", str(fitted), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["treebank"].startswith("UD English-EWT")
    assert f"fitted: temperature {found['parser']['temperature']:.4g}" in shown


@pytest.mark.slow
def test_calibrate_wants_a_graph_based_parser(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = str(folder / "train.conllu.gz")
    model = str(tmp_path / "model")
    assert run(["train", "--parser", "transition", "--train", train, "--model", model, "--epochs", "1"]) == 0
    capsys.readouterr()
    assert run(["calibrate", train, "--model", model]) == 2
    assert "found a transition parser, expected a graph-based or a neural one" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.treebanks
@pytest.mark.parametrize("name", ["Arabic-PADT-rs", "Japanese-GSD", "Turkish-IMST"])
def test_real_treebanks_of_three_scripts(treebanks: Path, tmp_path: Path, name: str) -> None:
    for part, count in (("train", 200), ("dev", 50)):
        Treebank.read(treebanks / name / f"{part}.conllu.xz")[:count].write(tmp_path / f"{part}.conllu")
    train, dev, model = (str(tmp_path / n) for n in ("train.conllu", "dev.conllu", "model"))
    assert run(["train", "--train", train, "--dev", dev, "--model", model, "--epochs", "2", "--quiet"]) == 0
    assert run(["parse", dev, "--model", model, "-o", str(tmp_path / "out"), "--confidence"]) == 0
    gold, parsed = Treebank.read(dev), Treebank.read(tmp_path / "out")
    assert np.mean(parsed.heads == gold.heads) > 0.6
    assert parsed.column("form") == gold.column("form")
