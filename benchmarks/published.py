"""arcwise beside the published scores of other parsers on Universal Dependencies.

    python -m benchmarks.published [NAME …] [--report]

Raw text and gold words of the test data, CoNLL 2018 F1. The figures of other systems are those their authors
published (benchmarks/peers/published.toml, with sources), on the release of UD named there: neither the
treebanks nor the hardware are the same as here, so differences of a point mean little. arcwise's rows are
measured by this command: the shipped English models, and for other treebanks the model that ``make models``
trains without a GPU. Set ARCWISE_TREEBANKS to the treebanks.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measuring.tables import table

from arcwise.evaluation import evaluate
from arcwise.learning.config import read_toml
from arcwise.models import load
from arcwise.models.raw_text import raw_text_scores
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.plain_text import plain_text
from arcwise.treebanks import Treebank
from benchmarks.pipeline import own_models
from benchmarks.report import write_section

PUBLISHED = Path(__file__).parent / "peers" / "published.toml"
OURS = {"Danish-DDT": "Danish-CDT"}
"""The treebank measured here, where it is not the one of the published scores."""
RAW, GOLD = ("UPOS", "UAS", "LAS", "Sentences"), ("UPOS", "UAS", "LAS")

Scores = Mapping[str, float]


def measured(pipeline: Pipeline, gold: Treebank) -> tuple[Scores, Scores, float]:
    """Scores from raw text and from gold words, and words per second of processor time, one thread."""
    raw = raw_text_scores(pipeline, gold)
    blank = ["_"] * gold.word_count
    words = gold.annotate(lemma=blank, upos=blank, xpos=blank, feats=blank)
    parsed = evaluate(gold, pipeline.parse(words, options=ParseOptions())).conll18
    text, seconds = plain_text(gold).text, []
    for _ in range(3):
        began = time.process_time()
        pipeline(text, confidence=False)
        seconds.append(time.process_time() - began)
    return raw, {name: 100 * parsed[name].f1 for name in GOLD}, gold.word_count / min(seconds)


def cells(scores: Scores, names: tuple[str, ...]) -> list[str]:
    return [f"{scores[name]:.2f}" if name in scores else "" for name in names]


def rows_of(name: str, folder: Path, systems: list[dict[str, Any]]) -> list[list[object]]:
    """The rows of one treebank, by LAS from raw text."""
    ours = OURS.get(name, name)
    gold = Treebank.read(folder / ours / "test.conllu.xz")
    rows: list[tuple[float, list[object]]] = []
    for label, path in own_models(folder, ours).items():
        pipeline = load(path)
        assert isinstance(pipeline, Pipeline)
        raw, words, speed = measured(pipeline, gold)
        size = f"{path.stat().st_size / 1e6:.1f} MB"
        row = [f"**{label}** ({size})", "r2.16" if ours == name else ours]
        rows.append((raw["LAS"], [*row, *cells(raw, RAW), *cells(words, GOLD), f"{speed:,.0f}"]))
    for system in systems:
        raw, words = system["raw"].get(name), system.get("gold", {}).get(name, {})
        if raw:
            release = f"{system['release'].removeprefix('UD ')}, not the same"
            row = [system["name"], release, *cells(raw, RAW)]
            rows.append((raw["LAS"], [*row, *cells(words, GOLD), ""]))
    return [row for _, row in sorted(rows, key=lambda entry: -entry[0])]


def ahead(rows: list[list[object]]) -> str:
    """Which systems have a higher LAS from raw text than the best of arcwise's models."""
    names = [str(row[0]) for row in rows]
    before = [name for name in names[: next(i for i, name in enumerate(names) if "arcwise" in name)] if name]
    return f"Ahead of arcwise from raw text, by LAS: {'; '.join(before) or 'none of these'}."


def sources(published: Mapping[str, Any]) -> str:
    """Where the figures of the others come from."""
    systems = [f"- {system['name']}: {system['source']}." for system in published["system"]]
    speeds = [
        f"- {entry['system']}: {entry['words']} words/s on a CPU ({entry['source']})."
        for entry in published["speed"]
    ]
    return "\n".join(["Sources:", "", *systems, "", "Published speeds:", "", *speeds])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="treebanks, as published (default: all)")
    parser.add_argument("--report", action="store_true", help="write the section of RESULTS.md")
    options = parser.parse_args()
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if not folder:
        sys.exit("benchmarks.published: set ARCWISE_TREEBANKS to a folder of treebanks")
    published = read_toml(PUBLISHED)
    header = ["system", "release", *(f"raw {n}" for n in RAW), *(f"words {n}" for n in GOLD), "words/s"]
    parts = [
        "F1 on the test data, in per cent, from raw text and from gold words (own tags). The rows of other "
        "systems are their authors' figures, on the release of Universal Dependencies named: not the same "
        "test, and not the same hardware. All but Stanza and arcwise read multilingual or English "
        "transformers; Stanza has read text too. Speed: raw text to trees, one thread, words per second of "
        "processor time, measured here for arcwise alone.",
    ]
    for name in options.names or published["system"][0]["raw"]:
        rows = rows_of(name, Path(folder), published["system"])
        note = f" (arcwise: {OURS[name]}, other annotation and split)" if name in OURS else ""
        parts.append(f"### Published scores: {name}{note}\n\n{table(header, rows)}\n\n{ahead(rows)}")
        print(parts[-1], flush=True)
    parts.append(sources(published))
    if options.report:
        write_section(
            "published", "Published scores of other systems", "\n\n".join(parts), module="published"
        )


if __name__ == "__main__":
    main()
