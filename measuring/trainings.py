"""Trainings as cells of tables: each is done once and kept, model, figures and parses, outside the repository.

A cell lies in ~/.cache/arcwise/trainings (or ARCWISE_CACHE): a run that was stopped goes on where it was, and another
script that asks for the same training finds it. Treebanks are found by ARCWISE_TREEBANKS: NAME/train.conllu.xz, dev, test.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arcwise.engine import Engine, ThisProcess
from arcwise.evaluation.attachment import Attachment, attachment, per_sentence
from arcwise.evaluation.verdicts import Verdicts, verdicts
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning.config import from_dict, to_dict
from arcwise.learning.progress import Progress
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.parsing.parser import ParseOptions
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_output
from arcwise.trees import Tree
from arcwise.trees.properties import crossing_arcs
from measuring.memory import peak_mb
from measuring.soft_clusters import SoftClusters, soft_clusters
from measuring.tables import machine
from measuring.votes import with_votes

Config: TypeAlias = GraphConfig | TransitionConfig | NeuralConfig
AnyParser: TypeAlias = GraphParser | TransitionParser | NeuralParser
_KINDS: dict[str, tuple[type[Config], type[AnyParser]]] = {
    "graph": (GraphConfig, GraphParser),
    "transition": (TransitionConfig, TransitionParser),
    "neural": (NeuralConfig, NeuralParser),
}


def cache_folder() -> Path:
    """Where cells are kept."""
    return Path(os.environ.get("ARCWISE_CACHE", "~/.cache/arcwise")).expanduser()


def treebank_folder() -> Path:
    """Where treebanks lie."""
    found = os.environ.get("ARCWISE_TREEBANKS")
    if not found:
        raise SystemExit("set ARCWISE_TREEBANKS to the folder of treebanks (NAME/train.conllu.xz, dev, test)")
    return Path(found)


def read_whole(name: str, part: str) -> Treebank:
    """A part of a treebank as it is."""
    return Treebank.read(treebank_folder() / name / f"{part}.conllu.xz")


@cache
def read(name: str, part: str) -> Treebank:
    """A part of a treebank, the subtypes of its labels cut (nsubj for nsubj:pass)."""
    whole = read_whole(name, part)
    return whole.annotate(deprel=[label.split(":")[0] for label in whole.column("deprel")])


@dataclass(frozen=True)
class Trained:
    """What a training left besides its model."""

    dev: Attachment
    seconds: float
    """CPU time of the training, the scoring of each epoch on dev included."""
    peak_mb: float
    """The largest memory of the process that trained."""
    model_mb: float
    commit: str
    """The code that did it."""
    machine: str = ""
    """Where it was done; older cells do not say."""


@dataclass(frozen=True)
class Training:
    """A parser to be trained on a treebank: on forms and gold UPOS alone, or on all columns."""

    treebank: str
    config: Config
    all_columns: bool = False
    sentences: int = 0
    """The training set is cut to the first so many sentences; 0: all."""
    votes: TransitionConfig | None = None
    """Give the heads that this parser finds as a feature (``measuring.votes``)."""
    soft_clusters: int = 0
    """Give so many soft clusters of words as values of MISC (``measuring.soft_clusters``); 0: none."""

    @property
    def folder(self) -> Path:
        """Where the cell lies; another configuration has another folder."""
        digest = hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:12]
        return cache_folder() / "trainings" / f"{self.treebank}-{digest}"

    @property
    def trained(self) -> Trained | None:
        """What an earlier run left, if there was one."""
        path = self.folder / "trained.json"
        if not path.exists():
            return None
        values = json.loads(path.read_text())
        return Trained(dev=Attachment(**values.pop("dev")), **values)

    def to_json(self) -> dict[str, Any]:
        """Everything that decides the outcome."""
        return {
            "treebank": self.treebank,
            "parser": _kind(self.config),
            "config": to_dict(self.config),
            "all_columns": self.all_columns,
            "sentences": self.sentences,
            "votes": to_dict(self.votes) if self.votes else None,
            **({"soft_clusters": self.soft_clusters} if self.soft_clusters else {}),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Training:
        votes = values["votes"]
        return cls(
            values["treebank"],
            from_dict(_KINDS[values["parser"]][0], values["config"]),
            values["all_columns"],
            values["sentences"],
            from_dict(TransitionConfig, votes) if votes else None,
            values.get("soft_clusters", 0),
        )

    def data(self, part: str) -> Treebank:
        """A part of the treebank as the parser sees it."""
        treebank = read(self.treebank, part)
        if part == "train" and self.sentences:
            treebank = treebank[: self.sentences]
        if not self.all_columns:
            nothing = ["_"] * treebank.word_count
            treebank = treebank.annotate(lemma=nothing, xpos=nothing, feats=nothing, misc=nothing)
        if self.soft_clusters:
            treebank = _clusters_of(self.treebank, self.sentences, self.soft_clusters).annotate(treebank)
        if self.votes:
            treebank = with_votes(
                self.data_without_votes("train"), treebank, self.votes, jackknife=part == "train"
            )
        return treebank

    def data_without_votes(self, part: str) -> Treebank:
        """A part of the treebank before another parser has voted."""
        return Training(self.treebank, self.config, self.all_columns, self.sentences).data(part)

    def parser(self) -> AnyParser:
        """The trained parser."""
        return _KINDS[_kind(self.config)][1].load(self.folder / "model")

    def report(self) -> dict[str, Any]:
        """What the model of a graph-based parser tells of its training: each epoch's numbers, and the epoch that was chosen. Kept
        beside the model, so that a cell can go to another machine without it."""
        path = self.folder / "report.json"
        if not path.exists():
            parser = self.parser()
            assert isinstance(parser, GraphParser)
            write_whole(path, json.dumps(parser.model.report))
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def run(self) -> Trained:
        """Train, unless that is done already."""
        known = self.trained
        if known is not None:
            return known
        train, dev = self.data("train"), self.data("dev")
        started = time.process_time()
        with Progress() as progress:
            parser = _train(self.config, train, dev, progress)
        seconds = time.process_time() - started
        self.folder.mkdir(parents=True, exist_ok=True)
        parser.save(self.folder / "model", precision="float16")
        found = {
            "dev": to_dict(attachment(verdicts(dev, self.parser().parse(dev)))),
            "seconds": seconds,
            "peak_mb": peak_mb(),
            "model_mb": (self.folder / "model").stat().st_size / 1e6,
            "commit": commit(),
            "machine": machine(),
        }
        write_whole(self.folder / "trained.json", json.dumps(found, indent=2))
        known = self.trained
        assert known is not None
        return known

    def parsed(self, options: ParseOptions = ParseOptions(), part: str = "test") -> Treebank:
        """The part as the trained parser parses it; kept as well."""
        digest = hashlib.sha256(json.dumps(to_dict(options), sort_keys=True).encode()).hexdigest()[:8]
        path = self.folder / f"{part}-{digest}.conllu"
        if not path.exists():
            self.parser().parse(self.data(part), options=options).write(path)
        return Treebank.read(path)

    def judged(self, options: ParseOptions = ParseOptions(), part: str = "test") -> Verdicts:
        """What is right and what is wrong in that parse."""
        return verdicts(read(self.treebank, part), self.parsed(options, part))

    def right_heads(self, options: ParseOptions = ParseOptions()) -> npt.NDArray[np.int64]:
        """How many heads of each test sentence are right: what tests of significance take."""
        judged = self.judged(options)
        return per_sentence(judged.head_right, judged.gold.sentence, len(judged.gold.treebank))

    def scores(self, options: ParseOptions = ParseOptions(), part: str = "test") -> Attachment:
        """The attachment scores of that parse: all words counted, punctuation too."""
        return attachment(self.judged(options, part))


def run_all(trainings: Iterable[Training], *, engine: Engine = ThisProcess()) -> None:
    """Do the trainings that are not done, each in a process of its own (so its memory is its own); the ``engine`` says how many
    at a time."""
    missing = list(dict.fromkeys(t for t in trainings if t.trained is None))
    for training in missing:
        training.folder.mkdir(parents=True, exist_ok=True)
        write_whole(training.folder / "training.json", json.dumps(training.to_json(), indent=2))
    for _ in engine.map(partial(_run_apart, len(missing)), enumerate(missing, start=1)):
        pass  # each is kept by itself


def best_on_dev(candidates: Iterable[Training]) -> Training:
    """The candidate with the best LAS (or UAS, of unlabelled parsers) on the development data."""
    return max(candidates, key=lambda t: (t.run().dev.las, t.run().dev.uas))


def crossing_words(tree: Tree) -> set[int]:
    """The words whose arc crosses another one."""
    return {modifier for pair in crossing_arcs(tree) for _, modifier in pair}


@cache
def commit() -> str:
    """The commit of the code, short; ``unknown`` outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


