"""The slow twin of ``treebanks.edits``: a sentence as objects that point at each other, numbered only when it
is written."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SPACE = "SpaceAfter=No"


@dataclass(eq=False)
class Node:
    """A word or an empty node. Heads are nodes, ``ROOT`` or None."""

    form: str
    empty: bool = False
    head: Node | None = None
    label: str = "_"
    deps: list[tuple[Node, str]] = field(default_factory=list)
    misc: list[str] = field(default_factory=list)
    alternatives: list[Node] = field(default_factory=list)

    def ancestors(self) -> list[Node]:
        return [] if self.head in (None, ROOT) else [self.head, *self.head.ancestors()]


ROOT = Node("root")


@dataclass(eq=False)
class Token:
    """A multiword token over some words."""

    form: str
    words: list[Node]
    misc: list[str] = field(default_factory=list)


@dataclass
class Plain:
    """A sentence."""

    nodes: list[Node]
    tokens: list[Token] = field(default_factory=list)
    notes: list[tuple[tuple[object, ...], str]] = field(default_factory=list)
    """What a note is on: nothing (the sentence), a node or token, a head and a node."""

    # ---- writing

    def ids(self) -> dict[object, str]:
        found: dict[object, str] = {ROOT: "0"}
        word = minor = 0
        for node in self.nodes:
            if node.empty:
                minor += 1
            else:
                word, minor = word + 1, 0
            found[node] = f"{word}.{minor}" if node.empty else str(word)
        for token in self.tokens:
            found[token] = f"{found[token.words[0]]}-{found[token.words[-1]]}"
        return found

    def text(self) -> str:
        first = {token.words[0]: token for token in self.tokens}
        inside = {word for token in self.tokens for word in token.words}
        units = [first.get(node, node) for node in self.nodes if not node.empty]
        units = [u for u in units if isinstance(u, Token) or u not in inside]
        return "".join(u.form + ("" if SPACE in u.misc else " ") for u in units).rstrip()

    def write(self, newline: str = "\n") -> bytes:
        ids = self.ids()
        lines = ["# sent_id = s", f"# text = {self.text()}"]
        for on, text in self.notes:
            name = ">".join(dict.fromkeys(ids[thing] for thing in on))
            lines.append(f"# note {name} = {text}" if on else f"# note = {text}")
        first = {token.words[0]: token for token in self.tokens}
        for node in self.nodes:
            if node in first:
                token = first[node]
                lines.append(f"{ids[token]}\t{token.form}" + "\t_" * 7 + "\t" + ("|".join(token.misc) or "_"))
            head = "_" if node.head is None else ids[node.head]
            pairs = [(ids[h], label) for h, label in node.deps]
            pairs.sort(key=lambda p: (*map(int, (p[0] + ".0").split(".")[:2]), p[1]))
            deps = "|".join(dict.fromkeys(f"{h}:{label}" for h, label in pairs)) or "_"
            misc = list(node.misc)
            if node.alternatives:
                misc.insert(0, "Alternatives=" + ",".join(f"{ids[h]}:x:0.5" for h in node.alternatives))
            lines.append(
                "\t".join(
                    [ids[node], node.form, "_", "_", "_", "_", head, node.label, deps, "|".join(misc) or "_"]
                )
            )
        return "".join(line + newline for line in [*lines, ""]).encode()

    # ---- edits

    def words(self) -> list[Node]:
        return [node for node in self.nodes if not node.empty]

    def token_of(self, node: Node) -> Token | None:
        return next((token for token in self.tokens if node in token.words), None)

    def split(self, node: Node, forms: list[str], keep: int, multiword: bool) -> None:
        """Only forms that spell the old one without spaces."""
        parts = [node if i == keep else Node(form) for i, form in enumerate(forms, 1)]
        at = self.nodes.index(node)
        old, spaces = node.form, [p for p in node.misc if p == SPACE]
        node.form = forms[keep - 1]
        self.nodes[at : at + 1] = parts
        token = self.token_of(node)
        if token is not None:
            place = token.words.index(node)
            token.words[place : place + 1] = parts
            return
        if multiword or node is not parts[-1]:
            node.misc = [p for p in node.misc if p != SPACE]
        if multiword:
            self.tokens.append(Token(old, parts, spaces))
            return
        for part in parts[:-1]:
            part.misc.append(SPACE)
        if node is not parts[-1]:
            parts[-1].misc += spaces

    def join(self, run: list[Node]) -> None:
        inside = self.token_of(run[0])
        inside = inside if inside is not None and set(run) < set(inside.words) else None
        covered = [] if inside else [t for t in self.tokens if set(t.words) <= set(run)]
        units: list[Node | Token] = []
        for node in run:
            unit = next((t for t in covered if node in t.words), node)
            if not units or units[-1] is not unit:
                units.append(unit)
        tops = [node for node in run if not set(node.ancestors()) & set(run)]
        kept = min([n for n in tops if n.head is not None] or tops, key=lambda node: len(node.ancestors()))
        if inside:
            form = "".join(node.form for node in run)
        else:
            form = "".join(u.form + ("" if SPACE in u.misc else " ") for u in units[:-1]) + units[-1].form
            after = SPACE in units[-1].misc
            if units[-1] is not kept:
                kept.misc = [p for p in kept.misc if p != SPACE] + [SPACE] * after
        kept.form = form
        kept.deps = [(h, label) for h, label in kept.deps if h not in run]
        if set(kept.alternatives) & set(run):
            kept.alternatives = []
        gone = [node for node in run if node is not kept]
        self.nodes[self.nodes.index(run[0])] = marker = Node("marker")
        self.nodes = [
            kept if n is marker else n for n in self.nodes if n is marker or (n not in gone and n is not kept)
        ]
        self.tokens = [t for t in self.tokens if t not in covered]
        for token in self.tokens:
            if set(token.words) & set(run):
                token.words = list(dict.fromkeys(kept if w in run else w for w in token.words))
        self._redirect({**dict.fromkeys(gone, kept), **dict.fromkeys(covered, kept)})

    def _redirect(self, where: dict[object, Node]) -> None:
        for node in self.nodes:
            node.head = where.get(node.head, node.head)
            node.deps = [(where.get(h, h), label) for h, label in node.deps]
            node.alternatives = [where.get(h, h) for h in node.alternatives]
        self.notes = [(tuple(where.get(thing, thing) for thing in on), text) for on, text in self.notes]

    def make_multiword(self, run: list[Node], form: str) -> None:
        self.tokens.append(Token(form, run, [p for p in run[-1].misc if p == SPACE]))
        for node in run:
            node.misc = [p for p in node.misc if p != SPACE]

    def remove_multiword(self, token: Token) -> None:
        spelled = "".join(word.form for word in token.words) == token.form
        for word in token.words[:-1]:
            word.misc += [SPACE] * spelled
        token.words[-1].misc += [p for p in token.misc if p == SPACE]
        self.tokens.remove(token)
        self._redirect({token: token.words[0]})

    def add_empty(self, after: Node | None, form: str, deps: list[tuple[Node, str]]) -> None:
        self.nodes.insert(
            0 if after is None else self.nodes.index(after) + 1, Node(form, empty=True, deps=deps)
        )

    def remove_empty(self, node: Node) -> None:
        self.nodes.remove(node)
        for other in self.nodes:
            other.deps = [(h, label) for h, label in other.deps if h is not node]
        self.notes = [(on, text) for on, text in self.notes if node not in on]


def random_sentence(rng: random.Random) -> Plain:
    """Words with a tree of which some arcs are open, multiword tokens, empty nodes, enhanced arcs, notes on
    everything."""
    words = [Node("".join(rng.choices("abcñ語", k=rng.randint(1, 3)))) for _ in range(rng.randint(2, 7))]
    order = rng.sample(words, len(words))
    for place, word in enumerate(order):
        word.head = rng.choice([*order[:place], ROOT, None])
        word.label = "_" if word.head is None else rng.choice(["root", "obj"])
        word.misc += [SPACE] * (rng.random() < 0.4) + ["X=1"] * (rng.random() < 0.2)
        word.alternatives = (
            [w for w in rng.sample(words, min(2, len(words))) if w is not word] if rng.random() < 0.3 else []
        )
    sentence = Plain(list(words))
    at = 0
    while at + 1 < len(words):
        size = rng.randint(1, 4)
        if size > 1 and at + size <= len(words) and rng.random() < 0.5:
            run = words[at : at + size]
            sentence.tokens.append(Token("tok", run, [SPACE] * (rng.random() < 0.4)))
            for word in run:
                word.misc = [p for p in word.misc if p != SPACE]
        at += size
    for _ in range(rng.randint(0, 3)):
        sentence.nodes.insert(rng.randint(1, len(sentence.nodes)), Node("e", empty=True))
    for node in sentence.nodes:
        heads = rng.sample([*sentence.nodes, ROOT], rng.randint(0, 2))
        node.deps = [(h, rng.choice(["nsubj", "obl:in"])) for h in heads if h is not node]
    things = [*sentence.nodes, *sentence.tokens]
    sentence.notes = [((), "odd")] + [((rng.choice(things),), f"n{i}") for i in range(rng.randint(0, 3))]
    arcs = [(word.head, word) for word in words if word.head is not None]
    sentence.notes += [(rng.choice(arcs), "why?")] if arcs else []
    return sentence
