"""What a tag or a label that is not in the inventory is likely to mean: by its letters, and by what stands there elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from arcwise.treebanks.validation.inventory import UPOS_TAGS, Inventory
from arcwise.treebanks.validation.spelling import alike

_OLD_LABELS = {
    "dobj": "obj",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "mwe": "fixed",
    "name": "flat",
    "foreign": "flat:foreign",
    "remnant": "orphan",
    "neg": "advmod",
    "sbj": "nsubj",
    "prep": "case",
    "pobj": "obl",
    "num": "nummod",
    "poss": "nmod:poss",
    "rcmod": "acl:relcl",
    "relcl": "acl:relcl",
    "vmod": "acl",
    "coord": "conj",
    "p": "punct",
}
"""Labels of earlier versions and of other schemes → those of UD."""
_OLD_TAGS = {
    "CONJ": "CCONJ",
    ".": "PUNCT",
    "PUNC": "PUNCT",
    "PREP": "ADP",
    "PRT": "PART",
    "N": "NOUN",
    "NN": "NOUN",
    "V": "VERB",
    "VB": "VERB",
    "A": "ADJ",
    "R": "ADV",
    "D": "DET",
    "ART": "DET",
    "PN": "PROPN",
    "NP": "PROPN",
    "NNP": "PROPN",
    "PRO": "PRON",
    "NUMERAL": "NUM",
    "SUBJ": "SCONJ",
}
"""Tags of earlier versions and of other schemes → universal ones."""

_COMMON = [
    "punct",
    "case",
    "nmod",
    "det",
    "obl",
    "nsubj",
    "advmod",
    "amod",
    "root",
    "obj",
    "conj",
    "cc",
    "aux",
    "mark",
]
"""The most frequent relations of most treebanks: of two that are equally likely the one here is guessed, or the one before."""

_ALIKE, _USUAL = 0.5, 0.5  # letters at least so much alike, or one value in so great a part of the places


def guess_labels(inventory: Inventory, label: str, head_upos: str, upos: str) -> list[str]:
    """What a label out of the inventory may mean, the likeliest first; none if nothing is likely.

    >>> arcs = {("VERB", "NOUN", "nsubj"): 60, ("VERB", "NOUN", "obj"): 50, ("NOUN", "ADJ", "amod"): 90}
    >>> guess_labels(Inventory(arcs), "subjekt", "VERB", "NOUN")[0]
    'nsubj'
    """
    key = (label, head_upos, upos)
    if key not in inventory.guesses:
        inventory.guesses[key] = _label_guesses(inventory, *key)
    return inventory.guesses[key]


def _label_guesses(inventory: Inventory, label: str, head_upos: str, upos: str) -> list[str]:
    if not head_upos:
        return ["root"]
    plain = label.lower()
    here: Mapping[str, int] = inventory.labels_of.get((head_upos, upos), {})
    places, words = sum(here.values()) or 1, sum(inventory.deprel.values()) or 1
    scored = []
    for other in inventory.known_labels:
        letters, share = alike(plain, other), here.get(other, 0) / places
        if letters >= _ALIKE or (share >= _USUAL and here[other] > 1):
            likely = 4 * letters + 2 * share + inventory.deprel.get(other, 0) / words
            scored.append((-likely, _COMMON.index(other) if other in _COMMON else len(_COMMON), other))
    old = _OLD_LABELS.get(plain)
    return ([old] if old else []) + [other for *_, other in sorted(scored) if other != old][:4]


def guess_upos(inventory: Inventory, tag: str, label: str) -> list[str]:
    """What a tag out of the inventory may mean, the likeliest first; none if nothing is likely.

    >>> guess_upos(Inventory(), "Noun", "nsubj"), guess_upos(Inventory(), "CONJ", "cc")
    (['NOUN', 'NUM'], ['CCONJ', 'SCONJ'])
    """
    plain = tag.upper()
    here: Mapping[str, int] = inventory.upos_of.get(label, {})
    places = sum(here.values()) or 1
    scored = []
    for other in UPOS_TAGS - {"X"} | ({"X"} & {plain}):
        letters, share = alike(plain, other), here.get(other, 0) / places
        if letters >= _ALIKE or (share >= _USUAL and here[other] > 1):
            scored.append((-(4 * letters + 2 * share), other))
    old = _OLD_TAGS.get(plain)
    return ([old] if old else []) + [other for _, other in sorted(scored) if other != old][:4]


def how_often(inventory: Inventory, column: str, value: str, guess: str | None) -> str:
    """``subjekt occurs once, nsubj 60 times``; nothing where nothing was counted."""
    counts = inventory.deprel if column == "deprel" else inventory.upos
    if not counts or guess is None:
        return ""
    return f"; {value} occurs {_times(counts.get(value, 0))}, {guess} {_times(counts.get(guess, 0))}"


def _times(count: int) -> str:
    return "never" if not count else "once" if count == 1 else f"{count} times"
