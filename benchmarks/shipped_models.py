"""Throughput of the models that ship with arcwise, from raw text to CoNLL-U.

    python -m benchmarks.shipped_models [FILE …] [--repeat N] [--former MODEL]

``--former``: the file of an earlier ``en``, to compare with. Without files, the raw text of English-EWT's dev
data, three times over (needs ARCWISE_TREEBANKS). The models take turns in one run on one thread, model
loading excluded; processor time, minimum of the rounds, so that other work on the machine counts as little as
possible.
"""

from __future__ import annotations

import argparse
import io
import os
import time
from pathlib import Path

from measuring.tables import table

from arcwise.models import load, shipped_models
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.plain_text import plain_text
from arcwise.text.text_stream import stream_text
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import read_bytes
from benchmarks.report import write_section

STEPS = ("tokenizer", "tagger", "parser", "together")
COPIES = 3


def seconds(pipeline: Pipeline, text: bytes) -> dict[str, float]:
    """Processor time of each step alone, and of all together with writing."""
    times = [time.process_time()]
    pieces = list(stream_text(pipeline.tokenizer, io.BytesIO(text)))
    times.append(time.process_time())
    tagged = [pipeline.tagger.tag(piece) for piece in pieces]
    times.append(time.process_time())
    for piece in tagged:
        pipeline.parser.parse(piece)
    times.append(time.process_time())
    for analysis in pipeline.analyses(io.BytesIO(text), options=ParseOptions()):
        len(analysis.treebank.data)
    times.append(time.process_time())
    return {step: times[i + 1] - times[i] for i, step in enumerate(STEPS)}


def report(texts: dict[str, bytes], repeat: int, former: str | None) -> str:
    """A table of steps and throughput for each text and model."""
    models = {name: load(name) for name in sorted(shipped_models())}
    if former is not None:
        models["en, former"] = load(former)
    rows = []
    for title, text in texts.items():
        words = sum(len(s) for piece in stream_text(models["en"].tokenizer, io.BytesIO(text)) for s in piece)
        best = {name: dict.fromkeys(STEPS, float("inf")) for name in models}
        for _ in range(repeat):
            for name, pipeline in models.items():
                for step, value in seconds(pipeline, text).items():
                    best[name][step] = min(best[name][step], value)
        for name, steps in best.items():
            ratio = best["en"]["together"] / steps["together"]
            speed = f"{words / steps['together']:,.0f}"
            rows.append([title, name, *(f"{steps[s]:.2f}" for s in STEPS), speed, f"{ratio:.2f} ×"])
    return table(["text", "model", *(f"{step}, s" for step in STEPS), "words/s", "speed of en"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="texts instead of English-EWT")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--about", default="", help="what the files are, for the report")
    parser.add_argument("--former", help="file of an earlier en")
    options = parser.parse_args()
    texts = {path.name: path.read_bytes() for path in options.files}
    if not texts:
        folder = os.environ.get("ARCWISE_TREEBANKS")
        if not folder:
            raise SystemExit("benchmarks.shipped_models: name a text, or set ARCWISE_TREEBANKS")
        dev = Treebank(read_bytes(Path(folder) / "English-EWT" / "dev.conllu.xz"), source="dev")
        texts["English-EWT dev"] = (COPIES * plain_text(dev).text).encode()
    body = (
        "Raw text to CoNLL-U on one thread, model loading excluded, models in turn; processor time, minimum "
        f"of {options.repeat} rounds. {options.about}\n\n{report(texts, options.repeat, options.former)}"
    )
    print(body)
    write_section("shipped-models", "Speed of the shipped models", body, module="shipped_models")


if __name__ == "__main__":
    main()
