"""Neural parsers on several treebanks: test accuracy, calibration and training time, averaged over seeds.

    python -m benchmarks.neural_parsers [--jobs N] [--seeds 1 2 3] [--only CELL …] [--report]

Each training runs once, on a GPU if there is one; its figures (and with --models its model) are cached in
~/.cache/arcwise/neural-parsers (or ARCWISE_CACHE). Gold tokens; ``own tags``: tags predicted by arcwise's
tagger, jackknifed in the training data (ARCWISE_TAGGED: a folder with these ready, NAME/train.conllu.xz,
dev, test), which the network refines jointly with the trees. Scores count punctuation and label subtypes.
Needs ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any

from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import cache_folder, read_whole
from measuring.where import add_engine_options, engine_from

from arcwise.evaluation import evaluate
from arcwise.learning.config import from_dict
from arcwise.learning.progress import Progress
from arcwise.models.raw_text import CONFIDENCES, METRICS, raw_text_calibration, raw_text_scores
from arcwise.models.train_pipeline import NEURAL
from arcwise.neural import NeuralConfig, NeuralModel, NeuralParser
from arcwise.neural.model_selection import tune_decoding
from arcwise.neural.tags import PredictedTags
from arcwise.parsing.calibration import reliability
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.jackknife import jackknife_tags
from arcwise.text.plain_text import plain_text
from arcwise.text.tagger import Tagger
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_output
from benchmarks.report import write_section

GOLD = ("English-EWT", "Danish-CDT", "Dutch-Alpino-cdbl", "Turkish-IMST")
OWN = ("English-EWT", "Turkish-IMST", "Portuguese-Bosque", "Gothic-PROIEL")
MORE_SEEDS = ("Turkish-IMST", "Portuguese-Bosque", "Gothic-PROIEL")
"""Treebanks whose networks with own tags are trained with all seeds, and averaged."""
TWO_SIZES = "Gothic-PROIEL"
"""The smallest treebank, where seeds differ most: trained in two sizes."""
FOLDS = 5
COLUMNS = ("upos", "xpos", "feats", "lemma")
NOTE = """Trained on one H200, up to fifteen trainings at a time (`training` is the time of one of them,
scoring of each epoch on dev included); measured here. Gold tokens; forms and gold UPOS, or `own tags`:
those of the linear tagger, refined by the network. Punctuation and label subtypes count. Ranges: lowest
and highest seed. `--models` keeps models; without the model, cells that need it are empty."""


@dataclass(frozen=True)
class Cell:
    """One training."""

    treebank: str
    size: str
    seed: int
    own_tags: bool = False

    @property
    def name(self) -> str:
        """Name without the seed."""
        return f"{self.treebank}, {self.size}{', own tags' if self.own_tags else ''}"

    @property
    def path(self) -> Path:
        """Cache file of the figures; the model lies beside it."""
        stem = self.name.replace(", ", "-").replace(" ", "-")
        return cache_folder() / "neural-parsers" / f"{stem}-{self.seed}.json"

    @property
    def model(self) -> Path:
        """Cache file of the model."""
        return self.path.with_suffix(".arcwise")

    @property
    def config(self) -> NeuralConfig:
        """Default options apart from size and seed, as in ``arcwise train``."""
        return from_dict(
            NeuralConfig, {"size": self.size, "seed": self.seed, **(NEURAL if self.own_tags else {})}
        )


def cells(seeds: Sequence[int]) -> list[Cell]:
    """All cells, longest trainings first."""
    return [
        *(Cell(name, "base", seed, own_tags=True) for name in OWN for seed in _own_seeds(name, seeds)),
        *(Cell(TWO_SIZES, "large", seed, own_tags=True) for seed in seeds),
        *(Cell("English-EWT", "small", seed, own_tags=True) for seed in seeds[:1]),
        *(Cell(name, "base", seed) for name in GOLD for seed in seeds),
        *(Cell("English-EWT", "small", seed) for seed in seeds),
    ]


def _own_seeds(treebank: str, seeds: Sequence[int]) -> Sequence[int]:
    return seeds if treebank in MORE_SEEDS else seeds[:1]


def seen(cell: Cell, part: str) -> Treebank:
    """A part of the treebank as the network sees it."""
    if not cell.own_tags:
        return read_whole(cell.treebank, part)
    ready = os.environ.get("ARCWISE_TAGGED")
    if ready:
        return Treebank.read(Path(ready) / cell.treebank / f"{part}.conllu.xz")
    train = read_whole(cell.treebank, "train")
    if part == "train":
        return jackknife_tags(train, folds=FOLDS)
    return Tagger.train(train).tag(read_whole(cell.treebank, part))


def run(cell: Cell, models: bool) -> dict[str, Any]:
    """Train, measure and cache the figures."""
    started = time.monotonic()
    train, dev = (read_whole(cell.treebank, part) for part in ("train", "dev"))
    data = PredictedTags(seen(cell, "train"), seen(cell, "dev")) if cell.own_tags else None
    prepared = time.monotonic()
    parser = NeuralParser.train(
        train, dev, config=cell.config, predicted_tags=data, progress=Progress(shown=False)
    )
    trained = time.monotonic()
    record = {
        "cell": cell.name,
        "seed": cell.seed,
        "seconds": round(trained - prepared, 1),
        "prepared": round(prepared - started, 1),
        "epoch": parser.info["epoch"],
        "device": parser.info["device"],
        "writes": parser.model.writes,
        "decoding": str(parser.decoding),
        "history": [round(epoch["dev_las"], 5) for epoch in parser.info["history"]],
    }
    for name, model in (("float32", parser.model), ("int8", parser.model.quantised())):
        record[name] = {part: figures(model, cell, part) for part in ("dev", "test")}
    cell.path.parent.mkdir(parents=True, exist_ok=True)
    if models:
        parser.save(cell.model, precision="int8")
    with open_output(cell.path) as stream:
        stream.write(json.dumps(record).encode())
    return record


def measure_again(cell: Cell) -> None:
    """Recalibrate the cached 8-bit model, reselect its decoder and replace the cached figures."""
    record = json.loads(cell.path.read_bytes())
    for precision in ("float32", "int8"):
        for part in record.get(precision, {}).values():
            part.pop("ece_heads", None), part.pop("ece_labels", None)
    if cell.model.exists():
        model = NeuralParser.load(cell.model).model
        model = tune_decoding(model, seen(cell, "dev"), (), threads=1, progress=Progress(shown=False))
        NeuralParser(model).save(cell.model, precision="int8")
        record["decoding"] = str(model.decoding)
        record["int8"] = {part: figures(model, cell, part) for part in ("dev", "test")}
    with open_output(cell.path) as stream:
        stream.write(json.dumps(record).encode())


def figures(model: NeuralModel, cell: Cell, part: str) -> dict[str, float]:
    """Scores and calibration on a part of the treebank."""
    parser, gold, tagged = NeuralParser(model), read_whole(cell.treebank, part), seen(cell, part)
    parsed = parser.parse(tagged)
    scores = evaluate(gold, parsed, subtypes="keep").attachment
    sure = reliability(parser, tagged)
    scores_by_name = {
        "uas": scores.uas,
        "las": scores.las,
        "las_cut": evaluate(gold, parsed).attachment.las,
        "ece_heads": sure.heads.error,
        "ece_labels": sure.labels.error if sure.labels else 0.0,
    }
    if cell.own_tags:
        for column in COLUMNS:
            right = gold.column(column)
            for name, treebank in (("", parsed), ("seen_", tagged)):
                scores_by_name[name + column] = mean(
                    a == b for a, b in zip(right, treebank.column(column), strict=True)
                )
    return scores_by_name


def ensemble(cells: Sequence[Cell]) -> NeuralModel:
    """The cached networks of all seeds as one model, tuned on dev."""
    models = [NeuralParser.load(cell.model).model for cell in cells]
    members = tuple(member for model in models for member in model.members)
    model = replace(models[0], members=members)
    return tune_decoding(model, seen(cells[0], "dev"), (), threads=1, progress=Progress(shown=False))


def together(cells: Sequence[Cell], *, raw: bool = False) -> dict[str, Any] | None:
    """Figures of the ensemble of all cached seeds, as ``--ensemble`` builds it; None without cached
    models. ``raw``: measure it from raw text too.
    """
    kept = cells[0].path.with_name(f"{cells[0].path.stem}-ensemble-{len(cells)}.json")
    record = json.loads(kept.read_bytes()) if kept.exists() else {}
    if (not record or raw) and all(cell.model.exists() for cell in cells):
        model = ensemble(cells)
        record["int8"] = {part: figures(model, cells[0], part) for part in ("dev", "test")}
        if raw:
            pipeline = Pipeline(*tokenizer_and_tagger(cells[0].treebank), NeuralParser(model))
            record |= raw_figures(pipeline, cells[0].treebank)
        with open_output(kept) as stream:
            stream.write(json.dumps(record).encode())
    return record or None


@cache
def tokenizer_and_tagger(treebank: str) -> tuple[Tokenizer, Tagger]:
    """Tokenizer and tagger trained on the same data as the networks."""
    train = read_whole(treebank, "train")
    return Tokenizer.train(train), Tagger.train(train)


def raw_figures(pipeline: Pipeline, treebank: str) -> dict[str, Any]:
    """Scores and calibration on the raw text of the development and test data."""
    parts = {part: read_whole(treebank, part) for part in ("dev", "test")}
    return {
        "raw_dev": raw_text_scores(pipeline, parts["dev"]),
        "raw": raw_text_scores(pipeline, parts["test"]),
        "raw_calibration": raw_text_calibration(pipeline, parts["test"]),
    }


def from_raw_text(cell: Cell) -> None:
    """Measure the cached model in a pipeline, with a tokenizer and tagger trained on the same data.

    Scores and calibration on raw text, and words per second on one core from text to CoNLL-U; added to
    the cached figures.
    """
    pipeline = Pipeline(*tokenizer_and_tagger(cell.treebank), NeuralParser.load(cell.model))
    test = read_whole(cell.treebank, "test")
    text = plain_text(test).text.encode()

    def parse() -> object:
        return b"".join(piece.treebank.data for piece in pipeline.analyses(io.BytesIO(text)))

    record = json.loads(cell.path.read_bytes()) | raw_figures(pipeline, cell.treebank)
    record["raw_speed"] = test.word_count / interleaved({"": parse}, repeat=3)[""]
    with open_output(cell.path) as stream:
        stream.write(json.dumps(record).encode())


def measure_speed(everything: Sequence[Cell]) -> None:
    """Measure words per second of cached models on one core, from CoNLL-U to CoNLL-U, contenders taking
    turns.

    Adds the speeds to the cached figures.
    """
    contenders: dict[str, Callable[[], object]] = {}
    for cell in everything:
        parser, data = NeuralParser.load(cell.model), seen(cell, "test").data
        contenders[cell.path.stem] = lambda p=parser, d=data: p.parse(Treebank(d)).data  # type: ignore[misc]
    times = interleaved(contenders, repeat=5)
    for cell in everything:
        record = json.loads(cell.path.read_bytes())
        record["speed"] = seen(cell, "test").word_count / times[cell.path.stem]
        with open_output(cell.path) as stream:
            stream.write(json.dumps(record).encode())


def raw_rows(everything: Sequence[Cell]) -> list[list[str]]:
    """One row per kind of pipeline measured on raw text, the mean over seeds, and one per ensemble."""
    table_rows = []
    for name, seeds in by_name(everything).items():
        kept = [json.loads(cell.path.read_bytes()) for cell in seeds if cell.path.exists()]
        if kept := [record for record in kept if "raw" in record]:
            table_rows.append(_raw_row(name, kept))
        if len(seeds) > 1 and "raw" in (record := together(seeds) or {}):
            table_rows.append(_raw_row(f"{name}, ensemble of {len(seeds)}", [record]))
    return table_rows


def by_name(everything: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells that differ only in their seed, by their name."""
    groups: dict[str, list[Cell]] = {}
    for cell in everything:
        groups.setdefault(cell.name, []).append(cell)
    return groups


