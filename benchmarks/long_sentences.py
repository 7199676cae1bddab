"""Sentences that are too long to be parsed as a whole: what the length of the pieces costs, and saves.

``python -m benchmarks.long_sentences``. Sentences of the development parts of English-EWT and English-GUM (ARCWISE_TREEBANKS) are put together to sentences of 2,000 words
and parsed in pieces of at most so many words. Counted are the words whose head is in the treebank's own sentence, so that what joins the sentences does not count.
The treebanks' own sentences, parsed one by one, stand beside it: more is not to be had.
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
    """Sentences one after the other, as many at a time as have ``words`` words; what is left over is left out."""
    own: list[Sentence] = []
    for sentence in treebank:
        own.append(sentence)
        if sum(map(len, own)) >= words:
            yield own
            own = []


def as_one(sentences: list[Sentence]) -> str:
    """Their words as one sentence."""
    forms = [form for sentence in sentences for form in sentence.forms]
    return "".join(f"{at}\t{form}{8 * (chr(9) + '_')}\n" for at, form in enumerate(forms, 1)) + "\n"


def right(parsed: Treebank, groups: list[list[Sentence]]) -> tuple[int, int]:
    """Heads, and heads with their labels (subtypes left out), that are those of the treebank."""
    heads = labelled = 0
    for found, group in zip(parsed, groups, strict=True):
        first = 0
        for gold in group:
            for word in range(len(gold)):
                head = gold.heads[word]
                if head <= 0 or found.heads[first + word] != head + first:
                    continue
                heads += 1
                own, known = found.deprels[first + word], gold.deprels[word]
                labelled += own.split(":")[0] == known.split(":")[0]
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
        pieces = f"pieces of at most {length} words" if length else "its own sentences"
        scores = [f"{100 * heads / counted:.2f}", f"{100 * labelled / counted:.2f}"]
        rows.append([name, model, pieces, *scores, f"{whole.word_count / took:,.0f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=["en-fast", "en"])
    parser.add_argument("--sentences", type=int, default=10, help="long sentences of each treebank")
    given = parser.parse_args()
    if "ARCWISE_TREEBANKS" not in os.environ:
        sys.exit("ARCWISE_TREEBANKS: is not set, expected a folder with English-EWT and English-GUM")
    folder = Path(os.environ["ARCWISE_TREEBANKS"])
    rows = [
        row
        for model in given.models
        for name in TREEBANKS
        for row in rows_of(load(model), model, name, folder, given.sentences)
    ]
    body = (
        f"Sentences of {WORDS:,} words and a little more, made of development sentences one after the other; UAS and LAS (labels without subtypes) of the words "
        f"whose head is in their own sentence, words per second of processor time, tagging included. `arcwise` cuts at {long_sentences.PIECE_WORDS}.\n\n"
        + table(["treebank", "model", "parsed as", "UAS", "LAS", "words/s"], rows)
    )
    write_section("long-sentences", "Sentences that are too long", body, module="long_sentences")
    print(body)


if __name__ == "__main__":
    main()
