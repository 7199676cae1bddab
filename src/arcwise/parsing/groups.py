"""Parsing group by group: what happens to sentences for which a parser finds no tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from arcwise.errors import NoTreeError
from arcwise.parsing.decisions import Decisions, Group
from arcwise.parsing.misc_form import sentence_name
from arcwise.parsing.parses import Codes, Note

P = TypeVar("P")


def in_groups(
    decisions: Decisions, parse: Callable[[Group], tuple[P, Codes]]
) -> tuple[list[tuple[Group, P]], list[Note], list[int]]:
    """``parse`` of every group (it gives the parses, and of each sentence whether it has a tree), with all notes and all sentences
    that stay as they are.

    A sentence in which the labels decided leave no tree is parsed without them (they are written all the same); one without a tree
    then stays as it is. ``NoTreeError`` where nothing was decided and there is no tree.
    """
    parts: list[tuple[Group, P]] = []
    notes, unparsed = list(decisions.notes), list(decisions.unparsed)
    waiting = list(decisions.groups)
    while waiting:
        group = waiting.pop(0)
        parses, parsed = parse(group)
        failed = np.flatnonzero(np.asarray(parsed) == 0).tolist()
        if not failed:
            parts.append((group, parses))
            continue
        if len(failed) < len(group.sentences):
            waiting.append(group.part(i for i in range(len(group.sentences)) if i not in failed))
        for i in failed:
            own, sentence = group.constraints[i], decisions.treebank[group.sentences[i]]
            if own is None:
                raise NoTreeError(f"{sentence_name(sentence)}: no tree of the class has a score")
            if own.labels:
                text = f"no tree has the labels decided ({', '.join(own.labels.values())}); they stay, and the heads are free of them"
                waiting.append(group.part([i], labels=False))
            else:
                text = "left as it is: what is decided fits no tree that the parser can give"
                unparsed.append(sentence.number)
            notes.append(Note.of(sentence, text))
    return parts, sorted(notes, key=lambda note: note.sentence), unparsed
