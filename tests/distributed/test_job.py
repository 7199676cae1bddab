"""Corpus jobs: the output is that of parsing record by record, for any engine and after any interruption.

Broken records are reported and do not stop a job.
"""

import gzip
import json
import lzma
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.small_corpora import (
    MODEL,
    errors,
    outputs,
    pipeline,
    rows_of,
    sentences_of,
    shards,
    texts,
    write_jsonl,
    write_packed,
)

from arcwise.distributed import CorpusOptions, TextFields, parse_corpus
from arcwise.distributed.inputs import InputFile
from arcwise.distributed.job import largest_first
from arcwise.distributed.shards import Shard
from arcwise.engine import Engine, Forks, Processes, ThisProcess
from arcwise.errors import InputError, MissingExtraError, OptionError
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank

PLAIN = CorpusOptions(model=MODEL, packing="none", shard_bytes=800)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Two files, one of them with broken lines."""
    write_jsonl(
        tmp_path / "crawl/a.jsonl.gz", [{"text": text, "id": f"doc {k}"} for k, text in enumerate(texts(30))]
    )
    lines = [{"text": text} for text in texts(40)[30:]]
    write_jsonl(tmp_path / "crawl/b.jsonl", [*lines[:3], "{", *lines[3:], {"text": 1}])
    return tmp_path / "crawl"


def expected(given: Sequence[str]) -> list[str]:
    """Each text by itself."""
    return [
        rows_of(sentence.to_conllu())
        for text in given
        for sentence in pipeline().analyse_texts([text], options=ParseOptions())[0].treebank
    ]


# ---- what is written


@pytest.mark.slow
@pytest.mark.parametrize("engine", [ThisProcess(), Forks(2), Processes(2)], ids=str)
def test_every_record_as_if_it_were_alone(engine: Engine, crawl: Path, tmp_path: Path) -> None:
    summary = parse_corpus(str(crawl), tmp_path / "out", options=PLAIN, engine=engine)
    assert sentences_of(tmp_path / "out") == expected(texts(40))
    assert (summary.records, summary.errors, summary.undone) == (40, 2, 0)
    assert summary.shards == len(list(shards(tmp_path / "out", "*.conllu"))) > 3
    words = sum(Treebank.read(path).word_count for path in shards(tmp_path / "out", "*.conllu"))
    assert summary.words == summary.words_now == words
    assert [(e["file"], e["line"]) for e in errors(tmp_path / "out")] == [
        (f"{crawl}/b.jsonl", 4),
        (f"{crawl}/b.jsonl", 12),
    ]
    assert not list((tmp_path / "out").rglob(".*"))


def test_names_are_unique_and_tell_where_a_sentence_is_from(crawl: Path, tmp_path: Path) -> None:
    options = replace(PLAIN, fields=TextFields(id="id"))
    parse_corpus(str(crawl), tmp_path / "out", options=options)
    found = [s for path in shards(tmp_path / "out", "*.conllu") for s in Treebank.read(path)]
    names = [sentence.sent_id for sentence in found]
    assert len(set(names)) == len(names)
    assert names[:3] == ["doc 0-1", "doc 1-1", "doc 1-2"]
    assert names[-1] == "b.jsonl:11-1"
    starts = [s.comments["newdoc id"] for s in found if "newdoc id" in s.comments]
    assert len(starts) == 40
    assert starts[-1] == "b.jsonl:11"


def test_text_is_parsed_by_paragraphs(tmp_path: Path) -> None:
    write_packed(tmp_path / "in/a.txt.xz", "\n\n".join(texts(20)).encode())
    parse_corpus(str(tmp_path / "in"), tmp_path / "out", options=replace(PLAIN, shard_bytes=200))
    assert sentences_of(tmp_path / "out") == expected([text + "\n\n" for text in texts(19)] + texts(20)[19:])
    found = [s for path in shards(tmp_path / "out", "*.conllu") for s in Treebank.read(path)]
    assert [s.comments.get("newdoc id") for s in found if "newdoc id" in s.comments] == ["a.txt.xz"]
    assert sum("newpar id" in s.comments for s in found) == 20
    assert len({s.sent_id for s in found}) == len(found)


def test_sentences_of_conllu_keep_what_they_have(tmp_path: Path) -> None:
    given = pipeline().analyse_texts(texts(30), options=ParseOptions())
    blank = b"".join(document.treebank.data for document in given)
    broken = blank + b"# sent_id = bad\n1\tx\n\n" + blank
    write_packed(tmp_path / "in/a.conllu.gz", broken)
    summary = parse_corpus(str(tmp_path / "in"), tmp_path / "out", options=PLAIN)
    assert summary.errors == 1
    assert errors(tmp_path / "out")[0]["line"] == blank.count(b"\n") + 2
    whole = b"".join(path.read_bytes() for path in shards(tmp_path / "out", "*.conllu"))
    assert whole == pipeline().parse(Treebank(blank), options=ParseOptions()).data * 2


@pytest.mark.parametrize(("packing", "opened"), [("gz", gzip.open), ("xz", lzma.open), ("none", open)])
def test_packed_output(packing: Any, opened: Callable[..., Any], crawl: Path, tmp_path: Path) -> None:
    parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    parse_corpus(str(crawl), tmp_path / "packed", options=replace(PLAIN, packing=packing))
    for path in shards(tmp_path / "out", "*.conllu"):
        ending = "" if packing == "none" else f".{packing}"
        with opened(tmp_path / "packed" / f"{path.name}{ending}", "rb") as stream:
            assert stream.read() == path.read_bytes()


def test_zst_output(crawl: Path, tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    parse_corpus(str(crawl), tmp_path / "out", options=replace(PLAIN, packing="zst"))
    assert sentences_of(tmp_path / "out") == expected(texts(40))


def test_json_lines(crawl: Path, tmp_path: Path) -> None:
    options = replace(PLAIN, to="jsonl", fields=TextFields(id="id"), parse=ParseOptions(confidence=True))
    parse_corpus(str(crawl), tmp_path / "out", options=options)
    written = [path.read_text("utf-8") for path in shards(tmp_path / "out", "?.jsonl*.jsonl")]
    lines = [json.loads(line) for text in written for line in text.splitlines()]
    assert [line["text"] for line in lines] == texts(40)
    assert [line["line"] for line in lines] == [*range(1, 31), 1, 2, 3, *range(5, 12)]
    assert lines[3]["id"] == "doc 3"
    word = lines[0]["sentences"][0]["words"][0]
    assert {"form", "head", "label", "head_probability"} <= word.keys()


def test_a_row_that_json_cannot_express_is_an_error_of_its_sentence(tmp_path: Path) -> None:
    """A multiword token with HEAD x ended the job, and ended it again when it was run once more."""
    row = "{}\t{}\t_\tNOUN\t_\t_\t{}\t_\t_\t_\n"
    good = row.format(1, "Birds", 0) + "\n"
    bad = row.format("1-2", "del", "x") + row.format(1, "de", 0) + row.format(2, "el", 1) + "\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.conllu").write_text(good + bad + good)
    options = replace(PLAIN, to="jsonl", shard_bytes=100_000)
    for _ in range(2):
        summary = parse_corpus(str(tmp_path / "in"), tmp_path / "out", options=options)
        assert (summary.sentences, summary.words, summary.errors) == (2, 2, 1)
    lines = [json.loads(line) for line in (tmp_path / "out/a.conllu.00000.jsonl").read_text().splitlines()]
    assert [entry["line"] for entry in lines] == [1, 7]
    (error,) = errors(tmp_path / "out")
    assert error["line"] == 3
    assert "row 1-2: found HEAD 'x', expected a number or _" in str(error["reason"])


def test_parquet_has_lists_of_words(crawl: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    sure = replace(PLAIN, parse=ParseOptions(confidence=True))
    parse_corpus(str(crawl), tmp_path / "conllu", options=sure)
    parse_corpus(str(crawl), tmp_path / "out", options=replace(sure, to="parquet"))
    rows = [
        row for path in shards(tmp_path / "out", "*.parquet") for row in parquet.read_table(path).to_pylist()
    ]
    found = [s for path in shards(tmp_path / "conllu", "*.conllu") for s in Treebank.read(path)]
    assert [row["sent_id"] for row in rows] == [s.sent_id for s in found]
    for row, sentence in zip(rows, found, strict=True):
        assert row["forms"] == sentence.forms
        assert row["heads"] == sentence.heads[1:].tolist()
        assert row["labels"] == sentence.deprels
        assert row["text"] == sentence.text
        assert row["head_probabilities"] == pytest.approx(sentence.head_probabilities)
        assert row["tree_probability"] == pytest.approx(float(sentence.comments["tree_prob"]))


def test_parquet_without_confidences_has_none(crawl: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parse_corpus(str(crawl), tmp_path / "out", options=replace(PLAIN, to="parquet"))
    table = parquet.read_table(next(shards(tmp_path / "out", "*.parquet")))
    assert table.column("head_probabilities").null_count == table.num_rows


# ---- begun again


def test_the_same_again_does_nothing_and_what_is_missing_is_done(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    first = outputs(tmp_path / "out")
    done: list[str] = []
    original = ThisProcess.map

    def watched(self: ThisProcess, work: Any, items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        found = list(items)
        done.extend(item.name for item in found if isinstance(item, Shard))
        return original(self, work, found, ordered=ordered)

    monkeypatch.setattr(ThisProcess, "map", watched)
    assert parse_corpus(str(crawl), tmp_path / "out", options=PLAIN).words_now == 0
    assert done == []
    (tmp_path / "out/b.jsonl.00000.conllu").unlink()  # the output is gone
    (tmp_path / "out/_job/done/a.jsonl.gz.00001.json").write_text("{")  # the marker is damaged
    (tmp_path / "out/a.jsonl.gz.00002.conllu").write_text("cut")  # the output is not what the marker says
    parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    assert sorted(done) == ["a.jsonl.gz.00001", "a.jsonl.gz.00002", "b.jsonl.00000"]
    assert outputs(tmp_path / "out") == first


def test_files_that_are_new_are_added(crawl: Path, tmp_path: Path) -> None:
    parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    first = outputs(tmp_path / "out")
    write_jsonl(crawl / "c.jsonl", [{"text": text} for text in texts(5)])
    parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    assert first.items() <= outputs(tmp_path / "out").items()
    assert len(outputs(tmp_path / "out")) == len(first) + 1


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"model": "en"}, "was started with model 'en-fast', not model 'en'"),
        ({"parse": ParseOptions(confidence=True)}, "was started with confidence False, not confidence True"),
        ({"to": "jsonl"}, "was started with to 'conllu', not to 'jsonl'"),
        ({"shard_bytes": 900}, "was started with shard_bytes 800"),
        ({"fields": TextFields("body")}, "was started with text 'text', not text 'body'"),
    ],
)
def test_other_options_refuse_to_mix(changed: dict[str, Any], told: str, crawl: Path, tmp_path: Path) -> None:
    parse_corpus(str(crawl / "b.jsonl"), tmp_path / "out", options=PLAIN)
    first = outputs(tmp_path / "out")
    with pytest.raises(InputError, match=told):
        parse_corpus(str(crawl / "b.jsonl"), tmp_path / "out", options=replace(PLAIN, **changed))
    assert outputs(tmp_path / "out") == first


def test_another_file_of_the_same_model_refuses_to_mix(crawl: Path, tmp_path: Path) -> None:
    from arcwise.models import shipped_models

    mine = tmp_path / "mine.arcwise"
    options = replace(PLAIN, model=str(mine))
    mine.write_bytes(shipped_models()["en-fast"].read_bytes())
    parse_corpus(str(crawl / "b.jsonl"), tmp_path / "out", options=options)
    mine.write_bytes(shipped_models()["en"].read_bytes())
    with pytest.raises(InputError, match="started with another model file"):
        parse_corpus(str(crawl / "b.jsonl"), tmp_path / "out", options=options)
    parse_corpus(str(crawl / "b.jsonl"), tmp_path / "out", options=replace(options, overwrite=True))
    parse_corpus(str(crawl / "b.jsonl"), tmp_path / "new", options=options)
    assert outputs(tmp_path / "out") == outputs(tmp_path / "new")


def test_input_that_changed_is_told_and_done_again_if_asked(crawl: Path, tmp_path: Path) -> None:
    parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    write_jsonl(crawl / "b.jsonl", [{"text": text} for text in texts(44)[34:]])
    with pytest.raises(InputError, match=r"b\.jsonl: has changed since it was parsed into"):
        parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    parse_corpus(str(crawl), tmp_path / "out", options=replace(PLAIN, overwrite=True))
    parse_corpus(str(crawl), tmp_path / "new", options=PLAIN)
    assert outputs(tmp_path / "out") == outputs(tmp_path / "new")


def test_one_job_at_a_time(crawl: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "out/_job").mkdir(parents=True)
    with (tmp_path / "out/_job/lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another job is writing there"):
            parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)
    parse_corpus(str(crawl), tmp_path / "out", options=PLAIN)


# ---- what is broken


def test_too_many_errors_stop_the_job_and_what_is_done_is_kept(crawl: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found 2 broken records, more than max_errors 1"):
        parse_corpus(str(crawl), tmp_path / "out", options=replace(PLAIN, max_errors=1))
    assert len(errors(tmp_path / "out")) == 2
    summary = parse_corpus(str(crawl), tmp_path / "out", options=replace(PLAIN, max_errors=2))
    assert summary.errors == 2
    assert summary.words_now < summary.words


def test_files_that_cannot_be_read_are_errors(crawl: Path, tmp_path: Path) -> None:
    (crawl / "c.jsonl.gz").write_bytes(b"no gz at all")
    (tmp_path / "names").write_text(f"{crawl}/gone.txt\n")
    given = [str(crawl / "c.jsonl.gz"), str(crawl / "b.jsonl"), f"@{tmp_path}/names"]
    summary = parse_corpus(given, tmp_path / "out", options=PLAIN)
    assert summary.records == 10
    assert [(Path(str(e["file"])).name, e["line"]) for e in errors(tmp_path / "out")] == [
        ("b.jsonl", 4),
        ("b.jsonl", 12),
        ("c.jsonl.gz", 1),
        ("gone.txt", 0),
    ]


def test_a_record_that_the_parser_refuses_is_an_error(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = type(pipeline()).analyse_texts

    def moody(self: Any, given: Sequence[str], **options: Any) -> Any:
        if any("Rome" in text for text in given):
            raise ValueError("not Rome again")
        return original(self, given, **options)

    monkeypatch.setattr(type(pipeline()), "analyse_texts", moody)
    assert any("Rome" in text for text in texts(40))
    summary = parse_corpus(str(crawl / "a.jsonl.gz"), tmp_path / "out", options=PLAIN)
    refused = [number for number, text in enumerate(texts(30), 1) if "Rome" in text]
    assert [e["line"] for e in errors(tmp_path / "out")] == refused
    assert "not Rome again" in str(errors(tmp_path / "out")[0]["reason"])
    assert summary.records == 30 - len(refused)


# ---- checked before the work


@pytest.mark.parametrize(
    ("changed", "kind", "told"),
    [
        ({"to": "xml"}, OptionError, "to: found 'xml', expected one of conllu, jsonl, parquet"),
        ({"packing": "zip"}, OptionError, "packing: found 'zip'"),
        ({"format": "html"}, OptionError, "format: found 'html', expected one of text, jsonl"),
        ({"threads": 0}, OptionError, "threads: found 0, expected a whole number of at least 1"),
        ({"shard_bytes": 0}, OptionError, "shard_bytes: found 0"),
        ({"max_errors": -1}, OptionError, "max_errors: found -1"),
    ],
)
def test_options_are_checked(changed: dict[str, Any], kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        replace(PLAIN, **changed)


def test_a_library_that_is_missing_is_told_first(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "arcwise.optional.is_installed", lambda library: library not in ("pyarrow", "zstandard")
    )
    with pytest.raises(MissingExtraError, match="pyarrow"):
        parse_corpus(str(crawl), tmp_path / "out", options=replace(PLAIN, to="parquet"))
    with pytest.raises(MissingExtraError, match="zstandard"):
        parse_corpus(str(crawl), tmp_path / "out", options=replace(PLAIN, packing="zst"))
    assert not (tmp_path / "out").exists()


def test_the_output_is_none_of_the_input(crawl: Path) -> None:
    with pytest.raises(InputError, match="contains input"):
        parse_corpus(str(crawl), crawl, options=PLAIN)


def test_raw_text_needs_a_pipeline(crawl: Path, tmp_path: Path) -> None:
    pipeline().parser.save(tmp_path / "parser.arcwise")
    options = replace(PLAIN, model=str(tmp_path / "parser.arcwise"))
    with pytest.raises(InputError, match="which needs CoNLL-U"):
        parse_corpus(str(crawl), tmp_path / "out", options=options)


def test_the_largest_shards_come_first() -> None:
    file = InputFile("a", "/a", "a", "text")
    made = [
        Shard(file, number, 0, size, 1, size, "", 100)
        for number, size in enumerate([100, 90, 500, 100, 900, 10])
    ]
    assert [shard.number for shard in largest_first(made)] == [4, 2, 0, 1, 3, 5]
