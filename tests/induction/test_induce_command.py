"""``arcwise induce`` from end to end."""

import json
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.models import open_model
from arcwise.treebanks import Treebank

SENTENCES = [
    "DET:2 NOUN:3 VERB:0",
    "NOUN:2 VERB:0 DET:4 NOUN:2",
    "DET:3 ADJ:3 NOUN:4 VERB:0",
    "NOUN:2 VERB:0 ADV:2",
]


def conllu(sentences: list[str]) -> str:
    """``TAG:HEAD`` words as CoNLL-U."""
    text = ""
    for sentence in sentences:
        for i, word in enumerate(sentence.split(), 1):
            tag, head = word.split(":")
            text += f"{i}\tw{i}\t_\t{tag}\t_\t_\t{head}\t{'root' if head == '0' else 'dep'}\t_\t_\n"
        text += "\n"
    return text


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.conllu"
    path.write_text(conllu(SENTENCES))
    return path


@pytest.mark.parametrize("learner", ["em", "viterbi-em"])
def test_induce_writes_trees_and_a_grammar_that_parses_them(
    corpus: Path, learner: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output, model = str(corpus.with_name("out.conllu")), str(corpus.with_name("dmv.json"))
    command = [
        "induce",
        str(corpus),
        "--learner",
        learner,
        "--restarts",
        "20",
        "-o",
        output,
        "--model",
        model,
    ]
    assert run(command) == 0
    printed = capsys.readouterr().out
    assert "4 sentences, 14 words, 5 tags" in printed
    assert "correct heads" in printed
    written = Treebank.read(output)
    assert written.column("form") == Treebank.read(corpus).column("form")
    parser = open_model(model)
    assert parser.kind == "dmv"
    assert parser.parse(Treebank.read(corpus)).data == written.data


def test_a_grammar_parses_new_sentences_from_the_command_line(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, rules = corpus.with_name("dmv.json"), corpus.with_name("rules.txt")
    rules.write_text("ROOT VERB\nVERB NOUN ADV\nNOUN DET ADJ\n")
    induce = ["induce", str(corpus), "--learner", "global", "--constrain", "1", "--rules", str(rules)]
    assert run([*induce, "--model", str(model)]) == 0
    gold, parsed = corpus.with_name("new.conllu"), corpus.with_name("parsed.conllu")
    gold.write_text(conllu(["DET:3 ADJ:3 NOUN:4 VERB:0 ADV:4", "DET:2 NOUN:3 VERB:0 NOUN:3"]))
    blank = corpus.with_name("blank.conllu")
    blank.write_text(conllu(["DET:0 ADJ:1 NOUN:1 VERB:1 ADV:1", "DET:0 NOUN:1 VERB:1 NOUN:1"]))
    assert run(["parse", str(blank), "--model", str(model), "-o", str(parsed)]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(gold), str(parsed), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["attachment"]
    assert (scores["words"], scores["uas"]) == (9, 1.0)


def test_the_same_seed_gives_the_same_files(corpus: Path) -> None:
    written = []
    for name in ("a", "b"):
        model = corpus.with_name(f"{name}.json")
        assert run(["induce", str(corpus), "--seed", "3", "--restarts", "50", "--model", str(model)]) == 0
        written.append(model.read_bytes())
    assert written[0] == written[1]


def test_constraints_from_a_file(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = corpus.with_name("rules.txt")
    rules.write_text("ROOT VERB\nVERB NOUN ADV\nNOUN DET ADJ\n")
    assert run(["induce", str(corpus), "--constrain", "1", "--rules", str(rules), "--restarts", "20"]) == 0
    assert "correct heads 100.00 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--tags", "pos"], "column: found 'pos', expected one of"),
        (["--max-length", "2"], "found no sentence of at most 2 words"),
        (["--learner", "em", "--constrain", "0.5"], "--constrain: works with viterbi-em and global"),
        (["--tags", "xpos", "--constrain", "1"], "share: found 1.0"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    corpus: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["induce", str(corpus), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_global_search_with_a_certificate(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof, state, model = (str(corpus.with_name(n)) for n in ("cert.json", "state.json.gz", "dmv.json"))
    command = ["induce", str(corpus), "--learner", "global", "--certificate", proof, "--checkpoint", state]
    assert run([*command, "--model", model]) == 0
    assert "gap 1.00 %" in capsys.readouterr().out
    assert run(["verify", proof, str(corpus)]) == 0
    assert "verified: some parses have log-likelihood" in capsys.readouterr().out
    assert run(["induce", str(corpus), "--learner", "global", "--resume", state, "--epsilon", "0.001"]) == 0
    assert "gap 0.10 %" in capsys.readouterr().out
    assert open_model(model).kind == "dmv"


def test_verify_says_why_it_rejects(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = corpus.with_name("cert.json")
    assert run(["induce", str(corpus), "--learner", "global", "--certificate", str(proof)]) == 0
    data = json.loads(proof.read_text())
    data["lower"] += 1
    proof.write_text(json.dumps(data))
    assert run(["verify", str(proof), str(corpus)]) == 1
    assert "rejected: lower: found" in capsys.readouterr().err
    proof.write_text("{}")
    assert run(["verify", str(proof), str(corpus)]) == 2
    assert "does not say which sentences" in capsys.readouterr().err
    assert run(["verify", str(corpus), str(corpus)]) == 2
    assert "is no JSON" in capsys.readouterr().err


def test_methods_estimate_and_plot(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["induce", str(corpus), "--learner", "global"]
    assert run([*command, "--method", "milp"]) == 0
    assert "proved to be at most" in capsys.readouterr().out
    assert run([*command, "--method", "theta", "--time-limit", "1"]) == 0
    assert "proved to be at most" in capsys.readouterr().out
    assert run([*command, "--estimate", "3"]) == 0
    assert "from 3 random walks" in capsys.readouterr().out
    picture = corpus.with_name("bounds.svg")
    assert run([*command, "--plot", str(picture)]) == 0
    assert picture.read_text().startswith("<?xml")
    assert run([*command, "--method", "theta", "--certificate", "x.json"]) == 2
    assert "only it leaves a proof" in capsys.readouterr().err
    assert run([*command, "--method", "milp", "--estimate", "3"]) == 2
    assert "expected count or theta" in capsys.readouterr().err
