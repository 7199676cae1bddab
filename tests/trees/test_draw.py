"""Trees as text: drawings small enough to read, and drawings read back into trees."""

import pytest
from hypothesis import given, settings

from arcwise import InputError, Tree
from arcwise.trees import draw
from arcwise.trees.draw import cell_width
from reference.random_trees import forests


def read_back(drawing: str) -> list[int]:
    """The heads that a reader sees: from the start of a branch along the rail to the word on it."""
    arcs = [
        line.split(" ", 1)[1].partition("►")[0] if line[0] != " " else line[3:]
        for line in drawing.split("\n")
    ]
    heads = []
    for row, line in enumerate(arcs):
        (x,) = (x for x, c in enumerate(line) if c in "┌├└●?")
        if line[x] in "●?":
            heads.append(0 if line[x] == "●" else -1)
            continue
        top = bottom = row
        while arcs[top][x] not in "┌┬":
            top -= 1
        while arcs[bottom][x] not in "└┴":
            bottom += 1
        (head,) = (r for r in range(top, bottom + 1) if arcs[r][x] in "┬┼┴")
        heads.append(head + 1)
    return heads


@pytest.mark.slow
@given(forests(most=12, unknown=True))
@settings(max_examples=300, deadline=None)
def test_a_drawing_can_be_read_back(heads: list[int]) -> None:
    drawing = draw(Tree.from_heads(heads), ["w"] * len(heads))
    assert read_back(drawing) == heads


def test_a_crossing_arc_goes_behind_the_rail() -> None:
    tree = Tree.from_heads([2, 3, 0, 3, 2, 3], ["det", "nsubj", "root", "advmod", "nmod", "punct"])
    assert draw(tree, ["A", "letter", "came", "today", "home", "."]) == (
        "1     ┌─► A       det\n"
        "2   ┌─┼─► letter  nsubj\n"
        "3 ●─┼─│─► came    root\n"
        "4   ├─│─► today   advmod\n"
        "5   │ └─► home    nmod\n"
        "6   └───► .       punct"
    )


def test_several_roots_and_unknown_heads() -> None:
    assert draw(Tree.from_heads([0, 1, -1, 0]), ["a", "b", "c", "d"]) == (
        "1 ●─┬─► a\n2   └─► b\n3 ?───► c\n4 ●───► d"
    )


def test_one_word_and_none() -> None:
    assert draw(Tree.from_heads([0], ["root"]), ["Hi"], tags=["INTJ"]) == "1 ●─► Hi  INTJ  root"
    assert draw(Tree.from_heads([]), []) == ""


def test_wide_and_combining_characters_are_aligned() -> None:
    tree = Tree.from_heads([2, 0, 2, 2], ["a", "b", "c", "d"])
    lines = draw(tree, ["木", "木木木", "e\u0301", "한국"]).split("\n")
    assert len({cell_width(line) for line in lines}) == 1


def test_right_to_left_words_stay_in_their_column() -> None:
    lines = draw(Tree.from_heads([2, 0], ["nsubj", "root"]), ["ילדה", "קוראת"]).split("\n")
    assert lines == ["\u200e1   ┌─► ילדה\u200e   nsubj", "\u200e2 ●─┴─► קוראת\u200e  root"]


def test_nothing_can_command_the_terminal() -> None:
    assert "\x1b" not in draw(Tree.from_heads([0], ["a\x1b[0m"]), ["x\x1b[2J\u202e"])


def test_colour_adds_only_colour() -> None:
    tree = Tree.from_heads([3, 0, 2], ["a", "b", "c"])
    plain, colored = draw(tree, ["x", "y", "z"]), draw(tree, ["x", "y", "z"], color=True)
    assert "\x1b[35m" in colored  # the non-projective arc is magenta
    pieces = colored.split("\x1b[")
    assert pieces[0] + "".join(p.split("m", 1)[1] for p in pieces[1:]) == plain


def test_probabilities_are_shown() -> None:
    drawing = draw(Tree.from_heads([2, 0]), ["x", "y"], probabilities=[0.421, 1.0], color=True)
    assert "\x1b[31m42%" in drawing
    assert "\x1b[32m100%" in drawing


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tags": ["X"]}, "tags: found 1, expected 2, one per word"),
        ({"probabilities": [0.5]}, "probabilities: found 1, expected 2, one per word"),
        ({"probabilities": [0.5, 1.5]}, r"probabilities: found 1\.5, expected 0\.\.1"),
        ({"probabilities": [0.5, float("nan")]}, r"probabilities: found nan, expected 0\.\.1"),
    ],
)
def test_bad_input(options: dict[str, list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(Tree.from_heads([2, 0]), ["x", "y"], **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="words: found 1, expected 2"):
        draw(Tree.from_heads([2, 0]), ["x"])


def test_forty_words_fit_a_terminal() -> None:
    """A sentence of 40 words in which each third word heads the next three: width grows with depth alone."""
    heads = [0] + [max(1, (m - 2) // 3 * 3 + 1) for m in range(2, 41)]
    drawing = draw(Tree.from_heads(heads, ["label"] * 40), ["word"] * 40)
    assert max(map(cell_width, drawing.split("\n"))) < 80
