"""Bad input: each problem is told with its place, what was found and what was expected."""

from pathlib import Path

import pytest

from arcwise import InputError, Treebank
from arcwise.treebanks import ProblemKind
from arcwise.treebanks.streaming import stream_problems
from treebanks.samples import PLAIN, RICH


def row(number: str, head: str, form: str = "w") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n"


def sentence(*rows: str) -> str:
    return "# sent_id = s\n" + "".join(rows) + "\n"


CASES = {
    "columns": (sentence("1\tw\t_\n"), 2, "found 3 columns, expected 10 separated by tabs"),
    "too many columns": (sentence(row("1", "0")[:-1] + "\tx\n"), 2, "found 11 columns, expected 10"),
    "spaces": (sentence(row("1", "0").replace("\t", " ")), 2, "are the columns separated by spaces"),
    "id": (sentence(row("one", "0")), 2, "found ID 'one', expected a number (here 1)"),
    "negative id": (sentence(row("-1", "0")), 2, "found ID '-1', expected a number"),
    "id order": (sentence(row("1", "0"), row("3", "1")), 3, "found ID '3', expected 2"),
    "head": (sentence(row("1", "x")), 2, "HEAD 'x' is neither a number nor _"),
    "negative head": (sentence(row("1", "-1")), 2, "HEAD '-1' is neither a number nor _"),
    "head out of range": (
        sentence(row("1", "0"), row("2", "7")),
        3,
        "HEAD 7 is outside the sentence (2 words)",
    ),
    "self-loop": (sentence(row("1", "1")), 2, "word 1 is its own head"),
    "cycle": (sentence(row("1", "2"), row("2", "1")), 2, "word 1 is on a cycle"),
    "no blank line": (
        sentence(row("1", "0"), row("1", "0")),
        3,
        "ID 1 in the middle of a sentence; a blank line is missing",
    ),
    "multiword range": (
        sentence("2-1" + row("", "_")[0:], row("1", "0")),
        2,
        "multiword range '2-1' does not start at the next word",
    ),
    "multiword outside": (
        sentence("1-5" + row("", "_"), row("1", "0")),
        2,
        "multiword range '1-5' does not start at the next word, or leaves the sentence",
    ),
    "empty node": (sentence("4.1" + row("", "_"), row("1", "0")), 2, "found ID '4.1', expected 0"),
    "no words": ("# sent_id = s\n\n" + PLAIN, 1, "no words before the blank line"),
    "only multiword": (sentence("1-1" + row("", "_")), 2, "no words before the blank line"),
    "comment inside": (
        sentence(row("1", "0"), "# no\n", row("2", "1")),
        3,
        "comment inside a sentence; move it before the first word",
    ),
    "leading zero": (sentence(row("1", "00")), 2, "HEAD '00' is neither a number nor _"),
    "empty form": (sentence(row("1", "0", form="")), 2, "FORM is empty; write _ for no value"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_problem_is_told(name: str) -> None:
    text, line, message = CASES[name]
    with pytest.raises(InputError) as raised:
        Treebank.from_string(text, source="bad.conllu")
    sent_id = "one" if name == "no words" else "s"
    assert str(raised.value).startswith(f"bad.conllu:{line} ({sent_id}): ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_invalid_utf8() -> None:
    with pytest.raises(InputError, match=r"bad:2 \(s\): byte 0xFF is not valid UTF-8"):
        Treebank(sentence(row("1", "0")).encode().replace(b"w", b"\xff"), source="bad")


@pytest.mark.parametrize(
    "piece", [b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8", b"\xe3\x81"]
)
def test_overlong_and_cut_sequences_are_invalid(piece: bytes) -> None:
    treebank = Treebank(sentence(row("1", "0")).encode().replace(b"w", piece), strict=False)
    assert [p.kind for p in treebank.problems] == [ProblemKind.INVALID_UTF8]


def test_empty_and_missing_files(tmp_path: Path) -> None:
    empty = tmp_path / "empty.conllu"
    empty.write_text("")
    with pytest.raises(InputError, match=r"empty.conllu: found no sentence, expected CoNLL-U"):
        Treebank.read(empty)
    with pytest.raises(InputError, match="no such file"):
        Treebank.read(tmp_path / "missing.conllu")
    with pytest.raises(InputError, match="is a folder"):
        Treebank.read(tmp_path)
    broken = tmp_path / "broken.xz"
    broken.write_bytes(b"not xz")
    with pytest.raises(InputError, match=r"is not an intact \.xz file"):
        Treebank.read(broken)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(InputError, match=r"cut.gz"):
        Treebank.read(cut)


def test_everything_is_listed_and_the_rest_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "bad.conllu"
    path.write_text(PLAIN + "".join(text for text, _, _ in CASES.values()) + RICH)
    treebank = Treebank.read(path, strict=False)
    kinds = {p.kind for p in treebank.problems}
    assert kinds == set(ProblemKind) - {ProblemKind.INVALID_UTF8, ProblemKind.MULTIPLE_ROOTS}
    assert treebank[0].sent_id == "one"
    assert treebank[-1].sent_id == "two"
    assert [str(p) for p in stream_problems([path])] == [str(p) for p in treebank.problems]
    lines = [p.line for p in treebank.problems]
    assert lines == sorted(lines)


def test_validate_counts_roots_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "roots.conllu"
    path.write_text(PLAIN + sentence(row("1", "0"), row("2", "0")))
    assert list(stream_problems([path])) == []
    (problem,) = stream_problems([path], single_root=True)
    assert str(problem) == f"{path}:8 (s): found 2 roots (words 1, 2), expected one"


def test_a_file_with_problems_is_not_annotated() -> None:
    treebank = Treebank.from_string(CASES["columns"][0], strict=False)
    with pytest.raises(InputError, match="found 3 columns"):
        treebank.annotate(upos=["X"])
