"""A file changed by another program: noticed, merged or refused, never overwritten."""

import os
import random
from pathlib import Path

import pytest

from arcwise import InputError
from arcwise.annotation.changes import Splice, difference, inverse
from arcwise.annotation.document import AnnotationDocument, ChangedOnDisk
from arcwise.annotation.external_changes import net_changes, placed
from arcwise.annotation.journal import journal_path
from arcwise.treebanks.edits import SetField
from treebanks.samples import ALL, PARTIAL, PLAIN


def lemma(value: str) -> list[SetField]:
    return [SetField("1", "lemma", value)]


def test_what_is_on_the_disk(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        assert document.state_on_disk() == "same"
        os.utime(file, ns=(1, 1))
        assert document.state_on_disk() == "same"  # touched, not changed
        file.write_bytes(ALL.encode() + b"\n")
        assert document.state_on_disk() == "changed"
        file.write_bytes(ALL.encode())
        assert document.state_on_disk() == "same"
        file.unlink()
        assert document.state_on_disk() == "gone"


def test_another_program_is_never_overwritten(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("mine"))
        theirs = ALL.replace("Birds\tbird", "Birds\tBIRD").encode()
        stamp = file.stat().st_mtime_ns
        file.write_bytes(theirs)
        os.utime(file, ns=(stamp, stamp))  # same size, same time: read all the same
        with pytest.raises(ChangedOnDisk, match="was changed by another program"):
            document.save()
        assert file.read_bytes() == theirs
        assert not document.saved


def test_a_file_written_in_place_does_not_change_what_is_edited(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        with file.open("r+b") as stream:
            stream.truncate(10)
        assert document.treebank().data == ALL.encode()
        document.edit(2, lemma("x"))
        with pytest.raises(ChangedOnDisk):
            document.save()


def test_a_file_that_is_gone_is_written_again(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("x"))
        file.unlink()
        document.save()
    assert b"Birds\tx\t" in file.read_bytes()


def test_what_another_program_did_is_taken_in_where_nothing_was_edited(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("x"))
        document.save()
        theirs = file.read_bytes().replace(b"sing\tsing", b"sing\tSING") + PLAIN.encode()
        file.write_bytes(theirs)
        taken = document.merge_external_changes()
        assert taken.change is not None
        assert document.treebank().data == theirs
        assert (document.saved, document.state_on_disk(), len(document)) == (True, "same", 4)
        assert document.merge_external_changes().change is None
        document.undo()
        assert b"SING" not in document.treebank().data
        document.undo()
        assert document.treebank().data == ALL.encode()
        document.close()
    with AnnotationDocument.open(file) as document:
        assert document.treebank().data == ALL.encode()
        while document.redo():
            pass
        assert document.treebank().data == theirs
        assert document.saved


def test_an_empty_file_is_not_taken_in(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        file.write_bytes(b"")
        with pytest.raises(InputError, match="has no sentences any more"):
            document.merge_external_changes()
        assert document.treebank().data == ALL.encode()


def test_both_changed_different_words(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("mine"))
        document.split_sentence(1, "6")
        file.write_bytes(ALL.replace("sing\tsing", "sing\tSING").encode())
        taken = document.merge_external_changes()
        assert taken.conflicts == ()
        assert document.sentence(0).lemmas == ["mine", "SING", "."]
        assert [s.sent_id for s in document.treebank()] == ["one", "two", "two-2", "three"]
        assert (document.saved, document.state_on_disk()) == (False, "same")
        now = document.treebank().data
    with AnnotationDocument.open(file) as document:  # not saved: from the journal
        assert document.treebank().data == now
        document.save()
        assert file.read_bytes() == now
        while document.undo():
            pass
        assert document.treebank().data == ALL.encode()


def test_both_changed_the_same_word(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("mine"))
        file.write_bytes(ALL.replace("Birds\tbird", "Birds\ttheirs").encode())
        taken = document.merge_external_changes()
        assert len(taken.conflicts) == 1
        assert document.sentence(0).lemmas[0] == "mine"
        assert "conflict = 1 lemma theirs=theirs" in document.sentence(0).comment_lines


# ---- changed while it was closed here


def test_everything_was_saved(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("x"))
        document.save()
    file.write_bytes(PLAIN.encode())
    old = journal_path(file).read_bytes()
    with AnnotationDocument.open(file) as document:
        assert document.treebank().data == PLAIN.encode()
        assert not document.can_undo
        assert document.notices == (
            f"{file}: was changed by another program; the earlier undo history is in a.conllu.journal.old",
        )
    assert file.with_name("a.conllu.journal.old").read_bytes() == old


def test_edits_that_were_not_saved_go_where_their_sentences_are(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(2, lemma("mine"))
        document.remove_sentence(0)
    file.write_bytes((PARTIAL.replace("three", "new") + ALL).encode())
    with AnnotationDocument.open(file) as document:
        assert [s.sent_id for s in document.treebank()] == ["new", "two", "three"]
        assert document.sentence(2).lemmas[0] == "mine"
        assert "were merged into it" in document.notices[0]
        assert not document.saved
        document.undo()
        assert document.treebank().data == file.read_bytes()
        document.redo()
    with AnnotationDocument.open(file) as document:
        assert document.sentence(2).lemmas[0] == "mine"


def test_edits_that_were_not_saved_are_merged(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("mine"))
    file.write_bytes((PARTIAL.replace("three", "new") + ALL.replace("sing\tsing", "sing\tSING")).encode())
    with AnnotationDocument.open(file) as document:
        assert document.sentence(1).lemmas == ["mine", "SING", "."]


def test_edits_that_fit_nowhere_are_refused_and_kept(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("mine"))
    journal = journal_path(file).read_bytes()
    file.write_bytes(PARTIAL.encode())
    with pytest.raises(InputError, match=r"unsaved edits in .* do not match it; restore the old file"):
        AnnotationDocument.open(file)
    assert (journal_path(file).read_bytes(), file.read_bytes()) == (journal, PARTIAL.encode())
    file.write_bytes(ALL.encode())
    with AnnotationDocument.open(file) as document:
        assert document.sentence(0).lemmas[0] == "mine"


# ---- the parts, against applying them


def applied(blocks: list[bytes], parts: tuple[Splice, ...]) -> list[bytes]:
    blocks = list(blocks)
    for part in parts:
        assert tuple(blocks[part.first : part.first + len(part.before)]) == part.before
        blocks[part.first : part.first + len(part.before)] = part.after
    return blocks


def test_differences_inverses_and_net_changes() -> None:
    rng = random.Random(3)
    for _ in range(500):
        base = [bytes([rng.choice(b"abcdef")]) for _ in range(rng.randint(0, 7))]
        states, steps = [base], []
        for _ in range(rng.randint(1, 5)):
            new = [bytes([rng.choice(b"abcdef")]) for _ in range(rng.randint(0, 7))]
            parts = difference(states[-1], new)
            assert applied(states[-1], parts) == new
            assert applied(new, inverse(parts)) == states[-1]
            steps.append(parts)
            states.append(new)
        net = net_changes(len(base), steps)
        assert applied(base, tuple(reversed(net))) == states[-1]
        assert placed(net, base) is not None or len(set(base)) < len(base)
