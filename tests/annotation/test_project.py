"""A folder of files under annotation: numbers through all files, changes, undo across files and restarts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from arcwise import InputError
from arcwise.annotation.changes import DocumentChange
from arcwise.annotation.document import AnnotationDocument, ChangedMeanwhile
from arcwise.annotation.project import AnnotationProject, project_files
from arcwise.treebanks.edits import SetField

ROW = "1\t{}\t_\t_\t_\t_\t0\troot\t_\t_\n2\t{}\t_\t_\t_\t_\t1\tdep\t_\t_\n"


def sentences(name: str, count: int) -> str:
    return "".join(ROW.format(f"{name}{i}", "w") + "\n" for i in range(count))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files: one in a folder, one that lacks its last blank line, one with a byte order mark."""
    made = tmp_path / "treebank"
    (made / "b").mkdir(parents=True)
    (made / "a.conllu").write_text(sentences("a", 3).removesuffix("\n"))
    (made / "b" / "c.conllu").write_bytes(b"\xef\xbb\xbf" + sentences("c", 2).encode())
    (made / "d.conllu").write_text(sentences("d", 4))
    (made / "e.conllu").write_text(sentences("e", 1))
    (made / ".hidden.conllu").write_text(sentences("h", 1))
    (made / "notes.txt").write_text("not CoNLL-U")
    return made


def firsts(project: AnnotationProject) -> list[str]:
    """The first form of each sentence, by every way to read them."""
    blocks = [project.block(n) for n in range(len(project))]
    assert project.treebank().data == b"".join(blocks)
    forms = [project.sentence(n).forms[0] for n in range(len(project))]
    assert forms == [sentence.forms[0] for sentence in project.treebank()]
    assert forms == [sentence.forms[0] for _, batch in project.batches(batch_bytes=100) for sentence in batch]
    return forms


def upos(value: str) -> list[SetField]:
    return [SetField("1", "upos", value)]


def test_sentences_of_all_files_in_the_order_of_their_names(folder: Path) -> None:
    assert [path.relative_to(folder).as_posix() for path in project_files(folder)] == [
        "a.conllu", "b/c.conllu", "d.conllu", "e.conllu",
    ]  # fmt: skip
    with AnnotationProject.open(folder) as project:
        assert firsts(project) == ["a0", "a1", "a2", "c0", "c1", "d0", "d1", "d2", "d3", "e0"]
        assert [(f.name, f.first, f.sentences) for f in project.files()] == [
            ("a.conllu", 0, 3), ("b/c.conllu", 3, 2), ("d.conllu", 5, 4), ("e.conllu", 9, 1),
        ]  # fmt: skip
        assert project.source(4).endswith("b/c.conllu")
        assert project.first_line(6) == 4
        with pytest.raises(InputError, match=r"sentence: found 10, expected 0\.\.9"):
            project.block(10)


def test_a_file_is_written_only_if_it_was_edited(folder: Path) -> None:
    before = {path: path.read_bytes() for path in project_files(folder)}
    with AnnotationProject.open(folder) as project:
        change = project.edit(4, upos("X"), version_of_block=project.block_version(4))
        assert change is not None
        assert change.first == 4
        assert not project.saved
        project.save()
        assert project.saved
    after = {path: path.read_bytes() for path in before}
    assert [path.name for path in before if after[path] != before[path]] == ["c.conllu"]
    assert after[folder / "b" / "c.conllu"].startswith(b"\xef\xbb\xbf")


def test_the_last_sentence_of_a_file_without_blank_line_can_be_edited(folder: Path) -> None:
    with AnnotationProject.open(folder) as project:
        project.edit(2, upos("X"), version_of_block=project.block_version(2))
        assert project.sentence(2).upos[0] == "X"
        with pytest.raises(ChangedMeanwhile):
            project.edit(2, upos("Y"), version_of_block="something else")
        project.save()
    assert (folder / "a.conllu").read_text().splitlines()[6].split("\t")[3] == "X"


def test_a_mass_edit_of_several_files_is_one_step(folder: Path) -> None:
    with AnnotationProject.open(folder) as project:
        change = project.edit_many({n: upos("X") for n in (1, 4, 9)}, "all X")
        assert change is not None
        assert sorted(part.first for part in change.parts) == [1, 4, 9]
        undone = project.undo()
        assert undone is not None
        assert len(undone.parts) == 3
        assert not project.can_undo
        project.redo()
        assert [s.upos[0] for s in project.treebank()].count("X") == 3
        with pytest.raises(InputError):  # the second sentence has no row 7: no file changes
            project.edit_many({0: upos("Y"), 9: [SetField("7", "upos", "Y")]}, "impossible")
        assert [s.upos[0] for s in project.treebank()].count("Y") == 0


