"""The graph-based parser: accuracy, throughput, and training with 5-best MIRA: ``python -m benchmarks.graph
[--report]``.

benchmarks.parsers measures accuracy on six treebanks, experiments.koo2007 compares trainers; trained parsers
are cached (``measuring.trainings``), and ``--report`` uses the cache only. Needs ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import Training, best_on_dev, run_all

from arcwise.graph import GraphConfig, GraphParser
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

ENGLISH = "English-EWT"
REFERENCES = {"Turkish-IMST": "71.5 / 64.3", ENGLISH: "88.3 / 86.2", "Dutch-Alpino-cdbl": "90.7 / 86.9"}
"""UAS / LAS of an earlier prototype; not measured here."""
CONFIGS = (GraphConfig(), GraphConfig(projective=True, epochs=12))
"""Candidates for selection on the development data."""
FIVE_BEST = Training(ENGLISH, GraphConfig(k=5, epochs=10))
WAYS = {
    "non-projective, 1 thread": (ParseOptions(projective=False), 1),
    "non-projective, 2 threads": (ParseOptions(projective=False), 2),
    "projective, 1 thread": (ParseOptions(projective=True), 1),
    "non-projective with --confidence, 1 thread": (ParseOptions(projective=False, confidence=True), 1),
}


def candidates(treebank: str, *, all_columns: bool) -> list[Training]:
    return [Training(treebank, config, all_columns) for config in CONFIGS]


def accuracy_table() -> str:
    """Condition U and all columns; projectivity selected on dev."""
    rows = []
    for name, reference in REFERENCES.items():
        row: list[object] = [name, reference]
        for every in (False, True):
            done = [training for training in candidates(name, all_columns=every) if training.trained]
            scores = best_on_dev(done).scores() if done else None
            row.append(f"{100 * scores.uas:.2f} / {100 * scores.las:.2f}" if scores else "not run")
        rows.append(row)
    about = (
        "UAS / LAS on test; gold tokens, punctuation counted, label subtypes cut; MIRA; projective or "
        "non-projective training, epoch and decoder selected on dev; one seed. U: forms and gold UPOS "
        "only.\n\n"
    )
    return about + table(
        ["treebank", "reference (an earlier prototype), U", "arcwise, U", "arcwise, all columns"], rows
    )


def speed_table() -> str:
    """Tokens per second of reading, parsing and writing; then of the whole command, start-up and model
    loading included.
    """
    training = Training(ENGLISH, CONFIGS[0])
    parser = training.parser()
    assert isinstance(parser, GraphParser)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "test.conllu", Path(folder) / "parsed.conllu"
        training.data("test").write(source)
        words = Treebank.read(source).word_count
        calls = {
            label: lambda o=options, t=threads: parser.parse(
                Treebank.read(source), options=o, threads=t
            ).write(target)
            for label, (options, threads) in WAYS.items()
        }
        rows = [[label, f"{words / s:,.0f}"] for label, s in interleaved(calls, repeat=5).items()]
        command = [
            sys.executable,
            "-m",
            "arcwise",
            "parse",
            "--model",
            training.folder / "model",
            source,
            "-o",
            target,
        ]
        whole = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run([*map(str, command), "--non-projective"], check=True)
            whole = min(whole, time.perf_counter() - started)
    rows.append(
        ["the whole command, start-up and model loading included", f"{words / whole:,.0f} ({whole:.2f} s)"]
    )
    return table([f"{ENGLISH} test, labelled, single root, reading and writing included", "tokens/s"], rows)


def training_row() -> str:
    """MIRA with k = 5, ten epochs: time and memory."""
    training = FIVE_BEST.trained
    if training is None:
        return f"MIRA k = 5, 10 epochs on {ENGLISH}: not run.\n"
    scores = FIVE_BEST.scores()
    return (
        f"MIRA k = 5, 10 epochs on {ENGLISH} (204,577 words), scoring of dev included: "
        f"{training.seconds:.0f} s CPU, {training.peak_mb:.0f} MB peak memory; {100 * scores.uas:.2f} / "
        f"{100 * scores.las:.2f} on test.\n"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--report", action="store_true", help="use cached parsers without training")
    if not options.parse_args().report:
        cells = [
            c for name in REFERENCES for every in (False, True) for c in candidates(name, all_columns=every)
        ]
        run_all([*cells, FIVE_BEST])
    trainers = (
        "Comparison of trainers on six languages: "
        "[experiments/results/koo2007.md](../experiments/results/koo2007.md).\n"
    )
    body = [accuracy_table(), trainers, speed_table(), training_row()]
    write_section("graph", "Graph-based parser", "\n".join(body))


if __name__ == "__main__":
    main()
