"""Random sentences of CoNLL-U with everything that it has, for property tests."""

from typing import Any

from hypothesis import strategies as st

CELL = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters=" \t\u0085"),
    min_size=1,
    max_size=6,
)
"""What may stand in a field."""
PAIRS = st.one_of(
    st.just("_"),
    st.lists(st.tuples(CELL, CELL), min_size=1, max_size=3).map(
        lambda own: "|".join("=".join(p) for p in own)
    ),
    CELL,
)
COMMENTS = st.one_of(
    st.just("# newpar"),
    st.builds("# {} = {}".format, CELL, CELL),
    st.builds("#{}".format, CELL),
    st.just("#"),
    st.just("# # twice"),
    st.just("#  two spaces "),
)


@st.composite
def sentences(draw: Any) -> str:
    """One sentence: a random tree, multiword tokens, empty nodes, comments of all kinds."""
    n = draw(st.integers(1, 5))
    lines = draw(st.lists(COMMENTS, max_size=3))
    heads = [draw(st.integers(0, i)) for i in range(n)]  # a word's head stands before it: always a tree
    if draw(st.booleans()):
        lines += _empty_nodes(draw, 0)
    i = 1
    while i <= n:
        last = draw(st.integers(i, n)) if draw(st.booleans()) else i
        if last > i:
            lines.append(f"{i}-{last}\t{draw(CELL)}\t_\t_\t_\t_\t_\t_\t_\t{draw(PAIRS)}")
        for word in range(i, last + 1):
            cells = [draw(CELL) for _ in range(4)]
            deps = draw(st.sampled_from(["_", "0:root", "1:nsubj:pass|2.1:obj", "odd"]))
            tail = [draw(PAIRS), str(heads[word - 1]), draw(CELL), deps, draw(PAIRS)]
            lines.append("\t".join((str(word), *cells, *tail)))
            lines += _empty_nodes(draw, word)
        i = last + 1
    return "\n".join(lines) + "\n\n"


def _empty_nodes(draw: Any, after: int) -> list[str]:
    count = draw(st.integers(0, 2))
    return [f"{after}.{k + 1}\t{draw(CELL)}\t_\t_\t_\t_\t_\t_\t{k}:dep\t{draw(PAIRS)}" for k in range(count)]
