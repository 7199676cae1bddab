"""Hyperparameter search for the neural parser's defaults: LAS on development data, one change at a time.

    python -m benchmarks.neural_choices --jobs 8 [--only NAME …] [--treebanks NAME …]

Trains missing cells and prints the table. Figures are cached in ~/.cache/arcwise/neural-choices (or
ARCWISE_CACHE), one file per training, so that another machine can print the table. Test data stay unread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from measuring.tables import table
from measuring.trainings import cache_folder, read_whole
from measuring.where import add_engine_options, engine_from

from arcwise.learning.config import from_dict, to_dict
from arcwise.learning.progress import Progress
from arcwise.neural import NeuralConfig
from arcwise.neural.config import INPUTS
from arcwise.treebanks.files import open_output
from benchmarks.report import write_section

TREEBANKS = ("English-EWT", "Danish-CDT", "Dutch-Alpino-cdbl", "Turkish-IMST")
START: dict[str, Any] = {"learning_rate": 0.002, "epochs": 0.5}
"""Starting point of the search, to which changes apply. ``epochs``: a factor of the default number."""
NOTE = (
    "LAS on the development data (punctuation counted, subtypes cut; number of seeds in brackets), trained "
    "on one H200 with thirteen other trainings at the same time; one seed each, with noise of about 0.2 "
    "(Turkish 0.5). One change at a time from the starting point: base size, learning rate 0.002, 60 "
    "epochs for a large treebank to 100 for a small one, dropout 0.33 to 0.45, word dropout 0.25 "
    "to 0.4, batches of 5,000 to 2,000 words. Adopted: twice the epochs, rate 0.003; the "
    "rest stayed. Empty cells were not run. On English the first row, dropout 0.33 and "
    "batches of 5,000 words are the same settings: 90.08, 90.06 and 90.19, because "
    "at the time a seed did not determine the sums on a GPU, as it does now."
)
LAST = 300
"""Epochs whose scores are cached."""
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "small": {"size": "small"},
    "large": {"size": "large"},
    "dropout 0.33": {"dropout": 0.33},
    "dropout 0.4": {"dropout": 0.4},
    "dropout 0.5": {"dropout": 0.5},
    "word dropout 0.1": {"word_dropout": 0.1},
    "word dropout 0.5": {"word_dropout": 0.5},
    "affix dropout 0": {"affix_dropout": 0.0},
    "affix dropout 0.2": {"affix_dropout": 0.2},
    "tag dropout 0": {"tag_dropout": 0.0},
    "rate 0.001": {"learning_rate": 0.001},
    "rate 0.003": {"learning_rate": 0.003},
    "weight decay 0.1": {"weight_decay": 0.1},
    "average 0.995": {"average": 0.995},
    "average 0.999": {"average": 0.999},
    "half the epochs": {"epochs": 0.25},
    "twice the epochs": {"epochs": 1},
    "batches of 2,000 words": {"batch_words": 2000},
    "batches of 5,000 words": {"batch_words": 5000},
    "all values known": {"rare": 0},
    "longer affixes": {"inputs": [*INPUTS, "prefix4", "prefix5", "suffix6", "suffix7"]},
    "no affixes": {"inputs": ["lower", "shape", "upos"]},
    "twice the epochs, rate 0.003": {"epochs": 1, "learning_rate": 0.003},
    "twice the epochs, rate 0.004": {"epochs": 1, "learning_rate": 0.004},
    "four times the epochs, rate 0.003": {"epochs": 2, "learning_rate": 0.003},
    "twice the epochs, rate 0.003, dropout 0.5": {"epochs": 1, "learning_rate": 0.003, "dropout": 0.5},
    "twice the epochs, rate 0.003, word dropout 0.1": {
        "epochs": 1,
        "learning_rate": 0.003,
        "word_dropout": 0.1,
    },
    "small, twice the epochs, rate 0.003": {"size": "small", "epochs": 1, "learning_rate": 0.003},
    "small, twice the epochs, rate 0.003, dropout 0.2": {
        "size": "small",
        "epochs": 1,
        "learning_rate": 0.003,
        "dropout": 0.2,
    },
    "head by head": {"objective": "head-by-head"},
    "projective": {"projective": True},
}
"""Changes to the starting point, by name."""


@dataclass(frozen=True)
class Cell:
    """One training: a treebank, a change, a seed."""

    treebank: str
    changes: Mapping[str, Any]
    seed: int

    def config(self, words: int) -> NeuralConfig:
        """The configuration, with every value explicit."""
        changes = START | dict(self.changes)
        times = changes.pop("epochs")
        config = from_dict(NeuralConfig, {"seed": self.seed, **changes}).resolved(words)
        return from_dict(NeuralConfig, {**to_dict(config), "epochs": int(times * (config.epochs or 0))})

    @property
    def path(self) -> Path:
        """Cache file of the figures."""
        identity = json.dumps([self.treebank, START, dict(self.changes), self.seed], sort_keys=True)
        key = hashlib.sha256(identity.encode()).hexdigest()[:16]
        return cache_folder() / "neural-choices" / f"{self.treebank}-{key}.json"


def train(cell: Cell, save: str | None = None) -> dict[str, Any]:
    """Train a cell and cache its figures. ``save``: a folder for the model."""
    from arcwise.neural.training import NeuralLearner

    started = time.monotonic()
    treebank, dev = (read_whole(cell.treebank, part) for part in ("train", "dev"))
    quiet = Progress(shown=False)
    learner = NeuralLearner.of(treebank, treebank, cell.config(treebank.word_count), 1, quiet)
    model, best = learner.run(dev, quiet)
    assert best.score is not None
    record = {
        "treebank": cell.treebank,
        "changes": dict(cell.changes),
        "seed": cell.seed,
        "epoch": best.epoch,
        "uas": best.score.uas,
        "las": best.score.las,
        "last": [round(e["dev_las"], 5) for e in best.history][-LAST:],
        "seconds": round(time.monotonic() - started, 1),
        "device": learner.device,
    }
    cell.path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(cell.path) as stream:
        stream.write(json.dumps(record).encode())
    if save is not None:
        from arcwise.neural import NeuralParser

        NeuralParser(model).save(Path(save) / f"{cell.path.stem}.arcwise", precision="float16")
    return record


def kept(cell: Cell) -> dict[str, Any] | None:
    """Cached figures, if the cell was trained."""
    return json.loads(cell.path.read_bytes()) if cell.path.exists() else None


def choices(names: Sequence[str], treebanks: Sequence[str], seeds: Sequence[int]) -> str:
    """LAS of each change on each treebank, the mean over seeds; empty where not trained."""
    rows = []
    for name in names:
        row = []
        for treebank in treebanks:
            records = [kept(Cell(treebank, CHANGES[name], seed)) for seed in seeds]
            las = [100 * record["las"] for record in records if record is not None]
            row.append(f"{sum(las) / len(las):.2f} ({len(las)})" if las else "")
        if any(row):
            rows.append([name, *row])
    return table(["change", *treebanks], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_engine_options(parser)
    parser.add_argument("--only", nargs="*", default=list(CHANGES))
    parser.add_argument("--treebanks", nargs="*", default=list(TREEBANKS))
    parser.add_argument("--seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--save", help="folder to save the models to")
    parser.add_argument("--print", action="store_true", help="use cached figures without training")
    parser.add_argument("--report", action="store_true", help="write the section of RESULTS.md")
    options = parser.parse_args()
    cells = [
        Cell(treebank, CHANGES[name], seed)
        for name in options.only
        for treebank in options.treebanks
        for seed in options.seeds
    ]
    missing = [] if options.print else [cell for cell in cells if not cell.path.exists()]
    for record in engine_from(parser, options).map(partial(train, save=options.save), missing, ordered=False):
        print(
            f"{record['treebank']} {record['changes']} seed {record['seed']}: UAS {100 * record['uas']:.2f} "
            f"LAS {100 * record['las']:.2f} "
            f"epoch {record['epoch']}, {record['seconds']} s",
            flush=True,
        )
    text = choices(options.only, options.treebanks, options.seeds)
    print(text)
    if options.report:
        write_section(
            "neural-choices",
            "Hyperparameters of the neural parser",
            f"{NOTE}\n\n{text}",
            module="neural_choices",
        )


if __name__ == "__main__":
    main()
