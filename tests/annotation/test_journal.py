"""The journal: wherever the last write stopped, nothing that was shown as saved is lost."""

import itertools
import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from arcwise import InputError
from arcwise.annotation.document import AnnotationDocument
from arcwise.annotation.journal import Journal, Locked, journal_path
from arcwise.annotation.store import Blocks
from arcwise.treebanks.edits import SetField
from treebanks.samples import ALL

TINY = "".join(f"1\t{word}\t_\t_\t_\t_\t0\t_\t_\t_\n\n" for word in "ab").encode()


def lemma(value: str) -> list[SetField]:
    return [SetField("1", "lemma", value)]


def content(path: Path) -> bytes:
    with AnnotationDocument.open(path) as document:
        return document.treebank().data


# ---- cut at every byte


@dataclass
class Append:
    """One write to the journal: its start and end, the file then, the document before and after."""

    start: int
    stop: int
    file: bytes
    before: bytes
    after: bytes = b""
    next: bytes = b""


def written(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Append], bytes]:
    """A document with edits, undo, redo, saving; every append to its journal, and the journal at the end."""
    found: list[Append] = []
    original = Journal.append
    with AnnotationDocument.open(path) as document:

        def append(journal: Journal, *records: dict[str, object]) -> int:
            event = Append(journal.size, 0, path.read_bytes(), document.treebank().data)
            place = original(journal, *records)
            event.stop = journal.size
            found.append(event)
            return place

        monkeypatch.setattr(Journal, "append", append)
        steps = [
            lambda: document.edit(0, lemma("x")),
            lambda: document.edit(1, lemma("ÿ")),
            document.undo,
            document.save,
            document.redo,
            lambda: document.remove_sentence(0),
            document.save,
            lambda: document.edit(0, lemma("z")),
        ]
        for step in steps:
            step()
            for event in found:
                event.after = event.after or document.treebank().data
    monkeypatch.undo()
    return found, journal_path(path).read_bytes()


def test_the_journal_is_cut_at_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes(TINY)
    appends, journal = written(path, monkeypatch)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    assert len(appends) == 10  # one a step, two a save
    again = tmp_path / "again.conllu"
    for event in appends:
        for cut in range(event.start, event.stop + 1):
            again.write_bytes(event.file)
            journal_path(again).write_bytes(journal[:cut])
            with AnnotationDocument.open(again) as document:
                whole = cut == event.stop
                assert document.treebank().data == (event.after if whole else event.before), cut
                torn = [n for n in document.notices if "its last record was incomplete" in n]
                # A start record and the first edit are one write, of two lines.
                lines = {i + 1 for i, byte in enumerate(journal) if byte == 10} | {0}
                assert len(torn) == (cut not in lines)
                if cut % 40 == 0 and len(document):  # what is written next is whole
                    document.edit(0, lemma("next"))
                    event.next = document.treebank().data
            if cut % 40 == 0 and event.next:
                assert content(again) == event.next
    assert journal_path(again).exists()


def test_a_file_that_was_put_in_place_before_the_journal_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes(TINY)
    appends, journal = written(path, monkeypatch)
    saves = [event for event, after in itertools.pairwise(appends) if event.file != after.file]
    assert len(saves) == 2
    for event in saves:
        path.write_bytes(event.before)  # written, and then killed
        journal_path(path).write_bytes(journal[: event.stop])
        with AnnotationDocument.open(path) as document:
            assert document.treebank().data == event.before
            assert document.saved
            while document.undo():
                pass
            assert document.treebank().data == TINY


def test_edits_go_on_while_the_file_is_written(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("before"))
        document.edit(0, lemma("saved"))
        pieces = Blocks.pieces

        def slow(blocks: Blocks, size: int = 1 << 20) -> Iterator[tuple[int, bytes]]:
            monkeypatch.undo()
            document.edit(0, lemma("meanwhile"))
            document.edit(2, lemma("too"))
            document.undo()
            document.undo()
            document.edit(1, lemma("last"))
            assert document.state_on_disk() == "same"
            yield from pieces(blocks, size)

        monkeypatch.setattr(Blocks, "pieces", slow)
        document.save()
        now = document.treebank().data
        assert not document.saved
        assert b"Birds\tsaved\t" in file.read_bytes()
        assert b"\tlast\t" not in file.read_bytes()
        assert b"\tlast\t" in now
        journal, written = journal_path(file).read_bytes(), file.read_bytes()
    unwritten = journal[: journal.rindex(b'{"kind":"saved"') - 9]
    again = tmp_path / "again.conllu"
    for on_disk, kept in ((written, journal), (written, unwritten), (ALL.encode(), unwritten)):
        again.write_bytes(on_disk)
        journal_path(again).write_bytes(kept)
        with AnnotationDocument.open(again) as document:
            assert document.treebank().data == now
            assert not document.saved
            document.undo()
            assert document.saved == (on_disk == written)
            document.save()
            while document.undo():
                pass
            assert document.treebank().data == ALL.encode()


