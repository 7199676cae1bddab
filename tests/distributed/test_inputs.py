"""What is read: files, folders, globs and lists; what is not there is told."""

from pathlib import Path

import pytest

from arcwise.distributed.inputs import find_inputs
from arcwise.errors import InputError


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    for name in ("a.jsonl.gz", "b.txt", "deep/er/c.conllu.xz", "deep/d.parquet", ".hidden", "_job/x.json"):
        path = tmp_path / "crawl" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "crawl"


def test_a_folder_has_all_files_below_it_but_hidden_ones(crawl: Path) -> None:
    found = find_inputs([str(crawl)])
    assert [(file.name, file.format) for file in found] == [
        ("a.jsonl.gz", "jsonl"),
        ("b.txt", "text"),
        ("deep/d.parquet", "parquet"),
        ("deep/er/c.conllu.xz", "conllu"),
    ]


def test_a_glob_and_a_list_and_files_each_once(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (crawl.parent / "names").write_text(f"{crawl}/b.txt\n\n{crawl}/gone.txt\n")
    found = find_inputs([f"{crawl}/**/*.parquet", f"@{crawl.parent}/names", f"{crawl}/b.txt"])
    assert [file.name for file in found] == ["b.txt", "deep/d.parquet", "gone.txt"]
    monkeypatch.chdir(crawl)
    [file] = find_inputs(["*.txt"])
    assert (file.path, file.absolute_path, file.name) == ("b.txt", str(crawl / "b.txt"), "b.txt")


def test_the_format_that_is_asked_for_holds_for_all(crawl: Path) -> None:
    assert {file.format for file in find_inputs([str(crawl)], format="text")} == {"text"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nowhere.txt", "no such file"),
        ("*.nothing", "no file matches the pattern"),
        ("@nowhere", "cannot be read as a list"),
        ("@empty", "the list of files is empty"),
        ("folder", "the folder contains no files"),
    ],
)
def test_what_is_not_there_is_told(
    given: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=told):
        find_inputs([given])


def test_nothing_at_all() -> None:
    with pytest.raises(InputError, match="expected at least one file"):
        find_inputs([])


def test_names_are_those_below_the_common_folder(tmp_path: Path) -> None:
    for name in ("x/one/a.txt", "x/two/a.txt"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    names = [file.name for file in find_inputs([str(tmp_path / "x/one/a.txt"), str(tmp_path / "x/two")])]
    assert names == ["one/a.txt", "two/a.txt"]