def _raw_row(name: str, kept: Sequence[dict[str, Any]]) -> list[str]:
    scores = [f"{mean(record['raw'][metric] for record in kept):.2f}" for metric in METRICS]
    las = sorted(record["raw"]["LAS"] for record in kept)
    spread = f"{las[0]:.2f}–{las[-1]:.2f}" if len(las) > 1 else ""
    calibrated = [record["raw_calibration"] for record in kept if "raw_calibration" in record]
    errors = [f"{mean(error[key] for error in calibrated):.1f}" for key in CONFIDENCES if calibrated]
    speeds = [record["raw_speed"] for record in kept if "raw_speed" in record]
    return [
        name,
        str(len(kept)),
        *scores,
        spread,
        " / ".join(errors),
        f"{max(speeds):,.0f}" if speeds else "",
    ]


def rows(everything: Sequence[Cell]) -> list[list[str]]:
    """One row per cell: the mean over available seeds."""
    table_rows = []
    for name in dict.fromkeys(cell.name for cell in everything):
        models = [cell for cell in everything if cell.name == name and cell.path.exists()]
        if not models:
            continue
        kept = [json.loads(cell.path.read_bytes()) for cell in models]
        seconds = mean(record["seconds"] for record in kept)
        for precision in ("float32", "int8"):
            table_rows.append(
                [
                    name,
                    precision,
                    str(len(models)),
                    *_row([record[precision] for record in kept]),
                    f"{seconds:.0f} s on {kept[0]['device']}",
                    _speed(kept) if precision == "int8" else "",
                ]
            )
        if len(models) > 1:
            many = together(models)
            if many is not None:
                table_rows.append(
                    [name, f"int8, ensemble of {len(models)}", "1", *_row([many["int8"]]), "", ""]
                )
    return table_rows


