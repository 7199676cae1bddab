"""``arcwise induce`` from end to end."""

import json
import os
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


def test_the_relaxed_e_step(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["induce", str(corpus), "--constrain", "0.9", "--e-step", "relaxed", "--restarts", "3"]
    assert run(command) == 0
    assert "best of 3 restarts" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--tags", "pos"], "'pos' is not one of 'upos', 'xpos'"),
        (["--tags", "form"], "'form' is not one of 'upos', 'xpos'"),
        (["--tags", "xpos"], "the column xpos has no tags ('_' for every word)"),
        (["--rules", os.devnull], "needs --constrain"),
        (["--max-length", "2"], "has no sentence of at most 2 words"),
        (["--learner", "em", "--e-step", "relaxed"], "--e-step: works with viterbi-em"),
        (["--e-step", "relaxed", "--start", "random"], "relaxed starts uniformly"),
        (["--learner", "em", "--constrain", "0.5"], "--constrain: works with viterbi-em and global"),
        (["--constrain", "1", "--rules", os.devnull], "contains no rules"),
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
    again = ["induce", str(corpus), "--learner", "global", "--resume", state]
    assert run([*again, "--epsilon", "0.01"]) == 0
    assert "gap 1.00 %" in capsys.readouterr().out
    assert run([*again, "--epsilon", "0.001"]) == 2  # the search has thrown away what is within 1 %
    assert "epsilon: found 0.001, expected at least 0.01" in capsys.readouterr().err
    assert open_model(model).kind == "dmv"


def test_verify_names_the_rules_and_refuses_them_unless_asked(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof, rules = corpus.with_name("cert.json"), corpus.with_name("rules.txt")
    rules.write_text("ROOT VERB\nVERB NOUN ADV\nNOUN DET ADJ\n")
    asked = ["--constrain", "0.8", "--rules", str(rules)]
    command = ["induce", str(corpus), "--learner", "global", "--certificate", str(proof), *asked]
    assert run(command) == 0
    assert "of the parses in which at least 12 of 14 arcs follow the rules" in capsys.readouterr().out
    assert run(["verify", str(proof), str(corpus)]) == 1
    error = capsys.readouterr().err
    assert "rejected: constraint: the certificate is not about all parses" in error
    assert "--constrain SHARE" in error
    assert run(["verify", str(proof), str(corpus), *asked, "--threads", "2"]) == 0
    printed = capsys.readouterr().out
    assert (
        "verified: of the parses in which at least 12 of the 14 arcs are of the types ROOT → VERB" in printed
    )
    assert "nothing is said about other parses" in printed
    assert run(["verify", str(proof), str(corpus), "--constrain", "0.8"]) == 1  # the universal rules
    assert "requested were those in which" in capsys.readouterr().err
    forged = json.loads(proof.read_text())
    forged["constraint"] = None
    proof.write_text(json.dumps(forged))
    assert run(["verify", str(proof), str(corpus)]) == 1
    assert "rejected: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes, status, message",
    [
        ({"heads": [None]}, 1, "rejected: heads: found 1 parses, expected 4"),
        ({"tags": [[], {}]}, 1, "rejected: tags: expected a list of different tags"),
        ({"nodes": [{"use": [], "split": [-1, 0, 2**63], "children": [0, 0]}]}, 1, "rejected: nodes: node 0"),
        (
            {"selection": {"column": [], "max_length": "x", "sentences": None}},
            2,
            "does not name its sentences",
        ),
        (
            {"selection": {"column": "upos", "max_length": 3, "sentences": 0}},
            1,
            "rejected: sentences: the cert",
        ),
    ],
)
def test_verify_rejects_what_is_malformed(
    corpus: Path, changes: dict, status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = corpus.with_name("cert.json")
    assert run(["induce", str(corpus), "--learner", "global", "--certificate", str(proof)]) == 0
    proof.write_text(json.dumps({**json.loads(proof.read_text()), **changes}))
    assert run(["verify", str(proof), str(corpus)]) == status
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_verify_shows_progress(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arcwise.distributed.progress.ProgressLine.every", 0.0)
    proof = str(corpus.with_name("cert.json"))
    assert run(["induce", str(corpus), "--learner", "global", "--certificate", proof]) == 0
    capsys.readouterr()
    assert run(["verify", proof, str(corpus)]) == 0
    assert " nodes (" in capsys.readouterr().err


def test_json_that_is_nested_too_deep_is_no_certificate(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = corpus.with_name("deep.json")
    proof.write_text("[" * 100_000)
    assert run(["verify", str(proof), str(corpus)]) == 2
    assert "is not valid JSON" in capsys.readouterr().err


PUNCTUATED = [
    "PUNCT:2 DET:3 NOUN:4 VERB:0 PUNCT:4",
    "NOUN:2 VERB:0 PUNCT:5 DET:5 NOUN:2 PUNCT:2",
    "PUNCT:0 PUNCT:1",
    "DET:3 ADJ:3 NOUN:4 VERB:0 PUNCT:4 PUNCT:4",
    "NOUN:3 PUNCT:1 VERB:0 ADV:3 PUNCT:3",
]


def test_punctuation_left_out_of_learning_scoring_and_parsing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, rules = tmp_path / "corpus.conllu", tmp_path / "rules.txt"
    corpus.write_text(conllu(PUNCTUATED))
    rules.write_text("ROOT VERB\nVERB NOUN ADV\nNOUN DET ADJ\n")
    output, model, proof = (str(tmp_path / n) for n in ("out.conllu", "dmv.json", "cert.json"))
    command = ["induce", str(corpus), "--without-punctuation", "--max-length", "4", "--learner", "global"]
    options = ["-o", output, "--model", model, "--certificate", proof]
    assert run([*command, *options, "--constrain", "1", "--rules", str(rules)]) == 0
    printed = capsys.readouterr().out
    assert "4 sentences, 14 words, 5 tags, without punctuation" in printed
    assert "of 14 words (all sentences of the corpus, without punctuation)" in printed
    written = Treebank.read(output)
    for sentence in written:
        assert sentence.tree.is_projective
        assert (sentence.tree.heads[1:] == 0).sum() == 1
    labels = written.column("deprel")
    tags = written.column("upos")
    roots = (written.heads == 0).tolist()
    assert all((d == "punct") == (t == "PUNCT") for d, t, r in zip(labels, tags, roots, strict=True) if not r)
    parser = open_model(model)
    assert parser.without_punctuation
    assert "PUNCT" not in parser.grammar.tags
    assert parser.parse(Treebank.read(corpus)).data == written.data
    assert run(["parse", str(corpus), "--model", model, "-o", str(tmp_path / "again.conllu")]) == 0
    assert (tmp_path / "again.conllu").read_bytes() == written.data
    assert run(["verify", proof, str(corpus), "--constrain", "1", "--rules", str(rules)]) == 0
    assert (
        "4 sentences, 14 words (sentences of at most 4 words, without punctuation" in capsys.readouterr().out
    )


def test_words_without_a_tag_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = tmp_path / "corpus.conllu"
    corpus.write_text(conllu(["DET:2 NOUN:3 VERB:0", "_:2 VERB:0"]))
    assert run(["induce", str(corpus), "--restarts", "2"]) == 0
    assert "1 words have no tag" in capsys.readouterr().err


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
    assert "does not name its sentences" in capsys.readouterr().err
    assert run(["verify", str(corpus), str(corpus)]) == 2
    assert "is not valid JSON" in capsys.readouterr().err


@pytest.mark.slow
def test_methods_estimate_and_plot(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["induce", str(corpus), "--learner", "global"]
    assert run([*command, "--method", "milp"]) == 0
    assert "proved to be at most" in capsys.readouterr().out
    proof = corpus.with_name("theta.json")
    searched = [*command, "--method", "theta", "--time-limit", "1", "--certificate", str(proof)]
    assert run(searched) == 0
    printed = capsys.readouterr().out
    assert "proved to be at most" in printed
    assert "linear programs: " in printed
    assert "unsolved" in json.loads(proof.read_text())["linear_programs"]
    assert run(["verify", str(proof), str(corpus)]) == 0
    assert "verified: " in capsys.readouterr().out
    assert run([*command, "--estimate", "3"]) == 0
    assert "from 3 random walks" in capsys.readouterr().out
    picture = corpus.with_name("bounds.svg")
    assert run([*command, "--plot", str(picture)]) == 0
    assert picture.read_text().startswith("<?xml")
    assert run([*command, "--method", "milp", "--certificate", "x.json"]) == 2
    assert "needs --method count or theta" in capsys.readouterr().err
    assert run([*command, "--method", "milp", "--estimate", "3"]) == 2
    assert "expected count or theta" in capsys.readouterr().err
