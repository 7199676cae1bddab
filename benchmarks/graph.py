"""Accuracy and speed of the graph-based parser: ``python -m benchmarks.graph [accuracy|koo|speed|report]``.

Every training is one cell of a table and is kept, model and scores, in a cache folder outside the repository
(``~/.cache/arcwise`` or ARCWISE_CACHE): an interrupted run goes on where it stopped, and ``report`` alone writes
benchmarks/RESULTS.md from what is there. Treebanks are found by ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arcwise import Treebank
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning import ParseOptions
from arcwise.learning.config import to_dict
from arcwise.learning.progress import Progress
from benchmarks.report import table, write_section

TREEBANKS = Path(os.environ.get("ARCWISE_TREEBANKS", "treebanks"))
CACHE = Path(os.environ.get("ARCWISE_CACHE", "~/.cache/arcwise")).expanduser() / "graph"

THREE = ("English-EWT", "Turkish-IMST", "Dutch-Alpino-cdbl")
KOO = (
    "Arabic-PADT-rs",
    "Dutch-Alpino-cdbl",
    "Japanese-GSD",
    "Slovenian-SSJ-rs",
    "Spanish-AnCora-rs",
    "Turkish-IMST",
)
TARGETS = {"Turkish-IMST": "71.5 / 64.3", "English-EWT": "88.3 / 86.2", "Dutch-Alpino-cdbl": "90.7 / 86.9"}
KOO_SENTENCES = 3000
KOO_TRAINERS: dict[str, dict[str, Any]] = {
    "perceptron": {"trainer": "perceptron", "epochs": 8},
    "log-linear": {"trainer": "log-linear", "epochs": 8},
    "eg": {"trainer": "eg", "epochs": 10, "C": 0.01},
}


@dataclass(frozen=True)
class Cell:
    """One training: a treebank, with forms and gold UPOS alone (condition U) or all columns, cut to some sentences."""

    treebank: str
    options: tuple[tuple[str, Any], ...]
    all_columns: bool = False
    sentences: int = 0

    @property
    def config(self) -> GraphConfig:
        return GraphConfig(**dict(self.options))

    @property
    def folder(self) -> Path:
        """Where its model and scores are kept; another configuration has another folder."""
        key = json.dumps(
            [self.treebank, to_dict(self.config), self.all_columns, self.sentences], sort_keys=True
        )
        return CACHE / f"{self.treebank}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"

    def data(self, part: str) -> Treebank:
        treebank = Treebank.read(TREEBANKS / self.treebank / f"{part}.conllu.xz")
        if part == "train" and self.sentences:
            treebank = treebank[: self.sentences]
        if self.all_columns:
            return treebank
        nothing = ["_"] * treebank.word_count
        return treebank.annotate(lemma=nothing, xpos=nothing, feats=nothing, misc=nothing)

    def scores(self) -> dict[str, Any] | None:
        """What an earlier run found."""
        path = self.folder / "scores.json"
        return json.loads(path.read_text()) if path.exists() else None

    def run(self) -> dict[str, Any]:
        """Train and score, unless that is done already."""
        known = self.scores()
        if known is not None:
            return known
        print(
            f"{self.treebank} {dict(self.options)} {'all columns' if self.all_columns else 'U'}",
            file=sys.stderr,
        )
        train, dev, test = (self.data(part) for part in ("train", "dev", "test"))
        started = time.process_time()
        with Progress() as progress:
            parser = GraphParser.train(train, dev, config=self.config, progress=progress)
        seconds = time.process_time() - started
        self.folder.mkdir(parents=True, exist_ok=True)
        parser.save(self.folder / "model", precision="float16")
        found = {
            **attachment(parser, test),
            "dev_las": 100 * parser.model.report["dev_las"],
            "seconds": seconds,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "model_mb": (self.folder / "model").stat().st_size / 1e6,
            "decoding": str(parser.model.decoding),
        }
        (self.folder / "scores.json").write_text(json.dumps(found, indent=2))
        return found


def attachment(parser: GraphParser, gold: Treebank) -> dict[str, float]:
    """UAS and LAS in percent, punctuation counted, label subtypes cut."""
    parsed = parser.parse(gold)
    heads = parsed.heads == gold.heads
    labels = np.array(
        [
            a.split(":")[0] == b.split(":")[0]
            for a, b in zip(parsed.column("deprel"), gold.column("deprel"), strict=True)
        ]
    )
    return {"uas": 100 * float(heads.mean()), "las": 100 * float((heads & labels).mean())}


def cell(treebank: str, *, all_columns: bool = False, sentences: int = 0, **options: Any) -> Cell:
    return Cell(treebank, tuple(sorted(options.items())), all_columns, sentences)


def accuracy_cells(name: str, *, all_columns: bool) -> list[Cell]:
    """The candidates among which the development data choose: non-projective and projective training."""
    return [
        cell(name, all_columns=all_columns),
        cell(name, all_columns=all_columns, projective=True, epochs=12),
    ]


def best_scores(candidates: list[Cell]) -> dict[str, Any] | None:
    """The scores of the candidate that is best on the development data, of those that were run."""
    done = [found for found in (one.scores() for one in candidates) if found is not None]
    return max(done, key=lambda found: found["dev_las"]) if done else None


def koo_cells() -> list[Cell]:
    return [
        cell(name, sentences=KOO_SENTENCES, projective=projective, **options)
        for name in KOO
        for options in KOO_TRAINERS.values()
        for projective in (False, True)
    ]


def shown(scores: dict[str, Any] | None) -> str:
    return "not run" if scores is None else f"{scores['uas']:.1f} / {scores['las']:.1f}"


def accuracy_table() -> str:
    rows = []
    for name in THREE:
        plain, rich = (best_scores(accuracy_cells(name, all_columns=every)) for every in (False, True))
        size = f"{plain['model_mb']:.0f} MB, {plain['seconds']:.0f} s" if plain else "–"
        rows.append([name, TARGETS[name], shown(plain), shown(rich), size])
    return (
        "UAS / LAS on test; gold tokens, punctuation counted, label subtypes cut; projective or not in training, epoch and decoder chosen on dev; one seed. "
        "U: forms and gold UPOS alone. Model: float16, condition U, with the CPU time of its training.\n\n"
        + table(
            [
                "treebank",
                "reference (an earlier prototype), U",
                "arcwise, U",
                "arcwise, all columns",
                "model, training",
            ],
            rows,
        )
    )


def koo_table() -> str:
    rows, sums = [], {name: [] for name in KOO_TRAINERS}
    for treebank in KOO:
        row: list[object] = [treebank]
        for name, options in KOO_TRAINERS.items():
            candidates = [
                cell(treebank, sentences=KOO_SENTENCES, projective=projective, **options)
                for projective in (False, True)
            ]
            best = best_scores(candidates)
            row.append(shown(best))
            if best is not None:
                sums[name].append(best["uas"])
        rows.append(row)
    means = [
        f"{np.mean(values):.2f} UAS ({len(values)} of {len(KOO)})" if values else "–"
        for values in sums.values()
    ]
    rows.append(["mean", *means])
    return (
        f"As in Koo et al. 2007, table 3: projective or non-projective training chosen on dev. At most {KOO_SENTENCES:,} training "
        "sentences, condition U, UAS / LAS on test.\n\n" + table(["treebank", *KOO_TRAINERS], rows)
    )


def speed_table() -> str:
    """Tokens a second, reading and writing included, as a user sees it: the command, less the time to load the model."""
    own = cell("English-EWT")
    own.run()
    source = CACHE / "english-test.conllu"
    CACHE.mkdir(parents=True, exist_ok=True)
    own.data("test").write(source)
    words = Treebank.read(source).word_count
    rows = []
    for label, options, threads in (
        ("non-projective, 1 thread", ParseOptions(projective=False), 1),
        ("non-projective, 2 threads", ParseOptions(projective=False), 2),
        ("projective, 1 thread", ParseOptions(projective=True), 1),
        ("with --confidence, 1 thread", ParseOptions(projective=False, confidence=True), 1),
    ):
        seconds = min(_parse_seconds(own.folder / "model", source, options, threads) for _ in range(5))
        rows.append([label, f"{words / seconds:,.0f}"])
    whole = min(_command_seconds(own.folder / "model", source) for _ in range(3))
    rows.append(["the whole command, start and model loading included", f"{words / whole:,.0f}"])
    return table(["English-EWT test, labelled, single root, reading and writing included", "tokens/s"], rows)


def _parse_seconds(model: Path, source: Path, options: ParseOptions, threads: int) -> float:
    parser = GraphParser.load(model)
    parser.parse(Treebank.read(source)[:20])
    started = time.perf_counter()
    parser.parse(Treebank.read(source), options=options, threads=threads).write(CACHE / "parsed.conllu")
    return time.perf_counter() - started


def _command_seconds(model: Path, source: Path) -> float:
    started = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "arcwise",
        "parse",
        "--model",
        model,
        source,
        "-o",
        CACHE / "parsed.conllu",
    ]
    subprocess.run([*map(str, command), "--non-projective"], check=True)
    return time.perf_counter() - started


def training_row() -> str:
    """MIRA with k = 5, ten epochs, on English-EWT: time and memory."""
    found = cell("English-EWT", k=5, epochs=10).scores()
    if found is None:
        return "MIRA k = 5, 10 epochs on English-EWT: not run.\n"
    return (
        f"MIRA k = 5, 10 epochs on English-EWT (204,577 tokens), dev scoring included: {found['seconds']:.0f} s CPU, "
        f"{found['peak_mb']:.0f} MB; {shown(found)} on test.\n"
    )


def report(speed: str | None) -> None:
    kept = CACHE / "speed.md"
    if speed is not None:
        kept.write_text(speed)
    body = [accuracy_table(), koo_table(), kept.read_text() if kept.exists() else "", training_row()]
    write_section("graph", "Graph-based parser", "\n".join(body), command="python -m benchmarks.graph")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parts", nargs="*", default=["accuracy", "koo", "training", "speed"])
    parts = arguments.parse_args().parts
    if "accuracy" in parts:
        for every in (False, True):
            for one in (c for name in THREE for c in accuracy_cells(name, all_columns=every)):
                one.run()
    if "koo" in parts:
        for one in koo_cells():
            one.run()
    if "training" in parts:
        cell("English-EWT", k=5, epochs=10).run()
    report(speed_table() if "speed" in parts else None)


if __name__ == "__main__":
    main()
