"""Raw text to trees: CoNLL 2018 scores and throughput of arcwise and UDPipe 1.

    python -m benchmarks.pipeline [NAME …] [--repeat 3]

Every system parses the raw text of the test data, restored from the treebank by ``arcwise.text.plain_text``.
UDPipe's models are trained once, with UDPipe's trainer and the options its authors publish (this takes
hours), and kept outside the repository: ``python -m benchmarks.peers.train udpipe FOLDER --raw-text
--language en --out ~/.cache/arcwise/udpipe/NAME``, where FOLDER contains train.conllu, dev.conllu and
test.conllu. English uses the models shipped with arcwise; other models are trained on first use and cached
in ``~/.cache/arcwise/pipelines``. Scores come from the official scorer in udtools. Each treebank gets its
own section.
"""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import cache_folder

from arcwise.learning.progress import Progress
from arcwise.models import load, model_path
from arcwise.models.raw_text import METRICS
from arcwise.models.train_pipeline import read_config, train_pipeline
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.parse_input import parse_text
from arcwise.pipeline.pipeline import VERSION
from arcwise.text.plain_text import plain_text
from arcwise.treebanks import Treebank
from benchmarks.peers import udpipe_parser
from benchmarks.report import write_section

CACHE = cache_folder()
FROM_RAW_TEXT = ("English-EWT", "Turkish-IMST")
"""Treebanks with a trained UDPipe model to compare with."""
ALONE = ("Portuguese-Bosque", "Japanese-GSD", "Arabic-PADT-rs")
SHOWN = tuple(name for name in METRICS if name != "XPOS")
SHIPPED = {"English-EWT": ("en", "en-fast")}
"""Shipped models, by the treebank they were trained on."""
SECTION = "pipeline"
ABOUT = """Raw text of the test data; F1 of the CoNLL 2018 metrics, in per cent; throughput from text to
CoNLL-U on one thread, model loading excluded. UDPipe 1: tokenizer, tagger and parser with the options
of its UD 2.0 models (training/models-ud-2.0 in its repository), including word embeddings trained on
the training data. Treebanks whose name ends in -rs are resplit: their scores are not comparable with
published ones."""
RECIPES = Path(__file__).parents[1] / "recipes"

Parse = Callable[[str], bytes]


def own_models(folder: Path, name: str) -> dict[str, Path]:
    """Return arcwise's models for the treebank: the shipped ones, or one trained with
    recipes/default.toml.
    """
    if name in SHIPPED:
        return {f"arcwise, `{model}`": model_path(model) for model in SHIPPED[name]}
    path = CACHE / "pipelines" / f"{name}-{VERSION}.arcwise"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        config, parser = read_config(RECIPES / "default.toml", kind="graph", jackknife=None, seed=None)
        train, dev = (Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", "dev"))
        with Progress() as progress:
            train_pipeline(train, dev, config=config, parser=parser, progress=progress).save(path)
    return {"arcwise": path}


def arcwise_parse(path: Path) -> Parse:
    """Return a function that parses raw text with an arcwise model."""
    pipeline = load(path)
    return lambda text: b"".join(
        document.treebank.data for document in parse_text(pipeline, text, options=ParseOptions(), threads=1)
    )


def udpipe_parse(name: str) -> Parse | str:
    """Return a function that parses raw text with UDPipe 1, or the reason it is unavailable."""
    if find_spec("ufal") is None or find_spec("ufal.udpipe") is None:
        return "not installed"
    path = CACHE / "udpipe" / name / udpipe_parser.MODEL
    if not path.exists():
        return "not trained yet"
    process = udpipe_parser.process(path, raw_text=True)
    return lambda text: process(text).encode()


def official_scores(gold: Treebank, system: bytes) -> dict[str, float]:
    """F1 of each metric, in per cent."""
    from udtools import udeval

    texts = {"gold": gold.text, "system": system.decode()}
    scores = udeval.evaluate(
        *(udeval.load_conllu(io.StringIO(text), name, {}) for name, text in texts.items())
    )
    return {name: 100 * scores[name].f1 for name in SHOWN}


def rows_of(folder: Path, name: str, repeat: int) -> list[list[object]]:
    gold = Treebank.read(folder / name / "test.conllu.xz")
    text = plain_text(gold).text
    contenders: dict[str, Parse | str] = {
        label: arcwise_parse(path) for label, path in own_models(folder, name).items()
    }
    if name in FROM_RAW_TEXT:
        contenders["UDPipe 1"] = udpipe_parse(name)
    ready = {label: parse for label, parse in contenders.items() if not isinstance(parse, str)}
    scores = {label: official_scores(gold, parse(text)) for label, parse in ready.items()}
    times = interleaved({label: (lambda p=parse: p(text)) for label, parse in ready.items()}, repeat=repeat)
    rows: list[list[object]] = []
    for label, parse in contenders.items():
        if isinstance(parse, str):
            rows.append([label, parse, *["" for _ in SHOWN]])
            continue
        cells = [f"{scores[label][metric]:.2f}" for metric in SHOWN]
        rows.append([label, *cells, f"{gold.word_count / times[label]:,.0f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=[*FROM_RAW_TEXT, *ALONE])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--note", default="", help="note on how UDPipe was trained, appended to the section")
    options = parser.parse_args()
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if not folder:
        print("benchmarks.pipeline: set ARCWISE_TREEBANKS to a folder of treebanks")
        return
    for name in options.names:
        body = table(["system", *SHOWN, "words/s"], rows_of(Path(folder), name, options.repeat))
        write_section(f"{SECTION}-{name}", f"Raw text to trees: {name}", body, module=SECTION)
        print(name, body, sep="\n\n", flush=True)
    write_section(SECTION, "Raw text to trees", f"{ABOUT} {options.note}".strip())


if __name__ == "__main__":
    main()
