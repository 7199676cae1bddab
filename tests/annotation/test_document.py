"""A document: reading, editing, undo and redo, files that cannot be edited."""

import os
import random
import stat
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from arcwise import InputError, Treebank
from arcwise.annotation.document import AnnotationDocument, ChangedMeanwhile
from arcwise.annotation.store import _Index
from arcwise.treebanks import read_bytes
from arcwise.treebanks.edits import AddComment, JoinWords, SetField, SetNote, SplitWord
from arcwise.treebanks.edits.edited_sentence import EditedSentence
from treebanks.samples import ALL, PARTIAL, PLAIN, RICH
from treebanks.test_fuzz import mutated

UPOS = SetField("1", "upos", "X")


def data(document: AnnotationDocument) -> bytes:
    whole = document.treebank().data
    assert whole == b"".join(document.block(i) for i in range(len(document)))
    assert whole == b"".join(t.data for _, t in document.batches(batch_bytes=300))
    return whole


# ---- reading


def test_sentences_are_those_of_the_file(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        assert len(document) == 3
        assert [document.sentence(i).sent_id for i in range(3)] == ["one", "two", "three"]
        assert [document.first_line(i) for i in range(3)] == [1, 7, 23]
        assert [first for first, _ in document.batches(batch_bytes=1)] == [0, 1, 2]
        assert data(document) == ALL.encode()
        with pytest.raises(InputError, match=r"sentence: found 3, expected 0\.\.2"):
            document.block(3)


LONG = "".join(f"{i}\tw\t_\t_\t_\t_\t_\t_\t_\t_\n" for i in range(1, 13)) + "\n"


def test_a_piece_that_ends_inside_an_id() -> None:
    """What is there of 10 is 1, which would begin a sentence."""
    whole = (LONG * 2).encode()
    for cut in range(len(whole)):
        index = _Index("x")
        index.add(whole[:cut])
        index.add(whole[cut:])
        assert index.finish().tolist() == [0, len(LONG), 2 * len(LONG)]
        assert index.problems == []


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 400))
@example(180484, 1)  # comments without words: a problem of the next sentence
def test_an_index_made_piece_by_piece_is_that_of_the_whole(seed: int, size: int) -> None:
    rng = random.Random(seed)
    whole = mutated(ALL.encode() * 2, rng) if rng.random() < 0.7 else ALL.replace("\n", "\r\n").encode() * 2
    whole = whole.replace(b"\xef\xbb\xbf", b"")
    index = _Index("x")
    for at in range(0, len(whole), size):
        index.add(whole[at : at + size])
    starts = index.finish().tolist()
    treebank = Treebank(whole, source="x", strict=False)
    assert starts == (treebank.layout.sentence_bytes.tolist() or [0])
    assert index.problems == treebank.problems


# ---- editing


