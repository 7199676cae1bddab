"""Level 2: check UPOS and DEPREL, suggesting corrections that violate no rule of level 3."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from arcwise.treebanks.rows import DEPREL, UPOS, Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.guesses import guess_labels, guess_upos, usage_counts
from arcwise.treebanks.validation.inventory import (
    RELATIONS,
    UPOS_TAGS,
    Inventory,
    has_label_form,
    is_label,
    universal,
)
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.relations import violations
from arcwise.treebanks.validation.repairs import set_field
from arcwise.treebanks.validation.tree import RawTree


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
