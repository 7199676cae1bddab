"""Systems as values: names, parameters, TOML, what is refused and why."""

from pathlib import Path

import pytest

from arcwise.errors import InputError
from arcwise.transition import Transition, TransitionSystem, every_named, system, system_from_dict

LEFT, RIGHT, SHIFT = Transition("left-arc"), Transition("right-arc"), Transition("shift")
STUCK = Transition("right-arc", bottom_up=False, periphery="left")


def test_the_nine_named_systems_have_the_papers_parameters() -> None:
    table = {s.name: (s.capacity, s.max_distance, s.root) for s in every_named()}
    assert table == {
        "arc-standard": (2, 1, "left"),
        "arc-eager": (2, 1, "right"),
        "easy-first": (None, 1, "right"),
        "hybrid": (3, 1, "right"),
        "dag": (2, 1, "right"),
        "attardi": (3, 2, "left"),
        "bounded": (4, 1, "right"),
        "non-projective": (None, 4, "right"),
        "bounded-non-projective": (5, 4, "right"),
    }


def test_names_take_parameters() -> None:
    assert system("attardi(N=3)").capacity == 4
    assert system(" bounded( K=3 , D=2 ) ") == system("bounded(D=2,K=3)")
    assert system("non-projective(D=inf)").max_distance is None
    assert system("easy-first(root=left)").root == "left"
    assert system("easy-first(wall=left)") == system("easy-first(root=left)")  # of older model files
    assert system("bounded(K=3,D=2)").name == "bounded(K=3,D=2)"


@pytest.mark.parametrize("s", every_named(), ids=str)
def test_a_system_survives_being_written_down(s: TransitionSystem) -> None:
    assert system_from_dict(s.as_dict()) == s
    assert system_from_dict(s.as_dict()).name == s.name
    older = s.as_dict()
    older["wall"] = older.pop("root")
    assert system_from_dict(older) == s


def test_a_system_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'capacity = 3\nmax_distance = "unbounded"\n'
        '[[transition]]\nkind = "left-arc"\n[[transition]]\nkind = "shift"\n'
    )
    mine = system(str(path))
    assert mine.name == "mine"
    assert mine.transitions == (LEFT, SHIFT)
    assert (mine.capacity, mine.max_distance) == (3, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("arc-lazy", "expected one of arc-standard, arc-eager"),
        ("bounded(K=1)", "capacity: found 1, expected a whole number of at least 2"),
        ("bounded(K=x)", "found 'K=x' in bounded"),
        ("arc-eager(D=2)", "arc-eager has no parameter 'D'"),
        ("easy-first(root=up)", "root: found 'up', expected one of left, right"),
        ("nowhere.toml", "no such file"),
    ],
)
def test_a_wrong_name_is_explained(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason.replace("(", r"\(")):
        system(text)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: TransitionSystem((LEFT, RIGHT)), "cannot terminate"),
        (lambda: TransitionSystem((RIGHT, SHIFT)), "root on the right needs a left-arc"),
        (lambda: TransitionSystem((SHIFT,), root="left"), "root on the left needs a right-arc"),
        (lambda: TransitionSystem((STUCK, SHIFT), capacity=3, root="left"), "no tree over 2 words"),
        (lambda: TransitionSystem((LEFT, RIGHT, SHIFT), capacity=2, start=3), "at most the capacity"),
        (lambda: Transition("shift", arc_shift=True), "parameters of arcs only"),
        (lambda: Transition("shift", periphery="left"), "found a periphery"),
        (lambda: Transition("swap"), "expected one of left-arc, right-arc, reduce, shift"),  # type: ignore[arg-type]
        (lambda: system_from_dict({"transition": [], "depth": 2}), "depth"),
        (lambda: system_from_dict({"capacity": 2}), "found no"),
        (lambda: system_from_dict({"transition": [{"kind": "shift", "bottomup": True}]}), "bottom_up"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(make, reason: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=reason):
        make()
