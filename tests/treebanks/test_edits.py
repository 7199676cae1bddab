"""Edits of one sentence: what they change, what follows, what they refuse."""

import json
import random
from collections import Counter

import pytest

from arcwise import InputError, Treebank
from arcwise.treebanks.edits import (
    Accept,
    AddComment,
    AddEmptyNode,
    AnnotatorNote,
    Edit,
    JoinWords,
    MakeMultiword,
    RemoveComment,
    RemoveEmptyNode,
    RemoveMultiword,
    ReplaceComment,
    SetComment,
    SetDeps,
    SetField,
    SetNote,
    SplitWord,
    edit_from_json,
    edit_to_json,
    edited,
    join_blocks,
    notes_of,
    split_block,
)
from treebanks.samples import ALL, PARTIAL, PLAIN, RICH
from treebanks.test_fuzz import mutated

EVERY: list[Edit] = [
    SetField("1", "upos", "X"),
    SetField("2", "head", "1"),
    SetField("8.1", "lemma", "x"),
    SetDeps("1", (("2", "nsubj"), ("0", "root"))),
    Accept(None),
    Accept(("1",)),
    SetComment("text_en", "Hi"),
    AddComment("free"),
    ReplaceComment("sent_id = one", "sent_id = eins"),
    RemoveComment("sent_id = one"),
    SetNote("", "odd"),
    SetNote("2>1", "why?"),
    SplitWord("1", ("Bi", "rds"), 2, True),
    JoinWords("1", "2"),
    MakeMultiword("1", "3", "x"),
    RemoveMultiword("1-2"),
    AddEmptyNode("1", "e", (("1", "conj"),)),
    RemoveEmptyNode("8.1"),
]


def rows(block: bytes) -> dict[str, list[str]]:
    return {row[0]: list(row) for row in Treebank(block, strict=False)[0].rows}


def after(text: str, *edits: Edit) -> bytes:
    return edited(text.encode(), edits)


def refused(text: str, *edits: Edit) -> str:
    with pytest.raises(InputError) as error:
        edited(text.encode(), edits)
    assert "\n" not in str(error.value)
    return str(error.value)


# ---- fields


@pytest.mark.parametrize("column", ["form", "lemma", "upos", "xpos", "feats", "misc"])
def test_one_field_changes_and_nothing_else(column: str) -> None:
    block = after(PLAIN.replace("# text", "# other"), SetField("2", column, "ü x"))
    before = PLAIN.replace("# text", "# other").encode()
    old, new = before.split(b"\n"), block.split(b"\n")
    assert [i for i in range(len(old)) if old[i] != new[i]] == [3]
    assert "ü x" in rows(block)["2"]


def test_a_cycle_is_named_and_two_edits_may_turn_an_arc_around() -> None:
    assert refused(PLAIN, SetField("2", "head", "1")) == (
        "head: found the cycle 1 (Birds) → 2 (sing) → 1 (Birds), expected a tree"
    )
    block = after(PLAIN, SetField("2", "head", "1"), SetField("1", "head", "0"))
    assert Treebank(block)[0].heads.tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize("value", ["4", "-1", "01", "x", "1.5", " 1", "٣", "99999999999"])
def test_a_head_that_is_none_is_refused(value: str) -> None:
    assert f"found HEAD {value!r}, expected 0..3 or _" in refused(PLAIN, SetField("1", "head", value))


def test_other_fields_that_cannot_be() -> None:
    assert "expected another word or 0" in refused(PLAIN, SetField("1", "head", "1"))
    assert "tab or line break" in refused(PLAIN, SetField("1", "form", "a\tb"))
    assert "tab or line break" in refused(PLAIN, SetField("1", "form", "a\nb"))
    assert "tab or line break" in refused(PLAIN, SetField("1", "form", "a\rb"))
    assert "IDs follow from the order of rows" in refused(PLAIN, SetField("1", "id", "2"))
    assert "found '9', expected the ID of a row" in refused(PLAIN, SetField("9", "form", "x"))
    assert "expected one of id, form" in refused(PLAIN, SetField("1", "colour", "x"))
    assert "a multiword token has only FORM, FEATS and MISC" in refused(RICH, SetField("1-2", "head", "1"))
    assert "an empty node has only DEPS" in refused(RICH, SetField("8.1", "deprel", "obj"))
    assert "found the head '8.2' in DEPS" in refused(RICH, SetField("8", "deps", "8.2:x"))
    assert "found the label '' in DEPS" in refused(RICH, SetField("8", "deps", "7"))


