"""Reading, viewing, annotating and writing treebanks."""

import gzip
import io
import lzma
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from arcwise import InputError, Sentence, Tree, Treebank, native
from arcwise.treebanks import Coded
from arcwise.treebanks.problems import ProblemKind
from treebanks.samples import ALL, PARTIAL, PLAIN, RICH

VARIANTS = {
    "plain": ALL,
    "crlf": ALL.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + ALL,
    "no final blank line": ALL[:-1],
    "no final newline": ALL[:-2],
    "several blank lines": ALL.replace("\n\n", "\n\n\n") + "\n\n",
    "blank lines first": "\n\n" + ALL,
    "comment with tabs and no space": "#a\tb\n" + ALL,
}


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_reading_and_writing_back_is_byte_identical(text: str, ending: str, tmp_path: Path) -> None:
    packer = {"": lambda b: b, ".gz": gzip.compress, ".xz": lzma.compress}[ending]
    unpacker = {"": lambda b: b, ".gz": gzip.decompress, ".xz": lzma.decompress}[ending]
    source, target = tmp_path / f"in.conllu{ending}", tmp_path / f"out.conllu{ending}"
    source.write_bytes(packer(text.encode()))
    treebank = Treebank.read(source)
    treebank.write(target)
    assert unpacker(target.read_bytes()) == text.encode()
    assert len(treebank) == 3
    assert [len(s) for s in treebank] == [3, 9, 3]
    assert [s.sent_id for s in treebank] == ["one", "two", "three"]
    assert treebank[1].forms[4] == "río"


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_annotating_with_what_is_there_changes_nothing(text: str) -> None:
    treebank = Treebank.from_string(text)
    columns = {
        c: treebank.column(c) for c in ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
    }
    assert treebank.annotate(heads=treebank.heads, **columns).data == text.encode()


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin, stdout = io.TextIOWrapper(io.BytesIO(ALL.encode())), io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stdout", stdout)
    Treebank.read("-").write("-")
    assert stdout.buffer.getvalue() == ALL.encode()  # type: ignore[attr-defined]


def test_columns_of_a_sentence() -> None:
    sentence = Treebank.from_string(ALL)[1]
    assert sentence.forms == ["Vamos", "nos", "a", "el", "río", "y", "tú", "no", "."]
    assert sentence.lemmas[0] == "ir"
    assert sentence.upos[:2] == ["VERB", "PRON"]
    assert sentence.xpos == ["_"] * 9
    assert sentence.feats[0] == "Mood=Imp|Number=Plur"
    assert sentence.heads.tolist() == [-1, 0, 1, 5, 5, 1, 8, 8, 1, 1]
    assert sentence.deprels[6] == "orphan"
    assert sentence.deps[5] == "8:cc|8.1:cc"
    assert sentence.misc[7] == "SpaceAfter=No"
    assert [row[0] for row in sentence.rows] == [
        "1-2",
        "1",
        "2",
        "3-4",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "8.1",
        "9",
    ]
    assert sentence.comments == {"newdoc id": "d1", "sent_id": "two", "text": "Vámonos al río y tú no."}
    assert sentence.tree.roots == (1,)
    assert repr(sentence).startswith("Sentence('Vamos nos")


def test_text_is_joined_from_tokens_where_no_comment_tells() -> None:
    without = Treebank.from_string(RICH.replace("# text = Vámonos al río y tú no.\n", ""))[0]
    assert without.text == "Vámonos al río y tú no."
    assert Treebank.from_string(PLAIN)[0].text == "Birds sing."


def test_unknown_heads_make_a_partial_tree() -> None:
    tree = Treebank.from_string(PARTIAL)[0].tree
    assert tree.heads.tolist() == [-1, 3, -1, -1]
    assert not tree.is_complete


