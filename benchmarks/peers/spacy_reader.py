"""Corpus reader for ``spacy train --code``: spaCy's reader, plus gold tags and morphology for the parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example


@spacy.registry.readers("gold_tags.v1")
def gold_tags(path: Path) -> Callable[[Any], Iterator[Example]]:
    """Examples of a .spacy file, one sentence each, with the tags and morphology the parser sees at test
    time.
    """

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
