"""Sharding of files: complete, without overlap, at record ends, and independent of the compression."""

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distributed.small_corpora import texts, write_jsonl, write_packed

from arcwise.distributed.inputs import InputFormat, find_inputs
from arcwise.distributed.parse_shard import ChangedInputError, ShardReader
from arcwise.distributed.records import BrokenRecord, Record, TextRecord, TreebankRecord, records_in
from arcwise.distributed.shards import FilePlan, PlanFile, first_end
from arcwise.pipeline.text_fields import TextFields

NO_ZST = pytest.param(".zst", marks=[])


def plan_of(path: Path, size: int, *, fields: TextFields = TextFields()) -> FilePlan:
    [file] = find_inputs([str(path)])
    return PlanFile(path.parent / "plans", fields, size)(file)


def read(plan: FilePlan, *, fields: TextFields = TextFields()) -> list[Record]:
    reader = ShardReader(fields)
    return [record for shard in plan.shards for record in reader.records(shard)]


def conllu(count: int) -> bytes:
    rows = ["1\tBirds\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_", "2\tsing\t_\tVERB\t_\t_\t0\troot\t_\t_"]
    return b"".join(f"# sent_id = s{n}\n{rows[0]}\n{rows[1]}\n\n".encode() for n in range(count))


# ---- cutting


@pytest.mark.parametrize("packing", ["", ".gz", ".xz", ".zst"])
def test_lines_of_json_however_packed(packing: str, tmp_path: Path) -> None:
    if packing == ".zst":
        pytest.importorskip("zstandard")
    lines = [{"text": text} for text in texts(100)]
    plan = plan_of(write_jsonl(tmp_path / f"a.jsonl{packing}", lines), 1000)
    assert len(plan.shards) > 3
    assert not plan.broken
    assert [shard.start for shard in plan.shards[1:]] == [shard.end for shard in plan.shards[:-1]]
    found = read(plan)
    assert [r.text for r in found if isinstance(r, TextRecord)] == texts(100)
    assert [r.line for r in found] == list(range(1, 101))
    plain = plan_of(write_jsonl(tmp_path / "a.jsonl", lines), 1000)
    assert [s.sha256 for s in plan.shards] == [s.sha256 for s in plain.shards]


@given(st.lists(st.text("ab \n\r\té", max_size=30), max_size=30), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_text_is_cut_without_loss(parts: list[str], size: int) -> None:
    data = "".join(parts).encode()
    pieces, rest = [], data
    while len(rest) > size and (end := first_end(rest, size, "text")) is not None:
        pieces.append(rest[:end])
        rest = rest[end:]
    assert b"".join([*pieces, rest]) == data
    for piece in pieces:
        piece.decode()


@given(st.lists(st.sampled_from(["a b", "c", "", "  ", "\t", "d e f"]), max_size=40))
@settings(max_examples=100, deadline=None)
def test_paragraphs_and_their_lines_as_a_reader_counts_them(lines: list[str]) -> None:
    wanted, paragraph = [], []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            paragraph.append((number, line))
        elif paragraph:
            wanted.append((paragraph[0][0], "\n".join(text for _, text in paragraph).split()))
            paragraph = []
    found = records_in("\n".join(lines).encode(), "text", first_line=1, fields=TextFields())
    assert [(r.line, r.text.split()) for r in found if isinstance(r, TextRecord)] == wanted


def test_sentences_stay_whole_and_have_their_lines(tmp_path: Path) -> None:
    plan = plan_of(write_packed(tmp_path / "a.conllu.gz", conllu(100)), 100)
    assert len(plan.shards) > 3
    found = read(plan)
    assert sum(len(r.treebank) for r in found if isinstance(r, TreebankRecord)) == 100
    lines = conllu(100).decode().splitlines()
    for record in found:
        assert isinstance(record, TreebankRecord)
        assert lines[record.line - 1] == f"# sent_id = {record.treebank[0].sent_id}"


def test_parquet_by_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    table = pyarrow.table(
        {"body": [*texts(50), None], "name": [f"n{k}" for k in range(51)], "other": range(51)}
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=7)
    fields = TextFields("body", "name")
    plan = plan_of(tmp_path / "a.parquet", 300, fields=fields)
    assert len(plan.shards) > 3
    found = read(plan, fields=fields)
    assert found[:50] == [TextRecord(k + 1, text, f"n{k}") for k, text in enumerate(texts(50))]
    assert found[50] == BrokenRecord(51, "the text is null, not a string")
    assert "no column 'text'" in plan_of(tmp_path / "a.parquet", 300).broken[0].reason


def test_a_long_line_is_one_shard_and_an_endless_text_many(tmp_path: Path) -> None:
    long = write_jsonl(tmp_path / "a.jsonl", [{"text": "x"}, {"text": "y " * 5000}, {"text": "z"}])
    assert [shard.size > 5000 for shard in plan_of(long, 1000).shards] == [True, False]
    endless = write_packed(tmp_path / "b.txt", "é".encode() * 600_000)
    plan = plan_of(endless, 1000)
    assert len(plan.shards) > 2
    assert all(isinstance(record, TextRecord) for record in read(plan))


# ---- planning again


def test_a_plan_is_kept_until_the_file_or_the_size_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": text} for text in texts(20)])
    first = plan_of(path, 200)
    with monkeypatch.context() as patched:
        patched.setattr("arcwise.distributed.shards.open_input", None)  # it would be read by this
        assert plan_of(path, 200) == first
    assert plan_of(path, 500) != first
    write_jsonl(path, [{"text": text} for text in texts(21)])
    assert sum(s.size for s in plan_of(path, 200).shards) > sum(s.size for s in first.shards)


def test_a_file_that_changes_under_way_is_noticed(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl.gz", [{"text": text} for text in texts(20)])
    plan = plan_of(path, 200)
    write_jsonl(path, [{"text": text.upper()} for text in texts(20)])
    with pytest.raises(ChangedInputError, match="has changed"):
        read(plan)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ChangedInputError):
        read(plan)


def test_shards_in_any_order(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl.gz", [{"text": text} for text in texts(50)])
    plan = plan_of(path, 200)
    reader = ShardReader(TextFields())
    shuffled = list(plan.shards)
    random.Random(1).shuffle(shuffled)
    found = {shard.number: list(reader.records(shard)) for shard in shuffled}
    assert [record for number in sorted(found) for record in found[number]] == read(plan)


# ---- what is broken


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "is not valid JSON"),
        (b"[1]", "is a list, not a JSON object"),
        (b'{"title": "a"}', "no field 'text' (fields: title)"),
        (b'{"text": null}', "field 'text' is null, not a string"),
        (b'{"text": "\xff"}', "found byte 0xff at offset 10, expected UTF-8"),
        (b'{"text": "a", "id": [1]}', "the document name is a list"),
        (b"[" * 100_000, "is not valid JSON"),
    ],
)
def test_a_broken_line_says_what_is_wrong(line: bytes, told: str) -> None:
    data = b'{"text": "a"}\n' + line + b'\n{"text": "b"}\n'
    found = list(records_in(data, "jsonl", first_line=7, fields=TextFields(id="id")))
    assert [record.line for record in found] == [7, 8, 9]
    assert isinstance(found[1], BrokenRecord)
    assert found[1].reason.startswith(told)


