"""What a program sees of arcwise: log records, versions, what there is to load, pipelines that travel by
name."""

import copy
import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import arcwise
from arcwise import ModelError, Treebank
from arcwise.cli.main import run
from arcwise.graph import GraphConfig, GraphParser
from arcwise.induction.dmv import DMV
from arcwise.learning.model_file import read_model
from arcwise.models import registry, written_by
from arcwise.parsing import ParseOptions
from contracts.every_parser import graph_parser, toy_pipeline

# ---- logging


def test_a_loaded_model_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "arcwise"):
        arcwise.load("en")
    assert [r.name for r in caplog.records] == ["arcwise"]
    assert "en.arcwise loaded in" in caplog.text
    assert "pipeline, " in caplog.text


def test_notes_and_warnings_are_told(caplog: pytest.LogCaptureFixture) -> None:
    row = "{}\t{}\t_\tNOUN\t_\t_\t{}\tdep\t_\t{}\n"
    crossing = row.format(1, "a", 3, "_") + row.format(2, "b", 4, "_") + row.format(3, "c", 0, "_")
    cycle = row.format(1, "a", 2, "_") + row.format(2, "b", "_", "Head=1")
    treebank = Treebank.from_string(f"{crossing}{row.format(4, 'd', 3, '_')}\n{cycle}\n", source="odd.conllu")
    options = ParseOptions(keep_heads=True, misc_constraints=True, projective=True)
    parser = graph_parser("perceptron")
    caplog.clear()  # of what its training said
    with caplog.at_level(logging.INFO, "arcwise"):
        analysis = parser.analyse(treebank, options=options)
    told = [(r.levelname, r.getMessage()) for r in caplog.records]
    assert told == [
        (level, str(note)) for level, note in zip(("INFO", "WARNING"), analysis.notes, strict=True)
    ]
    assert "crossing arcs" in told[0][1]
    assert "left unchanged" in told[1][1]


def test_training_is_told(caplog: pytest.LogCaptureFixture) -> None:
    from contracts.small_treebank import small_treebank

    with caplog.at_level(logging.INFO, "arcwise"):
        config = GraphConfig(epochs=1, arc_bits=10, row_bits=10)
        GraphParser.train(small_treebank(), small_treebank(), config=config)
    assert "epoch 1" in caplog.text
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert any("have only 34 words" in line for line in warnings)
    assert not any(line.startswith("warning") for line in warnings)


def test_nothing_is_printed_unless_the_program_asks_for_it() -> None:
    code = "import arcwise, arcwise.log; arcwise.load('en'); arcwise.log.logger.warning('hidden')"
    quiet = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (quiet.stdout, quiet.stderr) == ("", "")
    code = "import logging; logging.basicConfig(level='INFO'); " + code
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "INFO:arcwise:model" in asked.stderr
    assert "WARNING:arcwise:hidden" in asked.stderr


# ---- versions


def test_a_model_says_which_version_wrote_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph_parser("perceptron").save(tmp_path / "graph.arcwise")
    toy_pipeline().save(tmp_path / "pipeline.arcwise")
    DMV.random(("NOUN", "VERB"), seed=1).save(tmp_path / "grammar.json")
    for name in ("graph.arcwise", "pipeline.arcwise", "grammar.json"):
        assert written_by(tmp_path / name) == arcwise.__version__
        assert run(["info", str(tmp_path / name)]) == 0
        assert f"written_by: arcwise {arcwise.__version__}\n" in capsys.readouterr().out
    assert "written_by" not in read_model(tmp_path / "graph.arcwise").header


def test_models_from_before_do_not_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph_parser("perceptron").save(tmp_path / "new.arcwise")
    data = (tmp_path / "new.arcwise").read_bytes()
    (tmp_path / "old.arcwise").write_bytes(data.replace(b"written_by", b"unheard_of"))
    assert written_by(tmp_path / "old.arcwise") is None
    assert run(["info", str(tmp_path / "old.arcwise")]) == 0
    assert "written_by: unknown\n" in capsys.readouterr().out


# ---- what there is


def test_load_says_what_there_is() -> None:
    with pytest.raises(
        ModelError, match=r"^name: found none, .*\(en-fast, en.*\) or a file; .*models train NAME --treebank"
    ):
        arcwise.load()
    with pytest.raises(
        ModelError,
        match=r"^xx: no such model file or installed model .*\(en-fast, en.*\); train it on a treebank of "
        "the language: 'arcwise models train xx --treebank FOLDER'$",
    ):
        arcwise.load("xx")
    with pytest.raises(ModelError, match=r"^a/xx: no such .*'arcwise models train NAME --treebank FOLDER'$"):
        arcwise.load("a/xx")


# ---- travelling


def test_a_shipped_pipeline_travels_by_name() -> None:
    nlp = arcwise.load("en")
    doc = nlp("Birds sing.")
    assert len(pickle.dumps(nlp)) < 2000
    assert len(pickle.dumps(doc)) < 10_000
    again = pickle.loads(pickle.dumps(doc))
    assert again[0].alternatives() == doc[0].alternatives()
    sent: Any = pickle.loads(pickle.dumps(nlp))
    assert sent.parser is nlp.parser
    assert sent.card == nlp.card
    assert sent("Fish swim.").to_conllu() == nlp("Fish swim.").to_conllu()
    assert len(pickle.dumps(sent)) < 2000
    assert copy.deepcopy(nlp).card is not nlp.card


def test_one_that_was_changed_travels_whole() -> None:
    nlp, other = arcwise.load("en"), arcwise.load("en-fast")
    nlp.parser = other.parser
    again = pickle.loads(pickle.dumps(nlp))
    assert again("Birds sing.").to_conllu() == nlp("Birds sing.").to_conllu()
    assert again("Birds sing.").to_conllu() != arcwise.load("en")("Birds sing.").to_conllu()


def test_another_version_at_the_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = pickle.dumps(arcwise.load("en"))
    monkeypatch.setattr(registry, "_digest", lambda name: "other")
    with pytest.raises(ModelError, match="another version of arcwise"):
        pickle.loads(sent)