def test_a_decision_takes_the_parsers_word_out_of_misc() -> None:
    said = "SpaceAfter=No|HeadProb=0.9|DeprelProb=0.8|UposProb=0.7|Alternatives=2:nsubj:0.8"
    text = PLAIN.replace("2:nsubj\t_", f"2:nsubj\t{said}").replace("# text = Birds sing.", "# x")
    misc = {
        c: rows(after(text, SetField("1", c, v)))["1"][9]
        for c, v in (("head", "2"), ("deprel", "obj"), ("upos", "X"))
    }
    assert misc == {
        "head": "SpaceAfter=No|DeprelProb=0.8|UposProb=0.7",
        "deprel": "SpaceAfter=No|HeadProb=0.9|UposProb=0.7|Alternatives=2:nsubj:0.8",
        "upos": "SpaceAfter=No|HeadProb=0.9|DeprelProb=0.8|Alternatives=2:nsubj:0.8",
    }
    assert rows(after(text, Accept()))["1"][9] == "SpaceAfter=No"
    assert rows(after(text, Accept(("2",))))["1"][9] == said
    proposal = (SetField("1", "head", "3"), SetField("1", "misc", "HeadProb=0.5"))
    assert rows(after(text, *proposal))["1"][6:] == ["3", "nsubj", "3:nsubj", "HeadProb=0.5"]


def test_the_same_arc_in_deps_follows() -> None:
    assert rows(after(PLAIN, SetField("1", "head", "3"), SetField("1", "deprel", "obj")))["1"][8] == "3:obj"
    assert rows(after(PLAIN, SetField("1", "head", "_")))["1"][8] == "_"
    assert rows(after(RICH, SetField("5", "head", "2")))["5"][8] == "1:obl:a"  # another relation: stays
    assert rows(after(RICH, SetField("6", "head", "9")))["6"][8] == "8.1:cc|9:cc"


def test_deps_are_a_list_in_order() -> None:
    block = after(RICH, SetDeps("9", (("8.1", "punct"), ("2", "punct"), ("0", "root"))))
    assert rows(block)["9"][8] == "0:root|2:punct|8.1:punct"
    assert rows(after(RICH, SetDeps("8.1", ())))["8.1"][8] == "_"
    assert "another word or an empty node" in refused(RICH, SetDeps("9", (("9", "x"),)))
    assert "expected a relation" in refused(RICH, SetDeps("9", (("1", "a|b"),)))
    assert "expected the ID of a word or an empty node" in refused(RICH, SetDeps("1-2", ()))


# ---- text


def test_text_follows_form_and_spaces_where_it_agreed() -> None:
    assert b"# text = Birds sang.\n" in after(PLAIN, SetField("2", "form", "sang"))
    assert b"# text = Birdssing.\n" in after(PLAIN, SetField("1", "misc", "SpaceAfter=No"))
    assert b"# text = Vayamos al r" in after(RICH, SetField("1-2", "form", "Vayamos"))
    odd = PLAIN.replace("text = Birds", "text = Bords")
    assert b"# text = Bords sing.\n" in after(odd, SetField("2", "form", "sang"))
    own = after(PLAIN, SetField("2", "form", "sang"), SetComment("text", "mine"))
    assert b"# text = mine\n" in own


# ---- comments and notes


def test_comments() -> None:
    assert b"\n# text = x\n1\t" in after(PLAIN, SetComment("text", "x"))
    assert b"sing.\n# lang = en\n1\t" in after(PLAIN, SetComment("lang", "en"))
    assert b"sing.\n# lang = en\n# lang = en\n1\t" in after(PLAIN, *2 * [AddComment("lang = en")])
    assert after(PLAIN, RemoveComment("sent_id = one")) == PLAIN.encode().partition(b"\n")[2]
    assert after(PLAIN, ReplaceComment("sent_id = one", "hello")).startswith(b"# hello\n# text")
    bare = PLAIN.partition("sing.\n")[2]
    assert after(bare, AddComment("x")) == b"# x\n" + bare.encode()
    assert "expected a comment of the sentence" in refused(PLAIN, RemoveComment("x"))
    assert "line break" in refused(PLAIN, AddComment("a\n1\tb"))
    assert "line break" in refused(PLAIN, SetComment("a\r", "b"))
    assert "without =" in refused(PLAIN, SetComment("a = b", "c"))
    assert "an unpaired surrogate" in refused(PLAIN, AddComment("\ud800"))


def test_notes_are_comments_and_follow_their_words() -> None:
    block = after(
        RICH, SetNote("", "odd"), SetNote("8", "no?"), SetNote("8.1>7", "here"), SetNote("3-4", "mwt")
    )
    block = edited(block, [SplitWord("2", ("n", "os")), SetNote("", "even")])
    assert notes_of(Treebank(block)[0].comment_lines) == [
        AnnotatorNote("", "even"),
        AnnotatorNote("9", "no?"),
        AnnotatorNote("9.1>8", "here"),
        AnnotatorNote("4-5", "mwt"),
    ]
    assert notes_of(Treebank(edited(block, [SetNote("9", "")]))[0].comment_lines)[1] == AnnotatorNote(
        "9.1>8", "here"
    )
    assert "expected the ID of a row" in refused(PLAIN, SetNote("7", "x"))
    assert "found an arc from '7'" in refused(PLAIN, SetNote("7>1", "x"))