def _speed(kept: Sequence[dict[str, Any]]) -> str:
    speeds = [record["speed"] for record in kept if "speed" in record]
    return f"{max(speeds):,.0f}" if speeds else ""


def _row(records: Sequence[dict[str, dict[str, float]]]) -> list[str]:
    def of(part: str, key: str) -> str:
        values = [100 * one[part][key] for one in records if key in one[part]]
        return f"{mean(values):.2f}" if values else ""

    las = sorted(100 * one["test"]["las"] for one in records)
    spread = f" ({las[0]:.2f}–{las[-1]:.2f})" if len(las) > 1 else ""
    tags = " / ".join(of("test", column) for column in COLUMNS)
    return [
        of("dev", "las"),
        f"{of('test', 'uas')} / {of('test', 'las')}{spread}",
        " / ".join(filter(None, (of("test", "ece_heads"), of("test", "ece_labels")))),
        tags if tags.strip(" /") else "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_engine_options(parser)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--only", nargs="*", help="names of cells, as in the table")
    parser.add_argument("--models", action="store_true", help="cache the models, in 8 bits")
    parser.add_argument("--again", action="store_true", help="measure the cached models again")
    parser.add_argument("--raw", action="store_true", help="measure cached models on raw text, as pipelines")
    parser.add_argument("--speed", action="store_true", help="measure the throughput of cached models")
    parser.add_argument("--print", action="store_true", help="use cached figures without training")
    parser.add_argument("--report", action="store_true", help="write the section of RESULTS.md")
    options = parser.parse_args()
    chosen = [cell for cell in cells(options.seeds) if not options.only or cell.name in options.only]
    missing = [] if options.print else [cell for cell in chosen if not cell.path.exists()]
    for body in engine_from(parser, options).map(partial(run, models=options.models), missing, ordered=False):
        print(body["cell"], body["seed"], body["seconds"], "s", body["float32"], body["int8"], flush=True)
    for cell in chosen if options.again else ():
        if cell.path.exists():
            measure_again(cell)
            print("measured again:", cell.name, cell.seed, flush=True)
    for cell in chosen if options.raw else ():
        if cell.own_tags and cell.model.exists():
            from_raw_text(cell)
            print("from raw text:", cell.name, flush=True)
    for seeds in by_name(chosen).values() if options.raw else ():
        if seeds[0].own_tags and len(seeds) > 1:
            together(seeds, raw=True)
    if options.speed:
        measure_speed([cell for cell in chosen if cell.model.exists()])
    header = [
        "treebank, size",
        "weights",
        "seeds",
        "dev LAS",
        "test UAS / LAS",
        "ECE of heads / labelled arcs, %",
        "UPOS / XPOS / FEATS / lemma",
        "training",
        "words/s, one core",
    ]
    text = f"{NOTE}\n\n{table(header, rows(chosen))}"
    if pipelines := raw_rows(chosen):
        text += "\nRaw text of the test data (CoNLL 2018 F1; subtypes cut, as in that task):\n\n"
        header = [
            *("treebank, size", "seeds", *METRICS, "LAS, lowest–highest"),
            *("ECE of heads / labelled arcs / tags, %", "words/s, one core"),
        ]
        text += table(header, pipelines)
    print(text)
    if options.report:
        write_section(
            "neural-parsers", "Neural parsers: accuracy and calibration", text, module="neural_parsers"
        )


if __name__ == "__main__":
    main()
