"""Applies repairs and looks at what is left."""

from __future__ import annotations

from arcwise.treebanks import Treebank
from arcwise.treebanks.edits import edit_from_json, edit_to_json, edited
from arcwise.treebanks.validation import Finding, Inventory, check_sentence

Place = tuple[str, str | None, str | None]


def place(finding: Finding) -> Place:
    """Rule, row and column of a finding."""
    return finding.rule, finding.row, finding.column


def after_repair(block: bytes, finding: Finding, inventory: Inventory) -> list[Finding]:
    """What is found in a sentence once a repair was applied to it, through JSON as a page would do it."""
    assert finding.repair is not None
    edits = [edit_from_json(edit_to_json(edit)) for edit in finding.repair.edits]
    (sentence,) = Treebank(edited(block, edits), strict=False)
    return check_sentence(sentence, inventory)


def failures(treebank: Treebank, inventory: Inventory) -> tuple[int, list[str]]:
    """How many repairs there are, and those that do not repair, or break something else."""
    count, failed = 0, []
    for sentence in treebank:
        found = check_sentence(sentence, inventory)
        known = {place(f) for f in found}
        for finding in found:
            if finding.repair is None:
                continue
            count += 1
            left = {place(f) for f in after_repair(sentence.source_bytes, finding, inventory)}
            if place(finding) in left:
                failed.append(f"{finding} stays after {finding.repair}")
            elif left - known:
                failed.append(f"{finding}: {finding.repair} makes {left - known}")
    return count, failed