# ---- killed

KILLED = """
import os, signal, sys
from pathlib import Path
import arcwise.annotation.journal as journal_module
import arcwise.treebanks.files as files
import arcwise.annotation.document as document_module
from arcwise.annotation.document import AnnotationDocument
from arcwise.treebanks.edits import SetField

path, rounds = Path(sys.argv[1]), int(sys.argv[2])
original = path.read_bytes()
document_module._LARGE_JOURNAL = 300

def state(k):
    return original if k == 0 else original.replace(b"1\\tBirds\\tbird", b"1\\tBirds\\tv%d" % k)

def plain(data):  # an edit that is undone at once
    return data.replace(b"Vamos\\tDUMMY", b"Vamos\\tir")

def child(stop):
    count = 0
    def reached():
        nonlocal count
        count += 1
        return count == stop
    def die():
        os.kill(os.getpid(), signal.SIGKILL)
    write, fsync, replace, put = journal_module._write, os.fsync, Path.replace, files._Output.write
    def half_write(file, data):
        if reached():
            file.write(data[: len(data) // 2]); die()
        return write(file, data)
    def half_put(self, data):
        if reached():
            put(self, data[: len(data) // 2]); self._stream.flush(); die()
        return put(self, data)
    def no_fsync(descriptor):
        if reached(): die()
    def late_replace(self, target):
        if reached(): die()
        result = replace(self, target)
        if reached(): die()
        return result
    journal_module._write, files._Output.write = half_write, half_put
    os.fsync, Path.replace = no_fsync, late_replace
    done = os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    document = AnnotationDocument.open(path)
    for k in range(1, 7):
        document.edit(0, [SetField("1", "lemma", f"v{k}")])
        os.pwrite(done, b"%d" % k, 0)
        document.edit(1, [SetField("1", "lemma", "DUMMY")])
        document.undo()
        if k % 2 == 0:
            document.save()
    os._exit(7)

ends = set()
for stop in range(1, rounds):
    path.write_bytes(original)
    Path(str(path) + ".journal").unlink(missing_ok=True)
    Path(sys.argv[3]).write_bytes(b"")
    pid = os.fork()
    if pid == 0:
        child(stop)
    _, status = os.waitpid(pid, 0)
    acknowledged = int(Path(sys.argv[3]).read_bytes() or 0)
    on_disk = path.read_bytes()
    assert plain(on_disk) in [state(k) for k in range(acknowledged + 1)], (stop, on_disk)
    with AnnotationDocument.open(path) as document:
        now = document.treebank().data
        assert plain(now) in (state(acknowledged), state(acknowledged + 1)), (stop, acknowledged, now)
        steps = 0
        while document.undo(): steps += 1
        assert document.treebank().data == original
        for _ in range(steps): document.redo()
        assert document.treebank().data == now
        document.save()
    assert path.read_bytes() == now
    ends.add(os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
print(sorted(ends))
"""


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_killed_at_every_write(file: Path, tmp_path: Path) -> None:
    """kill -9 during every write of journal and file, before every fsync, around every rename."""
    found = run(KILLED, file, 90, tmp_path / "done")
    assert (found.stdout.strip(), found.stderr) == ("[7, 9]", "")


EDITING = """
import sys
from arcwise.annotation.document import AnnotationDocument
from arcwise.treebanks.edits import SetField
document = AnnotationDocument.open(sys.argv[1])
k = 0
while True:
    k += 1
    document.edit(k % 3, [SetField("1", "lemma", f"v{k}")])
    print(k, flush=True)
    if k % 3 == 0:
        document.save()
"""


@pytest.mark.slow
def test_killed_in_a_series_of_edits(file: Path) -> None:
    """From outside, at any moment; what was acknowledged is there."""
    original = file.read_bytes()
    for wanted in (1, 4, 9, 20):
        file.write_bytes(original)
        journal_path(file).unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", EDITING, str(file)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        last = 0
        for line in process.stdout:
            last = int(line)
            if last >= wanted:
                process.send_signal(signal.SIGKILL)
                break
        rest = process.stdout.read().split("\n")
        process.wait()
        process.stdout.close()
        last = int([line for line in rest if line][-1]) if any(rest) else last
        with AnnotationDocument.open(file) as document:
            values = [
                int(document.sentence(i).lemmas[0].removeprefix("v"))
                for i in range(3)
                if document.sentence(i).lemmas[0][:1] == "v"
            ]
            assert max(values) in (last, last + 1)
            while document.undo():
                pass
            assert document.treebank().data == original


