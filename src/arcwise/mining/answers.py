"""``ReviewAnswers``: a reviewer's answers in a small text file next to the treebank, which git can merge."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from arcwise.errors import InputError
from arcwise.mining.words import FlatWords
from arcwise.treebanks.files import open_output

Verdict = Literal["error", "correct", "acknowledged"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_HEADER = "# Answers of 'arcwise mine --review'. One line each; merge with git's merge=union."


@dataclass
class ReviewAnswers:
    """Answers by key; a key identifies the words of a sentence, one of them, and its annotated arc.

    Edits of other sentences or other words leave a key valid; an edit of the arc itself makes a new one.
    """

    path: Path
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Key → the fields of its line after the key: verdict, sent_id, word, form, head, label."""

    @classmethod
    def beside(cls, treebank: str) -> ReviewAnswers:
        """Read the answers about a treebank file; none if there is no file of answers."""
        path = Path(f"{treebank}.verdicts")
        return cls(path, _read(path))

    def verdict(self, key: str) -> Verdict | None:
        """The answer for a key."""
        line = self.lines.get(key)
        return None if line is None else line[0]  # type: ignore[return-value]

    def add(self, words: FlatWords, word: int, verdict: Verdict, *, first: int = 0) -> None:
        """Store an answer and write the file. ``first``: the number of the first of the sentences."""
        sentence = words.treebank[int(words.sentence[word])]
        values = (
            sentence.sent_id or f"sentence {first + sentence.number + 1}",
            str(words.position[word]),
            words.forms[word],
            str(words.heads[word]),
            words.deprels[word],
        )
        self.lines[word_key(words, word)] = (verdict, *(" ".join(value.split()) for value in values))
        self.write()

    def write(self) -> None:
        """Write the file atomically, sorted so that the answers of two people rarely conflict in a merge.

        Answers that the editor or another review added to the file in the meantime are kept.
        """
        self.lines = {**_read(self.path), **self.lines}
        rows = sorted("\t".join((key, *rest)) for key, rest in self.lines.items())
        with open_output(self.path) as stream:
            stream.write("\n".join([_HEADER, *rows, ""]).encode())

    def answers(self, words: FlatWords) -> tuple[dict[int, bool], set[int]]:
        """Judged words (whether they are errors), and acknowledged words."""
        if not self.lines:
            return {}, set()
        judged: dict[int, bool] = {}
        acknowledged: set[int] = set()
        for word in range(len(words)):
            verdict = self.verdict(word_key(words, word))
            if verdict == "acknowledged":
                acknowledged.add(word)
            elif verdict is not None:
                judged[word] = verdict == "error"
        return judged, acknowledged


def _read(path: Path) -> dict[str, tuple[str, ...]]:
    """The lines of a file of answers by key."""
    if not path.exists():
        return {}
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    lines: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, *rest = line.split("\t")
        if not line or line.startswith("#"):
            continue
        if len(rest) < 6 or rest[0] not in VERDICTS:
            raise InputError(
                f"{path}:{number}: expected a key, {' or '.join(VERDICTS)}, sent_id, word, form, "
                "head and label, separated by tabs"
            )
        lines[key] = tuple(rest)
    return lines


def word_key(words: FlatWords, word: int) -> str:
    """The key of a word and its annotated arc."""
    number = int(words.sentence[word])
    forms = words.forms[int(words.starts[number]) : int(words.starts[number + 1])]
    place = (str(words.position[word]), str(words.heads[word]), words.deprels[word])
    return sha256("\t".join((*forms, *place)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
