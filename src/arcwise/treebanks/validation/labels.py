"""Level 2: check UPOS and DEPREL, suggesting corrections that violate no rule of level 3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from arcwise.treebanks.rows import DEPREL, UPOS, Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.inventory import (
    RELATIONS,
    UPOS_TAGS,
    Inventory,
    has_label_form,
    is_label,
    similarity,
    universal,
)
from arcwise.treebanks.validation.raw import MOST_REPAIRED, RawSentence
from arcwise.treebanks.validation.relations import violations
from arcwise.treebanks.validation.repairs import set_field
from arcwise.treebanks.validation.tree import RawTree

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


def check_labels(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, report: Report, *, partial: bool
) -> None:
    """Check UPOS of words and empty nodes, and DEPREL of words.

    ``partial``: ``_`` is a word that is not annotated yet.
    """
    for row in raw.nodes:
        if len(row.fields) != 10:
            continue
        upos, label = row.fields[UPOS], row.fields[DEPREL]
        if upos not in UPOS_TAGS and not (upos == "_" and (partial or row.kind == "empty")):
            _report_unknown_upos(raw, tree, inventory, row, report)
        if row.kind == "empty" or (label == "_" and partial):
            continue
        if not has_label_form(label):
            _report_invalid_label(raw, tree, inventory, row, report)
        elif universal(label) not in RELATIONS:
            _report_unknown_label(raw, tree, inventory, row, report)
        elif label in inventory.misspelt:
            _report_rare_label(raw, inventory, row, report)


def usual_label(tree: RawTree, inventory: Inventory, word: int) -> str | None:
    """The most frequent label for the tags of a word and its head, if it violates no rule here."""
    head = tree.heads[word]
    guesses = guess_labels(inventory, "", tree.upos[head] if head > 0 else "", tree.upos[word])
    return first_safe_value(tree, word, "label", guesses, inventory)


def first_safe_value(
    tree: RawTree,
    word: int,
    field: Literal["label", "upos"],
    values: Iterable[str],
    inventory: Inventory,
    *,
    repaired: str = "",
) -> str | None:
    """The first label or tag that adds no violation of level 3 and fixes the rule ``repaired``.

    A label or a tag can only cause violations at the word, its head or its children.
    """
    if len(tree) > MOST_REPAIRED:
        return None
    affected = [node for node in (word, tree.heads[word], *tree.children[word]) if node > 0]

    def violated(candidate: RawTree) -> set[tuple[str, int]]:
        return {
            (violation.rule, violation.at)
            for node in affected
            for violation in violations(candidate, node, with_features=inventory.features)
        }

    before: set[tuple[str, int]] | None = None
    for value in values:
        # Computed only if there is a value to try: most words have no finding.
        before = violated(tree) - {(repaired, word)} if before is None else before
        if violated(tree.changed(word, **{field: value})) <= before:
            return value
    return None


def _report_unknown_upos(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, row: Row, report: Report
) -> None:
    tag = row.fields[UPOS]
    guesses = guess_upos(inventory, tag, row.fields[DEPREL])
    if tree is not None and row.kind == "word":
        guess = first_safe_value(tree, int(row.id), "upos", guesses, inventory)
    else:
        guess = guesses[0] if guesses else None
    message = f"{tag!r} is not a universal POS tag{_did_you_mean(inventory, 'upos', tag, guess)}"
    repair = set_field(raw, row, UPOS, guess) if guess else None
    report.add_field("unknown-upos", row, UPOS, message, repair=repair)


def _report_invalid_label(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, row: Row, report: Report
) -> None:
    label = row.fields[DEPREL]
    lowercase = "".join(label.split()).lower()
    if is_label(lowercase) and _is_safe(tree, row, lowercase, inventory):
        guess: str | None = lowercase
    else:
        guess = _guess(tree, inventory, row)
    message = f"{label!r} is not a lowercase relation such as nsubj or nsubj:pass"
    repair = set_field(raw, row, DEPREL, guess) if guess else None
    report.add_field("invalid-deprel", row, DEPREL, message, repair=repair)


def _report_unknown_label(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, row: Row, report: Report
) -> None:
    label = row.fields[DEPREL]
    guess = _guess(tree, inventory, row)
    message = f"{label!r} is not a universal relation{_did_you_mean(inventory, 'deprel', label, guess)}"
    repair = set_field(raw, row, DEPREL, guess) if guess else None
    report.add_field("unknown-udeprel", row, DEPREL, message, repair=repair)


def _report_rare_label(raw: RawSentence, inventory: Inventory, row: Row, report: Report) -> None:
    label = row.fields[DEPREL]
    frequent = inventory.misspelt[label]
    message = f"{label!r} may be a typo{_did_you_mean(inventory, 'deprel', label, frequent)}"
    report.add_field("rare-label", row, DEPREL, message, repair=set_field(raw, row, DEPREL, frequent))


def _did_you_mean(inventory: Inventory, column: str, value: str, guess: str | None) -> str:
    return f"; did you mean {guess}?{usage_counts(inventory, column, value, guess)}" if guess else ""


def _is_safe(tree: RawTree | None, row: Row, label: str, inventory: Inventory) -> bool:
    return tree is None or first_safe_value(tree, int(row.id), "label", [label], inventory) is not None


def _guess(tree: RawTree | None, inventory: Inventory, row: Row) -> str | None:
    label = row.fields[DEPREL]
    if tree is None:
        guesses = guess_labels(inventory, label, "_", row.fields[UPOS])
        return guesses[0] if guesses else None
    word = int(row.id)
    head = tree.heads[word]
    head_upos = tree.upos[head] if head > 0 else "" if head == 0 else "_"
    guesses = guess_labels(inventory, label, head_upos, tree.upos[word])
    return first_safe_value(tree, word, "label", guesses, inventory)