@cache
def _clusters_of(treebank: str, sentences: int, clusters: int) -> SoftClusters:
    train = read(treebank, "train")
    return soft_clusters(train[:sentences] if sentences else train, clusters)


def _kind(config: Config) -> str:
    """The kind of parser that has such a configuration."""
    return next(name for name, (kind, _) in _KINDS.items() if isinstance(config, kind))


def _train(config: Config, train: Treebank, dev: Treebank, progress: Progress) -> AnyParser:
    parser: Any = _KINDS[_kind(config)][1]
    trained: AnyParser = parser.train(train, dev, config=config, progress=progress)
    return trained


def _run_apart(count: int, numbered: tuple[int, Training]) -> None:
    number, training = numbered
    print(
        f"training {number} of {count}: {training.treebank} {_summary(training)}", file=sys.stderr, flush=True
    )
    command = [sys.executable, "-m", "measuring.trainings", str(training.folder / "training.json")]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[1])


def _summary(training: Training) -> str:
    """The settings that differ from the defaults."""
    defaults = to_dict(type(training.config)())
    own = {key: value for key, value in to_dict(training.config).items() if value != defaults[key]}
    return " ".join(f"{key}={value}" for key, value in own.items() if not isinstance(value, tuple))


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with open_output(path) as stream:
        stream.write(text.encode())


if __name__ == "__main__":
    Training.from_json(json.loads(Path(sys.argv[1]).read_text())).run()
