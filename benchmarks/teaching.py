"""A greedy parser taught by a neural one: what the teacher's probabilities, its folds, and text without trees
are worth.

    python -m benchmarks.teaching [--text FILE …] [--jobs N] [--report]

The teacher is a neural parser of base size, trained on the treebank, on a GPU if there is one; so is a
teacher for each of its folds (``--teacher-folds``). The students are greedy arc-eager parsers by their
defaults. Forms and gold UPOS, subtypes of labels cut; the text (CoNLL-U, cut into words and tagged) has the
tags that it comes with. What to take is chosen on dev; the test data see the choice and the parser without a
teacher. Everything is kept in ~/.cache/arcwise/teaching (or ARCWISE_CACHE). Needs ARCWISE_TREEBANKS and,
unless --report, torch.
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
    """How a greedy parser is taught; without a share of its own trees: not at all."""

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


# ---- teachers


def place(fold: int | None) -> Path:
    """Where the teacher lies, or that of a fold."""
    name = "teacher" if fold is None else f"teacher-without-{fold}-of-{FOLDS}"
    return cache_folder() / "teaching" / f"{name}.arcwise"


def train_teacher(fold: int | None) -> dict[str, Any]:
    """Train it; how long that took, and where."""
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
    """How the student is taught, by teachers that have been trained."""
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


# ---- students


def train_student(student: Student, texts: Sequence[str]) -> dict[str, Any]:
    """Its LAS on dev and test; looked at on test only if it is chosen."""
    dev, test = data("dev"), data("test")
    started = time.process_time()
    parser = TransitionParser.train(data("train"), dev, distillation=teaching(student, texts))
    seconds = time.process_time() - started
    found = {}
    for part, gold in (("dev", dev), ("test", test)):
        scores = attachment(verdicts(gold, parser.parse(gold)))
        found[part] = {"uas": 100 * scores.uas, "las": 100 * scores.las}
    print(f"{student.name}: dev LAS {found['dev']['las']:.2f}, {seconds:.0f} s", flush=True)
    return {**found, "seconds": seconds, "machine": machine()}


def cell_of(student: Student, texts: Sequence[str]) -> tuple[str, partial[dict[str, Any]]]:
    words = f" {sum(Path(path).stat().st_size for path in texts)} bytes" if student.text_weight else ""
    return student.name + words, partial(train_student, student, texts)


def rows(students: Sequence[Student], found: Sequence[dict[str, Any]]) -> Iterator[list[object]]:
    best = max(range(len(found)), key=lambda i: found[i]["dev"]["las"])
    for number, (student, one) in enumerate(zip(students, found, strict=True)):
        told: list[object] = [student.name, f"{one['dev']['uas']:.2f} / {one['dev']['las']:.2f}"]
        shown = number == best or student == ALONE
        test = f"{one['test']['uas']:.2f} / {one['test']['las']:.2f}" if shown else ""
        yield [*told, test, f"{one['seconds']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", action="append", default=[], help="CoNLL-U, cut into words and tagged")
    parser.add_argument("--about", default="", help="what the text is, for the page")
    parser.add_argument("--report", action="store_true", help="train nothing: the table of what is there")
    add_engine_options(parser)
    given = parser.parse_args()
    engine = engine_from(parser, given)
    students = [*WITHOUT_TEXT, *(WITH_TEXT if given.text else ())]
    kept = Cells("teaching", report_only=given.report)
    if not given.report:
        kept.fill({"teacher": partial(train_teacher, None)}, engine)
        kept.fill({place(fold).stem: partial(train_teacher, fold) for fold in range(FOLDS)}, engine)
        kept.fill(dict(cell_of(student, given.text) for student in reversed(students)), engine)
    found = [kept.cell(*cell_of(student, given.text)) for student in students]
    teacher = kept.cell("teacher", partial(train_teacher, None))
    about = (
        f"{TREEBANK}, forms and gold UPOS, punctuation counted, label subtypes cut; a greedy arc-eager "
        "parser taught by a neural one of base size, "
        f"which was trained in {teacher['seconds']:.0f} s on {teacher['device']} (`arcwise train --parser "
        "transition --teacher`). Gold share: how much of what is learned from a sentence of the treebank is "
        "its own tree. Folds: the teacher "
        "is trained anew without each part, and tells of that part what it thinks of it. Test: of what is "
        "best on dev, and of the parser without a teacher. "
        "CPU seconds: of the student, the teacher's reading included; of "
        f"{'; '.join(sorted({one['machine'] for one in found}))}.\n\n"
    )
    if given.text:
        words = sum(Treebank.read(path).word_count for path in given.text)
        about += f"The text: {words:,} words{', ' + given.about if given.about else ''}.\n\n"
    body = about + table(
        ["student", "dev UAS / LAS", "test UAS / LAS", "training, CPU s"], rows(students, found)
    )
    write_section("teaching", "A greedy parser taught by a neural one", body)
    print(body)


if __name__ == "__main__":
    main()
