"""Treebanks made at random, and people who change them: what a merge is tried with."""

from __future__ import annotations

import re
from random import Random

Sentence = dict[str, list[list[str]] | list[str]]
"""``comments``: whole lines; ``rows``: ten fields each."""

_WORDS = ["Birds", "sing", "in", "the", "trees", ".", "Yes"]
_TOKEN = re.compile(rb"[bmt]\d+x")


class Person:
    """Writes values that nobody else writes: a letter, a number, ``x``."""

    def __init__(self, letter: str, random: Random) -> None:
        self.letter, self.random, self.count = letter, random, 0

    def token(self) -> str:
        self.count += 1
        return f"{self.letter}{self.count}x"


def tokens(data: bytes) -> set[bytes]:
    """The values that people wrote into a file."""
    return set(_TOKEN.findall(data))


def new_sentence(person: Person, *, named: bool, distinct: bool = False) -> Sentence:
    """A sentence with a random tree, perhaps a multiword token and an empty node. ``distinct``: no word is
    there twice, so that it is certain which is which whatever is changed."""
    n = person.random.randint(1, 5)
    order = person.random.sample(range(1, n + 1), n)
    heads = {word: person.random.choice(order[:at]) if at else 0 for at, word in enumerate(order)}
    rows = [
        [
            str(i),
            f"w{i}" if distinct else person.random.choice(_WORDS),
            person.token(),
            "_",
            "_",
            "_",
            str(heads[i]),
            "dep",
            "_",
            "_",
        ]
        for i in range(1, n + 1)
    ]
    if n > 1 and person.random.random() < 0.3:
        rows.insert(0, ["1-2", person.token(), *"________"])
    if person.random.random() < 0.2:
        rows.append([f"{n}.1", person.token(), *"________"])
    comments = [f"# sent_id = {person.token()}"] if named else []
    if person.random.random() < 0.5:
        comments.append(f"# text = {person.token()}")
    return {"comments": comments, "rows": rows}


def copied(file: list[Sentence]) -> list[Sentence]:
    return [{"comments": list(s["comments"]), "rows": [list(row) for row in s["rows"]]} for s in file]


def set_field(sentence: Sentence, person: Person) -> None:
    row = person.random.choice(sentence["rows"])
    row[person.random.choice([1, 2, 3, 4, 5, 7, 9])] = person.token()


def set_head(sentence: Sentence, person: Person) -> None:
    """Another head and label of a word, so that it is still a tree."""
    words = {row[0]: row for row in sentence["rows"] if row[0].isdigit()}
    word = person.random.choice(sorted(words))
    below = {word}
    while more := {w for w, row in words.items() if row[6] in below} - below:
        below |= more
    words[word][6] = person.random.choice(["0", *sorted(set(words) - below)])
    words[word][7] = person.token()


def add_word(sentence: Sentence, person: Person) -> None:
    """A word more at the end: the numbers of the others stay."""
    rows = sentence["rows"]
    n = sum(row[0].isdigit() for row in rows)
    rows.append([str(n + 1), person.token(), "_", "_", "_", "_", "1", "dep", "_", "_"])


def insert_word(sentence: Sentence, person: Person) -> None:
    """A word more at the beginning: the others get new numbers."""

    def one_more(match: re.Match[str]) -> str:
        return str(int(match[0]) + 1)

    for row in sentence["rows"]:
        row[0] = row[0] if row[0].startswith("0.") else re.sub(r"^\d+|(?<=-)\d+", one_more, row[0])
        row[6] = one_more(found) if (found := re.fullmatch(r"[1-9]\d*", row[6])) else row[6]
    sentence["rows"].insert(0, ["1", person.token(), "_", "_", "_", "_", "2", "dep", "_", "_"])


def change_comment(sentence: Sentence, person: Person) -> None:
    comments = sentence["comments"]
    if comments and "sent_id" not in comments[-1] and person.random.random() < 0.3:
        comments.pop()
    elif len(comments) > 1 and person.random.random() < 0.5:
        comments[-1] = f"{comments[-1].partition('=')[0]}= {person.token()}"
    else:
        comments.append(
            person.random.choice(["# note = {}", "# {}", "# text_en = {}"]).format(person.token())
        )


FIELD_EDITS = (set_field, set_head, change_comment)
WORD_EDITS = (add_word, insert_word)


def change_file(file: list[Sentence], person: Person, *, named: bool) -> None:
    """Add, remove or move a sentence, or cut one in two."""
    what = person.random.choice(["add", "remove", "move"])
    at = person.random.randrange(len(file))
    if what == "add":
        file.insert(at, new_sentence(person, named=named))
    elif len(file) > 1:
        taken = file.pop(at)
        if what == "move":
            file.insert(person.random.randrange(len(file) + 1), taken)


def worked_on(
    file: list[Sentence], person: Person, edits: int, *, whole: bool, named: bool
) -> list[Sentence]:
    """The file after so many edits of a person; ``whole``: of words and sentences, too."""
    out = copied(file)
    for _ in range(edits):
        if whole and person.random.random() < 0.3:
            change_file(out, person, named=named)
        else:
            kinds = FIELD_EDITS + WORD_EDITS if whole else FIELD_EDITS
            person.random.choice(kinds)(person.random.choice(out), person)
    return out


def written(file: list[Sentence], *, newline: str = "\n", end: str = "\n\n") -> bytes:
    """The bytes of a file; ``end``: what comes after its last row."""
    blocks = ["\n".join([*s["comments"], *("\t".join(row) for row in s["rows"])]) for s in file]
    return ("\n\n".join(blocks) + end).replace("\n", newline).encode()
