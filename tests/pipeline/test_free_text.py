"""The script that makes the free text of distillation, on files like those of the packages."""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[2] / "recipes"

FORTUNES = """Why is it that you always find what you lost in the last place?
		-- Anonymous
%
No verbs here
%
It ain't over till it's over, is it?
"""
HANDBOOK = (
    "<p>You can <i>always</i> ask again, if in doubt!<pre>apt install</pre><p>apt-get --yes && x<p>Contents"
)
CAMPAIGN = """
[message]
    message= _ "Who goes there?"
[/message]
message= _ "A friend! Don’t shoot."
message= _ "He said ""come in"", and so I came, unit $unit.name was there."
message= _ "He said ""come in"", and so I walked into the hall with all my men."
"""
FAQ = "=head2 How do I get B<help> with C<perl>?\n\n  print 1;\n\nAsk L<the list|http://x.y/>, we're nice.\n"
TALK = "conversations:\n- - Do you like it?\n  - Yes, I do.\n  - Not at all, I''m afraid.\n"


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    games = tmp_path / "usr/share/games"
    vector = b"\x00\x04\x00\x09\x00\x00\x00\x18She had never been sure." + b"\x00\x04\x00\x09\x00\x00\x00\x00"
    files = {
        games / "fortunes/all": FORTUNES.encode(),
        games / "fortunes/all.dat": b"It is an index, not a text.",
        games / "wesnoth/1.16/data/one.cfg": CAMPAIGN.encode(),
        tmp_path / "usr/share/doc/debian-handbook/html/en-US/index.html": HANDBOOK.encode(),
        tmp_path / "usr/share/perl/5.36.0/pod/perlfaq1.pod": FAQ.encode(),
        tmp_path / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb": b"\x00\x00\x00\x40"
        + zlib.compress(b"X\n" + vector),
        tmp_path / "pypi/chatterbot_corpus/data/english/talk.yml": TALK.encode(),
        tmp_path
        / "npm/sotu/package/data/1961_kennedy.txt": b"We won. We did it! Let us go on. Ask not why, then.",
    }
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return tmp_path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RECIPES / "free_text.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_prose_of_each_format_in_a_fixed_order(unpacked: Path) -> None:
    table = unpacked / "sources.txt"
    first, second = run(unpacked, "--sources", table), run(unpacked)
    assert first.stdout == second.stdout
    assert sorted(first.stdout.split("\n\n")) == [
        "",
        "Ask not why, then.",
        "Ask the list, we're nice.",
        "Do you like it? Not at all, I'm afraid.",
        "Do you like it? Yes, I do.",
        'He said "come in", and so I walked into the hall with all my men.',
        "How do I get help with perl?",
        "It ain't over till it's over, is it?",
        "She had never been sure.",
        "We won. We did it! Let us go on.",
        "Who goes there? A friend! Don’t shoot.",
        "Why is it that you always find what you lost in the last place?",
        "You can always ask again, if in doubt!",
    ]
    rows = [row.split("\t") for row in table.read_text().splitlines()]
    assert ["22", "fortunes fortunes-min", "BSD", "usr/share/games/fortunes/*"] in rows
    assert sum(int(row[0]) for row in rows[1:]) == len(first.stdout.split())
    assert "warning: no text of anarchism" in first.stderr


def test_a_paragraph_is_taken_once_and_no_more_words_than_asked(unpacked: Path) -> None:
    (unpacked / "usr/share/games/fortunes/again").write_text(FORTUNES.replace("ain't over", "ain't  OVER"))
    text = run(unpacked).stdout
    assert text.lower().count("till it's over") == 1
    assert len(run(unpacked, "--words", 10).stdout.split()) < len(text.split()) / 2


def test_names_of_the_packages() -> None:
    names = run("--packages").stdout.split()
    assert {"anarchism", "wesnoth-1.16-httt"} < set(names)
    assert "npm" not in names
    assert len(names) == len(set(names))
