"""Split scripts: rules that split multiword tokens into words, learned from a treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.features.look_alikes import LookAlikes
from arcwise.text.linear import lists_of
from arcwise.text.plain_text import RawToken

Recipe = tuple[int, int, bool, str]
"""A word: characters first .. last-1 of the token (negative: from its end.

Flag: up to its end), then a suffix.
"""
Script = tuple[Recipe, ...]
WHOLE: Script = ()
"""Script of a token that is a single word."""


def scripts_for(token: str, words: Sequence[str]) -> Iterator[Script]:
    """Yield the scripts that turn ``token`` into ``words``, the most general first.

    >>> next(scripts_for("don't", ["do", "n't"]))
    ((0, -3, False, ''), (-3, 0, True, ''))
    """
    if "".join(words) == token:
        ends = np.cumsum([len(w) for w in words]).tolist()
        starts = [0, *ends[:-1]]
        from_end = [(s - len(token), e - len(token)) for s, e in zip(starts, ends, strict=True)]
        yield tuple((0 if i == 0 else s, e, e == 0, "") for i, (s, e) in enumerate(from_end))
        yield tuple((s, e, e == len(token), "") for s, e in zip(starts, ends, strict=True))
    kept = _common_prefix(token.lower(), words[0].lower())
    tail = _common_suffix(token[kept:].lower(), words[-1].lower())
    if kept > 1 and kept < len(token):
        middle = tuple((0, 0, False, w.lower()) for w in words[1:-1])
        last = (-tail, 0, True, "") if tail and tail == len(words[-1]) else (0, 0, False, words[-1].lower())
        yield ((0, kept - len(token), False, words[0][kept:].lower()), *middle, last)
    yield tuple((0, 0, False, w.lower()) for w in words)


def _common_prefix(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _common_suffix(a: str, b: str) -> int:
    return _common_prefix(a[::-1], b[::-1])


@dataclass(frozen=True)
class MultiwordTable:
    """Split scripts and candidate sets of a treebank; script 0 is ``WHOLE``, set 0 is for unseen tokens."""

    scripts: list[Script]
    sets: list[list[int]]
    set_of_token: dict[str, int]


@dataclass(frozen=True)
class MultiwordItems:
    """Training items: lower-cased (token, previous token, next token), candidate set and gold script."""

    contexts: list[tuple[str, str, str]]
    sets: npt.NDArray[np.uint32]
    gold: npt.NDArray[np.uint32]


def learn_multiword(
    tokens: Sequence[RawToken], look_alikes: LookAlikes = LookAlikes()
) -> tuple[MultiwordTable, MultiwordItems] | None:
    """Learn the table, and items for tokens seen once or split in several ways.

    None without multiword tokens.
    """
    if not any(token.words for token in tokens):
        return None
    scripts, gold = _choose_scripts(tokens)
    lower = [look_alikes.read(token.form).lower() for token in tokens]
    counts = Counter(lower)
    seen: dict[str, set[int]] = {}
    for form, script in zip(lower, gold, strict=True):
        seen.setdefault(form, set()).add(script)
    rare = {script for form, script in zip(lower, gold, strict=True) if counts[form] == 1}
    open_scripts = [s for s in sorted(rare | {0}) if s == 0 or any(r[0] or r[1] or r[2] for r in scripts[s])]
    sets: list[list[int]] = [open_scripts]
    set_of_token: dict[str, int] = {}
    for form, used in sorted(seen.items()):
        if used != {0}:
            choices = sorted(used)
            if choices not in sets:
                sets.append(choices)
            set_of_token[form] = sets.index(choices)
    table = MultiwordTable(scripts, sets, set_of_token)
    return table, _items(table, tokens, lower, counts, gold)


def _choose_scripts(tokens: Sequence[RawToken]) -> tuple[list[Script], list[int]]:
    """Choose for each multiword token the script shared by most tokens, to keep the inventory small."""
    possible = {
        (t.form, t.words): [s for s in scripts_for(t.form, t.words) if _makes(s, t)]
        for t in tokens
        if t.words
    }
    votes = Counter(s for options in possible.values() for s in options)
    numbers: dict[Script, int] = {WHOLE: 0}
    gold: list[int] = []
    for token in tokens:
        options = possible.get((token.form, token.words), [])
        script = max(options, key=lambda s: votes[s], default=WHOLE)
        gold.append(numbers.setdefault(script, len(numbers)))
    return list(numbers), gold


def _makes(script: Script, token: RawToken) -> bool:
    return tuple(native.split_apply(list(script), token.form)) == token.words


def _items(
    table: MultiwordTable, tokens: Sequence[RawToken], lower: list[str], counts: Counter[str], gold: list[int]
) -> MultiwordItems:
    contexts: list[tuple[str, str, str]] = []
    sets: list[int] = []
    right: list[int] = []
    for i, token in enumerate(tokens):
        number = 0 if counts[lower[i]] == 1 else table.set_of_token.get(lower[i], -1)
        if number < 0 or gold[i] not in table.sets[number] or len(table.sets[number]) < 2:
            continue
        before = "<s>" if i == 0 or tokens[i - 1].ends_sentence else lower[i - 1]
        after = "</s>" if token.ends_sentence else lower[i + 1]
        contexts.append((lower[i], before, after))
        sets.append(number)
        right.append(gold[i])
    return MultiwordItems(contexts, np.array(sets, np.uint32), np.array(right, np.uint32))


def set_table(tokenizer: native.Tokenizer, table: MultiwordTable) -> None:
    """Set the table of a native tokenizer."""
    keys = np.array([native.token_key(form) for form in table.set_of_token], np.uint32)
    values = np.array(list(table.set_of_token.values()), np.uint32)
    tokenizer.set_multiword([list(s) for s in table.scripts], lists_of(table.sets), (keys, values))
