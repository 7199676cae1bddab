"""Versions of a treebank that are compared or merged: read even if a tree is broken, for that may be what somebody is about to mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arcwise.treebanks import Treebank


def read_version(path: str, *, may_be_empty: bool = False) -> Treebank:
    """A treebank whose rows and text are sound; its trees need not be. ``may_be_empty``: or a file with nothing in it."""
    from arcwise.errors import InputError
    from arcwise.treebanks import Treebank, read_bytes
    from arcwise.treebanks.files import refuse_other_encoding
    from arcwise.treebanks.problems import OF_TREES

    data = read_bytes(path)
    refuse_other_encoding(data[:4], path)
    treebank = Treebank(data, source=path, strict=False)
    wrong = next((p for p in treebank.problems if p.kind not in OF_TREES), None)
    if wrong is not None:
        raise InputError(str(wrong))
    if not len(treebank) and not (may_be_empty and not data.strip()):
        raise InputError(f"{path}: found no sentence, expected CoNLL-U")
    return treebank
