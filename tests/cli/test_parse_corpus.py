"""``arcwise parse --in … --out …`` from the command line."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.distributed.small_corpora import (
    MODEL,
    errors,
    outputs,
    sentences_of,
    shards,
    texts,
    write_jsonl,
    write_packed,
)

from arcwise.cli.main import run
from arcwise.optional import is_installed

Output = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_jsonl(
        tmp_path / "crawl/a.jsonl.gz", [{"body": text, "key": f"k{n}"} for n, text in enumerate(texts(20))]
    )
    write_jsonl(
        tmp_path / "crawl/b.jsonl.gz", [{"body": text, "key": f"l{n}"} for n, text in enumerate(texts(20))]
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def corpus(*more: str, out: str = "parsed", workers: str = "1") -> list[str]:
    given = [
        "--in",
        "crawl/*.jsonl.gz",
        "--out",
        out,
        "--text-field",
        "body",
        "--model",
        MODEL,
        "--workers",
        workers,
    ]
    return ["parse", *given, "--shard-size", "0.001", *more]


@pytest.mark.slow
def test_a_glob_into_a_folder_by_workers(here: Path, capsys: Output) -> None:
    assert run(corpus(workers="2")) == 0
    told = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"[\d,]+ words, 78 sentences, 40 records in \d+ shards", told[-1])
    progress = r"(\d+) of \1 shards, [\d,]+ words, [\d,]+ words/s, 0 s left, 0 errors"
    assert re.fullmatch(progress, told[-2])
    assert run(corpus(out="alone")) == 0
    assert outputs(here / "parsed") == outputs(here / "alone")
    assert all(path.suffix == ".gz" for path in shards(here / "parsed", "*.conllu*"))
    assert run(corpus()) == 0
    assert "shards are done" in capsys.readouterr().err


@pytest.mark.slow
def test_options_of_the_parse_and_of_the_output(here: Path) -> None:
    assert run(corpus("--confidence", "--id-field", "key", "--compress", "none")) == 0
    first = next(shards(here / "parsed", "*.conllu")).read_text()
    assert first.startswith("# newdoc id = k0\n# sent_id = k0-1\n")
    assert "HeadProb=" in first
    assert run(corpus("--to", "json", "--compress", "none", out="json")) == 0
    assert len(list(shards(here / "json", "*.00000.jsonl"))) == 2
    if is_installed("pyarrow"):
        assert run(corpus("--to", "parquet", out="parquet")) == 0
        assert len(list(shards(here / "parquet", "*.00000.parquet"))) == 2


def test_text_and_conllu_and_several_times_in(here: Path) -> None:
    write_packed(here / "book.txt.xz", b"Birds sing.\n\nDogs bark.\n")
    write_packed(
        here / "trees.conllu", b"1\tBirds\t_\t_\t_\t_\t_\t_\t_\t_\n2\tsing\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    given = [
        "parse",
        "--in",
        "book.txt.xz",
        "--in",
        "trees.conllu",
        "--out",
        "parsed",
        "--model",
        MODEL,
        "--workers",
        "1",
    ]
    assert run(given) == 0
    assert len(sentences_of(here / "parsed")) == 3


def test_broken_records_end_with_status_1(here: Path, capsys: Output) -> None:
    write_jsonl(here / "crawl/c.jsonl.gz", ["{", {"body": "Birds sing."}, "[]"])
    assert run(corpus()) == 1
    assert "; 2 broken: parsed/errors.jsonl" in capsys.readouterr().err
    assert [e["file"] for e in errors(here / "parsed")] == ["crawl/c.jsonl.gz"] * 2
    assert run(corpus("--max-errors", "1", out="few")) == 2
    told = capsys.readouterr().err
    assert "few/errors.jsonl: found 2 broken records, more than max_errors 1" in told
    assert run(corpus("--max-errors", "2", out="few")) == 1


def test_a_row_that_json_cannot_express_stops_no_job(here: Path, capsys: Output) -> None:
    """A multiword token with HEAD x ended it with a traceback, and again when it was run once more."""
    row = "{}\t{}\t_\tNOUN\t_\t_\t{}\t_\t_\t_\n"
    good = row.format(1, "Birds", 0) + "\n"
    bad = row.format("1-2", "del", "x") + row.format(1, "de", 0) + row.format(2, "el", 1) + "\n"
    (here / "rows").mkdir()
    (here / "rows/a.conllu").write_text(good + bad + good)
    for again in (False, True):
        assert run(["parse", "--in", "rows", "--out", "parsed", "--to", "json"]) == 1
        told = capsys.readouterr().err
        assert "Traceback" not in told
        assert "1 broken: parsed/errors.jsonl" in told, again
    assert [e["line"] for e in errors(here / "parsed")] == [3]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--in", "crawl"], "--in: needs --out"),
        (["--out", "parsed"], "--out: needs --in"),
        (["--in", "crawl", "--out", "parsed", "a.txt"], "no such file"),
        (["--in", "crawl", "--out", "parsed", "--text", "a"], "--in: cannot be combined with files"),
        (["--in", "crawl", "--out", "parsed", "--show"], "--in: cannot be combined with files"),
        (["--in", "nowhere", "--out", "parsed"], "nowhere: no such file"),
        (["--in", "*.none", "--out", "parsed"], "no file matches the pattern"),
        (
            ["--in", "crawl", "--out", "parsed", "--to", "xml"],
            "--to: found 'xml', expected one of conllu, json",
        ),
        (["--in", "crawl", "--out", "parsed", "--compress", "zip"], "found 'zip'"),
        (["--in", "crawl", "--out", "parsed", "--format", "html"], "--format: found 'html'"),
        (
            ["--in", "crawl", "--out", "parsed", "--engine", "spark"],
            "--engine: found 'spark', expected local or ray",
        ),
        (["--in", "crawl", "--out", "parsed", "--address", "auto"], "only the engine ray takes an address"),
        (["--in", "crawl", "--out", "parsed", "--model", "nothing"], "nothing: no such model"),
        (["--in", "crawl", "--out", "parsed", "--workers", "0"], "workers"),
        (["--in", "crawl", "--out", "crawl"], "contains input"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_before_the_work(
    arguments: list[str], told: str, here: Path, capsys: Output
) -> None:
    assert run(["parse", *arguments]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not (here / "parsed").exists()


def test_another_model_refuses_to_mix_unless_told_to_overwrite(here: Path, capsys: Output) -> None:
    assert run(corpus("--compress", "none")) == 0
    again = [word if word != MODEL else "en" for word in corpus("--compress", "none")]
    assert run(again) == 2
    assert "parsed: was started with model 'en-fast', not model 'en'" in capsys.readouterr().err
    assert run([*again, "--overwrite"]) == 0


def test_ray_that_is_not_installed_is_told(
    here: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arcwise.optional.is_installed", lambda library: library not in ("ray", "pip"))
    assert run(corpus("--engine", "ray")) == 2
    said = capsys.readouterr().err
    assert "this needs ray, which is not installed" in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_done_and_the_same_command_goes_on(here: Path) -> None:
    write_jsonl(here / "crawl/big.jsonl.gz", [{"body": text} for text in texts(15000)])
    job = subprocess.Popen(
        [sys.executable, "-m", "arcwise", *corpus(workers="2")],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whatever we were started with
    )
    until = time.monotonic() + 60
    while not list(here.glob("parsed/_job/done/*.json")) and time.monotonic() < until:
        time.sleep(0.02)
    job.send_signal(signal.SIGINT)
    assert b"stopped" in job.communicate()[1]
    assert job.returncode == 130
    assert list(here.glob("parsed/_job/done/*.json"))
    assert (here / "parsed/errors.jsonl").exists()
    assert not list(here.rglob(".*.part"))
