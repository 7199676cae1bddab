"""Everything that is wrong with CoNLL-U files, without stopping at the first problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from arcwise.treebanks.files import PathLike
from arcwise.treebanks.problems import Problem, ProblemKind
from arcwise.treebanks.streaming import stream
from arcwise.treebanks.treebank import Treebank


def validate(paths: Iterable[PathLike], *, single_root: bool = False) -> Iterator[Problem]:
    """All problems of all files, in order; files of any size are read piece by piece."""
    for path in paths:
        sentences = 0
        for batch in stream(path, strict=False):
            sentences += len(batch)
            found = batch.problems
            if single_root:
                found = sorted(found + list(_extra_roots(batch)), key=lambda p: p.line)
            yield from found
        if not sentences:
            yield Problem(ProblemKind.NO_WORDS, str(path), 1, None, 0, "found no sentence, expected CoNLL-U")


def _extra_roots(batch: Treebank) -> Iterator[Problem]:
    for sentence in batch:
        roots = np.flatnonzero(sentence.heads == 0)
        if len(roots) > 1:
            line = batch.line_at(int(batch.layout.sentence_bytes[sentence.number]))
            yield Problem(
                ProblemKind.MULTIPLE_ROOTS,
                batch.source,
                line + len(sentence.comment_lines),
                sentence.sent_id,
                sentence.number,
                f"found {len(roots)} roots (words {', '.join(map(str, roots))}), expected one",
            )
