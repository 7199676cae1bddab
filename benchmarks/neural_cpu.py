"""Training a neural parser without a GPU: ``python -m benchmarks.neural_cpu [--size small] [--threads 2]
[--epochs N]``.

Runs ``arcwise train --parser neural --device cpu`` on English-EWT with forms, gold UPOS and default options.
Reports the time of the whole command and the test scores, punctuation and label subtypes counted.
``--epochs`` shortens the training, which costs accuracy; the time with the default number is then estimated.
Needs torch and ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring.tables import table
from measuring.trainings import read_whole, treebank_folder

from arcwise.evaluation import evaluate
from arcwise.neural import NeuralConfig, NeuralParser
from benchmarks.report import write_section

TREEBANK = "English-EWT"
HEADER = ("size", "threads", "epochs", "whole command, minutes", "dev LAS", "test UAS / LAS", "in 8 bits")


def trained(options: argparse.Namespace, model: Path) -> float:
    """Train with the command line; returns the minutes it took."""
    folder = treebank_folder() / TREEBANK
    arguments = ["train", "--parser", "neural", "--size", options.size, "--device", "cpu"]
    arguments += ["--threads", str(options.threads), "--model", str(model)]
    for part in ("train", "dev"):
        arguments += [f"--{part}", str(folder / f"{part}.conllu.xz")]
    if options.epochs:
        settings = model.with_suffix(".toml")
        settings.write_text(f"epochs = {options.epochs}\n")
        arguments += ["--config", str(settings)]
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "arcwise", *arguments], check=True)
    return (time.monotonic() - started) / 60


def scores(parser: NeuralParser, part: str) -> tuple[float, float]:
    """UAS and LAS on a part of the treebank, in per cent."""
    gold = read_whole(TREEBANK, part)
    attachment_scores = evaluate(gold, parser.parse(gold), subtypes="keep").attachment
    return 100 * attachment_scores.uas, 100 * attachment_scores.las


def main() -> None:
    """Train, measure, and write the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--size", default="small")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--epochs", type=int, help="epochs, instead of the default number")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        minutes = trained(options, model)
        parser = NeuralParser.load(model)
    small = NeuralParser(parser.model.quantised())
    uas, las = scores(parser, "test")
    row = (
        options.size,
        options.threads,
        len(parser.info["history"]),
        f"{minutes:.1f}",
        f"{scores(parser, 'dev')[1]:.2f}",
        f"{uas:.2f} / {las:.2f}",
        "{:.2f} / {:.2f}".format(*scores(small, "test")),
    )
    body = table(HEADER, [row])
    if options.epochs:
        default = NeuralConfig(size=options.size).resolved(read_whole(TREEBANK, "train").word_count).epochs
        assert default is not None
        whole = minutes * default / options.epochs
        body += f"\nEstimated from this, not run: {whole:.0f} minutes for the default {default} epochs."
    print(body)
    write_section("neural_cpu", "A neural parser trained on the CPU", f"{TREEBANK}.\n\n{body}")


if __name__ == "__main__":
    main()