def test_copies_and_constraints_are_renumbered() -> None:
    text = RICH.replace("1:punct\t_", "1:punct\tHead=1,5|NotHead=8")
    block = after(text, SplitWord("1", ("Va", "mos"), 2))
    assert rows(block)["9.1"][9] == "CopyOf=2"
    assert rows(block)["10"][9] == "Head=2,6|NotHead=9"


def test_conflicts_are_renumbered() -> None:
    text = RICH.replace(
        "# sent_id", "# conflict = 9 head theirs=8\n# conflict = 8.1 deps theirs=7:x\n# sent_id"
    )
    block = after(text, SplitWord("1", ("Va", "mos")))
    assert b"# conflict = 10 head theirs=9\n# conflict = 9.1 deps theirs=8:x\n" in block


# ---- words (numbers: test_edits_twin)


def test_a_word_with_a_space_is_split_there() -> None:
    text = PLAIN.replace("Birds", "New York")
    block = after(text, SplitWord("1", ("New", "York"), 2))
    assert Treebank(block)[0].text == "New York sing."
    assert [r[9] for r in rows(block).values()] == ["_", "_", "SpaceAfter=No", "_"]
    assert after(text, SplitWord("1", ("New", "York")), JoinWords("1", "2")) == text.encode()


def test_three_parts_make_a_multiword_token_and_go_back() -> None:
    text = PLAIN.replace("Birds", "dámelo")
    block = after(text, SplitWord("1", ("da", "me", "lo"), multiword=True))
    assert list(rows(block)) == ["1-3", "1", "2", "3", "4", "5"]
    assert b"# text = d\xc3\xa1melo sing.\n" in block
    assert edited(block, [JoinWords("1", "3")]) == text.encode()
    longer = edited(block, [SplitWord("3", ("l", "o"))])
    assert next(iter(rows(longer))) == "1-4"


def test_parts_that_do_not_spell_the_word_make_a_multiword_token_and_keep_the_text() -> None:
    block = after(PLAIN.replace("Birds", "ann"), SplitWord("1", ("an", "e")))
    assert [row[1] for row in rows(block).values()] == ["ann", "an", "e", "sing", "."]
    assert next(iter(rows(block))) == "1-2"
    assert b"# text = ann sing.\n" in block
    # Parts that spell it are words of their own.
    assert list(rows(after(PLAIN, SplitWord("1", ("Bir", "ds"))))) == ["1", "2", "3", "4"]


def test_a_multiword_token_has_the_text_of_its_words() -> None:
    block = after(PLAIN, MakeMultiword("1", "2"))
    assert rows(block)["1-2"][1] == "Birds sing"
    assert b"# text = Birds sing.\n" in block


def test_words_that_cannot_be_split_or_joined() -> None:
    assert "expected at least two words" in refused(PLAIN, SplitWord("1", ("x",)))
    assert "expected at least two words" in refused(PLAIN, SplitWord("1", ("x", "")))
    assert "keep: found 3, expected 1..2" in refused(PLAIN, SplitWord("1", ("x", "y"), 3))
    assert "is part of a multiword token" in refused(RICH, SplitWord("1", ("x", "y"), multiword=True))
    assert "expected the ID of a word of" in refused(RICH, SplitWord("8.1", ("x", "y")))
    assert "expected at least two words in order" in refused(RICH, JoinWords("5", "5"))
    assert "cut through the multiword token 3-4" in refused(RICH, JoinWords("4", "5"))
    assert "is in the multiword token 3-4" in refused(RICH, MakeMultiword("4", "5"))
    assert "expected the ID of a multiword token" in refused(RICH, RemoveMultiword("3"))
    assert "expected the ID of an empty node" in refused(RICH, RemoveEmptyNode("8"))
    assert "tab or line break" in refused(RICH, SplitWord("5", ("a\t", "b")))


# ---- sentences


def test_a_sentence_is_split_and_joined() -> None:
    left, right = split_block(RICH.encode(), "6")
    assert b"# sent_id = two\n# text = V\xc3\xa1monos al r\xc3\xado\n" in left
    assert right.startswith(b"# sent_id = two-2\n# text = y t\xc3\xba no.\n1\ty\t")
    assert rows(right)["3"][6:9] == ["_", "_", "3.1:advmod"]
    joined = join_blocks(left, right)
    assert list(rows(joined)) == list(rows(RICH.encode()))
    assert b"# text = V\xc3\xa1monos al r\xc3\xado y t\xc3\xba no.\n" in joined
    both = join_blocks(PLAIN.encode(), PARTIAL.encode())
    assert b"# text = Birds sing.\n" in both
    assert Treebank(both)[0].heads.tolist() == [-1, 2, 0, 2, 6, -1, -1]


