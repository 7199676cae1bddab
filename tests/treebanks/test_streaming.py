"""A corpus larger than memory, piece by piece."""

import tracemalloc
from pathlib import Path

import pytest

from arcwise import InputError, Treebank
from arcwise.treebanks import open_output, stream
from treebanks.samples import ALL, PLAIN


@pytest.mark.parametrize("batch_bytes", [1, 7, 100, 1000, 10**6])
@pytest.mark.parametrize(
    "text", [ALL * 5, (ALL * 5).replace("\n", "\r\n"), "\n" + (ALL * 5)[:-2], "\ufeff" + ALL]
)
def test_pieces_are_whole_sentences_and_join_to_the_file(batch_bytes: int, text: str, tmp_path: Path) -> None:
    path = tmp_path / "corpus.conllu"
    path.write_bytes(text.encode())
    batches = list(stream(path, batch_bytes=batch_bytes))
    assert b"".join(b.data for b in batches) == text.encode()
    assert [s.forms for b in batches for s in b] == [s.forms for s in Treebank.read(path)]


@pytest.mark.parametrize("batch_bytes", [50, 10**6])
def test_line_numbers_go_on_from_piece_to_piece(batch_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "corpus.conllu"
    path.write_text(PLAIN * 10 + PLAIN.replace("2\tnsubj", "9\tnsubj"))
    with pytest.raises(InputError, match=rf"corpus.conllu:{6 * 10 + 3} \(one\): HEAD 9 is outside"):
        list(stream(path, batch_bytes=batch_bytes))


def test_memory_is_bounded_by_the_batch(tmp_path: Path) -> None:
    path, target = tmp_path / "large.conllu", tmp_path / "out.conllu"
    path.write_text(ALL * 12_000)  # about 12 MB
    tracemalloc.start()
    with open_output(target) as out:
        for batch in stream(path, batch_bytes=1 << 16):
            out.write(batch.annotate(heads=batch.heads).data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert target.read_bytes() == path.read_bytes()
    assert peak < 20 * (1 << 16)


def test_a_file_without_sentences(tmp_path: Path) -> None:
    path = tmp_path / "blank.conllu"
    path.write_text("\n\n\n")
    with pytest.raises(InputError, match="found no sentence"):
        list(stream(path))


@pytest.mark.parametrize("name", ["no/folder/x", "file/x", "", 300 * "x"])
def test_output_that_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError), open_output(tmp_path / name):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
