"""Sentences too long to parse whole: accuracy and throughput by length of the pieces.

    python -m benchmarks.long_sentences

Joins development sentences of English-EWT and English-GUM (ARCWISE_TREEBANKS) to sentences of 2,000 words
and parses them in pieces. Scores count only words whose head is inside the original sentence, so arcs that
join sentences do not matter. The original sentences, parsed one by one, are the upper bound.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from measuring.tables import table

from arcwise.models import load
from arcwise.parsing import long_sentences
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Sentence, Treebank
from benchmarks.report import write_section

TREEBANKS = ("English-EWT", "English-GUM")
LENGTHS = (50, 100, 150, 250, 500)
WORDS = 2_000


def joined(treebank: Treebank, words: int) -> Iterator[list[Sentence]]:
    """Group consecutive sentences of ``words`` words together, dropping the remainder."""
    group: list[Sentence] = []
    for sentence in treebank:
        group.append(sentence)
        if sum(map(len, group)) >= words:
            yield group
            group = []


def as_one(sentences: list[Sentence]) -> str:
    """Join their words into one sentence."""
    forms = [form for sentence in sentences for form in sentence.forms]
    return "".join(f"{at}\t{form}{8 * (chr(9) + '_')}\n" for at, form in enumerate(forms, 1)) + "\n"


def right(parsed: Treebank, groups: list[list[Sentence]]) -> tuple[int, int]:
    """Number of correct heads, and of correct labelled heads (subtypes cut)."""
    heads = labelled = 0
    for parse, group in zip(parsed, groups, strict=True):
        first = 0
        for gold in group:
            for word in range(len(gold)):
                head = gold.heads[word]
                if head <= 0 or parse.heads[first + word] != head + first:
                    continue
                heads += 1
                label, gold_label = parse.deprels[first + word], gold.deprels[word]
                labelled += label.split(":")[0] == gold_label.split(":")[0]
            first += len(gold)
    return heads, labelled


def rows_of(nlp: Pipeline, model: str, name: str, folder: Path, groups_at_most: int) -> list[list[str]]:
    groups = list(joined(Treebank.read(folder / name / "dev.conllu.xz"), WORDS))[:groups_at_most]
    whole = Treebank.from_string("".join(as_one(group) for group in groups))
    single = [[sentence] for group in groups for sentence in group]
    apart = Treebank.from_string("".join(as_one(own) for own in single))
    counted = sum(head > 0 for group in groups for gold in group for head in gold.heads)
    rows = []
    for length in (*LENGTHS, None):
        with patch.object(long_sentences, "PIECE_WORDS", length or 0):
            began = time.process_time()
            parsed = nlp.parse(whole if length else apart, options=ParseOptions(max_words=1_000))
            took = time.process_time() - began
        heads, labelled = right(parsed, groups if length else single)
        pieces = f"pieces of at most {length} words" if length else "original sentences"
        scores = [f"{100 * heads / counted:.2f}", f"{100 * labelled / counted:.2f}"]
        rows.append([name, model, pieces, *scores, f"{whole.word_count / took:,.0f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=["en-fast", "en"])
    parser.add_argument("--sentences", type=int, default=10, help="long sentences per treebank")
    options = parser.parse_args()
    if "ARCWISE_TREEBANKS" not in os.environ:
        sys.exit("ARCWISE_TREEBANKS: set it to a folder that contains English-EWT and English-GUM")
    folder = Path(os.environ["ARCWISE_TREEBANKS"])
    rows = [
        row
        for model in options.models
        for name in TREEBANKS
        for row in rows_of(load(model), model, name, folder, options.sentences)
    ]
    body = (
        f"Sentences of slightly more than {WORDS:,} words, joined from consecutive development sentences; "
        f"UAS and LAS (subtypes cut) of the words whose head is in the same original sentence; words per "
        f"CPU second, tagging included. `arcwise` splits at {long_sentences.PIECE_WORDS}.\n\n"
        + table(["treebank", "model", "parsed as", "UAS", "LAS", "words/s"], rows)
    )
    write_section("long-sentences", "Very long sentences", body, module="long_sentences")
    print(body)


if __name__ == "__main__":
    main()
