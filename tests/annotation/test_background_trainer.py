"""Training on the current annotation in a child process."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arcwise.annotation.assistant import Assistant
from arcwise.annotation.background_job import BackgroundJob
from arcwise.annotation.background_trainer import BackgroundTrainer
from arcwise.annotation.training import MARK, decided_part, small_config, train, visible_columns
from arcwise.errors import InputError
from arcwise.graph import GraphParser
from arcwise.learning.model_file import read_model, write_model
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Treebank
from contracts.small_treebank import partial, small_treebank
from text.toy import toy_treebank


def with_open_sentences(treebank, count):
    """The last sentences with nothing decided."""
    start = int(treebank.sentence_words[len(treebank) - count])
    heads, labels = treebank.heads.copy(), treebank.column("deprel")
    heads[start:] = -1
    labels[start:] = ["_"] * (len(labels) - start)
    return treebank.annotate(heads=heads, deprel=labels)


@pytest.fixture
def states():
    return []


@pytest.mark.slow
def test_a_file_gets_a_model_beside_it(tmp_path, states):
    treebank = with_open_sentences(partial(toy_treebank()[:20]), 6)
    learner = BackgroundTrainer(tmp_path / "my.conllu", on_change=states.append)
    assert learner.model() is None
    assert learner.history == ()
    learner.start(treebank)
    assert learner.wait(60).state == "idle", learner.state
    assert states[0].state == "training"
    assert states[-1] == learner.state
    shares = [own.progress for own in states]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert any("fold 3 of 5" in own.message for own in states)
    (line,) = learner.history
    assert line.sentences == 14
    assert line.words == int((treebank.heads >= 0).sum())
    assert 0 < line.las <= line.uas <= 1
    assert 0 <= line.ece < 1
    assert line.seconds > 0
    model = learner.model()
    assert isinstance(model, GraphParser)
    decided = decided_part(list(treebank))
    alone = GraphParser.train(decided, "5fold", config=small_config(decided.word_count))
    assert model.parse(treebank).data == alone.parse(treebank).data
    assert Assistant(model).suggest(treebank[19]).words[0].probability > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["my.conllu.arcwise"]


@pytest.mark.slow
def test_the_history_goes_on_and_another_process_reads_it(tmp_path):
    treebank = small_treebank()
    for _ in range(2):
        learner = BackgroundTrainer(tmp_path / "my.conllu")
        learner.start(treebank)
        assert learner.wait(60).state == "idle", learner.state
    first, second = BackgroundTrainer(tmp_path / "my.conllu").history
    assert (first.sentences, first.uas, first.las, first.ece) == (8, None, None, None)
    assert second.when >= first.when


def test_a_file_that_no_learner_wrote_stays(tmp_path):
    path = tmp_path / "my.conllu.arcwise"
    parser = train(small_treebank(), "tags")
    for content in (b"my notes", None):
        if content is None:
            parser.save(path)
        else:
            path.write_bytes(content)
        before = path.read_bytes()
        learner = BackgroundTrainer(tmp_path / "my.conllu")
        with pytest.raises(InputError, match="was not written by 'arcwise annotate'"):
            learner.start(small_treebank())
        assert learner.model() is None
        assert learner.history == ()
        assert path.read_bytes() == before


def test_a_file_that_comes_while_it_trains_stays(tmp_path):
    learner = BackgroundTrainer(tmp_path / "my.conllu")
    learner.start(toy_treebank()[:60])
    learner.path.write_bytes(b"my notes")
    state = learner.wait(60)
    assert state.state == "failed"
    assert "was not written by" in state.message
    assert learner.path.read_bytes() == b"my notes"


@pytest.mark.slow
def test_cancelling_leaves_the_model_as_it_was(tmp_path, states):
    learner = BackgroundTrainer(tmp_path / "my.conllu", on_change=states.append)
    learner.start(small_treebank())
    learner.wait(60)
    before = learner.path.read_bytes()
    learner.start(toy_treebank())
    with pytest.raises(InputError, match="a training is already running"):
        learner.start(small_treebank())
    while learner.state.message == "starting":
        time.sleep(0.01)
    learner.cancel()
    assert learner.state.state == states[-1].state == "cancelled"
    assert learner.path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["my.conllu.arcwise"]
    learner.start(small_treebank())
    assert learner.wait(60).state == "idle"
    assert len(learner.history) == 2


def test_nothing_decided_is_too_little(tmp_path):
    blank = small_treebank()
    blank = blank.annotate(heads=np.full(blank.word_count, -1, np.int32))
    with pytest.raises(InputError, match="no head is annotated"):
        BackgroundTrainer(tmp_path / "my.conllu").start(blank)


def test_a_folder_that_is_not_there_is_told_before_the_work(tmp_path):
    with pytest.raises(InputError, match=r"no such folder|does not exist|cannot"):
        BackgroundTrainer(tmp_path / "gone" / "my.conllu").start(small_treebank())


def test_a_worker_that_dies_is_told(tmp_path, states):
    learner = BackgroundTrainer(tmp_path / "my.conllu", on_change=states.append)
    learner.start(toy_treebank())
    assert learner._job is not None
    learner._job._process.kill()
    state = learner.wait(60)
    assert state.state == "failed"
    assert state.message


def test_a_worker_ends_with_the_process_that_started_it(tmp_path):
    """Also where that is killed, and can say nothing."""
    code = (
        "import sys, time\n"
        "from arcwise.annotation.background_trainer import BackgroundTrainer\n"
        "from arcwise.treebanks import Treebank\n"
        "learner = BackgroundTrainer(sys.argv[1])\n"
        "learner.start(Treebank.read(sys.argv[2]))\n"
        "print(learner._job._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    whole = tmp_path / "whole.conllu"
    Treebank(toy_treebank().data * 40).write(whole)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "my.conllu"), str(whole)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    assert is_running(worker)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 20
    while is_running(worker):
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_program_with_a_training_ends_at_once(tmp_path):
    code = (
        "import sys\n"
        "from arcwise.annotation.background_trainer import BackgroundTrainer\n"
        "from arcwise.treebanks import Treebank\n"
        "BackgroundTrainer(sys.argv[1]).start(Treebank.read(sys.argv[2]))\n"
    )
    whole = tmp_path / "whole.conllu"
    Treebank(toy_treebank().data * 40).write(whole)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "my.conllu"), str(whole)], timeout=30, check=False
    )
    assert done.returncode == 0


# ---- what the parser sees


def without_tags(treebank, sentences):
    start = int(treebank.sentence_words[len(treebank) - sentences])
    tags = treebank.column("upos")
    return treebank.annotate(upos=[*tags[:start], *["_"] * (len(tags) - start)])


def test_tags_are_features_where_the_file_has_them():
    whole = toy_treebank()[:20]
    assert visible_columns(whole, whole) == "tags"
    assert visible_columns(without_tags(whole, 20), without_tags(whole, 20)) == "words"
    half = without_tags(whole, 10)
    assert visible_columns(half[:10], half) == "pipeline"


@pytest.mark.slow
def test_where_the_rest_of_the_file_lacks_tags_a_tagger_is_trained_too(tmp_path):
    treebank = without_tags(with_open_sentences(toy_treebank()[:24], 12), 12)
    learner = BackgroundTrainer(tmp_path / "my.conllu")
    learner.start(treebank)
    assert learner.wait(60).state == "idle", learner.state
    model = learner.model()
    assert isinstance(model, Pipeline)
    assert learner.history[0].las is not None
    assert "upos" in Assistant(model).suggest(treebank[20]).words[0].tags


def test_a_model_says_in_its_header_that_a_learner_wrote_it(tmp_path):
    path = tmp_path / "my.conllu.arcwise"
    packed = train(small_treebank(), "tags").pack()
    write_model(path, replace(packed, header={**packed.header, MARK: {"history": []}}))
    assert BackgroundTrainer(tmp_path / "my.conllu").model() is not None
    assert json.dumps(read_model(path).header[MARK]) == '{"history": []}'


def test_an_unknown_task_fails_in_words():
    heard = []
    BackgroundJob("train", {"model": "/", "source": "x", "sees": "tags"}, b"", heard.append).wait(30)
    assert heard[-1]["end"] == "failed"
    assert heard[-1]["message"]
