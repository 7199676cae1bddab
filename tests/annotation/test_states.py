"""Which heads and labels of a sentence are decided."""

import pytest

from annotation.decided import open_sentence, sentence_of
from arcwise.annotation.states import ArcDecisions, consistent, only_decided
from arcwise.treebanks import Treebank


def test_a_head_is_decided_unless_a_parser_proposed_it():
    own = sentence_of([2, 0, 2], ["a", "root", "b"], {3: "SpaceAfter=No|HeadProb=0.5|DeprelProb=0.4"})
    assert ArcDecisions.of(own) == ArcDecisions((2, 0, -1), ("a", "root", "_"))


def test_a_label_is_decided_by_itself():
    own = sentence_of([-1, 0, 2], ["a", "root", "b"], {3: "HeadProb=0.5", 2: "DeprelProb=0.9"})
    assert ArcDecisions.of(own) == ArcDecisions((-1, 0, -1), ("a", "_", "b"))


def test_other_values_of_misc_say_nothing():
    own = sentence_of([2, 0], ["a", "root"], {1: "UposProb=0.5|MyHeadProb=1"})
    assert ArcDecisions.of(own).heads == (2, 0)


def test_nothing_is_decided():
    assert ArcDecisions.of(open_sentence(3)).is_empty
    assert not ArcDecisions.of(sentence_of([-1, -1], ["_", "obj"])).is_empty


def test_a_cycle_is_named():
    clash = ArcDecisions.of(sentence_of([2, 3, 1, 0])).conflict()
    assert clash is not None
    assert clash.words == (1, 2, 3)
    assert clash.message == "the arcs 2 → 1, 3 → 2 and 1 → 3 form a cycle, which no tree can have"


def test_decisions_without_those_that_clash():
    assert consistent(ArcDecisions.of(sentence_of([2, 1, 4, 3, 0]))).heads == (-1, -1, -1, -1, 0)
    assert consistent(ArcDecisions((2, 0), ("a", "b"))) == ArcDecisions((2, 0), ("a", "b"))


def test_only_what_is_decided_stays_in_the_bytes():
    text = (
        "# sent_id = a\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\tl\tX\tx\tF=1\t2\tdet\t2:det\tA=1\n"
        "2\tb\t_\t_\t_\t_\t0\troot\t_\tHeadProb=0.9\n2.1\te\t_\t_\t_\t_\t_\t_\t0:x\t_\n\n"
    )
    found = only_decided(Treebank.from_string(text))
    changed = text.replace("2\tb\t_\t_\t_\t_\t0\troot", "2\tb\t_\t_\t_\t_\t_\troot")
    assert found.text == changed


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_survive(newline):
    text = newline.join(["1\ta\t_\t_\t_\t_\t0\troot\t_\tHeadProb=1|DeprelProb=1", "", ""])
    assert only_decided(Treebank.from_string(text)).text == text.replace("0\troot", "_\t_")
