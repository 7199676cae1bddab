"""Cached trainings: each is run once, and its model, figures and parses are kept outside the repository.

The cache is ~/.cache/arcwise/trainings (or ARCWISE_CACHE): an interrupted run resumes, and scripts share
trainings. A training is cached under its specification, the hash of the sources that can change it
(``measuring.sources``) and the hash of its treebank: what older code or other data computed is never used.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arcwise.engine import Engine, ThisProcess
from arcwise.evaluation.attachment import Attachment
from arcwise.evaluation.verdicts import Verdicts, verdicts
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning.config import from_dict, to_dict
from arcwise.learning.progress import Progress
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.parsing.parser import ParseOptions
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_output
from measuring.cell_file import Cell, CellFile, unpacked
from measuring.czech import with_nested_trees, with_simplified_tags
from measuring.inputs import (
    crossing_words,
    read,
    read_whole,
    treebank_folder,
    treebank_hash,
    with_columns,
)
from measuring.measures import RESOURCES, TrainedCell, measure, parse_name
from measuring.memory import peak_mb
from measuring.soft_clusters import clusters_of
from measuring.sources import code_hash
from measuring.tables import machine
from measuring.tags import with_predicted_tags
from measuring.votes import with_votes

__all__ = [
    "Config",
    "Trained",
    "Training",
    "best_on_dev",
    "cache_folder",
    "commit",
    "crossing_words",
    "read",
    "read_whole",
    "run_all",
    "treebank_folder",
    "write_whole",
]

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
    machine: str
    """Machine that trained."""


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
    tag_folds: int = 0
    """Number of folds of jack-knifed taggers that predict UPOS (``measuring.tags``); 0 keeps gold tags."""
    simple_tags: bool = False
    """Whether UPOS, gold or predicted, are the simplified tags of Czech (``measuring.czech``)."""
    nested: bool = False
    """Whether training sentences are rearranged until no arcs cross (``measuring.czech``)."""
    measures: tuple[str, ...] = field(default=(), compare=False)
    """Figures to compute right after the training, beside ``dev`` and ``test`` (``measuring.measures``)."""
    records: CellFile | None = field(default=None, compare=False, repr=False)
    """Results kept in the repository; they are used before the cache and receive what is computed."""

    @property
    def kind(self) -> str:
        """The kinds of sources that can change the figures (``measuring.sources``)."""
        return _kind(self.config) + "+votes" * bool(self.votes) + "+text" * bool(self.tag_folds)

    @property
    def folder(self) -> Path:
        """Cache folder of this training."""
        determined_by = [self.to_json(), code_hash(self.kind), treebank_hash(self.treebank)]
        digest = hashlib.sha256(json.dumps(determined_by, sort_keys=True).encode()).hexdigest()[:12]
        return cache_folder() / "trainings" / f"{self.treebank}-{digest}"

    @property
    def cell(self) -> Cell | None:
        """The result of an earlier run with the present sources and data, if there was one."""
        data = treebank_hash(self.treebank)
        recorded = self.records.current(self.kind, self.to_json(), data) if self.records else None
        path = self.folder / "cell.json"
        if recorded is not None or data is None or not path.exists():
            return recorded
        cell = Cell(**json.loads(path.read_text()))
        if self.records is not None:
            self.records.put(cell)
        return cell

    @property
    def trained(self) -> Trained | None:
        """Figures of an earlier run, if there was one."""
        cell = self.cell
        if cell is None:
            return None
        resources = (cell.resources[name] for name in ("seconds", "peak_mb", "model_mb"))
        return Trained(Attachment(**cell.figures["dev"]["scores"]), *resources, cell.commit, cell.machine)

    @property
    def finished(self) -> bool:
        """Whether the training and all its measures are done."""
        cell = self.cell
        return cell is not None and self._wanted() <= cell.figures.keys() | cell.resources.keys()

    def _wanted(self) -> set[str]:
        return {"dev", "test", *self.measures}

    def to_json(self) -> dict[str, Any]:
        """Return everything that determines the outcome, beside sources and data."""
        return {
            "treebank": self.treebank,
            "parser": _kind(self.config),
            "config": to_dict(self.config),
            "all_columns": self.all_columns,
            "sentences": self.sentences,
            "votes": to_dict(self.votes) if self.votes else None,
            **({"soft_clusters": self.soft_clusters} if self.soft_clusters else {}),
            **({"tag_folds": self.tag_folds} if self.tag_folds else {}),
            **({"simple_tags": True} if self.simple_tags else {}),
            **({"nested": True} if self.nested else {}),
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
            values.get("tag_folds", 0),
            values.get("simple_tags", False),
            values.get("nested", False),
        )

    def data(self, part: str) -> Treebank:
        """Return a part of the treebank as the parser sees it."""
        treebank = read(self.treebank, part)
        if part == "train" and self.sentences:
            treebank = treebank[: self.sentences]
        if self.simple_tags:
            treebank = with_simplified_tags(treebank)
        treebank = with_columns(treebank, all_columns=self.all_columns)
        if self.tag_folds:
            treebank = with_predicted_tags(
                treebank,
                self.treebank,
                part,
                sentences=self.sentences,
                folds=self.tag_folds,
                simple=self.simple_tags,
                cache=cache_folder() / "tags",
            )
        if self.nested and part == "train":
            treebank = with_nested_trees(treebank)
        if self.soft_clusters:
            treebank = clusters_of(self.treebank, self.sentences, self.soft_clusters).annotate(treebank)
        if self.votes:
            train = replace(self, votes=None, soft_clusters=0).data("train")
            treebank = with_votes(train, treebank, self.votes, jackknife=part == "train")
        return treebank

    def parser(self) -> AnyParser:
        """Load the trained parser."""
        return _KINDS[_kind(self.config)][1].load(self.folder / "model")

    def run(self) -> Trained:
        """Train and measure, unless records or cache have it."""
        if not self.finished:
            cell = self._train_and_measure()
            if self.records is not None:
                self.records.put(cell)
        trained = self.trained
        assert trained is not None
        return trained

    def _train_and_measure(self) -> Cell:
        cached = self._cached_cell()
        if cached is None:
            cached = self._train()
        for name in sorted(self._wanted() - (cached.figures.keys() | cached.resources.keys())):
            value = measure(name, self._measured())
            (cached.resources if name in RESOURCES else cached.figures)[name] = value
        write_whole(self.folder / "cell.json", json.dumps(asdict(cached)))
        return cached

    def _cached_cell(self) -> Cell | None:
        """The result in the cache, with its model, so that it can be measured further."""
        path = self.folder / "cell.json"
        if not path.exists() or not (self.folder / "model").exists():
            return None
        return Cell(**json.loads(path.read_text()))

    def _train(self) -> Cell:
        """Train and save the model; returns a cell without figures."""
        train, dev = self.data("train"), self.data("dev")
        started = time.process_time()
        with Progress() as progress:
            parser = _train(self.config, train, dev, progress)
        resources = {"seconds": time.process_time() - started, "peak_mb": peak_mb()}
        self.folder.mkdir(parents=True, exist_ok=True)
        parser.save(self.folder / "model", precision="float16")
        resources["model_mb"] = (self.folder / "model").stat().st_size / 1e6
        data = treebank_hash(self.treebank) or ""
        return new_cell(self.kind, self.to_json(), data, {}, resources)

    def _measured(self) -> TrainedCell:
        return TrainedCell(self.parser(), self.config, self.data, partial(read, self.treebank), self.parsed)

    def figure(self, name: str) -> Any:
        """Return the figures of a name (``measuring.measures``), measured now if they were not yet."""
        cell = self.cell
        if cell is None or name not in cell.figures.keys() | cell.resources.keys():
            if self.records is not None and self.records.read_only:
                raise SystemExit(f"{name!r} of {self.treebank} is missing: run without --report")
            replace(self, measures=(*self.measures, name)).run()
            cell = self.cell
            assert cell is not None
        return cell.resources[name] if name in RESOURCES else cell.figures[name]

    def report(self) -> dict[str, Any]:
        """Return the training report of a graph-based parser: gap of each epoch, and the chosen epoch."""
        report: dict[str, Any] = self.figure("report")
        return report

    def scores(
        self, options: ParseOptions = ParseOptions(), part: str = "test", *, punctuation: bool = True
    ) -> Attachment:
        """Return the attachment scores of a parse, with or without punctuation."""
        figures = self.figure(parse_name(options, part))
        return Attachment(**figures["scores" if punctuation else "without punctuation"])

    def head_right(self, options: ParseOptions = ParseOptions()) -> npt.NDArray[np.bool_]:
        """Whether the head of each test word is right, for significance tests."""
        return unpacked(self.figure(parse_name(options))["heads right"])

    def right_heads(self, options: ParseOptions = ParseOptions()) -> npt.NDArray[np.int64]:
        """Count the correct heads of each test sentence, for significance tests."""
        lengths = unpacked(self.figure(parse_name(options))["sentence lengths"])
        ends = np.concatenate([[0], np.cumsum(self.head_right(options))])[np.cumsum(lengths)]
        return np.diff(ends, prepend=0)

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


def new_cell(
    kind: str, spec: dict[str, Any], data: str, figures: dict[str, Any], resources: dict[str, float]
) -> Cell:
    """A cell computed here and now."""
    date = datetime.now(timezone.utc).date().isoformat()
    return Cell(kind, spec, code_hash(kind), data, figures, resources, commit(), date, machine())


def run_all(
    trainings: Iterable[Training], *, engine: Engine = ThisProcess(), deadline: float | None = None
) -> None:
    """Run the missing trainings, each in its own process, so that peak memory is measured per training.

    ``deadline``: time (``time.time()``) after which no further training starts.
    """
    missing = list(dict.fromkeys(t for t in trainings if not t.finished))
    for training in missing:
        training.folder.mkdir(parents=True, exist_ok=True)
        values = {
            "training": training.to_json(),
            "measures": training.measures,
            "code": code_hash(training.kind),
        }
        write_whole(training.folder / "training.json", json.dumps(values, indent=2))
    numbered = [(n, replace(t, records=None)) for n, t in enumerate(missing, start=1)]
    apart = partial(_run_apart, len(missing), deadline)
    for number in engine.map(apart, numbered, ordered=False):
        if number is not None and missing[number - 1].records is not None:
            missing[number - 1].run()  # its process has cached it: this records it


def best_on_dev(candidates: Iterable[Training]) -> Training:
    """Return the candidate with the best LAS (UAS for unlabelled parsers) on the development data."""
    return max(candidates, key=lambda t: (t.run().dev.las, t.run().dev.uas))


@cache
def commit() -> str:
    """Return the short commit hash of the code, or ``unknown`` outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