def test_annotating_changes_only_the_annotated_columns() -> None:
    treebank = Treebank.from_string(RICH)
    heads = np.array([5, 1, 5, 5, 0, 5, 8, -1, 1], np.int32)
    changed = treebank.annotate(heads=heads, upos=[f"T{i}" for i in range(9)])
    for before, after in zip(treebank[0].rows, changed[0].rows, strict=True):
        assert (before[:3], before[4:6], before[7:]) == (after[:3], after[4:6], after[7:])
        if not before[0].isdigit():
            assert before == after
    assert changed[0].heads[1:].tolist() == heads.tolist()
    assert changed[0].upos == [f"T{i}" for i in range(9)]
    assert changed[0].comment_lines == treebank[0].comment_lines


def test_misc_update_replaces_pairs_of_the_same_key_and_keeps_the_others() -> None:
    treebank = Treebank.from_string(RICH)
    updated = treebank.annotate(misc_update=["Note=b|P=1", "P=2", "", "", "", "", "", "P=0.5", ""])
    assert updated[0].misc[:3] == ["Note=b|P=1", "P=2", "_"]
    assert updated[0].misc[7] == "SpaceAfter=No|P=0.5"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_are_added_after_those_that_are_there(newline: str) -> None:
    treebank = Treebank.from_string(ALL.replace("\n", newline))
    updated = treebank.annotate(comments=[{"p": "1"}, {}, {"a": "x", "b": "y"}])
    assert updated[0].comment_lines == ["sent_id = one", "text = Birds sing.", "p = 1"]
    assert updated[1].source_bytes == treebank[1].source_bytes
    assert updated[2].comments == {"sent_id": "three", "a": "x", "b": "y"}
    assert updated.data.count(newline.encode()) == updated.data.count(b"\n")


def test_coded_columns() -> None:
    treebank = Treebank.from_string(PLAIN)
    assert treebank.annotate(upos=Coded(np.array([1, 0, -1], np.int32), ["A", "B"]))[0].upos == [
        "B",
        "A",
        "_",
    ]


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_annotations_in_a_row_are_those_with_the_bytes_written_between(text: str) -> None:
    rng = np.random.default_rng(1)
    lazy = written = Treebank.from_string(text)
    for step in range(12):
        n, heads = lazy.word_count, written.heads
        values = [f"v{i}é" if i else "_" for i in rng.integers(0, 4, n)]
        pairs = [("", f"A={i}", f"B={i}|C={step}")[i % 3] for i in rng.integers(0, 9, n)]
        steps = [
            {"upos": values, "lemma": values, "misc_update": pairs},
            {"misc_update": pairs, "comments": [{"step": str(step)}, {}, {"a": "b"}]},
            {"misc": values, "form": Coded(rng.integers(0, 2, n).astype(np.int32), ["x", "’"])},
            {"heads": heads, "deprel": values, "strict": False},
        ]
        chosen = steps[rng.integers(0, len(steps))]
        lazy, written = lazy.annotate(**chosen), Treebank(written.annotate(**chosen).data)
        assert lazy.sentence_words.tolist() == written.sentence_words.tolist()
        # Odd steps are read before anything is written, even ones are only annotated further.
        if step % 2:
            for name in ("form", "lemma", "upos", "deprel", "misc"):
                assert lazy.column(name) == written.column(name)
            assert lazy.heads.tolist() == written.heads.tolist()
    assert lazy.sentence_bytes.tolist() == written.layout.sentence_bytes.tolist()
    assert lazy.data == written.data
    assert pickle.loads(pickle.dumps(lazy.annotate(upos=values))).column("upos") == values


def test_reading_annotated_columns_writes_and_indexes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    treebank = Treebank.from_string(ALL)
    n = treebank.word_count
    for name in ("treebank_written", "treebank_layout"):
        monkeypatch.setattr(native, name, lambda *_: pytest.fail("not needed"))
    annotated = treebank.annotate(upos=["A"] * n, misc_update=["P=1"] * n).annotate(xpos=["B"] * n)
    assert annotated[0].upos == annotated.column("upos")[:3] == ["A"] * 3
    assert annotated[1].misc[0].endswith("P=1")
    assert annotated.heads.tolist() == treebank.heads.tolist()


