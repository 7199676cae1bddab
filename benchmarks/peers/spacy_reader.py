"""The reader of training data that ``spacy train --code`` loads: spaCy's own, but gold tags and morphology are handed to the parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example


@spacy.registry.readers("gold_tags.v1")
def gold_tags(path: Path) -> Callable[[Any], Iterator[Example]]:
    """Examples of a .spacy file, a sentence each; the parser sees tag and morphology as it will when it parses."""

    def read(nlp: Any) -> Iterator[Example]:
        for gold in DocBin().from_disk(path).get_docs(nlp.vocab):
            seen = sentence(
                nlp.vocab, [t.text for t in gold], [t.tag_ for t in gold], [str(t.morph) for t in gold]
            )
            yield Example(seen, gold)

    return read


def sentence(vocab: Any, forms: list[str], tags: list[str], morphs: list[str]) -> Doc:
    """One sentence without a tree."""
    starts = [place == 0 for place in range(len(forms))]
    return Doc(vocab, words=forms, tags=tags, morphs=morphs, sent_starts=starts)
