"""Predicted tags: UPOS from taggers not trained on the sentence, as in Bohnet et al. (2016)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from arcwise.text.jackknife import jackknife_tags
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_output
from measuring.czech import with_simplified_tags
from measuring.inputs import read, treebank_hash
from measuring.sources import code_hash

TAGGER = TaggerConfig()


def with_predicted_tags(
    treebank: Treebank, name: str, part: str, *, sentences: int, folds: int, simple: bool, cache: Path
) -> Treebank:
    """Return a part of the treebank ``name`` with predicted UPOS instead of gold ones.

    ``simple``: the predicted tags are the simplified ones of Czech (``measuring.czech``).
    Trainings share the tags through files in ``cache``, since each runs in its own process.
    """
    versions = f"{code_hash('text')}-{treebank_hash(name)}"
    path = cache / f"{name}-{part}-{sentences}-{folds}{'-simple' * simple}-{versions}.json"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with open_output(path) as stream:
            stream.write(json.dumps(list(predicted_tags(name, part, sentences, folds, simple))).encode())
    return treebank.annotate(upos=json.loads(path.read_text()))


def predicted_tags(name: str, part: str, sentences: int, folds: int, simple: bool = False) -> Sequence[str]:
    """The UPOS of every word of a part of a treebank.

    The training part is cut into ``folds``, each tagged by a tagger trained on the others; dev and test are
    tagged by one trained on the whole training part. ``sentences``: only the first N of it; 0: all.
    """
    train = read(name, "train")
    train = with_simplified_tags(train) if simple else train
    train = train[:sentences] if sentences else train
    if part == "train":
        return jackknife_tags(train, folds=folds, config=TAGGER).column("upos")
    return Tagger.train(train, config=TAGGER).tag(read(name, part)).column("upos")
