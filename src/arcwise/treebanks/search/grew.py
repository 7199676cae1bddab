"""Translation of Grew requests into queries: nodes, edges, order, comparisons, ``without`` and ``global``.

The request language is that of Guillaume (2021), "Graph Matching and Graph Rewriting: GREW tools for corpus
exploration, maintenance and conversion". What has no counterpart here is refused, never approximated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from arcwise.errors import InputError
from arcwise.treebanks.search.syntax import PLAIN_VALUE, quoted_value

_BLOCK = re.compile(r"\s*(pattern|request|match|without|with|global)\s*\{")
_NODE = re.compile(r"(\w+)\s*\[(.*)\]", re.DOTALL)
_EDGE = re.compile(r"(?:\w+\s*:\s*)?(\w+|\*)\s*(?:->|-\[(.*)\]->)\s*(\w+|\*)", re.DOTALL)
_ORDER = re.compile(r"(\w+)\s*(<<|>>|<|>)\s*(\w+)")
_COMPARISON = re.compile(r"(\w+)\.([\w\[\]]+)\s*(<>|=)\s*(.+)", re.DOTALL)
_TERM = re.compile(r"(!?)\s*([\w\[\]/]+)\s*(?:(<>|=)\s*(.+))?", re.DOTALL)
_OPERATORS = {"<": ".", "<<": "..", ">": ",", ">>": ",,"}
_COLUMNS = ("form", "lemma", "upos", "xpos")
_MISC = ("SpaceAfter", "SpacesAfter", "SpacesBefore", "Gloss", "Translit", "LTranslit", "MGloss", "MSeg")
"""Attributes that UD keeps in MISC; every other one is a feature."""
_GLOBAL = {"is_projective": "projective=yes", "is_not_projective": "projective=no"}


def looks_like_grew(text: str) -> bool:
    """Whether a text is a Grew request rather than a query.

    >>> looks_like_grew("pattern { V -[nsubj]-> S }"), looks_like_grew("upos=VERB > nsubj")
    (True, False)
    """
    return bool(_BLOCK.match(text) or re.search(r"-\[[^\]]*\]->", text) or _NODE.match(text.strip()))


def translate_grew(text: str) -> str:
    """The query that finds what a Grew request finds; ``InputError`` if there is none.

    >>> translate_grew('pattern { V [upos=VERB, Mood=Ind|Imp]; V -[1=nsubj]-> S } without { V -[obj]-> O }')
    '@V[upos=VERB feats.Mood=Ind|Imp] > ~"^nsubj(:|$)" @S; without @V > obj @O'
    """
    query: list[str] = []
    for kind, body in _blocks(text):
        clauses = _Clauses.read(_split(body, ";"))
        if kind == "global":
            query += [f"sentence {_global(clause)}" for clause in clauses.source]
        elif kind in ("without", "with"):
            if kind == "with":
                raise _refused("with { … }")
            query.append(f"without {clauses.single()}")
        else:
            query += clauses.parts()
    if not query:
        raise InputError("grew: the request is empty")
    # Sentence conditions and negations refer to words, which come first.
    return "; ".join(sorted(query, key=lambda part: part.startswith(("without ", "sentence "))))


def _blocks(text: str) -> list[tuple[str, str]]:
    """(kind, body) of each block; a text without braces is one pattern."""
    if not _BLOCK.match(text):
        return [("pattern", text)]
    blocks, at = [], 0
    while match := _BLOCK.match(text, at):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if depth:
            raise InputError(f"grew: the block {match[1]} has no closing brace")
        blocks.append((match[1], text[match.end() : end - 1]))
        at = end
    if text[at:].strip():
        raise InputError(f"grew: cannot read {text[at:].strip()!r}")
    return blocks


@dataclass
class _Clauses:
    """The clauses of a block, by kind."""

    source: list[str]
    nodes: dict[str, str] = field(default_factory=dict)
    """Name → its conditions."""
    relations: list[tuple[str, str, str]] = field(default_factory=list)
    """(name, operator with label, name)."""
    comparisons: list[str] = field(default_factory=list)
    anonymous: int = 0

    @classmethod
    def read(cls, source: list[str]) -> _Clauses:
        clauses = cls(source)
        for clause in source:
            clauses._add(clause)
        return clauses

    def _add(self, clause: str) -> None:
        if match := _EDGE.fullmatch(clause):
            head, dependent = (self._name(name) for name in (match[1], match[3]))
            self.relations.append((head, _edge(match[2]), dependent))
        elif match := _NODE.fullmatch(clause):
            # Twice the same node: both conditions hold.
            self.nodes[match[1]] = " ".join(filter(None, [self.nodes.get(match[1], ""), _terms(match[2])]))
        elif match := _ORDER.fullmatch(clause):
            self.relations.append((match[1], _OPERATORS[match[2]], match[3]))
        elif match := _COMPARISON.fullmatch(clause):
            self._compare(match[1], match[2], match[3], match[4].strip())

    def _name(self, name: str) -> str:
        if name != "*":
            return name
        self.anonymous += 1
        return f"any{self.anonymous}"

    def _compare(self, name: str, feature: str, operator: str, value: str) -> None:
        if other := re.fullmatch(r"(\w+)\.([\w\[\]]+)", value):
            sign = {"=": "==", "<>": "!=="}[operator]
            self.comparisons.append(f"@{name}.{_property(feature)}{sign}@{other[1]}.{_property(other[2])}")
        else:
            self._add(f"{name}[{feature}{operator}{value}]")

    def _word(self, name: str, described: set[str]) -> str:
        conditions = self.nodes.get(name, "") if name not in described else ""
        described.add(name)
        return f"@{name}[{conditions}]" if conditions else f"@{name}"

    def parts(self) -> list[str]:
        """The parts of a query; each node is described where it is named first."""
        self._check()
        described: set[str] = set()
        parts = []
        for first, operator, second in self.relations:
            parts.append(f"{self._word(first, described)} {operator} {self._word(second, described)}")
        # A node without conditions is any word: "[]" after its name keeps it a pattern.
        parts += [f"@{name}[{self.nodes[name]}]" for name in self.nodes if name not in described]
        return [*parts, *self.comparisons]

    def single(self) -> str:
        """One pattern, for ``without``: at most one relation."""
        self._check()
        parts = self.parts()
        if len(parts) != 1 or self.comparisons:
            raise _refused("without { … } with several relations")
        return parts[0]

    def _check(self) -> None:
        """Refuse clauses that were not understood."""
        item_patterns = (_EDGE, _NODE, _ORDER, _COMPARISON)
        for clause in self.source:
            if not any(pattern.fullmatch(clause) for pattern in item_patterns):
                raise _refused(clause)


def _terms(text: str) -> str:
    return " ".join(_term(term) for term in _split(text, ","))


def _term(text: str) -> str:
    match = _TERM.fullmatch(text)
    if match is None or "/" in match[2]:
        raise _refused(text)
    absent, name, operator, value = match.groups()
    prop = _property(name)
    if operator is None:
        return f"{prop}=_" if absent else f"{prop}!=_"
    if absent:
        raise _refused(text)
    if regex := _regex(value):
        return f"{prop}{'~' if operator == '=' else '!~'}{regex}"
    values = "|".join(_value(part) for part in _split(value, "|"))
    test = f"{prop}{'=' if operator == '=' else '!='}{values}"
    # In Grew, a feature that differs from a value exists.
    return test if operator == "=" or name in _COLUMNS else f"{test} {prop}!=_"


def _edge(label: str | None) -> str:
    """``> obj``: the relation of an edge with this label."""
    if label is None:
        return ">"
    text = label.strip()
    parts = _split(text, ",")
    if "enhanced=yes" in parts:
        return f"-> {_label([part for part in parts if part != 'enhanced=yes'])}".strip()
    return f"> {_label(parts)}".strip()


def _label(parts: Sequence[str]) -> str:
    pairs = dict(part.split("=", 1) for part in parts if re.fullmatch(r"[12]\s*=[^=]+", part))
    if pairs and len(pairs) == len(parts):
        main, sub = pairs.get("1", "").strip(), pairs.get("2", "").strip()
        if not main or not all(PLAIN_VALUE.fullmatch(part) for part in (main, sub) if part):
            raise _refused(", ".join(parts))
        return f"{main}:{sub}" if sub else f'~"^{re.escape(main)}(:|$)"'
    if len(parts) != 1:
        if not parts:
            return ""
        raise _refused(", ".join(parts))
    (text,) = parts
    if regex := _regex(text):
        return f"~{regex}"
    labels = [_unquoted(part) for part in _split(text.removeprefix("^"), "|")]
    if text.startswith("^"):
        return f'~"^(?!({"|".join(map(re.escape, labels))})$)"'
    return "|".join(_value(name) for name in labels)


def _global(clause: str) -> str:
    if clause in _GLOBAL:
        return _GLOBAL[clause]
    match = _TERM.fullmatch(clause)
    if match is None or match[1] or match[3] is None:
        raise _refused(clause)
    name = match[2] if match[2] in ("sent_id", "text") else f"comment.{match[2]}"
    if regex := _regex(match[4]):
        return f"{name}{'~' if match[3] == '=' else '!~'}{regex}"
    return f"{name}{'=' if match[3] == '=' else '!='}{_value(_unquoted(match[4].strip()))}"


def _property(name: str) -> str:
    if name in _COLUMNS:
        return name
    return f"{'misc' if name in _MISC else 'feats'}.{name}"


def _regex(value: str) -> str | None:
    """A regular expression, which in Grew matches a whole value; None for other values."""
    match = re.fullmatch(r're"(.*)"(i?)', value.strip(), re.DOTALL)
    if match is None:
        return None
    flag = "(?i)" if match[2] else ""
    return f'"{flag}^({match[1]})$"' if "|" in match[1] else f'"{flag}^{match[1]}$"'


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _value(text: str) -> str:
    plain = _unquoted(text)
    if not plain:
        raise InputError("grew: a value is empty")
    return quoted_value(plain)


def _split(text: str, separator: str) -> list[str]:
    """Split outside quotes and brackets; empty parts are left out."""
    parts, depth, quoted, start = [], 0, False, 0
    for at, character in enumerate(text):
        if character == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted and character in "[{":
            depth += 1
        elif not quoted and character in "]}":
            depth -= 1
        elif character == separator and not quoted and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def _refused(clause: str) -> InputError:
    return InputError(f"grew: {clause.strip()!r} has no counterpart in the query language")
