"""Three-way merge: nobody's work is lost, nothing that nobody touched changes, trees stay trees."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Treebank
from arcwise.errors import InputError
from arcwise.treebanks.blocks import FileBlocks
from arcwise.treebanks.conflicts import records, resolved
from arcwise.treebanks.merging import merge
from treebanks.two_people import Person, copied, new_sentence, set_field, tokens, worked_on, written

ROW = "{}\t{}\t{}\t{}\t_\t_\t{}\t{}\t_\t{}\n"
seeds = st.randoms(use_true_random=False)
COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def sentence(*words: str, sent_id: str | None = None, comments: tuple[str, ...] = ()) -> str:
    """Words as ``form head label``; more after it: lemma, upos, misc."""
    lines = [f"# sent_id = {sent_id}\n"] if sent_id else []
    lines += [f"# {comment}\n" for comment in comments]
    for number, word in enumerate(words, 1):
        form, head, label, lemma, upos, misc = (word.split() + ["_"] * 6)[:6]
        lines.append(ROW.format(number, form, lemma, upos, head, label, misc))
    return "".join(lines) + "\n"


BIRDS = sentence("Birds 2 nsubj", "sing 0 root", "now 2 advmod", sent_id="birds")
YES = sentence("Yes 0 root", ". 1 punct", sent_id="yes")
THREE = sentence("Tea 2 nsubj", "cools 0 root", sent_id="tea")


def merged(base: str, mine: str, theirs: str, *, conflicts: int = 0) -> str:
    found = merge(base.encode(), mine.encode(), theirs.encode())
    assert len(found.conflicts) == conflicts, [str(c) for c in found.conflicts]
    return found.data.decode()


# ---- words and columns


def test_different_words_do_not_conflict() -> None:
    mine = BIRDS.replace("2\tnsubj", "3\tobj")
    theirs = BIRDS.replace("2\tadvmod", "2\tobl")
    assert merged(BIRDS, mine, theirs) == mine.replace("2\tadvmod", "2\tobl")


def test_different_columns_of_a_word_do_not_conflict() -> None:
    mine, theirs = BIRDS.replace("Birds\t_", "Birds\tbird"), BIRDS.replace("2\tnsubj", "2\tobj")
    assert merged(BIRDS, mine, theirs) == mine.replace("2\tnsubj", "2\tobj")


def test_head_and_label_of_a_word_belong_together() -> None:
    mine, theirs = BIRDS.replace("2\tnsubj", "3\tnsubj"), BIRDS.replace("2\tnsubj", "2\tobj")
    out = merged(BIRDS, mine, theirs, conflicts=2)
    note = "# conflict = 1 head theirs=2\n# conflict = 1 deprel theirs=obj\n"
    assert out == mine.replace("1\tBirds", note + "1\tBirds")


def test_the_same_change_on_both_sides_is_none_of_a_conflict() -> None:
    mine = BIRDS.replace("2\tnsubj", "3\tobj").replace("now\t_", "now\tnow")
    theirs = BIRDS.replace("2\tnsubj", "3\tobj").replace("sing\t_", "sing\tsing")
    assert merged(BIRDS, mine, theirs) == mine.replace("sing\t_", "sing\tsing")


def test_misc_is_merged_by_key() -> None:
    base = sentence("Hi 0 root _ _ A=1|B=2", "! 1 punct")
    mine, theirs = base.replace("A=1|", "").replace("!\t_", "!\t!"), base.replace("B=2", "B=3|C=4")
    assert "\tB=3|C=4\n" in merged(base, mine, theirs)
    out = merged(base, base.replace("A=1", "A=5"), base.replace("A=1", "A=6"), conflicts=1)
    assert "# conflict = 1 misc theirs=A=6|B=2\n" in out


def test_a_cycle_that_both_made_together_is_a_conflict() -> None:
    base = sentence("a 2 x", "b 0 root", "c 2 y", "d 2 z", sent_id="s")
    mine, theirs = base.replace("c\t_\t_\t_\t_\t2\ty", "c\t_\t_\t_\t_\t4\tm"), base.replace("2\tz", "3\tt")
    out = merged(base, mine, theirs, conflicts=2)
    assert out == mine.replace("1\ta", "# conflict = 4 head theirs=3\n# conflict = 4 deprel theirs=t\n1\ta")
    Treebank.from_string(out)


def test_a_second_root_that_both_made_together_is_a_conflict() -> None:
    base = sentence("a 0 root", "b 1 x", "c 1 y", "d 1 z")
    mine = sentence("a 2 m", "b 0 root", "c 1 y", "d 1 z")
    theirs = sentence("a 3 t", "b 1 x", "c 0 root", "d 1 z")
    out = merged(base, mine, theirs, conflicts=4)
    assert "# conflict = 3 head theirs=0\n" in out
    assert "# conflict = 1 head theirs=3\n" in out
    assert [row[6:8] for row in Treebank.from_string(out)[0].rows] == [
        row[6:8] for row in Treebank.from_string(mine)[0].rows
    ]


def test_a_head_out_of_range_is_a_conflict() -> None:
    mine, theirs = BIRDS.replace("2\tnsubj", "3\tobj"), BIRDS.replace("2\tadvmod", "9\tadvmod")
    out = merged(BIRDS, mine, theirs, conflicts=1)
    assert "# conflict = 3 head theirs=9\n" in out
    Treebank.from_string(out)


def test_a_tree_of_mine_that_was_broken_already_stays_so() -> None:
    mine, theirs = BIRDS.replace("0\troot", "1\troot"), BIRDS.replace("now\t_", "now\tnow")
    assert merged(BIRDS, mine, theirs) == mine.replace("now\t_", "now\tnow")


# ---- words that were changed themselves


def test_what_they_did_is_carried_over_to_my_words() -> None:
    base = sentence("cannot 2 aux", "sing 0 root", "now 2 advmod", "loud 2 x", sent_id="s")
    mine = sentence("can 3 aux", "not 3 neg", "sing 0 root", "now 3 advmod", "loud 3 x", sent_id="s")
    theirs = base.replace("2\tadvmod", "4\tobl").replace("sing\t_", "sing\tsing")
    expected = mine.replace("3\tadvmod", "5\tobl").replace("sing\t_", "sing\tsing")
    assert merged(base, mine, theirs) == expected
    assert merged(base, theirs, mine) == expected


def test_both_changed_the_words() -> None:
    mine = sentence("Birds 2 nsubj", "si 0 root", "ng 2 x", "now 2 advmod", sent_id="birds")
    theirs = sentence("B 2 x", "irds 3 nsubj", "sing 0 root", "now 3 advmod", sent_id="birds")
    out = merged(BIRDS, mine, theirs, conflicts=1)
    block = out.encode()
    assert resolved(block, "sentence", "theirs").decode() == theirs
    assert resolved(block, "sentence", "mine").decode() == mine


def test_conflicts_are_found_behind_a_byte_order_mark() -> None:
    mine, theirs = (f"\ufeff{BIRDS.replace('nsubj', label)}".encode() for label in ("obj", "obl"))
    out = merge(f"\ufeff{BIRDS}".encode(), mine, theirs).data
    assert [record.place for record in records(out)] == ["1 deprel"]
    assert resolved(out, "1 deprel", "theirs") == theirs
    assert resolved(out, "1 deprel", "mine") == mine


def test_they_changed_a_word_that_i_split() -> None:
    base = sentence("cannot 2 aux", "sing 0 root", sent_id="s")
    mine = sentence("can 3 aux", "not 3 neg", "sing 0 root", sent_id="s")
    theirs = base.replace("cannot\t_", "cannot\tcannot")
    out = merged(base, mine, theirs, conflicts=1)
    assert resolved(out.encode(), "sentence", "theirs").decode() == theirs


def test_words_moved_under_the_same_numbers_are_other_words() -> None:
    mine = sentence("Now 3 advmod", "Birds 3 nsubj", "sing 0 root", sent_id="birds")
    theirs = BIRDS.replace("2\tnsubj", "2\tobj")
    assert merged(BIRDS, mine, theirs) == mine.replace("3\tnsubj", "3\tobj")


# ---- sentences


def test_sentences_added_removed_and_moved() -> None:
    base = BIRDS + YES + THREE
    new, other = sentence("New 0 root", sent_id="new"), sentence("Other 0 root", sent_id="other")
    edited = YES.replace("Yes\t_", "Yes\tyes")
    assert merged(base, BIRDS + new + YES + THREE, BIRDS + edited + THREE) == BIRDS + new + edited + THREE
    assert (
        merged(base, BIRDS + new + YES + THREE, BIRDS + other + YES + THREE)
        == BIRDS + new + other + YES + THREE
    )
    assert merged(base, YES + THREE, BIRDS + edited + THREE) == edited + THREE
    assert merged(base, THREE + BIRDS + YES, BIRDS + edited + THREE) == THREE + BIRDS + edited
    assert merged(base, BIRDS + edited + THREE, THREE + BIRDS + YES) == THREE + BIRDS + edited
    assert merged(base, new + BIRDS + edited + THREE, THREE + BIRDS + YES) == new + THREE + BIRDS + edited
    assert merged(base, base + new, base + new.replace("New\t_", "New\tnew"), conflicts=1).count("New") == 1


def test_removed_by_one_and_changed_by_the_other() -> None:
    edited = YES.replace("Yes\t_", "Yes\tyes")
    out = merged(BIRDS + YES, BIRDS + edited, BIRDS, conflicts=1)
    assert out == BIRDS + edited.replace("1\tYes", "# conflict = sentence theirs=\n1\tYes")
    assert resolved(out[len(BIRDS) :].encode(), "sentence", "theirs") == b""
    out = merged(BIRDS + YES, BIRDS, BIRDS + edited, conflicts=1)
    assert out == BIRDS + edited.replace("1\tYes", "# conflict = sentence mine=\n1\tYes")
    assert resolved(out[len(BIRDS) :].encode(), "sentence", "mine") == b""
    assert resolved(out[len(BIRDS) :].encode(), "sentence", "theirs").decode() == edited


def test_split_and_joined_sentences_are_taken_over() -> None:
    joined = sentence("Birds 2 nsubj", "sing 0 root", "now 2 advmod", "Yes 2 x", ". 2 punct", sent_id="birds")
    base = BIRDS + YES + THREE
    edited = THREE.replace("Tea\t_", "Tea\ttea")
    assert merged(base, joined + THREE, BIRDS + YES + edited) == joined + edited
    assert merged(joined + THREE, base, joined + edited) == BIRDS + YES + edited


def test_sentences_of_the_same_words_without_names() -> None:
    yes, other = sentence("Yes 0 root"), sentence("No 0 root")
    base = yes + other + yes + yes
    mine = yes + other + yes.replace("Yes\t_", "Yes\tyes") + yes
    theirs = other + yes + yes
    assert merged(base, mine, theirs) == other + yes.replace("Yes\t_", "Yes\tyes") + yes


def test_sentences_that_were_given_other_names_are_found_by_their_words() -> None:
    def numbered(sentences: list[str]) -> str:
        return "".join(f"# sent_id = {n}\n{text}" for n, text in enumerate(sentences))

    plain = [
        sentence("One 0 root", "a 1 x"),
        sentence("Two 0 root", "b 1 x"),
        sentence("Three 0 root", "c 1 x"),
    ]
    mine = [sentence("New 0 root"), *plain]
    theirs = [plain[0], plain[1].replace("Two\t_", "Two\ttwo"), plain[2]]
    expected = numbered([mine[0], mine[1], theirs[1], mine[3]])
    assert merged(numbered(plain), numbered(mine), numbered(theirs)) == expected


# ---- comments


def test_comments_are_merged_by_key() -> None:
    base = sentence("Hi 0 root", sent_id="s", comments=("text = Hi", "note = a"))
    mine = base.replace("# note = a\n", "# note = a\n# by = me\n")
    theirs = base.replace("text = Hi", "text = Hi!").replace("# note = a\n", "")
    expected = base.replace("text = Hi", "text = Hi!").replace("# note = a\n", "# by = me\n")
    assert merged(base, mine, theirs) == expected
    out = merged(base, base.replace("= Hi", "= Ho"), base.replace("= Hi", "= He"), conflicts=1)
    assert "# text = Ho\n" in out
    assert "# conflict = comment text theirs=# text = He\n" in out
    assert b"# text = He\n" in resolved(out.encode(), "comment text", "theirs")
    out = merged(base, base.replace("# text = Hi\n", ""), base.replace("= Hi", "= He"), conflicts=1)
    assert "# text = He\n" in out
    assert "# conflict = comment text mine=\n" in out
    assert b"# text" not in resolved(out.encode(), "comment text", "mine")


# ---- bytes


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n\n\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_stay(newline: str, end: str, mark: str) -> None:
    def file(*sentences: str) -> str:
        return (mark + "".join(sentences).rstrip("\n") + end).replace("\n", newline)

    edited, other = BIRDS.replace("Birds\t_", "Birds\tbird"), YES.replace("Yes\t_", "Yes\tyes")
    assert merged(file(BIRDS, YES), file(edited, YES), file(BIRDS, other)) == file(edited, other)
    both = other.replace(".\t_", ".\t.")
    third = YES.replace(".\t_", ".\t.")
    assert merged(file(BIRDS, YES), file(BIRDS, other), file(BIRDS, third)) == file(BIRDS, both)
    assert merged(file(BIRDS, YES), file(BIRDS, YES, THREE), file(BIRDS, other)).startswith(
        file(BIRDS, other, THREE).rstrip("\r\n")
    )


def test_one_side_changed_the_line_ends_of_the_file() -> None:
    base = BIRDS + YES
    mine = base.replace("\n", "\r\n")
    theirs = BIRDS.replace("Birds\t_", "Birds\tbird") + YES
    assert merged(base, mine, theirs) == theirs.replace("\n", "\r\n")


def test_what_one_side_changed_around_the_rows_is_taken_from_it() -> None:
    """Line ends, byte order mark and the end of the file, while the other side changed the same sentence."""
    edited = BIRDS.replace("Birds\t_", "Birds\tbird")
    both = BIRDS.replace("now\t_", "now\tnow")
    expected = edited.replace("now\t_", "now\tnow")
    for around in (
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n",
    ):
        assert merged(BIRDS, around(both), edited) == around(expected)
        assert merged(BIRDS, edited, around(both)) == around(expected)


def test_a_file_that_both_added() -> None:
    assert merged("", BIRDS, BIRDS + YES) == BIRDS + YES
    assert merged("", YES, BIRDS) == YES + BIRDS


def test_broken_rows_conflict_as_a_whole() -> None:
    mine, theirs = BIRDS.replace("now\t_", "now _"), BIRDS.replace("Birds\t_", "Birds\tbird")
    out = merged(BIRDS, mine, theirs, conflicts=1)
    assert resolved(out.encode(), "sentence", "theirs").decode() == theirs


def test_what_is_no_treebank_is_refused() -> None:
    with pytest.raises(InputError, match="theirs: found no sentence"):
        merge(BIRDS.encode(), YES.encode(), b"# a comment\n")


def test_a_conflict_may_be_merged_again() -> None:
    mine, theirs, third = (BIRDS.replace("2\tnsubj", f"2\t{label}") for label in ("a", "b", "c"))
    once = merged(BIRDS, mine, theirs, conflicts=1)
    twice = merged(BIRDS, once, third, conflicts=1)
    assert [record.value for record in records(twice.encode())] == [b"b", b"c"]
    assert merged(BIRDS, once, theirs, conflicts=1) == once
    words = [sentence(f"{a} 0 root", "x 1 y", sent_id="birds") for a in ("A", "B", "C")]
    once = merged(BIRDS, words[0], words[1], conflicts=1)
    twice = merged(BIRDS, once, words[2], conflicts=1)
    assert [record.place for record in records(twice.encode())] == ["sentence", "sentence-2"]
    assert resolved(twice.encode(), "sentence-2", "theirs").decode() == words[2]


# ---- properties


def versions(random: Random, *, whole: bool, edits: int = 4) -> list[bytes]:
    """Base, mine and theirs."""
    named = random.random() < 0.6
    author = Person("b", random)
    base = [new_sentence(author, named=named) for _ in range(random.randint(1, 4))]
    if random.random() < 0.3:
        base += copied(base[:1])
    newline, end = random.choice(["\n", "\r\n"]), random.choice(["", "\n", "\n\n"])
    people = [Person("m", random), Person("t", random)]
    files = [base, *(worked_on(base, p, random.randint(0, edits), whole=whole, named=named) for p in people)]
    return [written(file, newline=newline, end=end) for file in files]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(seeds, st.booleans())
def test_nothing_that_a_person_wrote_is_lost(random: Random, whole: bool) -> None:
    base, mine, theirs = versions(random, whole=whole)
    found = merge(base, mine, theirs)
    written_by_people = (tokens(mine) | tokens(theirs)) - tokens(base)
    assert written_by_people <= tokens(found.data)
    Treebank(base), Treebank(mine), Treebank(theirs)
    Treebank(found.data)
    assert bool(found.conflicts) == (b"# conflict = " in found.data)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_merging_with_the_base_gives_the_other_side(random: Random) -> None:
    base, mine, theirs = versions(random, whole=True)
    assert merge(base, mine, base).data == mine
    assert merge(base, base, theirs).data == theirs
    assert merge(base, mine, mine).data == mine


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(seeds, st.booleans())
def test_a_change_far_away_changes_nothing_of_it(random: Random, first: bool) -> None:
    """As the last test, but so that the whole merge is gone through: the other side changed another
    sentence."""
    base, mine, _ = versions(random, whole=True)
    newline = b"\r\n" if b"\r\n" in base else b"\n"
    far = YES.encode().replace(b"\n", newline)
    changed = far.replace(b"Yes\t_", b"Yes\tyes")
    base, mine = (far + data for data in (base, mine))
    theirs = base.replace(far, changed, 1)
    found = merge(base, mine, theirs) if first else merge(base, theirs, mine)
    assert found.conflicts == ()
    assert found.data == mine.replace(far, changed, 1)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seeds)
def test_edits_of_different_rows_never_conflict(random: Random) -> None:
    author = Person("b", random)
    base = [new_sentence(author, named=True, distinct=True) for _ in range(3)]
    mine, theirs, both = copied(base), copied(base), copied(base)
    people = Person("m", random), Person("t", random)
    for s, own in enumerate(base):
        for r in range(len(own["rows"])):
            side, person = random.choice([(mine, people[0]), (theirs, people[1])])
            picked: dict = {"comments": [], "rows": [side[s]["rows"][r]]}
            set_field(picked, person)
            both[s]["rows"][r] = list(side[s]["rows"][r])
    found = merge(written(base), written(mine), written(theirs))
    assert found.conflicts == ()
    assert found.data == written(both)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seeds)
def test_fields_are_merged_as_the_definition_says(random: Random) -> None:
    """Against the definition, word by word, where words and sentences are the same."""
    author = Person("b", random)
    base = [new_sentence(author, named=True, distinct=True) for _ in range(3)]
    sides = [worked_on(base, Person(c, random), 6, whole=False, named=True) for c in "mt"]
    found = merge(written(base), *(written(side) for side in sides))
    out = Treebank(found.data)
    assert len(out) == len(base)
    for s, sentence_ in enumerate(out):
        told = {(r.place): r.value for r in records(sentence_.source_bytes)}
        rows = zip(sentence_.rows, base[s]["rows"], sides[0][s]["rows"], sides[1][s]["rows"], strict=True)
        for got, was, ours, new in rows:
            for group in ((1,), (2,), (3,), (4,), (5,), (6, 7), (9,)):
                w, m, t, g = ([row[c] for c in group] for row in (was, ours, new, got))
                places = [f"{was[0]} {COLUMNS[c]}" for c in group]
                conflict = [told[p].decode() if p in told else x for p, x in zip(places, m, strict=True)]
                if any(p in told for p in places):
                    assert (g, conflict) == (m, t)
                    assert group == (6, 7) or m != w
                elif group == (9,) and w not in (m, t):  # by key
                    assert g in (m, [f"{m[0]}|{t[0]}"])
                else:
                    assert g == (t if m == w else m)
                    assert w in (m, t) or m == t


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seeds)
def test_blocks_that_nobody_touched_are_the_bytes_of_base(random: Random) -> None:
    base, mine, theirs = versions(random, whole=True)
    blocks = [{b.body for b in FileBlocks.of(data)} for data in (base, mine, theirs)]
    out = {b.body for b in FileBlocks.of(merge(base, mine, theirs).data)}
    if len(blocks[0]) == len(FileBlocks.of(base)):  # of two that are the same, one may be touched
        assert set.intersection(*blocks) <= out


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seeds)
def test_every_conflict_can_be_settled_either_way(random: Random) -> None:
    data = merge(*versions(random, whole=True, edits=8)).data
    for take in ("mine", "theirs"):
        for block in FileBlocks.of(data):
            left = block.data
            while left and (told := records(left)):
                left = resolved(left, told[0].place, take)
            assert b"# conflict" not in left


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_both_ways_round_the_same_places_conflict(random: Random) -> None:
    base, mine, theirs = versions(random, whole=False, edits=8)
    one, other = merge(base, mine, theirs), merge(base, theirs, mine)
    if not one.conflicts:
        # Comments and pairs of MISC that both added: mine first.
        assert sorted(re.split(rb"[\s|]+", one.data)) == sorted(re.split(rb"[\s|]+", other.data))
    assert bool(one.conflicts) == bool(other.conflicts)
