"""Versions of a treebank to compare or merge. They may have broken trees: someone may be fixing just
these."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arcwise.treebanks import Treebank


def read_version(path: str, *, may_be_empty: bool = False) -> Treebank:
    """A treebank with valid rows and text; its trees need not be valid. ``may_be_empty``: accept an empty
    file."""
    from arcwise.errors import InputError
    from arcwise.treebanks import Treebank, read_bytes
    from arcwise.treebanks.files import refuse_other_encoding
    from arcwise.treebanks.problems import OF_TREES

    data = read_bytes(path)
    refuse_other_encoding(data[:4], path)
    treebank = Treebank(data, source=path, strict=False)
    problem = next((p for p in treebank.problems if p.kind not in OF_TREES), None)
    if problem is not None:
        raise InputError(str(problem))
    if not len(treebank) and not (may_be_empty and not data.strip()):
        raise InputError(f"{path}: found no sentence, expected CoNLL-U")
    return treebank
