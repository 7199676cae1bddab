"""The signs and words of a query, read from left to right; every error knows its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from arcwise.treebanks.search.syntax import (
    KEYED,
    SENTENCE_NUMBERS,
    SENTENCE_TEXTS,
    STEPS,
    WORD_NUMBERS,
    WORD_TEXTS,
    Property,
    QueryError,
)

_BLANKS = re.compile(r"\s*")
_PROPERTY = re.compile(r"[A-Za-z_]\w*(?:\.[^\s=!~<>|;(){}\"'@\[\],]+(?:\[\w+\])?)*")
_COMPARISON = re.compile(r"!=|!~|<=|>=|=|~|<(?!<)|>(?!>)")
_BARE = re.compile(r"[^\s\[\](){}|;\"'!~=<>@][^\s\[\](){}|;\"!~=<>@]*")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_NAME = re.compile(r"@(\w+)")
NUMBER_SIGNS = ("<", "<=", ">", ">=")
_DEEPEST = 40
_MEANT = {"pos": "upos", "tag": "upos", "label": "deprel", "rel": "deprel", "word": "form", "cat": "upos"}


class Scanner:
    """A text and a place in it."""

    def __init__(self, text: str, what: str = "query") -> None:
        self.text, self.at, self.what = text, 0, what
        self.depth = 0
        self.skip()

    # ---- the place

    def skip(self) -> None:
        """Go over blanks."""
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at

    @property
    def is_done(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.text)

    def error(self, expected: str, *, found: str | None = None, at: int | None = None) -> QueryError:
        """``found …, expected …`` at a place, by default here."""
        at = self.at if at is None else at
        rest = self.text[at:].split()
        found = found or (repr(rest[0]) if rest else "the end")
        return QueryError(f"found {found}, expected {expected}", self.text, at, self.what)

    def sees(self, sign: str) -> bool:
        """Whether the sign stands here."""
        return self.text.startswith(sign, self.at)

    def sees_keyword(self, word: str) -> bool:
        """Whether the word stands here, alone: ``or``, not ``orange`` or ``or=``."""
        return re.compile(rf"{word}(?![^\s\[\](!@])").match(self.text, self.at) is not None

    def take(self, sign: str) -> bool:
        """Go over the sign, if it stands here."""
        if not self.sees(sign):
            return False
        self.at += len(sign)
        self.skip()
        return True

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Inside of brackets or parentheses: not too many of them in one another."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"at most {_DEEPEST} brackets in one another")
        yield
        self.depth -= 1

    def take_keyword(self, word: str) -> bool:
        """Go over the word, if it stands here."""
        return self.sees_keyword(word) and self.take(word)

    def expect(self, sign: str, why: str = "") -> None:
        """Go over the sign; else an error."""
        if not self.take(sign):
            raise self.error(f"{sign!r}{why}")

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    # ---- names, properties, values

    def name(self) -> str | None:
        """``@v``: the name of a word, without blanks after it."""
        found = self._take(_NAME)
        return found[1] if found else None

    def sees_test(self, is_number: Callable[[str], bool]) -> bool:
        """Whether a property with a sign of comparison stands here. ``nsubj > obj`` is none: ``nsubj`` is no number."""
        found = _PROPERTY.match(self.text, self.at)
        if not found:
            return False
        blanks = _BLANKS.match(self.text, found.end())
        sign = _COMPARISON.match(self.text, blanks.end() if blanks else found.end())
        if not sign:
            return False
        after = self.text[sign.end() : sign.end() + 1]
        if sign[0] == "!=" and after == "=":  # !==
            return False
        return sign[0] not in NUMBER_SIGNS or is_number(found[0])

    def property(self, *, of_sentence: bool = False) -> Property:
        """A property; an unknown one is an error that lists the known ones."""
        start = self.at
        found = self._take(_PROPERTY)
        if not found:
            raise self.error("a property such as upos")
        steps: list[str] = []
        rest = found[0]
        while not of_sentence and "." in rest and rest.partition(".")[0] in STEPS:
            step, _, rest = rest.partition(".")
            steps.append(step)
        name, dot, key = rest.partition(".")
        if not of_sentence and name in STEPS[1:]:
            raise self.error(f"a property after it, such as {name}.upos", found=f"{name!r}", at=start)
        known = (*SENTENCE_TEXTS, *SENTENCE_NUMBERS) if of_sentence else (*WORD_TEXTS, *WORD_NUMBERS)
        if name not in known:
            raise self._unknown(name, known, start, of_sentence)
        if dot and name not in KEYED:
            at = start + len(found[0]) - len(key)
            raise self.error(
                f"no more after {name} (feats and misc have keys: feats.Case)", found=f"{key!r}", at=at
            )
        return Property(name, key if dot else None, tuple(steps))

    def _unknown(self, name: str, known: tuple[str, ...], start: int, of_sentence: bool) -> QueryError:
        lower = name.lower()
        close = (
            [lower] if lower in known else [_MEANT[lower]] if _MEANT.get(lower) in known else []
        ) or get_close_matches(lower, known, 1)
        if close:
            return self.error(f"{close[0]!r}", found=f"{name!r}", at=start)
        what = "a property of sentences" if of_sentence else "a property"
        listed = ", ".join(known)
        return self.error(
            f"{what}: {listed} (a feature is feats.{name})" if name[:1].isupper() else f"{what}: {listed}",
            found=f"{name!r}",
            at=start,
        )

    def comparison(self) -> str:
        """A sign of comparison."""
        found = self._take(_COMPARISON)
        if not found:
            raise self.error("one of = != ~ !~ < <= > >=")
        if found[0] in ("=", "!=") and self.sees("="):
            raise self.error("a value", found="'='")
        self.skip()
        return found[0]

    def sees_value(self) -> bool:
        """Whether a value stands here."""
        return bool(_BARE.match(self.text, self.at)) or self.text[self.at : self.at + 1] in ("'", '"')

    def value(self, *, is_expression: bool = False) -> str:
        """A value, bare or in quotes. In quotes ``\\"`` is a quotation mark, and ``\\\\`` a backslash unless it is of an expression."""
        if self.text[self.at : self.at + 1] in ("'", '"'):
            found = self._take(_QUOTED)
            if not found:
                raise self.error("a second quotation mark", found=f"{self.text[self.at]} without its end")
            quote = self.text[found.start()]
            inside = found[1] if found[1] is not None else found[2]
            inside = inside.replace(f"\\{quote}", quote)
            return inside if is_expression else inside.replace("\\\\", "\\")
        start = self.at
        found = self._take(_BARE)
        if not found:
            raise self.error('a value (in quotes if it has signs: ";")')
        self._refuse_habits(found[0], start)
        return found[0]

    def _refuse_habits(self, value: str, start: int) -> None:
        """Other languages mean something by these; here they would be looked for as they stand, and not be found."""
        if value.endswith(","):
            raise self.error(
                'no comma after a value: tests stand side by side, upos=VERB lemma=be (a comma itself: ",")',
                found=repr(value),
                at=start,
            )
        if "*" in value or re.fullmatch("/.+/", value):
            expression = value.strip("/").replace("*", "") or "^be"
            raise self.error(
                f'quotes around it, or for a regular expression ~ as in lemma~"{expression}" ([] is any word)',
                found=repr(value),
                at=start,
            )

    def values(self) -> tuple[str, ...]:
        """``NOUN|PROPN``: one value or several."""
        found = [self.value()]
        while self.sees("|"):
            self.at += 1
            found.append(self.value())
        return tuple(found)
