"""Atoms: the properties of a word that features are made of, each as a 64-bit hash."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks import Treebank

ABSENT = 0
"""The atom of a word whose column has nothing (``_``)."""


def token_atoms(treebank: Treebank, names: Sequence[str]) -> npt.NDArray[np.uint64]:
    """The named atoms of every word, shape (words, len(names)); ``ABSENT`` where a column has nothing.

    Names: form, lower, prefix1 … prefix9, suffix1 … suffix9, shape, lemma, upos, xpos, feats, feats.KEY, misc.KEY. Two words
    have the same atom if they have the same property. Lower-casing, prefixes and suffixes go by code points, in any script.

    >>> treebank = Treebank.from_string("1\\tΚαλά\\t_\\tADV\\t_\\t_\\t0\\troot\\t_\\t_\\n2\\tκαλά\\t_\\tADV\\t_\\t_\\t1\\tdep\\t_\\t_\\n\\n")
    >>> form, lower, lemma = token_atoms(treebank, ["form", "lower", "lemma"]).T
    >>> bool(form[0] == form[1]), bool(lower[0] == lower[1]), int(lemma[0])
    (False, True, 0)
    """
    try:
        return native.token_atoms(treebank.layout, treebank.data, list(names))
    except ValueError as error:
        raise InputError(f"features: {error}") from error


def atom_names(names: Sequence[str], treebank: Treebank) -> list[str]:
    """Those of ``names`` whose column has something in the treebank: the others would cost time for nothing."""
    atoms = token_atoms(treebank, names)
    return [name for name, values in zip(names, atoms.T, strict=True) if values.any()]


def feature_atom(column: str) -> str:
    """The atom of ``MISC:Key``, ``FEATS:Key`` or a plain column such as ``XPOS``.

    >>> feature_atom("MISC:Cluster"), feature_atom("xpos")
    ('misc.Cluster', 'xpos')
    """
    name, _, key = column.partition(":")
    atom = f"{name.lower()}.{key}" if key else name.lower()
    if name.lower() not in (("misc", "feats") if key else ("form", "lemma", "upos", "xpos", "feats")):
        raise InputError(
            f"feature_columns: found {column!r}, expected MISC:KEY, FEATS:KEY, FORM, LEMMA, UPOS, XPOS or FEATS"
        )
    return atom
