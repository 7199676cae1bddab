"""Proposals give way: a parser's proposal that stands in the file never keeps a person from deciding otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arcwise.annotation.states import is_proposed
from arcwise.treebanks import Sentence
from arcwise.treebanks.edits import Edit, SetField
from arcwise.trees import find_cycle


def yielding(sentence: Sentence, edits: Sequence[Edit]) -> list[Edit]:
    """The edits that open the proposals of the file with which some new heads would form a cycle. A cycle of decisions is left to be told.

    >>> row = "{}\\tw\\t_\\t_\\t_\\t_\\t{}\\tx\\t_\\t{}\\n"
    >>> from arcwise.treebanks import Treebank
    >>> rows = row.format(1, 2, "HeadProb=0.6") + row.format(2, 0, "_") + "\\n"
    >>> yielding(Treebank.from_string(rows)[0], [SetField("2", "head", "1")])
    [SetField(row='1', column='head', value='_'), SetField(row='1', column='deprel', value='_')]
    """
    heads = sentence.heads.copy()
    set_now = {
        int(e.row): e.value
        for e in edits
        if isinstance(e, SetField) and e.column == "head" and e.row.isdecimal()
    }
    for word, value in set_now.items():
        if 0 < word < len(heads) and value.isdecimal() and int(value) < len(heads):
            heads[word] = int(value)
    proposed = {
        word for word, misc in enumerate(sentence.misc, 1) if is_proposed(misc, "head")
    } - set_now.keys()
    made: list[Edit] = []
    while set_now and (around := sorted(proposed & set(find_cycle(np.ascontiguousarray(heads, np.int32))))):
        for word in around:
            heads[word] = -1
            made += [SetField(str(word), "head", "_"), SetField(str(word), "deprel", "_")]
        proposed -= set(around)
    return made
