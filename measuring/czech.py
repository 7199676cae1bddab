"""Czech data as McDonald et al. (2005) prepared them: simplified tags, and words rearranged so that no arcs
of the training trees cross.

The paper names both without a procedure. The tags are those of Collins et al. (1999), "A statistical parser
for Czech". The order of words is ours: see ``nested_order``.
"""

from __future__ import annotations

from collections.abc import Sequence

from arcwise.treebanks import Treebank

CASE = 4
"""Where the tags of the Prague treebank, of fifteen characters, have the case; ``-`` for none."""


def simplified_tag(tag: str) -> str:
    """Return the part of speech and the case, or the detailed part of speech of words without a case.

    Tags of another length are left as they are.

    >>> [simplified_tag(tag) for tag in ("NNFS4-----A----", "VpMS----R-AA---", "Z:-------------", "_")]
    ['N4', 'Vp', 'Z:', '_']
    """
    if len(tag) != 15:
        return tag
    return tag[0] + (tag[CASE] if tag[CASE] != "-" else tag[1])


def with_simplified_tags(treebank: Treebank) -> Treebank:
    """Return the treebank with simplified XPOS in the place of UPOS."""
    return treebank.annotate(upos=[simplified_tag(tag) for tag in treebank.column("xpos")])


def nested_order(heads: Sequence[int]) -> list[int]:
    """Return the words 1..n in an order in which no arcs cross; ``heads``: of the words 1..n.

    Each head comes between the subtrees of its left and of its right dependents, which keep their order and
    side. The words of a projective tree stay where they are.

    >>> nested_order([3, 4, 0, 3])
    [1, 3, 2, 4]
    """
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        dependents[head].append(word)
    order: list[int] = []
    # Words to write (True), and words whose subtree is still to be expanded; the last comes first.
    waiting = [(word, False) for word in reversed(dependents[0])]
    while waiting:
        word, expanded = waiting.pop()
        if expanded:
            order.append(word)
            continue
        left = [(other, False) for other in dependents[word] if other < word]
        right = [(other, False) for other in dependents[word] if other > word]
        waiting += reversed([*left, (word, True), *right])
    return order


def with_nested_trees(treebank: Treebank) -> Treebank:
    """Return the sentences with their words in the order of ``nested_order``: form, UPOS and tree alone."""
    blocks = []
    for sentence in treebank:
        heads = [int(head) for head in sentence.tree.heads[1:]]
        order = nested_order(heads)
        places = {word: place for place, word in enumerate(order, start=1)} | {0: 0}
        lines = [
            f"{places[word]}\t{sentence.forms[word - 1]}\t_\t{sentence.upos[word - 1]}\t_\t_\t"
            f"{places[heads[word - 1]]}\t{sentence.deprels[word - 1]}\t_\t_\n"
            for word in order
        ]
        blocks.append("".join(lines) + "\n")
    return Treebank.from_string("".join(blocks), source=treebank.source)