def _kind(config: Config) -> str:
    """Return the kind of parser that a configuration is for."""
    return next(name for name, (kind, _) in _KINDS.items() if isinstance(config, kind))


def _train(config: Config, train: Treebank, dev: Treebank, progress: Progress) -> AnyParser:
    parser: Any = _KINDS[_kind(config)][1]
    trained: AnyParser = parser.train(train, dev, config=config, progress=progress)
    return trained


def _run_apart(count: int, deadline: float | None, numbered: tuple[int, Training]) -> int | None:
    """Run a training in another process; returns its number, or None after the deadline."""
    number, training = numbered
    if deadline is not None and time.time() > deadline:
        return None
    print(
        f"training {number} of {count}: {training.treebank} {_summary(training)}", file=sys.stderr, flush=True
    )
    command = [sys.executable, "-m", "measuring.trainings", str(training.folder / "training.json")]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[1])
    return number


def _summary(training: Training) -> str:
    """Format the settings that differ from the defaults."""
    defaults = to_dict(type(training.config)())
    changed = {key: value for key, value in to_dict(training.config).items() if value != defaults[key]}
    return " ".join(f"{key}={value}" for key, value in changed.items() if not isinstance(value, tuple))


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    with open_output(path) as stream:
        stream.write(text.encode())


def _run_from(path: Path) -> None:
    """Run the training described in a file; ends the program if the sources have changed since."""
    values = json.loads(path.read_text())
    training = replace(Training.from_json(values["training"]), measures=tuple(values["measures"]))
    if code_hash(training.kind) != values["code"]:
        raise SystemExit(f"{path}: the sources have changed since this run began; start it again")
    training.run()


if __name__ == "__main__":
    _run_from(Path(sys.argv[1]))
