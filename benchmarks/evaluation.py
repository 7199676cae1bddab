"""Scoring a parser's output: arcwise and the official scorer, udtools (``python -m
benchmarks.evaluation``).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring.tables import table
from measuring.timing import interleaved

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.evaluation import evaluate
from benchmarks.report import write_section


def damaged(treebank: Treebank, seed: int) -> Treebank:
    """Copy the treebank with a tenth of the labels, tags and lemmas exchanged."""
    random = np.random.default_rng(seed)
    columns = {}
    for name in ("deprel", "upos", "lemma"):
        values = np.array(treebank.column(name), object)
        chosen = np.flatnonzero(random.random(len(values)) < 0.1)
        values[chosen] = values[random.permutation(chosen)]
        columns[name] = values.tolist()
    return treebank.annotate(**columns)


def with_arcwise(gold: str, system: str) -> float:
    """Compute all scores from files: attachment and CoNLL 2018."""
    return evaluate(Treebank.read(gold, strict=False), Treebank.read(system, strict=False)).conll18["BLEX"].f1


def with_udtools(gold: str, system: str) -> float:
    from udtools import udeval

    score: float = udeval.evaluate(udeval.load_conllu_file(gold), udeval.load_conllu_file(system))["BLEX"].f1
    return score


def compare_command(gold: str, a: str, b: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["compare", gold, a, b]) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    folder = Path(os.environ.get("ARCWISE_TREEBANKS", ".")) / "English-EWT"
    rows: list[list[str]] = []
    for part in ("dev", "train"):
        gold = Treebank.read(folder / f"{part}.conllu.xz")
        with tempfile.TemporaryDirectory() as scratch:
            paths = [str(Path(scratch) / f"{name}.conllu") for name in ("gold", "a", "b")]
            for path, treebank in zip(paths, (gold, damaged(gold, 1), damaged(gold, 2)), strict=True):
                treebank.write(path)
            runs: dict[str, Callable[[], object]] = {
                "arcwise evaluate": lambda paths=paths: with_arcwise(*paths[:2]),
                "arcwise compare (10,000 bootstrap samples)": lambda paths=paths: compare_command(*paths),
            }
            if part == "dev" and importlib.util.find_spec("udtools"):
                runs["udtools udeval"] = lambda paths=paths: with_udtools(*paths[:2])
                assert with_arcwise(*paths[:2]) == with_udtools(*paths[:2])
            seconds = interleaved(runs, repeat=repeat)
        rows += [[label, part, f"{gold.word_count:,}", f"{s:.3f} s"] for label, s in seconds.items()]
    if not importlib.util.find_spec("udtools"):
        rows.append(["udtools udeval", "dev", "", "not installed"])
    body = "From files to all scores, start-up excluded; the scores are equal.\n\n"
    body += table(["", "English-EWT", "words", "time"], rows)
    print(body)
    write_section("evaluation", "Evaluation", body)


if __name__ == "__main__":
    main()
