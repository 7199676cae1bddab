"""What a file says, and what it is called, never reaches the terminal as control characters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arcwise.cli.main import run

ESCAPE = "\x1b]0;gotcha\x07\x1b[2J\x9b31m"
ROW = "1\tw\t_\tNOUN\t_\t_\t{head}\troot\t_\t_\n\n"
COMMANDS: list[Callable[[str], list[str]]] = [
    lambda file: ["validate", file],
    lambda file: ["validate", "--level", "ud", file],
    lambda file: ["validate", "--level", "ud", "--json", file],
    lambda file: ["validate", "--json", file],
    lambda file: ["stats", file],
    lambda file: ["show", file],
    lambda file: ["search", "upos=NOUN", file],
    lambda file: ["search", "upos=NOUN", "--json", file],
    lambda file: ["search", "upos=NOUN", "--count", file, file],
    lambda file: ["search", "upos=NOUN", "--set", "upos=VERB", "--preview", file],
    lambda file: ["coverage", file],
    lambda file: ["diff", file, file],
    lambda file: ["evaluate", file, file],
    lambda file: ["split", file],
    lambda file: ["parse", file, "--model", file],
    lambda file: ["info", file],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda make: " ".join(make("FILE")))
@pytest.mark.parametrize("head", ["0", "7"])
def test_names_of_files_and_sentences_reach_no_terminal(
    arguments: Callable[[str], list[str]],
    head: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"a{ESCAPE}.conllu"
    Path(name).write_text(f"# sent_id = s{ESCAPE}\n# text = w{ESCAPE}\n" + ROW.format(head=head))
    run(arguments(name))
    run(arguments(f"missing{ESCAPE}\nforged line"))
    printed = "".join(capfd.readouterr())
    assert printed
    assert not set(printed) & {"\x1b", "\x07", "\x9b"}
    assert "\nforged" not in printed


def test_a_message_is_one_line_of_bounded_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "long.conllu"
    file.write_text("1" * 1_000_000 + "\tw" * 9 + "\n\n")
    assert run(["validate", str(file)]) == 1
    assert len(capsys.readouterr().out) < 11_000
    assert run(["stats", str(file)]) == 2
    assert len(capsys.readouterr().err) < 11_000
