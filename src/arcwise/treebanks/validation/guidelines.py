"""Level 3: report violations of the guidelines with repairs, and check roots of the enhanced graph."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

from arcwise.treebanks.columns import COLUMNS, column_number
from arcwise.treebanks.edits import SetField
from arcwise.treebanks.rows import DEPREL, DEPS, FEATS, FORM, HEAD, LEMMA, UPOS
from arcwise.treebanks.validation.fields import canonical_feats, deps_pairs
from arcwise.treebanks.validation.findings import Repair, Report
from arcwise.treebanks.validation.inventory import Inventory, universal
from arcwise.treebanks.validation.labels import first_safe_value, usual_label
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.relations import Violation, violations
from arcwise.treebanks.validation.repairs import set_field
from arcwise.treebanks.validation.tree import RawTree

_ANNOTATED = {"upos": UPOS, "head": HEAD, "deprel": DEPREL}
"""Columns that an annotator fills in; they are ``_`` until then."""


def check_relations(
    raw: RawSentence, tree: RawTree, inventory: Inventory, report: Report, *, partial: bool
) -> None:
    """Check all words of a tree against the guidelines.

    ``partial``: ignore violations that are due to a tag, head or label that is still ``_``.
    """
    seen: set[Violation] = set()
    for word in range(1, len(tree) + 1):
        for violation in violations(tree, word, with_features=inventory.features):
            if violation in seen:  # two dependents of flat:foreign report the same head
                continue
            seen.add(violation)
            if partial and _is_due_to_missing_value(tree, violation):
                continue
            repair = _repair(raw, tree, inventory, violation)
            row, column = tree.row(violation.at), column_number(violation.column)
            report.add_field(violation.rule, row, column, violation.message, repair=repair)


def _is_due_to_missing_value(tree: RawTree, violation: Violation) -> bool:
    """Whether a tag, head or label that the rule depends on is not annotated yet."""

    def is_open(word: int, *columns: str) -> bool:
        return word > 0 and any(tree.row(word).fields[_ANNOTATED[column]] == "_" for column in columns)

    at, column = violation.at, violation.column
    if column in _ANNOTATED and is_open(at, column):
        return True
    if violation.rule.startswith("leaf-"):  # reported at the dependent, about its label
        return is_open(at, "deprel")
    if violation.rule == "orphan-parent":
        return is_open(tree.heads[at], "deprel")
    if violation.rule == "goeswith-edeps":
        return is_open(at, "head")
    if violation.rule in ("fixed-gap", "goeswith-gap"):  # words in the gap may belong to the expression
        return any(
            is_open(word, "head", "deprel") for word in range(at + 1, max(tree.children[at], default=at))
        )
    return False


def check_enhanced_roots(raw: RawSentence, report: Report) -> None:
    """Check that head 0 and the relation root go together in DEPS, too."""
    for row in raw.nodes:
        pairs = deps_pairs(row.fields[DEPS]) or ()
        if any(head == "0" and universal(label) != "root" for head, label in pairs):
            better = "|".join(
                dict.fromkeys(f"{head}:{'root' if head == '0' else label}" for head, label in pairs)
            )
            message = f"a relation to head 0 should be root: {row.fields[DEPS]!r}"
            repair = set_field(raw, row, DEPS, better)
            report.add_field("enhanced-0-is-not-root", row, DEPS, message, repair=repair)
        if any(head != "0" and universal(label) == "root" for head, label in pairs):
            message = f"the relation root should have head 0: {row.fields[DEPS]!r}"
            report.add_field("enhanced-root-is-not-0", row, DEPS, message)


def _repair(raw: RawSentence, tree: RawTree, inventory: Inventory, violation: Violation) -> Repair | None:
    word, column, rule = violation.at, column_number(violation.column), violation.rule
    if rule == "0-is-not-root" and len(tree.children[0]) > 1:  # which of them is the root is not clear
        return None
    if rule in ("goeswith-lemma", "goeswith-upos", "goeswith-feats"):
        return _repair_later_part(raw, tree, inventory, word)
    value = usual_label(tree, inventory, word) if rule == "root-is-not-0" else None
    if rule in _VALUES:
        value = _VALUES[rule](tree, word)
    if value is None:
        return None
    # A repair must not break another rule.
    if column == DEPREL and not first_safe_value(tree, word, "label", [value], inventory, repaired=rule):
        return None
    if column == UPOS and not first_safe_value(tree, word, "upos", [value], inventory, repaired=rule):
        return None
    return set_field(raw, tree.row(word), column, value)


def _repair_later_part(raw: RawSentence, tree: RawTree, inventory: Inventory, word: int) -> Repair | None:
    """Give a later part of a goeswith word all it should have at once: no lemma, X, no features."""
    if not raw.editable or not first_safe_value(tree, word, "upos", ["X"], inventory):
        return None
    row = tree.row(word)
    values = {LEMMA: "_", UPOS: "X", FEATS: "_"}
    edits = [SetField(row.id, COLUMNS[c], value) for c, value in values.items() if row.fields[c] != value]
    return Repair("write X without lemma and features", tuple(edits))


def _nmod(tree: RawTree, word: int) -> str:
    return "nmod" + tree.labels[word].removeprefix("obl")


def _aux(tree: RawTree, word: int) -> str | None:
    return "AUX" if tree.upos[word] == "VERB" else None


def _punct(tree: RawTree, word: int) -> str | None:
    all_punctuation = all(unicodedata.category(c)[0] == "P" for c in tree.row(word).fields[FORM])
    return "PUNCT" if all_punctuation else None


def _with_typo(tree: RawTree, word: int) -> str | None:
    if tree.relations[word] == "goeswith":  # a later part itself, which has no features
        return None
    parts = tree.row(word).fields[FEATS].split("|")
    feats = [part for part in parts if part != "_" and not part.startswith("Typo=")]
    return canonical_feats("|".join([*feats, "Typo=Yes"]))


_VALUES: Mapping[str, Callable[[RawTree, int], str | None]] = {
    "0-is-not-root": lambda tree, word: "root",
    "rel-upos-aux": _aux,
    "rel-upos-cop": _aux,
    "rel-upos-punct": _punct,
    "upos-rel-punct": lambda tree, word: "punct",
    "obl-should-be-nmod": _nmod,
    "goeswith-missing-typo": _with_typo,
    "goeswith-edeps": lambda tree, word: f"{tree.heads[word]}:{tree.labels[word]}",
}
"""Rule → the value that repairs a violation, or None where there is no obvious one."""
