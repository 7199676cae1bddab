"""What a newcomer types: help, versions, misspelt commands, options of another kind of parser; and what is
said in return."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from arcwise import Treebank, __version__
from arcwise.cli.main import COMMANDS, run
from arcwise.evaluation import GoldTrees, evaluate
from arcwise.learning.training import COUNTING
from arcwise.models.registry import KINDS, trainable
from arcwise.optional import is_installed

Output = pytest.CaptureFixture[str]
NAMES = [name for section in COMMANDS.values() for name in section]
ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "src/arcwise/data/sample-gold.conllu")


def told(capsys: Output, *arguments: str, status: int = 0) -> str:
    assert run(arguments) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


# ---- help


def test_all_ways_to_ask_for_help(capsys: Output) -> None:
    assert told(capsys, "help") == told(capsys, "-h") == told(capsys, "--help")
    assert told(capsys, "help", "parse") == told(capsys, "parse", "-h") == told(capsys, "parse", "--help")


def test_all_ways_to_ask_for_the_version(capsys: Output) -> None:
    assert told(capsys, "version") == told(capsys, "--version") == f"arcwise {__version__}\n"


@pytest.mark.parametrize("name", NAMES)
def test_help_has_no_python_in_it(capsys: Output, name: str) -> None:
    text = told(capsys, name, "--help")
    for python in (
        "<str",
        "<int",
        "<float",
        "<list",
        "{",
        "list[",
        "[[",
        "]...",
        "x>=",
        "<=x",
        "None",
        "TEXT…",
        "9223372036854775807",
    ):
        assert python not in text, f"arcwise {name} --help shows {python}"
    usage = text.splitlines()[0]
    assert re.fullmatch(rf"Usage: arcwise {name}( --[a-z-]+ [A-Z]+| \[?[A-Z]+…?\]?)* \[OPTIONS\]", usage)
    arguments = re.findall(r"(?<!-) \[?([A-Z]+)", re.sub(r"--[a-z-]+ [A-Z]+", "", usage))
    assert len(set(arguments)) == len(arguments)


@pytest.mark.parametrize(
    "name, usage",
    [
        ("train", "--train FILE --model MODEL [OPTIONS]"),
        ("parse", "[INPUT…] [OPTIONS]"),
        ("evaluate", "GOLD SYSTEM [OPTIONS]"),
        ("stats", "FILE… [OPTIONS]"),
        ("verify", "CERTIFICATE CORPUS [OPTIONS]"),
        ("help", "[COMMAND…] [OPTIONS]"),
    ],
)
def test_usage_lines(capsys: Output, name: str, usage: str) -> None:
    assert told(capsys, name, "-h").splitlines()[0] == f"Usage: arcwise {name} {usage}"


def test_choices_are_shown(capsys: Output) -> None:
    assert "--subtypes keep|cut" in told(capsys, "evaluate", "-h")
    assert "--learner em|viterbi-em|global" in told(capsys, "induce", "-h")


@pytest.mark.parametrize("asked", [["prase"], ["help", "prase"]])
def test_a_misspelt_command(capsys: Output, asked: list[str]) -> None:
    message = told(capsys, *asked, status=2)
    assert message.startswith("arcwise: there is no command 'prase', did you mean 'parse'")
    assert message.count("\n") == 1
    assert "did you mean" not in told(capsys, "xyzzy", status=2)


# ---- options of another kind


def train(capsys: Output, folder: Path, *more: str) -> str:
    model = folder / "model"
    message = told(capsys, "train", "--train", SAMPLE, "--model", str(model), *more, status=2)
    assert message.count("\n") == 1
    assert not model.exists()
    return message


@pytest.mark.parametrize(
    "given, message",
    [
        (["--system", "arc-eager"], "--system: is an option of --parser transition, found --parser graph"),
        (["--beam", "4", "--pipeline"], "--beam: is an option of --parser transition, found --parser graph"),
        (
            ["--parser", "transition", "--non-projective"],
            "--projective: is an option of --parser graph, found --parser transition",
        ),
        (
            ["--parser", "transition", "--trainer", "eg"],
            "--trainer: found 'eg', expected one of perceptron, mira (eg is for --parser graph)",
        ),
        (["--jackknife", "0"], "--jackknife: needs --pipeline"),
        (["--note", "a=b"], "--note: needs --pipeline"),
    ],
)
def test_an_option_of_another_kind_names_it(
    tmp_path: Path, capsys: Output, given: list[str], message: str
) -> None:
    assert train(capsys, tmp_path, *given) == f"arcwise: {message}\n"


def test_an_option_of_another_kind_in_a_file(tmp_path: Path, capsys: Output) -> None:
    config = tmp_path / "own.toml"
    config.write_text("beam = 4\n")
    message = train(capsys, tmp_path, "--config", str(config))
    assert message == f"arcwise: {config}: beam: is an option of --parser transition, found --parser graph\n"


@pytest.mark.parametrize("kind", [*sorted(set(KINDS) - set(trainable())), "magic"])
def test_kinds_that_are_named_can_be_trained(tmp_path: Path, capsys: Output, kind: str) -> None:
    message = train(capsys, tmp_path, "--parser", kind)
    assert f"--parser: found {kind!r}, expected one of {', '.join(trainable())}" in message
    assert ("arcwise induce" in message) == (kind == "dmv")
    assert ("--pipeline" in message) == (kind == "pipeline")


# ---- scores


def subtypes_matter(folder: Path) -> tuple[Path, Path]:
    """Training data in which two subtypes of a label cannot be told apart, and development data."""
    rows = "1\tBirds\t_\tNOUN\t_\t_\t2\t{}\t_\t_\n2\tsing\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    paths = folder / "train.conllu", folder / "dev.conllu"
    paths[0].write_text(rows.format("nsubj:pass") * 4 + rows.format("nsubj:outer"))
    paths[1].write_text(rows.format("nsubj:outer") + rows.format("nsubj") + rows.format("obj"))
    return paths


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind,
            marks=pytest.mark.skipif(
                kind == "neural" and not is_installed("torch"), reason="needs torch: make test-torch"
            ),
        )
        for kind in trainable()
    ],
)
def test_scores_while_training_are_those_of_evaluate(tmp_path: Path, capsys: Output, kind: str) -> None:
    """LAS on the development data counts subtypes as ``arcwise evaluate`` does; both say how they count."""
    learn, dev = subtypes_matter(tmp_path)
    model, parsed = str(tmp_path / "model"), str(tmp_path / "parsed.conllu")
    arguments = ["--train", str(learn), "--dev", str(dev), "--model", model, "--parser", kind]
    assert run(["train", *arguments]) == 0
    lines = capsys.readouterr().err
    assert COUNTING in lines
    assert run(["parse", str(dev), "--model", model, "-o", parsed]) == 0
    scores = evaluate(Treebank.read(dev), Treebank.read(parsed)).attachment
    assert scores.las == pytest.approx(5 / 6)  # with subtypes at most 4 of 6
    assert f"dev UAS 100.00 LAS {100 * scores.las:.2f} *" in lines
    assert COUNTING in told(capsys, "evaluate", str(dev), parsed)
    assert f"(UAS 100.00, LAS {100 * scores.las:.2f}; {COUNTING})" in told(capsys, "info", model)


def test_gold_trees_score_as_evaluate_does() -> None:
    rng = np.random.default_rng(1)
    names = ["nsubj", "nsubj:pass", "obj", "root", "acl:relcl"]

    def random_treebank() -> tuple[Treebank, np.ndarray, np.ndarray]:
        heads, labels, text = [], [], ""
        for n in (3, 5, 1):
            for m in range(1, n + 1):
                head = int(rng.integers(m))
                label = int(rng.integers(len(names)))
                text += f"{m}\tw\t_\t_\t_\t_\t{head}\t{names[label]}\t_\t_\n"
                heads.append(head)
                labels.append(label)
            text += "\n"
        return Treebank.from_string(text), np.array(heads), np.array(labels)

    differs = 0
    for _ in range(50):
        gold, _, _ = random_treebank()
        parsed, heads, labels = random_treebank()
        expected = evaluate(gold, parsed).attachment
        found = GoldTrees.of(gold, names).score(heads, labels)
        assert (found.uas, found.las) == pytest.approx((expected.uas, expected.las))
        differs += evaluate(gold, parsed, subtypes="keep").attachment.las != expected.las
        assert GoldTrees.of(gold, ()).score(heads, labels).las == found.uas
        assert GoldTrees.of(gold, names).score(heads, np.full(len(heads), -1)).las == 0
    assert differs > 5


# ---- info


def test_info_is_short_and_in_per_cent(capsys: Output) -> None:
    short, whole = (told(capsys, "info", "en-fast", *how) for how in ((), ("--all",)))
    assert len(short.splitlines()) <= 24
    assert "a:p b:p" not in short
    assert "a:p b:p" in whole
    assert len(whole.splitlines()) > 100
    assert not re.search(r"(?:[ul]as|[UL]AS)[ :]+0\.\d", short + whole)
    assert re.search(r"UAS \d\d\.\d\d, LAS \d\d\.\d\d; punctuation counted, label subtypes", short)
    parser = json.loads(told(capsys, "info", "en-fast", "--json"))["parser"]
    shares = [parser["dev_las"], *(epoch["dev_las"] for epoch in parser["history"])]
    assert min(shares) > 1
    assert f"dev_las: {parser['dev_las']:.6g}" in whole


def test_info_tells_the_options_that_were_changed(tmp_path: Path, capsys: Output) -> None:
    config, model = tmp_path / "own.toml", str(tmp_path / "model")
    config.write_text('arc_templates = ["h.upos m.upos @ distance"]\narc_bits = 12\nrow_bits = 12\n')
    arguments = ["--train", SAMPLE, "--model", model, "--epochs", "2", "--config", str(config), "--quiet"]
    assert run(["train", *arguments]) == 0
    lines = told(capsys, "info", model).splitlines()
    assert "options: epochs = 2, arc_bits = 12, row_bits = 12, arc_templates = 1 custom" in lines
    assert "epoch: 2 of 2" in lines
