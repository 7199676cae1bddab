"""What ``--legal`` does to violations, accuracy and speed, from raw text.

    python -m benchmarks.legal_trees

Parses the raw text of development data (ARCWISE_TREEBANKS) with and without rules: English-EWT with ``en``,
Turkish-IMST and Danish-CDT with pipelines trained on them (kept in ``--models``). Danish-CDT has relations of
its own, so its rules are those learned from it.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from measuring.tables import table

from arcwise.evaluation import compare
from arcwise.factors import LegalRules, ud_rules
from arcwise.models import load
from arcwise.models.train_pipeline import train_pipeline
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.plain_text import plain_text
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

TREEBANKS = (("English-EWT", "en", "ud"), ("Turkish-IMST", None, "ud"), ("Danish-CDT", None, "learned"))
"""Treebank, shipped model or None, rules."""
REPEAT = 7


def pipeline_for(name: str, folder: Path, models: Path) -> Pipeline:
    """Return the pipeline of a treebank, trained unless ``models`` has it."""
    path = models / f"{name}.arcwise"
    if not path.exists():
        train, dev = (Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", "dev"))
        train_pipeline(train, dev).save(path, precision="int8")
    return load(path)


def parsed(nlp: Pipeline, text: bytes, options: ParseOptions) -> tuple[Treebank, float]:
    """Parse a text; returns the trees and CPU seconds."""
    began = time.process_time()
    data = b"".join(piece.treebank.data for piece in nlp.analyses(io.BytesIO(text), options=options))
    return Treebank(data), time.process_time() - began


def cost(nlp: Pipeline, text: bytes, choices: Iterable[ParseOptions]) -> float:
    """Median over interleaved rounds of the time with rules relative to that without."""
    rounds = [[parsed(nlp, text, options)[1] for options in choices] for _ in range(REPEAT)]
    return median(legal / free for free, legal in rounds)


def row_of(name: str, nlp: Pipeline, gold: Treebank, value: str) -> list[str]:
    text = plain_text(gold).text.encode()
    choices = ParseOptions(), ParseOptions(legal=value)
    (before, _), (after, _) = (parsed(nlp, text, options) for options in choices)
    rules = ud_rules() if value == "ud" else LegalRules.of(nlp.parser.info["legal"])
    illegal = [f"{rules.violated_by(trees).sum()}" for trees in (before, after)]
    las = next(row for row in compare(gold, before, after, worst=0).differences if row.metric == "LAS")
    interval = f"{100 * las.interval.low:+.2f} … {100 * las.interval.high:+.2f}"
    unproven = str(after.text.count("not proven"))
    scores = [f"{100 * las.a:.2f}", f"{100 * las.b:.2f}", interval]
    return [name, value, str(len(before)), *illegal, unproven, *scores, f"{cost(nlp, text, choices):.2f} ×"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=tempfile.gettempdir(), help="folder of trained pipelines")
    models = Path(parser.parse_args().models)
    if "ARCWISE_TREEBANKS" not in os.environ:
        sys.exit(
            "ARCWISE_TREEBANKS: set it to a folder that contains English-EWT, Turkish-IMST and Danish-CDT"
        )
    folder = Path(os.environ["ARCWISE_TREEBANKS"])
    rows = []
    for name, shipped, rules in TREEBANKS:
        nlp = load(shipped) if shipped else pipeline_for(name, folder, models)
        rows.append(row_of(name, nlp, Treebank.read(folder / name / "dev.conllu.xz"), rules))
    header = [
        "treebank",
        "rules",
        "sentences",
        "illegal",
        "with `--legal`",
        "not proven",
        "LAS",
        "with `--legal`",
    ]
    body = (
        "Development data from raw text. Illegal: sentences whose tree breaks a rule. LAS with subtypes "
        "cut, and the 95 % bootstrap interval of the difference. Time: CPU seconds of the whole pipeline "
        f"relative to a parse without rules, the median of {REPEAT} interleaved rounds.\n\n"
        + table([*header, "difference", "time"], rows)
    )
    write_section("legal-trees", "Legal trees", body, module="legal_trees")
    print(body)


if __name__ == "__main__":
    main()
