"""Cached trainings: each is run once, and its model, figures and parses are kept outside the repository.

The cache is ~/.cache/arcwise/trainings (or ARCWISE_CACHE): an interrupted run resumes, and scripts share
trainings. ARCWISE_TREEBANKS names the folder of treebanks (NAME/train.conllu.xz, dev, test).
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
    """Return the cache folder."""
    return Path(os.environ.get("ARCWISE_CACHE", "~/.cache/arcwise")).expanduser()


def treebank_folder() -> Path:
    """Return the folder of treebanks."""
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if not folder:
        raise SystemExit("set ARCWISE_TREEBANKS to the folder of treebanks (NAME/train.conllu.xz, dev, test)")
    return Path(folder)


def read_whole(name: str, part: str) -> Treebank:
    """Read a part of a treebank unchanged."""
    return Treebank.read(treebank_folder() / name / f"{part}.conllu.xz")


@cache
def read(name: str, part: str) -> Treebank:
    """Read a part of a treebank without label subtypes (nsubj for nsubj:pass)."""
    whole = read_whole(name, part)
    return whole.annotate(deprel=[label.split(":")[0] for label in whole.column("deprel")])


@dataclass(frozen=True)
class Trained:
    """Figures of a training."""

    dev: Attachment
    seconds: float
    """CPU time of the training, including scoring each epoch on dev."""
    peak_mb: float
    """Peak memory of the training process."""
    model_mb: float
    commit: str
    """Commit of the code that trained."""
    machine: str = ""
    """Machine that trained; missing in older cells."""


@dataclass(frozen=True)
class Training:
    """A parser to train on a treebank: with forms and gold UPOS alone, or with all columns."""

    treebank: str
    config: Config
    all_columns: bool = False
    sentences: int = 0
    """Use only the first N training sentences; 0 uses all."""
    votes: TransitionConfig | None = None
    """Configuration of a parser whose predicted heads become a feature (``measuring.votes``)."""
    soft_clusters: int = 0
    """Number of soft word clusters to add to MISC (``measuring.soft_clusters``); 0 for none."""

    @property
    def folder(self) -> Path:
        """Cache folder of this training."""
        digest = hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:12]
        return cache_folder() / "trainings" / f"{self.treebank}-{digest}"

    @property
    def trained(self) -> Trained | None:
        """Figures of an earlier run, if there was one."""
        path = self.folder / "trained.json"
        if not path.exists():
            return None
        values = json.loads(path.read_text())
        return Trained(dev=Attachment(**values.pop("dev")), **values)

    def to_json(self) -> dict[str, Any]:
        """Return everything that determines the outcome."""
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
        """Return a part of the treebank as the parser sees it."""
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
        """Return a part of the treebank without votes."""
        return Training(self.treebank, self.config, self.all_columns, self.sentences).data(part)

    def parser(self) -> AnyParser:
        """Load the trained parser."""
        return _KINDS[_kind(self.config)][1].load(self.folder / "model")

    def report(self) -> dict[str, Any]:
        """Return the training report of a graph-based parser: metrics of each epoch, and the chosen epoch.

        It is cached beside the model, so that a cell can move to another machine without the model.
        """
        path = self.folder / "report.json"
        if not path.exists():
            parser = self.parser()
            assert isinstance(parser, GraphParser)
            write_whole(path, json.dumps(parser.model.report))
        report: dict[str, Any] = json.loads(path.read_text())
        return report

    def run(self) -> Trained:
        """Train, unless the cache has it."""
        cached = self.trained
        if cached is not None:
            return cached
        train, dev = self.data("train"), self.data("dev")
        started = time.process_time()
        with Progress() as progress:
            parser = _train(self.config, train, dev, progress)
        seconds = time.process_time() - started
        self.folder.mkdir(parents=True, exist_ok=True)
        parser.save(self.folder / "model", precision="float16")
        figures = {
            "dev": to_dict(attachment(verdicts(dev, self.parser().parse(dev)))),
            "seconds": seconds,
            "peak_mb": peak_mb(),
            "model_mb": (self.folder / "model").stat().st_size / 1e6,
            "commit": commit(),
            "machine": machine(),
        }
        write_whole(self.folder / "trained.json", json.dumps(figures, indent=2))
        trained = self.trained
        assert trained is not None
        return trained

    def parsed(self, options: ParseOptions = ParseOptions(), part: str = "test") -> Treebank:
        """Parse a part with the trained parser; the parse is cached."""
        digest = hashlib.sha256(json.dumps(to_dict(options), sort_keys=True).encode()).hexdigest()[:8]
        path = self.folder / f"{part}-{digest}.conllu"
        if not path.exists():
            self.parser().parse(self.data(part), options=options).write(path)
        return Treebank.read(path)

    def judged(self, options: ParseOptions = ParseOptions(), part: str = "test") -> Verdicts:
        """Compare that parse with the gold trees."""
        return verdicts(read(self.treebank, part), self.parsed(options, part))

    def right_heads(self, options: ParseOptions = ParseOptions()) -> npt.NDArray[np.int64]:
        """Count the correct heads of each test sentence, for significance tests."""
        judged = self.judged(options)
        return per_sentence(judged.head_right, judged.gold.sentence, len(judged.gold.treebank))

    def scores(self, options: ParseOptions = ParseOptions(), part: str = "test") -> Attachment:
        """Return the attachment scores of that parse, punctuation included."""
        return attachment(self.judged(options, part))


def run_all(trainings: Iterable[Training], *, engine: Engine = ThisProcess()) -> None:
    """Run the missing trainings, each in its own process, so that peak memory is measured per training."""
    missing = list(dict.fromkeys(t for t in trainings if t.trained is None))
    for training in missing:
        training.folder.mkdir(parents=True, exist_ok=True)
        write_whole(training.folder / "training.json", json.dumps(training.to_json(), indent=2))
    for _ in engine.map(partial(_run_apart, len(missing)), enumerate(missing, start=1)):
        pass  # each process caches its own result


def best_on_dev(candidates: Iterable[Training]) -> Training:
    """Return the candidate with the best LAS (UAS for unlabelled parsers) on the development data."""
    return max(candidates, key=lambda t: (t.run().dev.las, t.run().dev.uas))


def crossing_words(tree: Tree) -> set[int]:
    """Return the words whose arc crosses another arc."""
    return {modifier for pair in crossing_arcs(tree) for _, modifier in pair}


@cache
def commit() -> str:
    """Return the short commit hash of the code, or ``unknown`` outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


@cache
def _clusters_of(treebank: str, sentences: int, clusters: int) -> SoftClusters:
    train = read(treebank, "train")
    return soft_clusters(train[:sentences] if sentences else train, clusters)


def _kind(config: Config) -> str:
    """Return the kind of parser that a configuration is for."""
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
    """Format the settings that differ from the defaults."""
    defaults = to_dict(type(training.config)())
    changed = {key: value for key, value in to_dict(training.config).items() if value != defaults[key]}
    return " ".join(f"{key}={value}" for key, value in changed.items() if not isinstance(value, tuple))


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    with open_output(path) as stream:
        stream.write(text.encode())


if __name__ == "__main__":
    Training.from_json(json.loads(Path(sys.argv[1]).read_text())).run()