def test_sentences_are_joined_and_added_within_a_file(folder: Path) -> None:
    with AnnotationProject.open(folder) as project:
        with pytest.raises(InputError, match="is the last one"):
            project.join_sentences(2)
        project.append_sentences("b/c.conllu", sentences("n", 2).encode())
        project.insert_sentences(3, sentences("m", 1).encode())
        assert firsts(project)[2:9] == ["a2", "m0", "c0", "c1", "n0", "n1", "d0"]
        with pytest.raises(InputError, match=r"file: found 'x', expected one of a.conllu, b/c.conllu"):
            project.append_sentences("x", b"")


def test_undo_goes_back_through_all_files_also_after_reopening(folder: Path) -> None:
    with AnnotationProject.open(folder) as project:
        for number, tag in [(0, "A"), (9, "B"), (4, "C"), (0, "D")]:
            project.edit(number, upos(tag))
        project.undo()
    with AnnotationProject.open(folder) as project:
        assert project.notices
        assert project.can_redo
        order = []
        while (change := project.undo()) is not None:
            order.append(change.first)
        assert order == [4, 9, 0]
        while project.redo() is not None:
            pass
        assert [project.sentence(n).upos[0] for n in (0, 4, 9)] == ["D", "C", "B"]


def test_a_new_change_ends_redo_in_all_files(folder: Path) -> None:
    with AnnotationProject.open(folder) as project:
        project.edit(0, upos("A"))
        project.undo()
        assert project.can_redo
        project.edit(9, upos("B"))
        assert not project.can_redo
        assert project.redo() is None


def test_journals_of_earlier_releases_are_undone_step_by_step(folder: Path) -> None:
    for name in ("a.conllu", "d.conllu"):
        with AnnotationDocument.open(folder / name) as document:
            document.clock = lambda: 0  # as if there were no time
            document.edit(0, upos("X"))
            document.edit(1, upos("X"))
    with AnnotationProject.open(folder) as project:
        steps = [project.undo() for _ in range(5)]
        assert [None if step is None else len(step.parts) for step in steps] == [1, 1, 1, 1, None]


def test_changes_of_another_program_are_merged_into_their_file(folder: Path) -> None:
    with AnnotationProject.open(folder) as project:
        project.edit(5, upos("X"))
        (folder / "d.conllu").write_text(sentences("d", 4) + sentences("new", 1))
        assert project.state_on_disk() == "changed"
        merged = project.merge_external_changes()
        assert merged.change is not None
        assert firsts(project)[5:11] == ["d0", "d1", "d2", "d3", "new0", "e0"]
        assert project.sentence(5).upos[0] == "X"
        project.save()


def test_random_changes_are_the_same_as_those_of_a_list(folder: Path) -> None:
    """The splices of every change, undo and redo applied to a list of sentences give the project."""
    rng = random.Random(5)
    with AnnotationProject.open(folder) as project:
        start = firsts(project)
        blocks = [project.sentence(n).source_bytes for n in range(len(project))]

        def follow(change: DocumentChange | None) -> None:
            if change is not None:
                for part in change.parts:
                    stop = part.first + len(part.before)
                    assert [b.strip() for b in blocks[part.first : stop]] == [b.strip() for b in part.before]
                    blocks[part.first : stop] = part.after
            forms = [block.split(b"\n")[0].split(b"\t")[1].decode() for block in blocks]
            assert firsts(project) == forms

        for step in range(120):
            number = rng.randrange(len(project))
            match rng.randrange(6):
                case 0:
                    follow(project.edit(number, upos(f"T{step}")))
                case 1:
                    follow(project.insert_sentences(number, sentences(f"i{step}", 2).encode()))
                case 2 if len(project) > 6 and min(f.sentences for f in project.files()) > 1:
                    follow(project.remove_sentence(number))
                case 3:
                    some = rng.sample(range(len(project)), 3)
                    follow(project.edit_many({n: upos(f"M{step}") for n in some}, "many"))
                case 4:
                    follow(project.undo())
                case _:
                    follow(project.redo())
        while (change := project.undo()) is not None:
            follow(change)
        assert firsts(project) == start


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no \.conllu file; expected at least one"):
        AnnotationProject.open(tmp_path)
    (tmp_path / "a.conllu").write_text(sentences("a", 1))
    with (
        AnnotationDocument.open(tmp_path / "a.conllu"),
        pytest.raises(InputError, match="is open in another"),
    ):
        AnnotationProject.open(tmp_path)
