"""Random trees for property tests."""

from hypothesis import strategies as st


@st.composite
def forests(draw: st.DrawFn, *, most: int, unknown: bool) -> list[int]:
    """The heads of up to ``most`` words: taken in a random order, each hangs from the root or an earlier one,
    or is unknown."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for at, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:at], *([-1] if unknown else [])]))
    return heads
