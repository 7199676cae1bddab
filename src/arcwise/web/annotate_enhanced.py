"""Enhanced dependencies that rules make from the tree of a sentence, as suggestions for the page."""

from __future__ import annotations

from typing import Any

from arcwise.annotation.states import word_states
from arcwise.treebanks import Sentence
from arcwise.treebanks.edits import generated_deps
from arcwise.treebanks.edits.enhancement import RULE_DESCRIPTIONS, obstacle

Json = dict[str, Any]


def enhanced_json(sentence: Sentence, version: str, *, with_case_feature: bool) -> Json:
    """The generated arcs of each word, whether it has DEPS or not; ``note`` says why there are none.

    Only a tree that a person has decided is enhanced: suggestions made from suggestions would look certain.
    """
    note = obstacle(sentence, overwrite=True)
    if note is None and any(state != "decided" for state in word_states(sentence, tags=False)):
        note = "has arcs that nobody has accepted yet"
    words = (
        generated_deps(sentence, with_case_feature=with_case_feature, overwrite=True) if note is None else []
    )
    return {
        "version": version,
        "note": note,
        "words": {
            word.row: [
                {
                    "head": str(arc.head),
                    "label": arc.label,
                    "rule": arc.rule,
                    "description": RULE_DESCRIPTIONS[arc.rule],
                }
                for arc in word.arcs
            ]
            for word in words
        },
    }
