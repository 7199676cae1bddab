"""Empty nodes (8.1) as nodes of a search: conditions, enhanced arcs, word order, tables and edits."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.treebanks.search import (
    Columns,
    Hit,
    MassEdit,
    Query,
    QueryError,
    frequencies,
    read_table,
    unseen,
)

ROWS = [
    "# sent_id = gap",
    "1 Anna Anna PROPN _ _ 2 nsubj 2:nsubj _",
    "2 drinks drink VERB _ _ 0 root 0:root _",
    "3 tea tea NOUN _ _ 2 obj 2:obj _",
    "4 and and CCONJ _ _ 5 cc 5.1:cc _",
    "5 Ben Ben PROPN _ _ 2 conj 5.1:nsubj _",
    "5.1 drinks drink VERB _ Tense=Pres _ _ 2:conj:and CopyOf=2",
    "5.2 cold cold ADJ _ _ _ _ 6:amod _",
    "6 juice juice NOUN _ _ 5 orphan 5.1:obj _",
    "",
    "# sent_id = drop",
    "0.1 _ she PRON _ Person=3 _ _ 1:nsubj _",
    "1 Canta cantar VERB _ _ 0 root 0:root _",
    "",
    "1 None none PRON _ _ 0 root 0:root _",
    "",
    "",
]
TEXT = "\n".join(line if line.startswith("#") else line.replace(" ", "\t") for line in ROWS)
TREEBANK = Treebank.from_string(TEXT)


def found(query: str, treebank: Treebank = TREEBANK) -> list[tuple[int, dict[str, str]]]:
    parsed = Query.parse(query)
    hits = list(parsed.hits(treebank))
    assert parsed.count(treebank) == (len(hits), len({hit.sentence for hit in hits}))
    names = [*parsed.parsed.pattern.words]
    return [(hit.sentence, {name: hit.row(name) for name in names if _has(hit, name)}) for hit in hits]


def _has(hit: Hit, name: str) -> bool:
    return name in hit.words or name in hit.empty_nodes


@pytest.mark.parametrize(
    "query, expected",
    [
        ("empty=yes", [(0, "5.1"), (0, "5.2"), (1, "0.1")]),
        ("empty=yes lemma=drink", [(0, "5.1")]),
        ("lemma=drink", [(0, "2")]),
        ("lemma=drink empty=yes|no", [(0, "2"), (0, "5.1")]),
        ("[lemma=drink !empty=no]", [(0, "5.1")]),
        ("[empty=yes or upos=CCONJ]", [(0, "4"), (0, "5.1"), (0, "5.2"), (1, "0.1")]),
        ("empty=yes feats.Tense=Pres", [(0, "5.1")]),
        ("empty=yes misc.CopyOf=2", [(0, "5.1")]),
        ("empty=yes id>5.1", [(0, "5.2")]),
        ("empty=yes id=0.1", [(1, "0.1")]),
        ("empty=yes head=_ depth=_ children=_ projective=_", [(0, "5.1"), (0, "5.2"), (1, "0.1")]),
        ("empty=yes prev.form=_", [(1, "0.1")]),
        ("empty=yes prev.form=Ben next.form=juice", [(0, "5.1"), (0, "5.2")]),
        # Enhanced arcs from, to and between empty nodes.
        ("[empty=yes] -> []", [(0, "5.1", "4"), (0, "5.1", "5"), (0, "5.1", "6")]),
        ("[empty=yes] -> nsubj", [(0, "5.1", "5")]),
        ("[] -> [empty=yes]", [(0, "2", "5.1"), (0, "6", "5.2"), (1, "1", "0.1")]),
        ('[] -> ~"^conj" [empty=yes]', [(0, "2", "5.1")]),
        ("[empty=yes] <- amod []", [(0, "5.2", "6")]),
        ("@n[upos=NOUN] <- obj @e[empty=yes]; @e <- @v[upos=VERB]", [(0, "6", "5.1", "2")]),
        ("[upos=VERB -> [empty=yes]]", [(0, "2"), (1, "1")]),
        ("[upos=VERB !-> [empty=yes]]", []),
        ("[empty=yes !-> obj]", [(0, "5.2"), (1, "0.1")]),
        ("[upos=NOUN <- [empty=yes -> nsubj [form=Ben]]]", [(0, "6")]),
        ("@e[empty=yes]; without @e -> []", [(0, "5.2"), (1, "0.1")]),
        ("@w[upos=VERB]; without @w -> nsubj [empty=yes]", [(0, "2")]),
        ("@e[empty=yes]; without @e[upos=VERB]", [(0, "5.2"), (1, "0.1")]),
        # The basic tree has none.
        ("[] > [empty=yes]", []),
        ("[empty=yes] $ []", []),
        # Order: empty nodes do not come between two words.
        ("form=Ben . []", [(0, "5", "6")]),
        ("form=Ben . [empty=yes]", [(0, "5", "5.1"), (0, "5", "5.2")]),
        ("[empty=yes] . [empty=yes]", [(0, "5.1", "5.2")]),
        ("@e[empty=yes] . []", [(0, "5.1", "6"), (0, "5.2", "6"), (1, "0.1", "1")]),
        ("form=and ..{2} [empty=yes]", [(0, "4", "5.1"), (0, "4", "5.2")]),
        ("form=juice ,, [empty=yes]", [(0, "6", "5.1"), (0, "6", "5.2")]),
        ("[empty=yes] , []", [(0, "5.1", "5"), (0, "5.2", "5")]),
        ("@a[empty=yes]; @b[upos=VERB]; @a.lemma=@b.lemma", [(0, "5.1", "2")]),
        # Of sentences.
        ("empty=yes; sentence length=1", [(1, "0.1")]),
        ("sentence length>0; without empty=yes", [(2,)]),
    ],
)  # fmt: skip
def test_empty_nodes_are_found_where_the_query_asks_for_them(query: str, expected: list[tuple[str]]) -> None:
    assert [(sentence, *words.values()) for sentence, words in found(query)] == expected


def test_queries_that_do_not_ask_find_words_alone() -> None:
    assert all(not hit.empty_nodes for hit in Query.parse("[] -> []").hits(TREEBANK))
    assert found("form=juice <- []") == []
    assert len(found("[]")) == TREEBANK.word_count
    no_empty = Treebank.from_string(TEXT.split("\n\n")[2] + "\n\n")
    assert found("empty=yes", no_empty) == []
    assert len(found("empty=no", no_empty)) == 1


def test_alternatives_and_hints() -> None:
    both = found("@x[empty=yes]; or @x[upos=VERB]; or @x[empty=yes upos=PRON]")
    assert [row["x"] for _, row in both] == ["5.1", "5.2", "2", "0.1", "1"]
    columns = Columns(TREEBANK)
    assert unseen(Query.parse("upos=ADJ"), columns) == {"upos=ADJ": ""}
    assert unseen(Query.parse("upos=ADJ empty=yes"), columns) == {}


def test_mistakes_are_named() -> None:
    with pytest.raises(QueryError, match="expected yes or no after empty"):
        Query.parse("empty=true")
    with pytest.raises(QueryError, match=r"character 1: unexpected 'head\.empty'; expected another property"):
        Query.parse("head.empty=yes")


def test_tables_have_values_of_empty_nodes() -> None:
    columns = Columns(TREEBANK)
    query = Query.parse("@h[empty=yes|no] -> @d[empty=yes|no]")
    table = read_table("h.id,h.empty,d.empty", query.names)
    counts = frequencies(query.hits(columns), table, columns)
    assert counts[("5.1", "yes", "no")] == 3
    assert counts[("2", "no", "yes")] == 1
    words = Query.parse("upos=VERB")
    table = read_table("{@1 -> [empty=yes]},form", words.names)
    found = frequencies(words.hits(columns), table, columns)
    assert dict(found) == {("yes", "drinks"): 1, ("yes", "Canta"): 1}


def test_edits_change_rows_of_empty_nodes() -> None:
    edit = MassEdit.parse("@e[empty=yes] <- conj:and @v", "e.lemma=@v.form; e.misc.CopyOf=_; v.xpos=@e.upos")
    after = edit.apply(TREEBANK)
    assert (
        after.text.replace("5.1\tdrinks\tdrinks", "5.1\tdrinks\tdrink")
        .replace("2:conj:and\t_", "2:conj:and\tCopyOf=2")
        .replace("VERB\tVERB\t_\t0", "VERB\t_\t_\t0")
        == TREEBANK.text
    )
    assert "5.1\tdrinks\tdrinks\tVERB\t_\tTense=Pres\t_\t_\t2:conj:and\t_\n" in after.text


@pytest.mark.parametrize(
    "changes, reason",
    [
        ("e.head=@v", "5.1 is an empty node: it has no HEAD, only DEPS"),
        ("e.deprel=conj", "5.1 is an empty node: it has no DEPREL, only DEPS"),
        ("v.head=@e", "5.1 is an empty node: it can be a head only in DEPS"),
        ("v.head=@e.id", "5.1 is an empty node: it can be a head only in DEPS"),
    ],
)
def test_an_empty_node_gets_no_place_in_the_basic_tree(changes: str, reason: str) -> None:
    (plan,) = MassEdit.parse("@e[empty=yes] <- conj:and @v", changes).plan(TREEBANK)
    assert not plan.edits
    assert [refused.reason for refused in plan.refused] == [reason]


def test_the_command_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.conllu"
    file.write_text(TEXT)
    assert run(["search", "[empty=yes upos=VERB] -> obj", str(file)]) == 0
    out = capsys.readouterr().out
    assert out == f"{file}:7 (gap): Anna drinks tea and Ben [1:drinks] [2:juice]\n"
    assert run(["search", "empty=yes upos=PRON", str(file), "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert hit["words"] == {"1": {"id": "0.1", "form": "_"}}
    assert hit["line"] == 12


# ---- against the definition, by trying all pairs of nodes

Node = tuple[int, int]


def _random_sentence(random_: random.Random) -> tuple[list[Node], dict[tuple[Node, Node], str], str]:
    """Nodes, enhanced arcs and CoNLL-U."""
    words = random_.randint(1, 5)
    nodes = [
        (word, minor)
        for word in range(words + 1)
        for minor in range(random_.randint(1 if word else 0, 3))
        if (word, minor) != (0, 0)
    ]
    nodes = sorted({*nodes, *((word, 0) for word in range(1, words + 1))})
    if any(minor == 2 and (word, 1) not in nodes for word, minor in nodes):
        return _random_sentence(random_)
    arcs = {
        (head, node): random_.choice("ab")
        for head, node in product(nodes, nodes)
        if head != node and random_.random() < 0.3
    }
    lines = []
    for node in nodes:
        deps = "|".join(f"{_id(h)}:{label}" for (h, d), label in sorted(arcs.items()) if d == node)
        tree = ("_", "_") if node[1] else (str(node[0] - 1), "root" if node[0] == 1 else "dep")
        upos = random_.choice(["X", "Y"])
        lines.append("\t".join([_id(node), "w", "_", upos, "_", "_", *tree, deps or "_", "_"]))
    return nodes, arcs, "\n".join(lines) + "\n\n"


def _id(node: Node) -> str:
    return f"{node[0]}.{node[1]}" if node[1] else str(node[0])


def _steps(nodes: list[Node], a: Node, b: Node) -> int:
    return 1 + sum(a < node < b and not node[1] for node in nodes) if a < b else 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_relations_hold_between_the_nodes_of_their_definition(seed: int) -> None:
    random_ = random.Random(seed)
    sentences = [_random_sentence(random_) for _ in range(8)]
    treebank = Treebank.from_string("".join(text for _, _, text in sentences))
    definitions = {
        "->": lambda nodes, arcs, a, b: (a, b) in arcs,
        "-> a": lambda nodes, arcs, a, b: arcs.get((a, b)) == "a",
        "<- b": lambda nodes, arcs, a, b: arcs.get((b, a)) == "b",
        ".": lambda nodes, arcs, a, b: _steps(nodes, a, b) == 1,
        ",": lambda nodes, arcs, a, b: _steps(nodes, b, a) == 1,
        "..{2}": lambda nodes, arcs, a, b: _steps(nodes, a, b) == 2,
        ",,{2,3}": lambda nodes, arcs, a, b: 2 <= _steps(nodes, b, a) <= 3,
        "..{2,}": lambda nodes, arcs, a, b: _steps(nodes, a, b) >= 2,
        ",,": lambda nodes, arcs, a, b: a > b,
        ">": lambda nodes, arcs, a, b: not a[1] and not b[1] and b[0] == a[0] + 1,
        ">>": lambda nodes, arcs, a, b: not a[1] and not b[1] and b[0] > a[0],
    }
    ranges = {"": lambda n: not n[1], "empty=yes": lambda n: bool(n[1]), "empty=yes|no": lambda n: True}
    for (sign, holds), (left, is_left), (right, is_right) in product(
        definitions.items(), ranges.items(), ranges.items()
    ):
        expected = [
            (number, {"a": _id(a), "b": _id(b)})
            for number, (nodes, arcs, _) in enumerate(sentences)
            for a, b in product(nodes, nodes)
            if a != b and is_left(a) and is_right(b) and holds(nodes, arcs, a, b)
        ]
        query = f"@a[{left}] {sign} @b[{right}]"
        assert found(query, treebank) == expected, query
        # As a condition, and between words that are joined without the relation.
        with_one = list(dict.fromkeys((number, pair["a"]) for number, pair in expected))
        one = [(number, words["1"]) for number, words in found(f"[{left} {sign} [{right}]]", treebank)]
        assert one == with_one, query
        free = f"@a[{left}]; @b[{right}]"
        without = [pair for pair in found(free, treebank) if pair not in expected]
        assert found(f"{free}; without @a {sign} @b", treebank) == without, query


@pytest.mark.slow
def test_a_long_sentence_of_empty_nodes_takes_linear_time() -> None:
    """Counting matches anew for each of many parts made it quadratic."""
    rows = []
    for n in range(1, 100_001):
        rows.append(f"{n}\tw\t_\tX\t_\t_\t{n - 1}\t{'dep' if n > 1 else 'root'}\t_\t_")
        rows.append(f"{n}.1\te\t_\tX\t_\t_\t_\t_\t{n}:dep\t_")
    treebank = Treebank.from_string("\n".join(rows) + "\n\n")
    assert Query.parse("[empty=yes] <- []").count(treebank) == (100_000, 1)
    assert Query.parse("@a . @e[empty=yes]; @e . @b").count(treebank) == (99_999, 1)