def test_a_lone_surrogate_and_a_zero_are_replaced() -> None:
    [record] = records_in(
        json.dumps({"text": "a\ud800\x00b"}).encode(), "jsonl", first_line=1, fields=TextFields()
    )
    assert record == TextRecord(1, "a?\ufffdb")


def test_a_broken_sentence_leaves_the_others() -> None:
    data = conllu(2) + b"1\tx\n\n" + conllu(2)
    found = list(records_in(data, "conllu", first_line=1, fields=TextFields()))
    assert [r.line for r in found if isinstance(r, TreebankRecord)] == [1, 5, 11, 15]
    [broken] = [r for r in found if isinstance(r, BrokenRecord)]
    assert broken.line == 9
    assert "column" in broken.reason or "field" in broken.reason


@pytest.mark.parametrize("packing", [".gz", ".xz", ".zst"])
def test_a_file_that_is_cut_off_is_parsed_as_far_as_it_goes(packing: str, tmp_path: Path) -> None:
    if packing == ".zst":
        pytest.importorskip("zstandard")
    draw = random.Random(1)
    lines = [{"text": " ".join(draw.choices(texts(30), k=3)), "noise": draw.random()} for _ in range(5000)]
    path = write_jsonl(tmp_path / f"a.jsonl{packing}", lines)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    plan = plan_of(path, 100_000)
    found = read(plan)
    assert 1000 < len(found) < 5000
    assert not any(isinstance(record, BrokenRecord) for record in found)
    assert "is not an intact" in plan.broken[0].reason
    assert plan.broken[0].line > len(found) // 2


def test_a_file_that_is_no_gz_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(b"hello, this is no gz file at all")
    plan = plan_of(path, 100)
    assert not plan.shards
    assert len(plan.broken) == 1
    [file] = find_inputs([str(path)])
    path.unlink()
    assert "cannot be read" in PlanFile(tmp_path / "plans")(file).broken[0].reason


def test_several_frames_of_zst(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    data = [(json.dumps({"text": text}) + "\n").encode() for text in texts(50)]
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"".join(zstandard.ZstdCompressor().compress(line) for line in data))
    assert len(read(plan_of(path, 500))) == 50
    (tmp_path / "b.jsonl.gz").write_bytes(b"".join(gzip.compress(line) for line in data))
    assert len(read(plan_of(tmp_path / "b.jsonl.gz", 500))) == 50


FORMATS: list[InputFormat] = ["text", "jsonl", "conllu"]


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_file_has_no_shard(format: InputFormat, tmp_path: Path) -> None:
    path = write_packed(tmp_path / {"text": "a.txt", "jsonl": "a.jsonl", "conllu": "a.conllu"}[format], b"")
    assert plan_of(path, 10).shards == ()
