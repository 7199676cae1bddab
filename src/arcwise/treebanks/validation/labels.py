"""Level 2: UPOS and DEPREL against the inventory, with a guess; a guess that would break a rule of level 3 is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from arcwise.treebanks.rows import DEPREL, UPOS, Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.guesses import guess_labels, guess_upos, how_often
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

What = Literal["label", "upos"]


def check_labels(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, report: Report, *, partial: bool
) -> None:
    """UPOS of words and empty nodes, DEPREL of words. ``partial``: ``_`` is a word that nobody has decided yet."""
    for row in raw.nodes:
        if len(row.fields) != 10:
            continue
        upos, label = row.fields[UPOS], row.fields[DEPREL]
        if upos not in UPOS_TAGS and not (upos == "_" and (partial or row.kind == "empty")):
            _unknown_upos(raw, tree, inventory, row, report)
        if row.kind == "empty" or (label == "_" and partial):
            continue
        if not has_label_form(label):
            _invalid_label(raw, tree, inventory, row, report)
        elif universal(label) not in RELATIONS:
            _unknown_label(raw, tree, inventory, row, report)
        elif label in inventory.misspelt:
            _rare_label(raw, inventory, row, report)


def usual_label(tree: RawTree, inventory: Inventory, word: int) -> str | None:
    """The label that such a word usually has under such a head, if it breaks no rule here."""
    head = tree.heads[word]
    guesses = guess_labels(inventory, "", tree.upos[head] if head > 0 else "", tree.upos[word])
    return harmless(tree, word, "label", guesses, inventory)


def harmless(
    tree: RawTree, word: int, what: What, values: Iterable[str], inventory: Inventory, *, gone: str = ""
) -> str | None:
    """The first label or tag that breaks no rule of level 3 that is not broken now, nor the rule ``gone``.

    What a label or a tag can break is broken by the word, its head or its children.
    """
    near = [node for node in (word, tree.heads[word], *tree.children[word]) if node > 0]

    def broken(other: RawTree) -> set[tuple[str, int]]:
        found = (b for node in near for b in violations(other, node, with_features=inventory.features))
        return {(violation.rule, violation.at) for violation in found}

    before: set[tuple[str, int]] | None = None
    for value in values:
        before = broken(tree) - {(gone, word)} if before is None else before
        if broken(tree.changed(word, **{what: value})) <= before:
            return value
    return None


def _unknown_upos(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, row: Row, report: Report
) -> None:
    tag = row.fields[UPOS]
    guesses = guess_upos(inventory, tag, row.fields[DEPREL])
    if tree is not None and row.kind == "word":
        found = harmless(tree, int(row.id), "upos", guesses, inventory)
    else:
        found = guesses[0] if guesses else None
    meant = f" (is {found} meant?)" if found else ""
    report.add_field(
        "unknown-upos",
        row,
        UPOS,
        f"found {tag!r}, expected a universal tag{meant}{how_often(inventory, 'upos', tag, found)}",
        repair=set_field(raw, row, UPOS, found) if found else None,
    )


def _invalid_label(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, row: Row, report: Report
) -> None:
    label = row.fields[DEPREL]
    better = "".join(label.split()).lower()
    good = is_label(better)
    found = better if good and _fits(tree, row, better, inventory) else _guess(tree, inventory, row)
    report.add_field(
        "invalid-deprel",
        row,
        DEPREL,
        f"found {label!r}, expected a relation in small letters like nsubj or nsubj:pass",
        repair=set_field(raw, row, DEPREL, found) if found else None,
    )


def _unknown_label(
    raw: RawSentence, tree: RawTree | None, inventory: Inventory, row: Row, report: Report
) -> None:
    label = row.fields[DEPREL]
    found = _guess(tree, inventory, row)
    meant = f" (is {found} meant?)" if found else ""
    report.add_field(
        "unknown-udeprel",
        row,
        DEPREL,
        f"found {label!r}, expected a universal relation{meant}{how_often(inventory, 'deprel', label, found)}",
        repair=set_field(raw, row, DEPREL, found) if found else None,
    )


def _rare_label(raw: RawSentence, inventory: Inventory, row: Row, report: Report) -> None:
    label = row.fields[DEPREL]
    found = inventory.misspelt[label]
    report.add_field(
        "rare-label",
        row,
        DEPREL,
        f"found {label!r} (is {found} meant?){how_often(inventory, 'deprel', label, found)}",
        repair=set_field(raw, row, DEPREL, found),
    )


def _fits(tree: RawTree | None, row: Row, label: str, inventory: Inventory) -> bool:
    return tree is None or harmless(tree, int(row.id), "label", [label], inventory) is not None


def _guess(tree: RawTree | None, inventory: Inventory, row: Row) -> str | None:
    label = row.fields[DEPREL]
    if tree is None:
        guesses = guess_labels(inventory, label, "_", row.fields[UPOS])
        return guesses[0] if guesses else None
    word = int(row.id)
    head = tree.heads[word]
    head_upos = tree.upos[head] if head > 0 else "" if head == 0 else "_"
    guesses = guess_labels(inventory, label, head_upos, tree.upos[word])
    return harmless(tree, word, "label", guesses, inventory)