# ---- one process at a time


def test_a_second_process_is_told_and_a_dead_one_holds_nothing(file: Path) -> None:
    code = (
        "import sys\n"
        "from arcwise.annotation.document import AnnotationDocument\n"
        "document = AnnotationDocument.open(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    with pytest.raises(Locked, match=r"a\.conllu: is open in another arcwise annotate; close that one first"):
        AnnotationDocument.open(file)
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert content(file) == ALL.encode()


FORKED = """
import os, sys, time
from arcwise.annotation.document import AnnotationDocument
document = AnnotationDocument.open(sys.argv[1])
if os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(30)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_does_not_hold_the_lock(file: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(file)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.wait()
    process.stdout.close()
    try:
        os.kill(child, 0)  # it lives
        assert content(file) == ALL.encode()
    finally:
        os.kill(child, signal.SIGKILL)


# ---- damage


def test_a_record_that_is_damaged_in_the_middle(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        for value in "abc":
            document.edit(0, lemma(value))
    journal = journal_path(file)
    lines = journal.read_bytes().split(b"\n")
    broken = b"\n".join([*lines[:2], lines[2].replace(b"lemma", b"").replace(b"Birds", b"BIRDS"), *lines[3:]])
    journal.write_bytes(broken)
    with AnnotationDocument.open(file) as document:
        assert document.sentence(0).lemmas[0] == "a"
        assert any("is damaged at byte" in notice for notice in document.notices)
        document.edit(0, lemma("d"))
    assert journal.with_name("a.conllu.journal.damaged").read_bytes() == broken
    with AnnotationDocument.open(file) as document:
        assert document.sentence(0).lemmas[0] == "d"


def test_a_journal_that_is_damaged_twice_is_kept_twice(file: Path) -> None:
    kept = []
    for value in "ab":
        with AnnotationDocument.open(file) as document:
            document.edit(0, lemma(f"{value}1"))
            document.edit(0, lemma(f"{value}2"))
            document.edit(0, lemma(f"{value}3"))
        lines = journal_path(file).read_bytes().split(b"\n")
        kept.append(b"\n".join([*lines[:-3], b"0" + lines[-3], *lines[-2:]]))
        journal_path(file).write_bytes(kept[-1])
        AnnotationDocument.open(file).close()
    names = ("a.conllu.journal.damaged", "a.conllu.journal.damaged1")
    assert [file.with_name(name).read_bytes() for name in names] == kept


@pytest.mark.parametrize("found", [b"my own notes\n", b'{"kind": "start"}\n', b"0" * 5000])
def test_a_journal_of_somebody_else_is_left_alone(file: Path, found: bytes) -> None:
    journal_path(file).write_bytes(found)
    with pytest.raises(InputError, match=r"is not an arcwise journal; rename or delete it"):
        AnnotationDocument.open(file)
    assert journal_path(file).read_bytes() == found


def test_a_journal_of_zeros_after_the_power_failed(file: Path) -> None:
    journal_path(file).write_bytes(b"\0" * 100)
    with AnnotationDocument.open(file) as document:
        assert "was incomplete (100 bytes)" in document.notices[0]
        document.edit(0, lemma("x"))
    with AnnotationDocument.open(file) as document:
        assert document.sentence(0).lemmas[0] == "x"


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"kind": "undo"}, "does not match the file"),
        ({"kind": "do"}, "does not match the file"),
        (
            {"kind": "start", "journal": 2, "size": 1, "digest": "x", "sentences": 1},
            "which a newer version of arcwise wrote",
        ),
        ({"kind": "dance"}, "which a newer version of arcwise wrote"),
        ({}, "does not match the file"),
    ],
)
def test_a_journal_that_makes_no_sense(file: Path, record: dict[str, object], told: str) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("a"))
        document.undo()
    journal = journal_path(file)
    text = json.dumps(record).encode()
    journal.write_bytes(journal.read_bytes() + b"%08x %s\n" % (zlib.crc32(text), text))
    kept = journal.read_bytes()
    with pytest.raises(InputError, match=told):
        AnnotationDocument.open(file)
    assert journal.read_bytes() == kept


def test_what_a_killed_save_left_is_cleared_away_later(file: Path) -> None:
    old, new, other = (
        file.with_name(f".{name}") for name in ("a.conllu.0123abcd.part", "a.conllu.89abcdef.part", "a.part")
    )
    for path in (old, new, other):
        path.write_bytes(b"x")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    with AnnotationDocument.open(file):
        pass
    assert [path.exists() for path in (old, new, other)] == [False, True, True]


def test_a_journal_that_does_not_fit(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("a"))
    journal = journal_path(file)
    start, edit = journal.read_bytes().splitlines()
    record = json.loads(edit[9:])
    record["parts"][0]["first"] = 1
    text = json.dumps(record).encode()
    journal.write_bytes(start + b"\n" + b"%08x %s\n" % (zlib.crc32(text), text))
    kept = journal.read_bytes()
    with pytest.raises(InputError, match=r"does not match the file \(sentence 2\); rename or delete it"):
        AnnotationDocument.open(file)
    assert (journal.read_bytes(), file.read_bytes()) == (kept, ALL.encode())


def test_a_journal_that_is_removed_meanwhile_is_written_again(file: Path) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("a"))
        journal_path(file).unlink()
        document.edit(0, lemma("b"))
        document.undo()
        assert document.sentence(0).lemmas[0] == "a"
        with pytest.raises(Locked):
            AnnotationDocument.open(file)
    with AnnotationDocument.open(file) as document:
        assert document.sentence(0).lemmas[0] == "a"


# ---- on the disk before it is shown


def test_an_edit_is_on_the_disk_before_it_is_shown(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written, what is forced to the disk, what takes the name of the file: in this order."""
    told: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def forced(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink()
        told.append(
            "folder"
            if name.is_dir()
            else f"{'part' if name.suffix == '.part' else name.name} {os.fstat(descriptor).st_size}"
        )
        fsync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        told.append("renamed")
        return replace(path, target)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to see which file is forced to the disk")
    with AnnotationDocument.open(file) as document:
        monkeypatch.setattr(os, "fsync", forced)
        monkeypatch.setattr(Path, "replace", renamed)
        document.edit(0, lemma("x"))
        journal = journal_path(file)
        assert told == [f"a.conllu.journal {journal.stat().st_size}", "folder"]
        told.clear()
        document.save()
        *_, saving, saved = journal.read_bytes().splitlines(keepends=True)
        size = journal.stat().st_size
        assert b'"saving"' in saving
        assert told == [
            f"a.conllu.journal {size - len(saved)}",
            f"part {file.stat().st_size}",
            "renamed",
            "folder",
            f"a.conllu.journal {size}",
        ]


# ---- a full disk


def test_an_edit_that_the_disk_has_no_room_for_is_not_made(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("a"))
        size = journal_path(file).stat().st_size

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            InputError, match=r"cannot be written \(No space left on device\); the edit was not made"
        ):
            document.edit(0, lemma("b"))
        with pytest.raises(InputError, match="No space left"):
            document.save()
        monkeypatch.undo()
        assert journal_path(file).stat().st_size == size
        assert (document.sentence(0).lemmas[0], document.version) == ("a", 1)
        document.edit(0, lemma("c"))
        document.save()
    assert b"\tc\t" in file.read_bytes()
    assert sorted(p.name for p in file.parent.iterdir()) == ["a.conllu", "a.conllu.journal"]


# ---- compaction


def test_a_large_journal_loses_what_nobody_can_undo(
    file: Path, monkeypatch: pytest.MonkeyPatch, no_waiting: None
) -> None:
    monkeypatch.setattr("arcwise.annotation.document._LARGE_JOURNAL", 2000)
    with AnnotationDocument.open(file) as document:
        document.edit(0, lemma("first"))
        for k in range(40):
            document.edit(1, lemma(f"v{k}"))
            document.undo()
        document.edit(0, lemma("second"))
        document.edit(0, lemma("third"))
        document.undo()
        now = document.treebank().data
        large = journal_path(file).stat().st_size
        document.save()
        assert journal_path(file).stat().st_size < large / 4
        assert document.saved
        assert document.treebank().data == now == file.read_bytes()
    with AnnotationDocument.open(file) as document:
        assert (document.saved, document.can_redo, document.treebank().data) == (True, True, now)
        document.redo()
        assert document.sentence(0).lemmas[0] == "third"
        while document.undo():
            pass
        assert document.treebank().data == ALL.encode()