def test_an_edit_changes_its_lines_alone(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        change = document.edit(1, [SetField("5", "lemma", "x")])
        assert change is not None
        assert (change.version, change.first, document.version) == (1, 1, 1)
        document.save()
    old, new = ALL.encode().split(b"\n"), file.read_bytes().split(b"\n")
    assert [i + 1 for i in range(len(old)) if old[i] != new[i]] == [16]


def test_an_edit_of_a_sentence_that_changed_meanwhile(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        seen = document.block_version(0)
        document.edit(0, [UPOS], version_of_block=seen)
        with pytest.raises(ChangedMeanwhile, match="sentence 1: was changed in the meantime") as error:
            document.edit(0, [SetField("1", "upos", "Y")], version_of_block=seen)
        assert error.value.block == document.block(0)
        for act in (document.join_sentences, document.remove_sentence):
            with pytest.raises(ChangedMeanwhile):
                act(0, version_of_block=seen)
        with pytest.raises(ChangedMeanwhile):
            document.split_sentence(0, "2", version_of_block=seen)


def test_several_sentences_are_one_step_and_all_or_none(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        change = document.edit_many({0: [UPOS], 2: [UPOS], 1: []}, "all X")
        assert change is not None
        assert [part.first for part in change.parts] == [2, 0]
        with pytest.raises(InputError, match="sentence 1: head: found the cycle"):
            document.edit_many({2: [SetField("1", "upos", "Y")], 0: [SetField("2", "head", "1")]}, "bad")
        assert document.sentence(2).upos[0] == "X"
        undone = document.undo()
        assert undone is not None
        assert undone.description == "all X"
        assert data(document) == ALL.encode()
        assert document.edit(0, []) is None
        assert document.edit(0, [SetField("1", "upos", "NOUN")]) is None


def test_sentences_are_split_joined_inserted_removed(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.split_sentence(1, "6")
        assert [s.sent_id for s in document.treebank()] == ["one", "two", "two-2", "three"]
        document.join_sentences(1)
        document.insert_sentences(0, PARTIAL.encode())
        document.insert_sentences(4, PLAIN.rstrip("\n").encode())
        document.remove_sentence(1)
        assert [s.sent_id for s in document.treebank()] == ["three", "two", "three", "one"]
        assert not document.treebank().problems
        for _ in range(5):
            document.undo()
        assert data(document) == ALL.encode()
        with pytest.raises(InputError, match="sentence 3: is the last one"):
            document.join_sentences(2)
        with pytest.raises(InputError, match="the text has no sentence"):
            document.insert_sentences(0, b"")
        with pytest.raises(InputError, match=r"expected 0\.\.3"):
            document.insert_sentences(4, PLAIN.encode())


def test_a_byte_order_mark_and_a_missing_last_line_end(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes(b"\xef\xbb\xbf" + ALL.rstrip("\n").encode())
    with AnnotationDocument.open(path) as document:
        document.insert_sentences(0, PLAIN.encode())
        document.insert_sentences(len(document), PLAIN.encode())
        whole = data(document)
        assert whole == b"\xef\xbb\xbf" + (PLAIN + ALL + PLAIN).encode()
        assert not Treebank(whole).problems
        document.undo()
        document.undo()
        document.split_sentence(2, "3")
        document.edit(3, [AddComment("x")])
        assert not document.treebank().problems
        assert len(document.treebank()) == len(document) == 4


def test_the_only_sentence_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes(PLAIN.encode())
    with AnnotationDocument.open(path) as document:
        document.remove_sentence(0)
        document.save()
        assert (len(document), path.read_bytes()) == (0, b"")
    with AnnotationDocument.open(path) as document:
        document.undo()
        assert data(document) == PLAIN.encode()


def test_a_sentence_without_a_blank_line_before_it(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes((PLAIN.rstrip("\n") + "\n" + PARTIAL.partition("\n")[2]).encode())
    with AnnotationDocument.open(path) as document:
        assert [str(p.kind.name) for p in document.problems] == ["MISSING_BLANK"]
        with pytest.raises(InputError, match="comment inside a sentence; move it before the first word"):
            document.edit(1, [SetNote("", "would become a comment of the first")])
        document.edit(1, [SetField("1", "upos", "X")])
        document.edit(0, [AddComment("fine")])
        assert len(document.treebank()) == len(document) == 2


# ---- undo and redo


def random_step(document: AnnotationDocument, rng: random.Random) -> None:
    """Something that a person does; what is refused changes nothing."""
    before = (data(document), document.version)
    number = rng.randrange(max(len(document), 1))
    try:
        match rng.randrange(12):
            case 0:
                document.split_sentence(number, str(rng.randint(1, 5)))
            case 1:
                document.join_sentences(number)
            case 2:
                document.insert_sentences(number, rng.choice([PLAIN, PARTIAL]).encode())
            case 3:
                document.remove_sentence(number)
            case 4:
                document.edit_many(
                    {i: [SetNote("", str(rng.random()))] for i in range(0, len(document), 2)}, "many"
                )
            case 5:
                document.edit(number, [SplitWord("1", ("a", "b"), multiword=rng.random() < 0.5)])
            case 6:
                document.edit(number, [JoinWords("1", "2")])
            case 7:
                document.undo()
            case 8:
                document.redo()
            case _:
                edit = SetField(
                    str(rng.randint(1, 4)), rng.choice(["head", "deprel", "form"]), str(rng.randint(0, 4))
                )
                document.edit(number, [edit])
    except InputError:
        assert (data(document), document.version) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.booleans())
def test_undo_gives_the_first_bytes_and_redo_the_last(
    tmp_path: Path, no_waiting: None, seed: int, crlf: bool
) -> None:
    rng = random.Random(seed)
    path = Path(mkdtemp(dir=tmp_path)) / "a.conllu"
    first = ALL.replace("\n", "\r\n").encode() if crlf else ALL.encode()
    path.write_bytes(first)
    document = AnnotationDocument.open(path)
    for _ in range(rng.randint(1, 25)):
        random_step(document, rng)
        now = data(document)
        assert len(document.treebank()) == len(document)
        assert not document.treebank().problems
        if rng.random() < 0.2:
            document.save()
            assert path.read_bytes() == now
            assert document.saved
        if rng.random() < 0.2:
            document.close()
            document = AnnotationDocument.open(path)
            assert data(document) == now
    while document.redo():
        pass
    last, steps = data(document), 0
    while document.undo():
        steps += 1
        if rng.random() < 0.1:
            document.save()
            document.close()
            document = AnnotationDocument.open(path)
    assert data(document) == first
    assert not document.can_undo
    for _ in range(steps):
        assert document.redo()
    assert data(document) == last
    assert document.redo() is None
    document.close()


def test_a_new_step_ends_what_could_be_redone(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, [UPOS])
        document.undo()
        assert document.can_redo
        document.edit(0, [SetField("1", "upos", "Y")])
        assert not document.can_redo


# ---- files


def test_a_link_and_the_mode_are_kept(file: Path, tmp_path: Path) -> None:
    file.chmod(0o640)
    link = tmp_path / "link.conllu"
    link.symlink_to(file)
    with AnnotationDocument.open(link) as document:
        document.edit(0, [UPOS])
        with pytest.raises(InputError, match="is open in another arcwise annotate"):
            AnnotationDocument.open(file)
        document.save()
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.conllu", "a.conllu.journal", "link.conllu"]


def test_nothing_is_left_beside_a_file_that_was_only_looked_at(file: Path, tmp_path: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.save()
    assert [p.name for p in tmp_path.iterdir()] == ["a.conllu"]


def test_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "new.conllu"
    with pytest.raises(InputError, match="no such file"):
        AnnotationDocument.open(path)
    with AnnotationDocument.open(path, new=True) as document:
        assert len(document) == 0
        document.insert_sentences(0, PLAIN.encode())
        document.save()
    assert path.read_bytes() == PLAIN.encode()
    with pytest.raises(InputError, match="already exists"):
        AnnotationDocument.open(path, new=True)
    with pytest.raises(InputError, match="no such folder"):
        AnnotationDocument.open(tmp_path / "no" / "new.conllu", new=True)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.conllu.gz", b"", "is compressed; decompress it"),
        ("a.conllu.xz", b"", "is compressed; decompress it"),
        ("a.conllu", "1\tx".encode("utf-16"), "is UTF-16 text, expected UTF-8"),
        ("a.conllu", b"# only a comment\n", "has no sentence; expected CoNLL-U"),
        ("a.conllu", b"\n\n", "has no sentence; expected CoNLL-U"),
    ],
)
def test_files_that_cannot_be_edited(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=told):
        AnnotationDocument.open(path)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="standard input cannot be edited"):
        AnnotationDocument.open("-")
    with pytest.raises(InputError, match="is a folder, expected a file"):
        AnnotationDocument.open(tmp_path)
    with pytest.raises(InputError, match="is a device, expected a file"):
        AnnotationDocument.open(os.devnull)
    with pytest.raises(InputError, match="no such file"):
        AnnotationDocument.open(tmp_path / ("x" * 300))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_that_cannot_be_written_is_shown(
    file: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    closed = file if what == "file" else file.parent
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed)
    with AnnotationDocument.open(file) as document:
        assert document.read_only is not None
        assert "read-only" in document.read_only
        assert data(document) == ALL.encode()
        for act in (
            lambda: document.edit(0, [UPOS]),
            document.undo,
            document.redo,
            document.save,
            document.merge_external_changes,
        ):
            with pytest.raises(InputError, match="read-only"):
                act()
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_what_is_not_saved_is_shown_of_a_file_that_has_become_read_only(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, [UPOS])
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with AnnotationDocument.open(file) as document:
        assert document.sentence(0).upos[0] == "X"


def test_a_broken_file_is_opened_and_its_sound_sentences_edited(tmp_path: Path) -> None:
    path = tmp_path / "broken.conllu"
    path.write_bytes(
        (PLAIN + RICH.replace("8\tcc\t", "99\tcc\t") + PARTIAL.replace("2\tが\t_\t", "2\tが\t")).encode()
    )
    with AnnotationDocument.open(path) as document:
        assert [(p.line, p.sentence) for p in document.problems] == [(17, 1), (25, 2)]
        assert str(document.problems[0]).startswith(f"{path}:17 (two): HEAD 99 is outside")
        document.edit(0, [UPOS])
        document.edit(1, [SetField("6", "head", "8")])
        with pytest.raises(InputError, match="row 2: found 9 columns"):
            document.edit(2, [SetField("2", "form", "x")])
        document.save()
    assert len(Treebank(path.read_bytes(), strict=False).problems) == 1


@pytest.mark.treebanks
def test_real_treebanks_are_taken_apart_and_put_together(
    treebanks: Path, tmp_path: Path, no_waiting: None
) -> None:
    """Every sentence of every file is the same bytes again; edits go and come back."""
    rng = random.Random(1)
    files = sorted(treebanks.rglob("dev.conllu.xz"))
    assert files
    for number, original in enumerate(rng.sample(files, min(5, len(files)))):
        path = tmp_path / f"{number}.conllu"
        path.write_bytes(read_bytes(original))
        with AnnotationDocument.open(path) as document:
            assert len(document) == len(Treebank(path.read_bytes(), strict=False))
            for number in rng.sample(range(len(document)), min(60, len(document))):
                assert EditedSentence(document.block(number)).data() == document.block(number)
                random_edit_of(document, number, rng)
            while document.undo():
                pass
            assert document.treebank().data == path.read_bytes()


def random_edit_of(document: AnnotationDocument, number: int, rng: random.Random) -> None:
    n = len(document.sentence(number))
    word = str(rng.randint(1, n))
    edits = [SplitWord(word, ("a", "b"), rng.randint(1, 2)), SetField(word, "head", str(rng.randint(0, n)))]
    edits += [JoinWords(word, str(int(word) + 1)), AddComment("x")]
    problems = len(Treebank(document.block(number), strict=False).problems)
    for edit in edits:
        try:
            document.edit(number, [edit])
        except InputError:
            continue
    assert len(Treebank(document.block(number), strict=False).problems) <= problems
