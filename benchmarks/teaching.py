"""Distillation of a neural parser into a greedy one: soft labels, cross-fitted teachers and unlabelled text.

    python -m benchmarks.teaching [--text FILE …] [--jobs N] [--report]

The teacher is a neural parser of base size, trained on the treebank, on a GPU if there is one; so are the
teachers of its folds (``--teacher-folds``). The students are greedy arc-eager parsers with default options.
Forms and gold UPOS, label subtypes cut; the text (tokenized and tagged CoNLL-U) keeps its tags. Settings are
selected on dev; only the selected student and the one without a teacher are tested. Results are cached in
~/.cache/arcwise/teaching (or ARCWISE_CACHE). Needs ARCWISE_TREEBANKS and, unless --report, torch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measuring.cells import Cells
from measuring.tables import machine, table
from measuring.trainings import Training, cache_folder
from measuring.where import add_engine_options, engine_from

from arcwise.distillation import Distillation, DistillationConfig
from arcwise.evaluation.attachment import attachment
from arcwise.evaluation.verdicts import verdicts
from arcwise.learning.config import from_dict
from arcwise.learning.progress import Progress
from arcwise.models.teacher import open_teacher
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.parsing.parser import Parser
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

TREEBANK = "English-EWT"
FOLDS = 5


@dataclass(frozen=True)
class Student:
    """Distillation settings of a greedy parser; no teacher if the gold share is None."""

    gold_share: float | None
    folds: int = 0
    text_weight: float = 0.0
    """0: no text."""

    @property
    def name(self) -> str:
        if self.gold_share is None:
            return "no teacher"
        folds = f", {self.folds} folds" if self.folds else ""
        text = f", text with weight {self.text_weight:g}" if self.text_weight else ""
        return f"gold share {self.gold_share:g}{folds}{text}"


ALONE = Student(None)
WITHOUT_TEXT = (
    ALONE,
    Student(0.5),
    *(Student(share, FOLDS) for share in (0.3, 0.5)),
)
WITH_TEXT = (
    Student(0.5, FOLDS, 0.3),
    Student(0.3, FOLDS, 0.3),
    Student(0.5, FOLDS, 1.0),
)


def data(part: str) -> Treebank:
    """A part of the treebank: forms, UPOS and trees."""
    return Training(TREEBANK, TransitionConfig()).data(part)


def place(fold: int | None) -> Path:
    """Cache file of the teacher, or of the teacher of a fold."""
    name = "teacher" if fold is None else f"teacher-without-{fold}-of-{FOLDS}"
    return cache_folder() / "teaching" / f"{name}.arcwise"


def train_teacher(fold: int | None) -> dict[str, Any]:
    """Train a teacher; returns its training time and device."""
    path = place(fold)
    path.parent.mkdir(parents=True, exist_ok=True)
    train = data("train")
    started = time.monotonic()
    if fold is None:
        config = from_dict(NeuralConfig, {"size": "base"})
        parser: Parser = NeuralParser.train(train, data("dev"), config=config, progress=Progress(shown=False))
    else:
        retrain = open_teacher(place(None)).retrain
        assert retrain is not None
        kept = np.flatnonzero(np.arange(len(train)) % FOLDS != fold)
        parser = retrain(Treebank.from_sentences([train[int(s)] for s in kept], source=train.source))
    seconds = time.monotonic() - started
    print(f"{path.stem}: {seconds:.0f} s", flush=True)
    parser.save(path)
    return {"seconds": seconds, "device": parser.info.get("device", "cpu")}


def teaching(student: Student, texts: Sequence[str]) -> Distillation | None:
    """Distillation settings with the cached teachers."""
    if student.gold_share is None:
        return None
    folds = iter(range(FOLDS))
    config = DistillationConfig(gold_share=student.gold_share, teacher_folds=student.folds)
    text = None
    if student.text_weight:
        config = replace(config, text_weight=student.text_weight)
        text = Treebank(b"".join(Treebank.read(path).data for path in texts), source="text")
        nothing = ["_"] * text.word_count
        text = text.annotate(lemma=nothing, xpos=nothing, feats=nothing, misc=nothing)
    return replace(
        open_teacher(place(None)),
        text=text,
        config=config,
        retrain=lambda _: NeuralParser.load(place(next(folds))),  # asked for in their order
    )


def train_student(student: Student, texts: Sequence[str]) -> dict[str, Any]:
    """Train a student; returns its scores on dev and test (test is shown for the selected student only)."""
    dev, test = data("dev"), data("test")
    started = time.process_time()
    parser = TransitionParser.train(data("train"), dev, distillation=teaching(student, texts))
    seconds = time.process_time() - started
    results = {}
    for part, gold in (("dev", dev), ("test", test)):
        scores = attachment(verdicts(gold, parser.parse(gold)))
        results[part] = {"uas": 100 * scores.uas, "las": 100 * scores.las}
    print(f"{student.name}: dev LAS {results['dev']['las']:.2f}, {seconds:.0f} s", flush=True)
    return {**results, "seconds": seconds, "machine": machine()}


def cell_of(student: Student, texts: Sequence[str]) -> tuple[str, partial[dict[str, Any]]]:
    words = f" {sum(Path(path).stat().st_size for path in texts)} bytes" if student.text_weight else ""
    return student.name + words, partial(train_student, student, texts)


def rows(students: Sequence[Student], records: Sequence[dict[str, Any]]) -> Iterator[list[object]]:
    best = max(range(len(records)), key=lambda i: records[i]["dev"]["las"])
    for number, (student, record) in enumerate(zip(students, records, strict=True)):
        row: list[object] = [student.name, f"{record['dev']['uas']:.2f} / {record['dev']['las']:.2f}"]
        shown = number == best or student == ALONE
        test = f"{record['test']['uas']:.2f} / {record['test']['las']:.2f}" if shown else ""
        yield [*row, test, f"{record['seconds']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", action="append", default=[], help="tokenized and tagged CoNLL-U file")
    parser.add_argument("--about", default="", help="description of the text, added to the section")
    parser.add_argument("--report", action="store_true", help="report cached results without training")
    add_engine_options(parser)
    options = parser.parse_args()
    engine = engine_from(parser, options)
    students = [*WITHOUT_TEXT, *(WITH_TEXT if options.text else ())]
    kept = Cells("teaching", report_only=options.report)
    if not options.report:
        kept.fill({"teacher": partial(train_teacher, None)}, engine)
        kept.fill({place(fold).stem: partial(train_teacher, fold) for fold in range(FOLDS)}, engine)
        kept.fill(dict(cell_of(student, options.text) for student in reversed(students)), engine)
    records = [kept.cell(*cell_of(student, options.text)) for student in students]
    teacher = kept.cell("teacher", partial(train_teacher, None))
    about = (
        f"{TREEBANK}, forms and gold UPOS, punctuation counted, label subtypes cut; a greedy arc-eager "
        f"student of a neural teacher of base size, which was trained in {teacher['seconds']:.0f} s on "
        f"{teacher['device']} (`arcwise train --parser transition --teacher`). Gold share: weight of "
        f"the gold tree in the training target of a treebank sentence. Folds: each fold's "
        f"targets come from a teacher trained without it. Test: only the best student on "
        f"dev, and the parser without a teacher. CPU seconds: training of the student, "
        f"the teacher's predictions included, on "
        f"{'; '.join(sorted({record['machine'] for record in records}))}.\n\n"
    )
    if options.text:
        words = sum(Treebank.read(path).word_count for path in options.text)
        about += f"The text: {words:,} words{', ' + options.about if options.about else ''}.\n\n"
    body = about + table(
        ["student", "dev UAS / LAS", "test UAS / LAS", "training, CPU s"], rows(students, records)
    )
    write_section("teaching", "Distilling a neural parser into a greedy one", body)
    print(body)


if __name__ == "__main__":
    main()
