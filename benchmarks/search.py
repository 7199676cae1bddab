"""Speed of treebank search: ``python -m benchmarks.search [--write]``, on the training data of English-EWT.

Set ARCWISE_TREEBANKS to the treebanks. Every search starts from the treebank's bytes, without cached
columns.
"""

from __future__ import annotations

import argparse
from functools import partial

from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import read_whole

from arcwise.treebanks.search import Columns, MassEdit, Query
from benchmarks.report import write_section

QUERIES = (
    "upos=VERB",
    'lemma~"^be"',
    "feats.Case=Acc",
    "upos=VERB > nsubj [upos=PRON]",
    "upos=VERB > nsubj > obj",
    "[upos=VERB !> obj]",
    "upos=DET . (upos=ADJ . upos=NOUN)",
    "upos=VERB >> upos=NOUN",
    "@v[upos=VERB] > nsubj @s; @v > obj @o; @o .. @s; without @v > iobj",
    "@a[upos=NOUN] .. @b[upos=NOUN]; @a.lemma=@b.lemma",
    "projective=no",
    'sentence sent_id~"^weblog"',
    "[] .. []",
)


def main() -> None:
    """Print the table of queries, and write it to RESULTS.md on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table to RESULTS.md")
    options = parser.parse_args()
    treebank = read_whole("English-EWT", "train")
    columns = Columns(treebank)
    queries = {text: Query.parse(text) for text in QUERIES}
    first = interleaved({text: partial(query.count, treebank) for text, query in queries.items()}, repeat=3)
    again = interleaved({text: partial(query.count, columns) for text, query in queries.items()}, repeat=3)
    rows = [
        (
            f"`{text}`".replace("|", "\\|"),
            f"{query.count(columns)[0]:,}",
            f"{1000 * first[text]:.0f}",
            f"{1000 * again[text]:.0f}",
        )
        for text, query in queries.items()
    ]
    edit = MassEdit.parse("upos=VERB > nsubj", "2.feats.Case=Nom")
    seconds = interleaved({"edit": lambda: list(edit.preview(treebank))}, repeat=3)["edit"]
    body = (
        f"{len(treebank):,} sentences, {treebank.word_count:,} words (English-EWT, training "
        f"data).\n\n{table(('query', 'hits', 'ms', 'ms, columns cached'), rows)}\nComputing the edits of "
        f"`2.feats.Case=Nom` at `upos=VERB > nsubj`: {1000 * seconds:.0f} ms."
    )
    print(body)
    if options.write:
        write_section("search", "Search", body)


if __name__ == "__main__":
    main()
