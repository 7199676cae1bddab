"""Train the networks of the English models by distillation from transformers.

    python recipes/taught_english.py prepare WORK               train tokenizer and tagger, tag the treebank
    python recipes/taught_english.py text WORK --text text.txt  tokenize and tag the text
    python recipes/taught_english.py teacher WORK NAME [--encoder FOLDER] [--set OPTION=VALUE …]
    python recipes/taught_english.py label WORK NAME … [--part 1/4]   label the text by these teachers
    python recipes/taught_english.py student WORK NAME [--copies 2] [--text-weight 0.5] [--minutes 10] …
    python recipes/taught_english.py tune WORK NAME                   select the decoder, calibrate
    python recipes/taught_english.py ensemble WORK NAME …             dev and test scores of several teachers

Each step writes separate files to the folder WORK, so that steps can run in parallel: several teachers, parts
of the text, students. ``prepare`` needs ARCWISE_TREEBANKS; teachers and students need torch, preferably on a
GPU. ``recipes/train.py English-EWT --parser WORK/student-NAME.arcwise`` makes
the pipeline. docs/how-to/teach-a-parser.md lists the commands for ``en``; recipes/gpu_session.py runs
all steps, and the networks of other languages, in one session.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arcwise.distillation import DistillationConfig, DistillationData, SoftTags, SoftTargets
from arcwise.evaluation import evaluate
from arcwise.learning.config import from_dict, read_toml
from arcwise.learning.model_file import read_model, write_model
from arcwise.learning.progress import Progress
from arcwise.models.teacher import read_text
from arcwise.models.train_pipeline import NEURAL, read_config
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.neural.model_selection import select_tag_columns, tune_decoding
from arcwise.neural.tags import PredictedTags
from arcwise.text.jackknife import jackknife_tags
from arcwise.text.tagger import Tagger
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import read_bytes

ROOT = Path(__file__).parents[1]
TREEBANK, RECIPE = "English-EWT", ROOT / "recipes" / "English-EWT.toml"
LEAST = 1e-4
"""Heads less probable than this are left out of the labels."""
_RESERVE = 60
"""Seconds reserved for the steps after the last epoch."""
COLUMNS = ("upos", "xpos", "feats", "lemma")


def prepare(work: Path) -> None:
    """Train tokenizer and tagger; write the treebank with gold tags and, jackknifed, with the tagger's."""
    folder = Path(os.environ["ARCWISE_TREEBANKS"]) / TREEBANK
    work.mkdir(parents=True, exist_ok=True)
    gold = {part: Treebank(read_bytes(folder / f"{part}.conllu.xz")) for part in ("train", "dev", "test")}
    config, _ = read_config(RECIPE, kind="neural", jackknife=None, seed=None)
    tokenizer = Tokenizer.train(gold["train"], config=config.tokenizer, seed=config.seed)
    tagger = Tagger.train(gold["train"], config=config.tagger, seed=config.seed)
    tagged = {part: tagger.tag(gold[part]) for part in ("dev", "test")}
    tagged["train"] = jackknife_tags(
        gold["train"], folds=config.jackknife, config=config.tagger, seed=config.seed
    )
    for part, treebank in gold.items():
        (work / f"{part}.conllu").write_bytes(treebank.data)
        (work / f"{part}-tagged.conllu").write_bytes(tagged[part].data)
    write_model(work / "tokenizer.arcwise", tokenizer.pack())
    write_model(work / "tagger.arcwise", tagger.pack())


def prepare_text(work: Path, text: Path) -> None:
    """Write the text as the tokenizer cuts it and the tagger tags it."""
    tokenizer = Tokenizer.unpack(read_model(work / "tokenizer.arcwise"))
    tagger = Tagger.unpack(read_model(work / "tagger.arcwise"))
    with (work / "text.conllu").open("wb") as stream:
        for piece in read_text(text, tokenizer, tagger, keep=False, threads=os.cpu_count() or 1):
            stream.write(piece.data)


