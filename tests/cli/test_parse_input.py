"""``arcwise parse`` with all kinds of input: what is cut already stays cut, several files are one stream, a
broken one stops none."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.treebanks import Treebank
from arcwise.treebanks.json_format import json_schema
from treebanks.json_schema_check import violations

Parse = Callable[..., Treebank]
Captured = pytest.CaptureFixture[bytes]

TAGGED = "1\tBirds\t_\tX\t_\t_\t_\t_\t_\t_\n2\tsing\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch, capsysbinary: Captured) -> Parse:
    def parsed(*arguments: str, given: str | bytes = b"", status: int = 0) -> Treebank:
        data = given.encode() if isinstance(given, str) else given
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert run(["parse", "--model", "en-fast", *arguments]) == status
        return Treebank(capsysbinary.readouterr().out)

    return parsed


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of texts in the working folder: ``my texts``."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my texts"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("Birds sing. Fish swim.")
    (folder / "more" / "b.txt").write_text("Dogs bark.\n\nCats sleep.")
    return folder


# ---- input that is cut already


def test_one_sentence_a_line(parse: Parse) -> None:
    found = parse("--format", "lines", given="\ufeffBirds sing. Fish swim.\r\n\n  \nthey're\nhere")
    assert [s.forms for s in found] == [
        ["Birds", "sing", ".", "Fish", "swim", "."],
        ["they", "'re"],
        ["here"],
    ]
    assert [s.sent_id for s in found] == ["1", "2", "3"]
    assert [s.text for s in found] == ["Birds sing. Fish swim.", "they're", "here"]
    assert [row[0] for row in found[1].rows] == ["1-2", "1", "2"]
    assert found[0].misc[3].endswith("TokenRange=12:16")
    assert all((s.heads[1:] >= 0).all() and list(s.heads).count(0) == 1 for s in found)


def test_words_with_blanks_between(parse: Parse) -> None:
    found = parse("--format", "tokens", given="They 're here.  \n\nNew\xa0York\tsleeps , etc. .\r\n")
    assert [s.forms for s in found] == [["They", "'re", "here."], ["New York", "sleeps", ",", "etc.", "."]]
    assert [s.text for s in found] == ["They 're here.", "New York sleeps , etc. ."]
    assert all(tag != "_" for s in found for tag in s.upos)


@pytest.mark.parametrize("form", ["lines", "tokens", "json"])
def test_what_is_no_utf8(form: str, parse: Parse) -> None:
    lines = {"json": b'{"text": "Birds \xff sing"}\n'}.get(form, b"Birds \xff sing\n")
    found = parse("--format", form, "--errors", "replace", given=lines)
    assert found[0].forms == ["Birds", "\ufffd", "sing"]
    parse("--format", form, given=lines, status=1 if form == "json" else 2)


def test_given_tags_stay(parse: Parse) -> None:
    for form, given in {
        "conllu": TAGGED,
        "json": '{"words": [{"form": "Birds", "upos": "X"}, {"form": "sing"}]}',
    }.items():
        found = parse("--format", form, "--keep", "upos", given=given)
        assert found[0].upos[0] == "X"
        assert found[0].upos[1] != "_"
        assert parse("--format", form, given=given)[0].upos == ["NOUN", "VERB"]


def test_a_parser_without_a_tokenizer_takes_words(tmp_path: Path, parse: Parse) -> None:
    import arcwise

    model = str(tmp_path / "graph.arcwise")
    arcwise.load("en-fast").parser.save(model)
    found = parse("--model", model, "--format", "tokens", given="Birds sing\n")
    assert found[0].forms == ["Birds", "sing"]
    assert (found[0].heads[1:] >= 0).all()
    for form, given in {"lines": "Birds sing\n", "json": '{"text": "Birds sing"}\n'}.items():
        parse("--model", model, "--format", form, given=given, status=2)


# ---- JSON lines


def test_json_of_a_text_is_a_line_for_each_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "parse",
                "--model",
                "en-fast",
                "--to",
                "json",
                "--confidence",
                "--text",
                "Birds sing. Fish swim.",
            ]
        )
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    found = [json.loads(line) for line in lines]
    assert [sentence["text"] for sentence in found] == ["Birds sing.", "Fish swim."]
    assert found[1]["words"][0]["start"] == 12
    assert run(["parse", "--model", "en-fast", "--confidence", "--text", "Birds sing. Fish swim."]) == 0
    assert "".join(Treebank.from_json(s).text for s in found) == capsys.readouterr().out


def test_json_in_json_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"body": "Birds sing. Fish swim.", "id": "a", "by": ["me"]},
        {"body": "", "id": "b"},
        {"sentences": [{"words": [{"form": "Go"}, {"form": "on"}]}], "id": "c"},
        {"body": "half of a pair: \ud800", "by": "\ud800"},
    ]
    given = "\n\n".join(json.dumps(line) for line in lines)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    assert (
        run(["parse", "--model", "en-fast", "--format", "json", "--to", "json", "--text-field", "body"]) == 0
    )
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[len(s["words"]) for s in line["sentences"]] for line in found[:3]] == [[3, 3], [], [2]]
    assert [line.get("id") for line in found] == ["a", "b", "c", None]
    assert found[0]["by"] == ["me"]
    assert found[3]["by"] == "\ud800"
    schema = json_schema()
    assert [*violations(found[0], schema, schema), *violations(found[2], schema, schema)] == []


@pytest.mark.parametrize("k_best", ["1", "2"])
def test_documents_that_are_cut_are_parsed_together_as_alone(
    k_best: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (["Birds", "sing"], ["I", "saw", "her", "duck"], ["Go"])
    sentences = [{"words": [{"form": form} for form in own]} for own in words]
    lines = [*sentences, {"sentences": sentences}, {"sentences": []}, sentences[0]]
    command = ["parse", "--model", "en", "--format", "json", "--to", "json", "--k-best", k_best]
    found = []
    for given in (["\n".join(map(json.dumps, lines))], [json.dumps(line) for line in lines]):
        for part in given:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(part.encode())))
            assert run(command) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    objects = [json.loads(line) for line in found[0].splitlines()]
    assert len(objects) == len(lines)
    assert ["words" in own for own in objects[:3]] == [
        k_best == "1",
        k_best == "1",
        True,
    ]  # one word has one tree
    assert len(objects[3]["sentences"]) >= 3


def test_documents_of_json_as_conllu(parse: Parse) -> None:
    lines = (
        '{"id": "a b", "text": "Birds sing."}\n{"id": "a b", "text": "Fish swim."}\n{"text": "Dogs bark."}\n'
    )
    found = parse("--format", "json", "--id-field", "id", given=lines)
    assert [s.comments["newdoc id"] for s in found] == ["a b", "a b", "3"]
    assert [s.sent_id for s in found] == ["a_b-1", "a_b-2-1", "3-1"]


def test_a_file_of_json_lines_is_known_by_its_name(texts: Path, parse: Parse) -> None:
    (texts.parent / "x.jsonl").write_text('{"text": "Birds sing."}\n')
    assert parse("x.jsonl")[0].text == "Birds sing."


# ---- several files


def test_several_files_are_one_stream(texts: Path, parse: Parse) -> None:
    (texts / "c.conllu").write_text(f"# sent_id = x\n{TAGGED}" * 2)
    (texts / "d.conllu").write_bytes(
        b"\xef\xbb\xbf"
        + f"# newdoc id = mine\n# sent_id = x\n{TAGGED}# sent_id = y\n{TAGGED}".rstrip().encode()
    )
    found = parse("my texts", "my texts/a.txt", "-", given="And me.")
    named = [(s.comments.get("newdoc id"), s.sent_id) for s in found]
    assert named == [
        ("my texts/a.txt", "my_texts_a.txt-1"),
        (None, "my_texts_a.txt-2"),
        ("my texts/c.conllu", "x"),
        (None, "x"),  # what a file says twice itself is left to 'arcwise validate'
        ("mine", "my_texts_d.conllu-x"),
        (None, "y"),
        ("my texts/more/b.txt", "my_texts_more_b.txt-1"),
        (None, "my_texts_more_b.txt-2"),
        ("my texts/a.txt", "my_texts_a.txt-2-1"),
        (None, "my_texts_a.txt-2-2"),
        ("standard-input", "standard-input-1"),
    ]


def test_one_file_keeps_its_numbers(texts: Path, parse: Parse) -> None:
    found = parse("my texts/a.txt")
    assert [s.sent_id for s in found] == ["1", "2"]
    assert "newdoc" not in found.text


def test_files_into_a_folder(texts: Path, parse: Parse) -> None:
    files = ["my texts/a.txt", "my texts/more/b.txt", "-"]
    parse(*files, "-o", "new/trees/", given="And me.")
    names = sorted(p.name for p in Path("new/trees").iterdir())
    assert names == ["a.txt.conllu", "b.txt.conllu", "standard-input.conllu"]
    assert Treebank.read("new/trees/a.txt.conllu")[0].sent_id == "1"
    parse(*files, "-o", "new/trees/", status=2)  # they are there already
    parse("my texts", "-o", "lines/", "--to", "json")
    assert json.loads(Path("lines/more/b.txt.jsonl").read_text().splitlines()[1])["text"] == "Cats sleep."
    Path("a.txt").write_text("Other birds.")
    parse("a.txt", "my texts/a.txt", "-o", "other/", status=2)  # both would have the same name
    parse("--text", "Hi", "-o", "other/", status=2)
    parse("a.txt", "-o", "a.txt/", status=2)  # is a file
    assert not Path("other").exists()


@pytest.mark.parametrize("output", ["-", "all.conllu", "trees/", "page.html"])
def test_a_broken_file_stops_no_other(output: str, texts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = {
        "b.txt": b"Birds sing. " * 5 + b"\xff",
        "c.conllu": TAGGED.encode() + b"1\tno\tcolumns\n\n",
        "d.gz": b"no gzip",
    }
    for name, data in broken.items():
        (texts / name).write_bytes(data)
    where = ["--html", output] if output.endswith("html") else ["-o", output]
    files = ["my texts"]
    if output == "all.conllu":  # files that were named are treated alike
        files = [f"my texts/{name}" for name in ("a.txt", *broken, "more/b.txt")]
    assert run(["parse", "--model", "en-fast", *files, *where]) == 1
    told = capfd.readouterr()
    lines = told.err.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("arcwise: my texts/b.txt: found byte 0xff at offset 60")
    assert lines[1].startswith("arcwise: my texts/c.conllu:4")
    assert lines[2].startswith("arcwise: my texts/d.gz: cannot be read")
    assert lines[3] == (
        "arcwise: 3 of 5 files could not be parsed: my texts/b.txt, my texts/c.conllu, my texts/d.gz"
    )
    if output == "trees/":
        assert sorted(p.name for p in Path("trees").rglob("*.*")) == ["a.txt.conllu", "b.txt.conllu"]
    elif output != "page.html":
        found = Treebank(told.out.encode()) if output == "-" else Treebank.read(output)
        assert [s.text for s in found] == ["Birds sing.", "Fish swim.", "Dogs bark.", "Cats sleep."]


def test_one_broken_file_alone_is_bad_input(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (texts / "b.txt").write_bytes(b"\xff")
    assert run(["parse", "--model", "en-fast", "my texts/b.txt"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_was_asked_for_holds_for_all_files(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parse", "--model", "en", "my texts", "--beam", "4"]) == 2
    assert capsys.readouterr().err.startswith("arcwise: --beam: found 4")


# ---- options


def test_a_sentence_of_any_length(parse: Parse) -> None:
    words = " ".join(["birds", "sing", ","] * 30)
    found = parse("--model", "en", "--format", "tokens", "--max-words", "20", given=f"{words}\nFish swim\n")
    assert "parsed in" in found[0].comments["parse_note"]
    assert "parse_note" not in found[1].comments
    assert list(found[0].heads).count(0) == 1
    assert (found[0].heads[1:] >= 0).all()


def test_ten_thousand_words_in_one_sentence(parse: Parse) -> None:
    rows = "".join(f"{i}\tword{8 * (chr(9) + '_')}\n" for i in range(1, 10_001))
    (sentence,) = parse("--model", "en", "--confidence", given=rows + "\n")
    assert sentence.comments["parse_note"].startswith("10000 words, more than max_words=1000: parsed in")
    assert len(sentence) == 10_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--format", "words"],
            "--format: found 'words', expected one of auto, text, lines, tokens, conllu, json",
        ),
        (["--to", "xml"], "--to: found 'xml', expected one of conllu, json"),
        (["--to", "json", "--show"], "--to: cannot be combined with --show"),
        (["--to", "json", "--html", "x.html"], "--to: cannot be combined with --html"),
        (["--max-words", "0"], "--max-words"),
        (["--in", "x", "--out", "y", "--immediate"], "--in: cannot be combined with files, --text,"),
    ],
)
def test_bad_options_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["parse", "--model", "en-fast", *arguments]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
