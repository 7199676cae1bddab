"""Raw text to trees: a pipeline of our own, its model file, its documents, and the commands around it."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import arcwise
from arcwise.cli.main import run
from arcwise.errors import InputError, ModelError
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.models import load, open_model
from arcwise.models.train_pipeline import PipelineConfig, raw_text_scores, train_pipeline
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.pipeline.pipeline import VERSION, Pipeline
from arcwise.treebanks import Treebank
from text.toy import toy_treebank

SMALL = {"epochs": 3, "arc_bits": 14, "row_bits": 13}
TEXT = "The dog sees cats. Birds don't hear!\n\nThe teacher likes robins."


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    treebank = toy_treebank()
    return train_pipeline(treebank, treebank[:40], config=PipelineConfig(jackknife=2), parser=SMALL)


@pytest.fixture(scope="module")
def model(pipeline: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "toy.arcwise"
    pipeline.save(path)
    return path


def test_text_becomes_trees(pipeline: Pipeline) -> None:
    doc = pipeline(TEXT)
    assert [s.text for s in doc.sentences] == [
        "The dog sees cats.",
        "Birds don't hear!",
        "The teacher likes robins.",
    ]
    first, second, _ = doc
    assert first.tree.heads[1:].tolist() == [2, 3, 0, 3, 3]
    assert second.forms == ["Birds", "do", "n't", "hear", "!"]
    assert second.tree.labels is not None
    assert second.tree.labels[1:] == ("nsubj", "aux", "advmod", "root", "punct")
    assert (second.lemmas, second.upos[1]) == (["bird", "do", "not", "hear", "!"], "AUX")


def test_confidences(pipeline: Pipeline) -> None:
    sentence = pipeline(TEXT)[0]
    assert sentence.confidence is not None
    assert 0 < sentence.confidence <= 1
    assert sentence.head_probabilities is not None
    assert all(0 <= p <= 1 for p in sentence.head_probabilities)
    alternatives = sentence.alternatives(k=2)
    for word, (head, p) in enumerate((heads[0] for heads in alternatives), 1):
        assert head == sentence.tree.heads[word]
        assert p == pytest.approx(sentence.head_probabilities[word - 1], abs=1e-3)


def test_a_document_shows_itself(pipeline: Pipeline) -> None:
    doc = pipeline(TEXT)
    assert "─► dog" in repr(doc)
    assert doc._repr_html_().count("<svg") == 3
    assert doc[0]._repr_svg_().startswith("<svg")
    assert doc.to_html().startswith("<!doctype html>")
    assert Treebank.from_string(doc.to_conllu())[1].upos == doc[1].upos
    assert "1 more sentence" in repr(pipeline(6 * "The dog sees cats. "))


@pytest.mark.parametrize("text", ["", "   \n", "\ufeff"])
def test_no_text_no_sentences(pipeline: Pipeline, text: str) -> None:
    doc = pipeline(text)
    assert len(doc) == 0
    assert (doc.to_conllu(), repr(doc), doc._repr_html_()) == ("", "", "")


def test_a_pipeline_wants_text(pipeline: Pipeline) -> None:
    with pytest.raises(InputError, match="text: found bytes, expected a string"):
        pipeline(b"The dog")  # type: ignore[arg-type]


def test_odd_texts_are_parsed(pipeline: Pipeline) -> None:
    for text in ("🙂🙂", "👩‍👩‍👧 sees 🐈.", "a\x00b\x1b[31m", "\x07\x08", "日本語 العربية dog.", "_", "1\t2"):
        found = pipeline(text).treebank
        Treebank(found.data)
        assert all(sum(h == 0 for h in s.tree.heads[1:]) == 1 for s in found)


def test_a_line_of_ten_thousand_words(pipeline: Pipeline) -> None:
    found = pipeline("dog " * 10_000).treebank
    assert found.word_count == 10_000
    assert max(map(len, found)) <= 300


def test_a_saved_pipeline_is_the_same(pipeline: Pipeline, model: Path) -> None:
    again = open_model(model)
    assert isinstance(again, Pipeline)
    assert isinstance(again, Parser)
    assert [s.tree.heads.tolist() for s in again(TEXT)] == [s.tree.heads.tolist() for s in pipeline(TEXT)]
    assert again.info["dev"] == pipeline.info["dev"]
    assert arcwise.load(str(model))(TEXT).to_conllu() == again(TEXT).to_conllu()


def test_scores_from_raw_text(pipeline: Pipeline) -> None:
    scores = raw_text_scores(pipeline, toy_treebank()[:40])
    assert scores["Tokens"] == scores["Words"] == 100
    assert scores["LAS"] > 90


def test_threads_change_nothing(pipeline: Pipeline) -> None:
    streams = [
        b"".join(t.to_conllu().encode() for t in pipeline.stream(io.BytesIO(20 * TEXT.encode()), threads=n))
        for n in (1, 3)
    ]
    assert streams[0] == streams[1]


def test_a_damaged_model_is_refused(model: Path, tmp_path: Path) -> None:
    kept = read_model(model)
    target = tmp_path / "broken.arcwise"
    arrays = {name: values for name, values in kept.arrays.items() if not name.startswith("tagger.states")}
    write_model(target, Packed("pipeline", VERSION, kept.header, arrays))
    with pytest.raises(ModelError, match="damaged"):
        load(target)
    write_model(target, Packed("pipeline", 99, kept.header, kept.arrays))
    with pytest.raises(ModelError, match=f"found version 99 of a pipeline model, expected {VERSION}"):
        load(target)


# ---- commands


def test_parse_text(model: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["parse", "--model", str(model), "--text", TEXT]) == 0
    found = Treebank(capsysbinary.readouterr().out)
    assert [len(s) for s in found] == [5, 5, 5]
    assert "TokenRange=0:3" in found[0].misc[0]


def test_parse_files_and_folders(
    model: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    texts = tmp_path / "texts"
    (texts / "more").mkdir(parents=True)
    (texts / "a.txt").write_text("The dog sees cats.")
    (texts / "more" / "b.txt").write_text("Birds don't hear!")
    assert run(["parse", "--model", str(model), str(texts)]) == 0
    both = capsysbinary.readouterr().out
    assert [len(s) for s in Treebank(both)] == [5, 5]
    assert run(["parse", "--model", str(model), str(texts), "--output", str(tmp_path / "out")]) == 0
    assert Treebank.read(tmp_path / "out" / "more" / "b.txt.conllu")[0].forms[1:3] == ["do", "n't"]
    conllu = tmp_path / "out" / "a.txt.conllu"
    assert run(["parse", "--model", str(model), str(conllu)]) == 0
    assert Treebank(capsysbinary.readouterr().out)[0].tree == Treebank.read(conllu)[0].tree


def test_parse_shows_trees(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parse", "--model", str(model), "--show", "--text", "The dog sees cats."]) == 0
    out = capsys.readouterr().out
    assert "─► dog" in out
    assert "%" in out


@pytest.mark.slow
def test_parse_standard_input(model: Path) -> None:
    command = [sys.executable, "-m", "arcwise", "parse", "--model", str(model)]
    text = subprocess.run(command, input=TEXT.encode(), capture_output=True, check=True).stdout
    assert len(Treebank(text)) == 3
    again = subprocess.run(command, input=text, capture_output=True, check=True).stdout
    assert [s.tree for s in Treebank(again)] == [s.tree for s in Treebank(text)]


def test_bad_input_is_one_line(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"The dog \xff sees cats.")
    (tmp_path / "empty").mkdir()
    graph, old, other = (tmp_path / f"{name}.arcwise" for name in ("graph", "old", "other"))
    open_model(model).parser.save(graph)  # type: ignore[attr-defined]
    write_model(old, Packed("pipeline", 0, read_model(model).header, read_model(model).arrays))
    write_model(other, Packed("oracle", 1))
    for arguments, message in [
        (["--model", str(model), str(broken)], "found byte 0xff at offset 8, expected UTF-8"),
        (["--model", str(graph), "--text", "Hi"], "the model is a graph parser, which needs CoNLL-U"),
        (["--model", str(old), "--text", "Hi"], f"found version 0 of a pipeline model, expected {VERSION}"),
        (["--model", str(other), "--text", "Hi"], "found kind 'oracle', expected one of graph, transition"),
        (["--model", str(broken), "--text", "Hi"], "broken.txt: is not an arcwise model, or is damaged"),
        (["--model", "xx", "--text", "Hi"], "xx: no such model file or installed model"),
        (["--model", str(model), "--text", "Hi", str(broken)], "--text: cannot be combined with files"),
        (["--model", str(model), "--format", "pdf", "--text", "Hi"], "--format: found 'pdf'"),
        (["--model", str(model), "--errors", "ignore", "--text", "Hi"], "--errors: found 'ignore'"),
        (["--model", str(model), str(tmp_path / "empty")], "found no file in the folder"),
        (["--model", str(model), str(tmp_path / "none.txt")], "no such file"),
    ]:
        assert run(["parse", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    target = tmp_path / "fine.conllu"
    assert run(["parse", "--model", str(model), str(broken), "--errors", "replace", "-o", str(target)]) == 0
    assert "\ufffd" in target.read_text()


@pytest.mark.slow
def test_every_process_makes_and_reads_the_same_model(tmp_path: Path) -> None:
    """Python orders sets of strings anew in each process; nothing may depend on that."""
    treebank = tmp_path / "toy.conllu"
    rows = [
        f"1\tw{i}{ending}\tw{i}\tNOUN\tN{i % 3}\t"
        f"Case={case}|Gender=G{i % 4}|Number=N{i % 2}\t0\troot\t_\t_\n\n"
        for i in range(12)
        for ending, case in (("a", "Nom"), ("en", "Gen"), ("us", "Dat"))
    ]
    treebank.write_text("".join(rows) + toy_treebank()[:30].text)
    config = tmp_path / "small.toml"
    config.write_text(
        "jackknife = 0\n[tagger]\nepochs = 3\n[parser]\nepochs = 1\narc_bits = 12\nrow_bits = 11\n"
    )
    models, parses = [], []
    for seed in ("1", "2"):
        model = tmp_path / f"{seed}.arcwise"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "arcwise"]
        train = [
            "train",
            "--pipeline",
            "--train",
            str(treebank),
            "--config",
            str(config),
            "--model",
            str(model),
        ]
        subprocess.run([*command, *train], env=environment, check=True, capture_output=True)
        parse = ["parse", "--model", str(tmp_path / "1.arcwise"), str(treebank)]
        parses.append(
            subprocess.run([*command, *parse], env=environment, check=True, capture_output=True).stdout
        )
        models.append(model.read_bytes())
    assert models[0] == models[1]
    assert parses[0] == parses[1]


def test_train_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    treebank = tmp_path / "toy.conllu"
    toy_treebank()[150:].write(treebank)
    config = tmp_path / "small.toml"
    config.write_text("[tagger]\nepochs = 3\n[parser]\nepochs = 2\narc_bits = 13\nrow_bits = 12\n")
    model = tmp_path / "toy.arcwise"
    command = ["train", "--pipeline", "--train", str(treebank), "--dev", str(treebank), "--model", str(model)]
    options = ["--config", str(config), "--jackknife", "2", "--note", "language=Toy"]
    assert run([*command, *options]) == 0
    assert "development data from raw text:  Tokens 100.00" in capsys.readouterr().err
    assert run(["info", str(model)]) == 0
    assert "language: Toy" in capsys.readouterr().out
    first = model.read_bytes()
    assert run([*command, *options, "--threads", "2"]) == 0
    assert model.read_bytes() == first
    for wrong, message in [
        (["--note", "language"], "--note: found 'language', expected KEY=VALUE"),
        (
            ["--parser", "rules"],
            "--parser: found 'rules', expected one of graph, transition, neural, siblings\n",
        ),
    ]:
        assert run([*command, "--config", str(config), *wrong]) == 2
        assert message in capsys.readouterr().err
    config.write_text("[tager]\nepochs = 3\n")
    assert run([*command, "--config", str(config)]) == 2
    assert "found key 'tager', expected one of tokenizer, tagger, kind" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs the resource limits of Unix")
def test_memory_does_not_grow_with_the_text(model: Path) -> None:
    """2.5 MB of text through standard input, tens of MB of trees, take no more memory than 0.5 MB, give or
    take."""
    (few, little), (many, much) = (parsed_from_standard_input(model, size) for size in (500_000, 2_500_000))
    assert many > 4.9 * few > 5_000_000
    assert much < little + 10_000  # kB


def parsed_from_standard_input(model: Path, size: int) -> tuple[int, int]:
    """Bytes of the output and peak memory in kB of ``arcwise parse`` when so many bytes of text come in."""
    script = (
        "import resource, sys\n"
        "from arcwise.cli.main import run\n"
        "assert run(sys.argv[1:]) == 0\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", script, "parse", "--model", str(model), "-"]
    text = b"The dog sees cats. " * (size // 19)
    done = subprocess.run(command, input=text, capture_output=True, check=True)
    return len(done.stdout), int(done.stderr.split()[-1])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs the signals of Unix")
def test_ctrl_c_leaves_nothing_half_written(model: Path, tmp_path: Path) -> None:
    text, target = tmp_path / "text.txt", tmp_path / "parsed.conllu"
    text.write_text("The dog sees cats. " * 200_000)
    command = [sys.executable, "-m", "arcwise", "parse", "--model", str(model), str(text)]
    for output in ("-", str(target)):
        process = subprocess.Popen(
            [*command, "-o", output],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whatever we were started with
        )
        assert process.stdout is not None
        if output == "-":
            assert process.stdout.read(100)  # it is at work
        else:
            while len(list(tmp_path.iterdir())) < 2 and process.poll() is None:
                time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 130
        assert error.decode().strip() == "arcwise: stopped"
        assert list(tmp_path.iterdir()) == [text]


def test_options_reach_the_parser(pipeline: Pipeline) -> None:
    treebank = pipeline(TEXT).treebank
    assert "# parse_rank = 1" in pipeline.parse(treebank, options=ParseOptions(k_best=2)).text
    with pytest.raises(InputError, match=r"^beam: "):
        pipeline.parse(treebank, options=ParseOptions(beam=4))
