"""Level 3: the rules of ``relations`` told of a sentence, with repairs; and root in the enhanced graph."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

from arcwise.treebanks.columns import COLUMNS, column_number
from arcwise.treebanks.edits import SetField
from arcwise.treebanks.rows import DEPREL, DEPS, FEATS, FORM, HEAD, LEMMA, UPOS
from arcwise.treebanks.validation.fields import canonical_feats, deps_pairs
from arcwise.treebanks.validation.findings import Repair, Report
from arcwise.treebanks.validation.inventory import Inventory, universal
from arcwise.treebanks.validation.labels import harmless, usual_label
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.relations import Violation, violations
from arcwise.treebanks.validation.repairs import set_field
from arcwise.treebanks.validation.tree import RawTree

_DECIDED = {"upos": UPOS, "head": HEAD, "deprel": DEPREL}
"""Columns that a person decides, which are ``_`` until then."""


def check_relations(
    raw: RawSentence, tree: RawTree, inventory: Inventory, report: Report, *, partial: bool
) -> None:
    """All words of a tree against the guidelines. ``partial``: a tag, head or label that is ``_`` breaks none of them."""
    told: set[Violation] = set()
    for word in range(1, len(tree) + 1):
        for violation in violations(tree, word, with_features=inventory.features):
            if violation in told:  # the head of two words of flat:foreign
                continue
            told.add(violation)
            row = tree.row(violation.at)
            if partial and _undecided(tree, violation):
                continue
            repair = _repair(raw, tree, inventory, violation)
            report.add_field(
                violation.rule, row, column_number(violation.column), violation.message, repair=repair
            )


def _undecided(tree: RawTree, violation: Violation) -> bool:
    """Whether a rule is broken only because a tag, head or label that it looks at is not decided yet."""

    def is_open(word: int, *columns: str) -> bool:
        return word > 0 and any(tree.row(word).fields[_DECIDED[column]] == "_" for column in columns)

    at, column = violation.at, violation.column
    if column in _DECIDED and is_open(at, column):
        return True
    if violation.rule.startswith("leaf-"):  # about the label of a word below another
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
    """In DEPS, too, head 0 and the relation root go together."""
    for row in raw.nodes:
        pairs = deps_pairs(row.fields[DEPS]) or ()
        if any(head == "0" and universal(label) != "root" for head, label in pairs):
            better = "|".join(
                dict.fromkeys(f"{head}:{'root' if head == '0' else label}" for head, label in pairs)
            )
            report.add_field(
                "enhanced-0-is-not-root",
                row,
                DEPS,
                f"found {row.fields[DEPS]!r}, expected the relation root with head 0",
                repair=set_field(raw, row, DEPS, better),
            )
        if any(head != "0" and universal(label) == "root" for head, label in pairs):
            message = f"found {row.fields[DEPS]!r}, expected the relation root with head 0 alone"
            report.add_field("enhanced-root-is-not-0", row, DEPS, message)


def _repair(raw: RawSentence, tree: RawTree, inventory: Inventory, violation: Violation) -> Repair | None:
    word, column = violation.at, column_number(violation.column)
    if violation.rule == "0-is-not-root" and len(tree.children[0]) > 1:  # which one is the root?
        return None
    if violation.rule in ("goeswith-lemma", "goeswith-upos", "goeswith-feats"):
        return _further_part(raw, tree, inventory, word)
    value = usual_label(tree, inventory, word) if violation.rule == "root-is-not-0" else None
    if violation.rule in _VALUES:
        value = _VALUES[violation.rule](tree, word)
    if value is None:
        return None
    if column == DEPREL and not harmless(tree, word, "label", [value], inventory, gone=violation.rule):
        return None
    if column == UPOS and not harmless(tree, word, "upos", [value], inventory, gone=violation.rule):
        return None
    return set_field(raw, tree.row(word), column, value)


def _further_part(raw: RawSentence, tree: RawTree, inventory: Inventory, word: int) -> Repair | None:
    """All that a further part of a word (goeswith) should have, at once: no lemma, X, no features."""
    if not raw.editable or not harmless(tree, word, "upos", ["X"], inventory):
        return None
    row = tree.row(word)
    wanted = {LEMMA: "_", UPOS: "X", FEATS: "_"}
    edits = [SetField(row.id, COLUMNS[c], value) for c, value in wanted.items() if row.fields[c] != value]
    return Repair("write X without lemma and features", tuple(edits))


def _nmod(tree: RawTree, word: int) -> str:
    return "nmod" + tree.labels[word].removeprefix("obl")


def _aux(tree: RawTree, word: int) -> str | None:
    return "AUX" if tree.upos[word] == "VERB" else None


def _punct(tree: RawTree, word: int) -> str | None:
    marks = all(unicodedata.category(c)[0] == "P" for c in tree.row(word).fields[FORM])
    return "PUNCT" if marks else None


def _with_typo(tree: RawTree, word: int) -> str | None:
    if tree.relations[word] == "goeswith":  # a further part itself, which has no features
        return None
    feats = [
        part
        for part in tree.row(word).fields[FEATS].split("|")
        if part != "_" and not part.startswith("Typo=")
    ]
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
"""Rule → the value that repairs it; None where it does not."""
