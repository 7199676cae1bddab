"""Make the model of the demo page: ``python recipes/web_model.py build/web/en-web.arcwise.gz``.

The script reduces the vocabulary of a pipeline, so that page, module and model stay below 8 MB. It keeps the
embeddings of the words and affixes that are most frequent in the training data; the others become unknown
words, which the network represents by their affixes. It also drops outputs for tags that the pipeline does
not write, which changes no result. Nothing is trained; the same model gives the same file.
``--score TREEBANK`` scores both models on the raw text of a treebank.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.learning.model_file import write_model
from arcwise.models import load
from arcwise.models.raw_text import raw_text_scores
from arcwise.neural.inputs import FIRST, Inputs
from arcwise.neural.model import NeuralModel
from arcwise.neural.parser import NeuralParser
from arcwise.neural.tags import TagAlphabets
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Treebank

KEPT = 10_000
"""Rows of each table of words and affixes; see --score."""

Arrays = Mapping[str, npt.NDArray[Any]]


def main(arguments: Sequence[str]) -> None:
    """Make the model, and score it with ``--score``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="en", help="a pipeline with a neural parser")
    parser.add_argument("--keep", type=int, default=KEPT, help="rows of each table of words and affixes")
    parser.add_argument("--score", type=Path, metavar="TREEBANK")
    options = parser.parse_args(arguments)
    whole = load(options.model)
    small = smaller(whole, options.keep)
    save_packed(small, options.output)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.2f} MB")
    if options.score:
        gold = Treebank.read(options.score)
        for name, pipeline in ((options.model, whole), (options.output.name, small)):
            scores = raw_text_scores(pipeline, gold)
            print(name, *(f"{metric} {scores[metric]:.2f}" for metric in ("UPOS", "UFeats", "UAS", "LAS")))


def smaller(pipeline: Pipeline, kept: int) -> Pipeline:
    """The pipeline with ``kept`` rows per embedding table, and without tags that it does not write."""
    parser = pipeline.parser
    if not isinstance(parser, NeuralParser):
        raise TypeError(f"model: found {parser!r}, expected a neural parser")
    small = NeuralParser(with_fewer_rows(without_unused_tags(parser.model), kept))
    return Pipeline(pipeline.tokenizer, pipeline.tagger, small, card=pipeline.card)


def without_unused_tags(model: NeuralModel) -> NeuralModel:
    """The model without the outputs of tag columns that it does not write."""
    names = model.tags.names
    used = [place for place, name in enumerate(names) if name.split(".")[0] in model.writes]
    numbers = {f"tag.{old}.": f"tag.{new}." for new, old in enumerate(used)}

    def renamed(member: Arrays) -> dict[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name, values in member.items():
            head, _, rest = name.removeprefix("tag.").partition(".")
            if not name.startswith("tag."):
                arrays[name] = values
            elif f"tag.{head}." in numbers:
                arrays[numbers[f"tag.{head}."] + rest] = values
        return arrays

    tags = TagAlphabets(tuple(names[t] for t in used), tuple(model.tags.values[t] for t in used))
    return replace(model, tags=tags, members=tuple(map(renamed, model.members)))


def with_fewer_rows(model: NeuralModel, kept: int) -> NeuralModel:
    """The model with the ``kept`` most frequent values of each table."""
    vocabularies = tuple(
        native.Vocabulary(vocabulary.hashes[:kept].copy(), vocabulary.counts[:kept].copy())
        for vocabulary in model.inputs.vocabularies
    )

    def cut(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(values[: FIRST + kept]) if name.startswith("table.") else values

    members = tuple({name: cut(name, values) for name, values in member.items()} for member in model.members)
    return replace(model, inputs=Inputs(model.inputs.atoms, vocabularies), members=members)


def save_packed(pipeline: Pipeline, output: Path) -> None:
    """Write the model file, packed by gzip (without its time, so that the same model is the same file)."""
    output.parent.mkdir(parents=True, exist_ok=True)
    plain = output.with_suffix("") if output.suffix == ".gz" else output
    write_model(plain, pipeline.pack("int8"))
    if plain == output:
        return
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as packed:
        packed.write(plain.read_bytes())
    output.write_bytes(buffer.getvalue())


if __name__ == "__main__":
    main(sys.argv[1:])