def teach(work: Path, name: str, encoder: str | None, options: dict[str, Any]) -> None:
    """Train a teacher on the treebank; a transformer reads the words, LSTMs also the tags."""
    values = {
        "learns": COLUMNS,
        **({"encoder": encoder} if encoder else {"inputs": NEURAL["inputs"]}),
        **options,
    }
    parser = _train(work, from_dict(NeuralConfig, values), None, Progress())
    parser.save(work / f"teacher-{name}.arcwise", precision="float16" if encoder else "int8")
    report(f"teacher {name}", parser, work)


def label(work: Path, names: Sequence[str], part: str) -> None:
    """Label a part of the text by the teachers and write the labels."""
    from arcwise.neural.network_teacher import NetworkTeacher

    number, count = map(int, part.split("/"))
    text = _read(work, "text")
    first, last = ((len(text) * at) // count for at in (number - 1, number))
    own = text[first:last]
    predictions = NetworkTeacher([_teacher(work, name) for name in names]).soft_predictions(
        own, projective=False, single_root=True, least=LEAST
    )
    targets, tags = predictions.targets, predictions.tags
    assert tags is not None
    np.savez(
        work / f"labels-{number}-{count}.npz",
        starts=targets.starts,
        heads=targets.heads.astype(np.int16),
        labels=targets.labels.astype(np.int16),
        probabilities=targets.probabilities.astype(np.float32),
        best=predictions.heads,
        best_labels=np.array(predictions.labels),
        alphabets=json.dumps([targets.label_names, tags.names, tags.values, list(names)]),
        **{f"codes{tag}": codes.astype(np.int16) for tag, codes in enumerate(tags.codes)},
        **{f"shares{tag}": shares.astype(np.float16) for tag, shares in enumerate(tags.probabilities)},
    )


@dataclass(frozen=True)
class Labels:
    """The teachers' labels of the text, read from files, in place of a ``Distillation``."""

    data: DistillationData

    def prepare(self, *_: Any, **__: Any) -> DistillationData:
        """The labels, whatever the student asks for: they are of non-projective trees with one root."""
        return self.data

    def text_sample(self, step: int) -> Labels:
        """The same with every ``step``-th sentence of the text."""
        data = self.data
        starts = data.treebank.sentence_words.astype(np.int64)
        gold = data.gold_sentences
        chosen = np.concatenate([np.arange(gold), np.arange(gold, len(data.treebank), step)])
        words = np.concatenate([np.arange(starts[at], starts[at + 1]) for at in chosen])
        text_words = words[words >= starts[gold]] - starts[gold]
        assert data.text_tags is not None
        sample = replace(
            data,
            treebank=Treebank.from_sentences([data.treebank[at] for at in chosen.tolist()]),
            soft_targets=data.soft_targets.select_words(words),
            text_tags=data.text_tags.select_words(text_words),
        )
        return Labels(sample)

    @classmethod
    def read(cls, work: Path, train: Treebank, config: DistillationConfig) -> Labels:
        """The labels of all parts of the text."""
        files = sorted(work.glob("labels-*.npz"), key=lambda file: int(file.stem.split("-")[1]))
        targets, tags, heads, labels = [], [], [], []
        for file in files:
            kept = np.load(file)
            names, tag_names, values, teachers = json.loads(str(kept["alphabets"]))
            arcs = (kept[name].astype(np.int32) for name in ("heads", "labels"))
            targets.append(
                SoftTargets(kept["starts"], *arcs, kept["probabilities"].astype(float), tuple(names))
            )
            codes = tuple(kept[f"codes{tag}"].astype(np.int32) for tag in range(len(tag_names)))
            shares = tuple(kept[f"shares{tag}"].astype(np.float32) for tag in range(len(tag_names)))
            tags.append(SoftTags(tuple(tag_names), tuple(map(tuple, values)), codes, shares))
            heads.append(kept["best"])
            labels += kept["best_labels"].tolist()
        text = _read(work, "text").annotate(heads=np.concatenate(heads), deprel=labels)
        empty = SoftTargets.empty(train.word_count, targets[0].label_names)
        note = {"teacher": " + ".join(teachers), "text_sentences": len(text), **vars(config)}
        data = DistillationData(
            Treebank(train.data + text.data, source=train.source),
            SoftTargets.concatenate([empty, *targets]),
            len(train),
            config,
            note,
            text_tags=SoftTags.concatenate(tags),
        )
        return cls(data)


def learn(
    work: Path,
    name: str,
    *,
    copies: int,
    text_weight: float,
    minutes: float | None,
    options: dict[str, Any],
    recipe: Path = RECIPE,
    checkpoint: Path | None = None,
) -> bool:
    """Train a student on ``copies`` copies of the treebank and on the labelled text.

    ``minutes``: as many epochs as fit into this time; by default ``options`` say how many. ``checkpoint``:
    file that an interrupted training continues from. Returns whether the training was finished.
    """
    started = time.monotonic()
    values = {**NEURAL, "learns": COLUMNS, **read_toml(recipe)["parser"], **options}
    train, config = _copies(_read(work, "train"), copies), DistillationConfig(1.0, text_weight)
    labels = Labels.read(work, train, config)
    if minutes is not None:
        values["epochs"] = _epochs_within(60 * minutes, started, work, values, labels, copies)
        print(f"{name}: {values['epochs']} epochs", flush=True)
        signal.signal(signal.SIGALRM, signal.default_int_handler)  # as Ctrl-C: the best weights are kept
        signal.alarm(max(1, int(60 * minutes - _RESERVE / 2 - (time.monotonic() - started))))
    parser = _train(
        work, from_dict(NeuralConfig, values), labels, Progress(), copies=copies, checkpoint=checkpoint
    )
    signal.alarm(0)
    parser.save(work / f"student-{name}.arcwise", precision="int8")
    if parser.info.get("interrupted") and checkpoint is not None:
        return False
    report(f"student {name}", NeuralParser(parser.model.quantised()), work)
    return not parser.info.get("interrupted")


def _epochs_within(
    seconds: float, started: float, work: Path, values: dict[str, Any], labels: Labels, copies: int
) -> int:
    """How many epochs fit into the time since ``started``, by two epochs on a tenth of the text."""
    sample, clock, begun = labels.text_sample(10), EpochClock(), time.monotonic()
    _train(work, from_dict(NeuralConfig, values | {"epochs": 2}), sample, clock, copies=copies, dev=False)
    share = sample.data.treebank.word_count / labels.data.treebank.word_count
    of_epoch = (clock.times[1] - clock.times[0]) / share
    preparation = max(clock.times[0] - begun - of_epoch * share, 0) / share
    left = seconds - (time.monotonic() - started) - preparation - _RESERVE
    print(
        f"{of_epoch:.0f} s for an epoch, {preparation:.0f} s before the first, {left:.0f} s left", flush=True
    )
    return max(1, int(left / of_epoch))


def tune(work: Path, name: str) -> None:
    """Select tag columns and decoder of a student on dev, and calibrate it: its training was interrupted."""
    path, gold, seen = work / f"student-{name}.arcwise", _read(work, "dev"), _read(work, "dev-tagged")
    model, progress = NeuralParser.load(path).model, Progress()
    model = replace(model, writes=select_tag_columns(model, gold, seen, 1, progress))
    model = tune_decoding(model, seen, (), threads=1, progress=progress)
    NeuralParser(model).save(path, precision="int8")
    report(f"student {name}", NeuralParser(model), work)


class EpochClock(Progress):
    """Notes when each epoch ended."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def say(self, line: str) -> None:
        """Show a line."""
        if line.startswith("epoch "):
            self.times.append(time.monotonic())
        super().say(line)


def _train(
    work: Path,
    config: NeuralConfig,
    labels: Labels | None,
    progress: Progress,
    *,
    copies: int = 1,
    dev: bool = True,
    checkpoint: Path | None = None,
) -> NeuralParser:
    tagged_dev = _read(work, "dev-tagged") if dev else None
    seen = PredictedTags(_copies(_read(work, "train-tagged"), copies), tagged_dev)
    teaching: Any = labels
    return NeuralParser.train(
        _copies(_read(work, "train"), copies),
        _read(work, "dev") if dev else None,
        config=config,
        predicted_tags=seen,
        distillation=teaching,
        progress=progress,
        checkpoint=checkpoint,
    )


def report(title: str, parser: Any, work: Path) -> None:
    """Print accuracy on dev and test: gold words, predicted tags, label subtypes cut."""
    scores = {}
    for part in ("dev", "test"):
        gold, started = _read(work, part), time.monotonic()
        parsed = parser.parse(_read(work, f"{part}-tagged"))
        seconds = time.monotonic() - started
        result = evaluate(gold, parsed).attachment
        scores[part] = {"uas": result.uas, "las": result.las, "seconds": seconds}
        for column in COLUMNS:
            pairs = zip(gold.column(column), parsed.column(column), strict=True)
            scores[part][column] = float(np.mean([own == right for right, own in pairs]))
    print(title, json.dumps(scores), flush=True)


def ensemble(work: Path, names: Sequence[str]) -> None:
    """Print the accuracy of several teachers together: the mean of their marginals."""
    from arcwise.neural.network_teacher import NetworkTeacher

    teacher = NetworkTeacher([_teacher(work, name) for name in names])
    for part in ("dev", "test"):
        gold, tagged = _read(work, part), _read(work, f"{part}-tagged")
        predictions = teacher.soft_predictions(tagged, projective=False, single_root=True, least=LEAST)
        parsed = tagged.annotate(heads=predictions.heads, deprel=predictions.labels)
        result = evaluate(gold, parsed).attachment
        print("ensemble", *names, part, f"UAS {result.uas:.4f} LAS {result.las:.4f}", flush=True)


def _teacher(work: Path, name: str) -> NeuralParser:
    return NeuralParser.load(work / f"teacher-{name}.arcwise")


def _copies(treebank: Treebank, count: int) -> Treebank:
    return treebank if count == 1 else Treebank(treebank.data * count, source=treebank.source)


def _read(work: Path, name: str) -> Treebank:
    file = work / f"{name}.conllu"
    return Treebank(file.read_bytes(), source=f"{TREEBANK}/{file.name}")


def _options(settings: Sequence[str]) -> dict[str, Any]:
    pairs = (setting.partition("=") for setting in settings)
    return {name: json.loads(value) for name, _, value in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "step", choices=("prepare", "text", "teacher", "label", "student", "tune", "ensemble")
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--encoder")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--text-weight", type=float, default=0.5)
    parser.add_argument("--minutes", type=float, help="train for about this long")
    parser.add_argument("--set", nargs="*", default=[], metavar="OPTION=VALUE")
    chosen = parser.parse_args()
    options = _options(chosen.set)
    match chosen.step:
        case "prepare":
            prepare(chosen.work)
        case "text":
            prepare_text(chosen.work, chosen.text)
        case "teacher":
            teach(chosen.work, chosen.names[0], chosen.encoder, options)
        case "label":
            label(chosen.work, chosen.names, chosen.part)
        case "student":
            learn(
                chosen.work,
                chosen.names[0],
                copies=chosen.copies,
                text_weight=chosen.text_weight,
                minutes=chosen.minutes,
                options=options,
            )
        case "tune":
            tune(chosen.work, chosen.names[0])
        case "ensemble":
            ensemble(chosen.work, chosen.names)


if __name__ == "__main__":
    main()