def test_sentences_that_cannot_be_split_or_joined() -> None:
    for row, told in (
        ("1", "is the first word"),
        ("4", "inside the multiword token 3-4"),
        ("8.1", "of a word of"),
        ("10", "of a word of"),
    ):
        with pytest.raises(InputError, match=told):
            split_block(RICH.encode(), row)
    with pytest.raises(InputError, match="begins a new document"):
        join_blocks(PLAIN.encode(), RICH.encode())


# ---- bytes


@pytest.mark.parametrize("edit", EVERY, ids=lambda e: e.kind)
def test_line_ends_stay(edit: Edit) -> None:
    for text in (PLAIN, RICH):
        try:
            block = after(text, edit)
        except InputError:
            continue
        assert edited(text.replace("\n", "\r\n").encode(), [edit]) == block.replace(b"\n", b"\r\n")
        bare = edited(text.rstrip("\n").encode(), [edit])
        assert Treebank(bare)[0].conllu_bytes == block
        assert edited(b"\xef\xbb\xbf\n" + text.encode(), [edit]) == b"\xef\xbb\xbf\n" + block


def test_what_is_broken_may_stay_but_nothing_more_may_break() -> None:
    broken = PLAIN.replace("3\t.\t.\tPUNCT", "3\t.\t\tPUNCT").replace("2\tpunct", "9\tpunct")
    assert len(Treebank.from_string(broken, strict=False).problems) == 2
    assert len(Treebank(after(broken, SetField("3", "head", "2")), strict=False).problems) == 1
    assert "cycle" in refused(broken, SetField("2", "head", "1"))
    short = PLAIN.replace("\tPUNCT\t", "\t")
    assert "found 9 columns" in refused(short, SetField("3", "upos", "X"))
    assert "found 9 columns, expected 10 separated by tabs; fix this first" in refused(
        short, JoinWords("1", "2")
    )
    assert rows(after(short, SetField("1", "upos", "X")))["1"][3] == "X"


@pytest.mark.slow
def test_fuzzed_sentences_are_edited_or_refused() -> None:
    rng = random.Random(5)
    done = 0
    for _ in range(1500):
        data = mutated(rng.choice([PLAIN, RICH, PARTIAL]).encode(), rng)
        treebank = Treebank(data, strict=False)
        for sentence in list(treebank)[:1]:
            block = sentence.source_bytes
            old = Counter(p[0] for p in Treebank(block, strict=False).layout.problems)
            for edit in rng.sample(EVERY, 4):
                try:
                    new = edited(block, [edit])
                except InputError:
                    continue
                done += 1
                found = Treebank(new, strict=False)
                assert len(found) == 1
                assert not Counter(p[0] for p in found.layout.problems) - old
    assert done > 1000


# ---- JSON


@pytest.mark.parametrize("edit", EVERY, ids=lambda e: e.kind)
def test_edits_travel_as_json(edit: Edit) -> None:
    assert edit_from_json(json.loads(json.dumps(edit_to_json(edit)))) == edit


def test_fields_with_a_default_may_be_missing() -> None:
    assert edit_from_json({"kind": "split-word", "row": "1", "forms": ["a", "b"]}) == SplitWord(
        "1", ("a", "b")
    )
    assert edit_from_json({"kind": "accept"}) == Accept(None)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "kind: found None, expected an edit: set-field, "),
        ({"kind": ["x"]}, r"kind: found \['x'\]"),
        ({"kind": "set-field", "row": "1"}, "set-field: found row, expected row, column, value"),
        ({"kind": "accept", "words": []}, "accept: found words, expected rows"),
        ({"kind": "set-field", "row": 1, "column": "form", "value": "x"}, "row: found 1, expected a string"),
        ({"kind": "split-word", "row": "1", "forms": "ab"}, "forms: found 'ab', expected a list of strings"),
        (
            {"kind": "split-word", "row": "1", "forms": ["a", "b"], "keep": True},
            "keep: found True, expected an integer",
        ),
        ({"kind": "split-word", "row": "1", "forms": ["a", "b"], "multiword": 1}, "expected true or false"),
        ({"kind": "set-deps", "row": "1", "deps": [["0"]]}, "expected a list of \\[head, label\\] pairs"),
        ({"kind": "set-note", "on": None, "text": "x"}, "on: found None, expected a string"),
        ([], "expected an object"),
    ],
)
def test_json_that_is_no_edit(values: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        edit_from_json(values)


def test_nothing_is_done_by_no_edits() -> None:
    assert edited(ALL.encode(), []) == ALL.encode()
    with pytest.raises(InputError, match="found 3 sentences, expected the bytes of one"):
        edited(ALL.encode(), [SetField("1", "form", "x")])
