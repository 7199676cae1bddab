"""Guess which tag or label an unknown one stands for, from its spelling and its context."""

from __future__ import annotations

from collections.abc import Mapping

from arcwise.treebanks.validation.inventory import UPOS_TAGS, Inventory
from arcwise.treebanks.validation.spelling import similarity

_OLD_LABELS = {
    "dobj": "obj", "nsubjpass": "nsubj:pass", "csubjpass": "csubj:pass", "auxpass": "aux:pass",
    "mwe": "fixed", "name": "flat", "foreign": "flat:foreign", "remnant": "orphan", "neg": "advmod",
    "sbj": "nsubj", "prep": "case", "pobj": "obl", "num": "nummod", "poss": "nmod:poss",
    "rcmod": "acl:relcl", "relcl": "acl:relcl", "vmod": "acl", "coord": "conj", "p": "punct",
}  # fmt: skip
"""Labels of UD v1 and of other schemes → labels of UD v2."""
_OLD_TAGS = {
    "CONJ": "CCONJ", ".": "PUNCT", "PUNC": "PUNCT", "PREP": "ADP", "PRT": "PART", "N": "NOUN", "NN": "NOUN",
    "V": "VERB", "VB": "VERB", "A": "ADJ", "R": "ADV", "D": "DET", "ART": "DET", "PN": "PROPN",
    "NP": "PROPN", "NNP": "PROPN", "PRO": "PRON", "NUMERAL": "NUM", "SUBJ": "SCONJ",
}  # fmt: skip
"""Tags of earlier versions and of other schemes → universal tags."""

_BY_FREQUENCY = [
    "punct", "case", "nmod", "det", "obl", "nsubj", "advmod", "amod", "root", "obj", "conj", "cc",
    "aux", "mark",
]  # fmt: skip
"""The most frequent relations of most treebanks, to break ties between equally likely guesses."""

# A guess is at least this similar in spelling, or accounts for this share of the words in the same context.
_MIN_SIMILARITY, _MIN_SHARE = 0.5, 0.5


def guess_labels(inventory: Inventory, label: str, head_upos: str, upos: str) -> list[str]:
    """Guess which known labels an unknown label stands for, most likely first; empty if none is likely.

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
    lowercase = label.lower()
    in_context: Mapping[str, int] = inventory.labels_of.get((head_upos, upos), {})
    context_size, words = sum(in_context.values()) or 1, sum(inventory.deprel.values()) or 1
    scored = []
    for candidate in inventory.known_labels:
        letters, share = similarity(lowercase, candidate), in_context.get(candidate, 0) / context_size
        if letters >= _MIN_SIMILARITY or (share >= _MIN_SHARE and in_context[candidate] > 1):
            score = 4 * letters + 2 * share + inventory.deprel.get(candidate, 0) / words
            rank = _BY_FREQUENCY.index(candidate) if candidate in _BY_FREQUENCY else len(_BY_FREQUENCY)
            scored.append((-score, rank, candidate))
    old = _OLD_LABELS.get(lowercase)
    return ([old] if old else []) + [candidate for *_, candidate in sorted(scored) if candidate != old][:4]


def guess_upos(inventory: Inventory, tag: str, label: str) -> list[str]:
    """Guess which universal tags an unknown tag stands for, most likely first; empty if none is likely.

    >>> guess_upos(Inventory(), "Noun", "nsubj"), guess_upos(Inventory(), "CONJ", "cc")
    (['NOUN', 'NUM'], ['CCONJ', 'SCONJ'])
    """
    uppercase = tag.upper()
    in_context: Mapping[str, int] = inventory.upos_of.get(label, {})
    context_size = sum(in_context.values()) or 1
    scored = []
    # X means that no other tag fits, so it is a guess only for a misspelt X.
    for candidate in UPOS_TAGS - {"X"} | ({"X"} & {uppercase}):
        letters, share = similarity(uppercase, candidate), in_context.get(candidate, 0) / context_size
        if letters >= _MIN_SIMILARITY or (share >= _MIN_SHARE and in_context[candidate] > 1):
            scored.append((-(4 * letters + 2 * share), candidate))
    old = _OLD_TAGS.get(uppercase)
    return ([old] if old else []) + [candidate for _, candidate in sorted(scored) if candidate != old][:4]


def usage_counts(inventory: Inventory, column: str, value: str, guess: str) -> str:
    """`` (subjekt occurs once, nsubj 60 times)``; empty for an empty inventory."""
    counts = inventory.deprel if column == "deprel" else inventory.upos
    if not counts:
        return ""
    return f" ({value} occurs {_times(counts.get(value, 0))}, {guess} {_times(counts.get(guess, 0))})"


def _times(count: int) -> str:
    return "never" if not count else "once" if count == 1 else f"{count} times"