def test_a_cycle_that_was_not_refused_is_a_problem() -> None:
    cyclic = Treebank.from_string(PLAIN).annotate(heads=np.array([2, 1, 0], np.int32), strict=False)
    with pytest.raises(InputError, match="only a file without problems"):
        cyclic.annotate(upos=["X"] * 3)  # before anything else has indexed its bytes
    assert [problem.kind for problem in cyclic.problems] == [ProblemKind.CYCLE]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"upos": ["X"]}, "upos: found 1 values, expected 3"),
        ({"heads": np.zeros(2, np.int32)}, "head: found 2 values, expected 3"),
        ({"nonsense": ["a"] * 3}, "column: found 'nonsense', expected one of id, form"),
        ({"lemma": ["a\tb", "c", "d"]}, "lemma: found a tab or line break"),
        ({"comments": [{"a": "b\nc"}]}, "comments: found a line break"),
        ({"comments": [{}, {}]}, "comments: found 2, expected 1"),
        ({"heads": np.array([2, 1, 0], np.int32)}, "is on a cycle"),
        ({"head": ["2", "1", "0"]}, "is on a cycle"),
        ({"head": ["x", "1", "0"]}, "HEAD"),
        ({"id": ["1", "3", "2"]}, "ID"),
    ],
)
def test_bad_annotations_are_refused(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Treebank.from_string(PLAIN).annotate(**keywords)  # type: ignore[arg-type]


def test_slices_and_sentences_make_treebanks() -> None:
    treebank = Treebank.from_string("\ufeff" + ALL[:-2])
    assert treebank[1:].data == (RICH + PARTIAL).encode()
    assert treebank[::-1].data == (PARTIAL + RICH + PLAIN).encode()
    assert treebank[-1].sent_id == "three"
    with pytest.raises(IndexError):
        treebank[3]


def test_sentences_are_spread_over_the_whole() -> None:
    rows = "".join(f"1\t{word}\t_\t_\t_\t_\t0\troot\t_\t_\n\n" for word in range(10))
    treebank = Treebank.from_string(rows)
    assert [s.forms[0] for s in treebank.spread(4)] == ["0", "3", "6", "9"]
    assert treebank.spread(10) is treebank
    assert len(treebank.spread(0)) == 0


def test_sentence_from_words_and_with_tree() -> None:
    tree = Tree.from_heads([2, 0], ["nsubj", "root"])
    sentence = Sentence.from_words(
        ["Birds", "sing"], tree=tree, comments={"sent_id": "x"}, upos=["NOUN", "VERB"]
    )
    assert sentence.tree == tree
    assert sentence.sent_id == "x"
    other = Tree.from_heads([0, 1], ["root", "dep"])
    assert sentence.with_tree(other).tree == other
    assert sentence.with_tree(Tree.from_heads([0, 1])).deprels == ["nsubj", "root"]
    assert sentence.with_tree(other).upos == ["NOUN", "VERB"]
    with pytest.raises(InputError, match="found no word"):
        Sentence.from_words([])


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    from arcwise.treebanks import open_output

    target = tmp_path / "out.conllu"
    target.write_text("old")
    with pytest.raises(RuntimeError), open_output(target) as stream:
        stream.write(b"half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_followed_and_who_may_read_stays(tmp_path: Path) -> None:
    from arcwise.treebanks import open_output

    target, link = tmp_path / "out.conllu", tmp_path / "link.conllu"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with open_output(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.mark.slow
def test_all_real_treebanks_are_read_and_written_back_byte_identical(treebanks: Path, tmp_path: Path) -> None:
    files = sorted(treebanks.glob("*/*.conllu.xz"))
    assert len(files) >= 59
    for path in files:
        raw = lzma.decompress(path.read_bytes())
        treebank = Treebank.read(path)
        treebank.write(tmp_path / "out.conllu")
        assert (tmp_path / "out.conllu").read_bytes() == raw, path
        assert treebank.annotate(heads=treebank.heads, deprel=treebank.column("deprel")).data == raw, path
