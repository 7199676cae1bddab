"""The DAG system: graphs from DEPS and back."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from arcwise import Treebank, native
from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.evaluation.deps import deps_scores
from arcwise.parsing.parser import ParseOptions
from arcwise.transition import TransitionConfig, TransitionParser, system
from arcwise.transition.graphs import gold_graphs

SMALL = TransitionConfig(system="dag", epochs=12, move_bits=12, label_bits=10, word_dropout=0.0)
SENTENCES = (
    "She/PRON/2:nsubj knows/VERB/0:root songs/NOUN/2:obj|4:nsubj rhyme/VERB/2:ccomp",
    "Tom/PROPN/2:nsubj|3:nsubj can/AUX/3:aux sing/VERB/0:root",
    "Birds/NOUN/2:nsubj sing/VERB/0:root",
)


def graphs_treebank(*sentences: str) -> Treebank:
    rows = []
    for sentence in sentences or SENTENCES:
        for i, word in enumerate(sentence.split(), 1):
            form, upos, deps = word.split("/")
            rows.append(f"{i}\t{form}\t_\t{upos}\t_\t_\t_\t_\t{deps}\t_\n")
        rows.append("\n")
    return Treebank.from_string("".join(rows))


def by_search(arcs: set[tuple[int, int]], n: int) -> bool:
    """Whether Sagae & Tsujii's system builds the graph: every sequence of its moves is tried, on a stack and
    a buffer."""

    def walk(stack: tuple[int, ...], buffer: tuple[int, ...], made: frozenset[tuple[int, int]]) -> bool:
        if not stack and buffer == (0,):
            return made == arcs
        found = False
        if stack:
            s, b = stack[-1], buffer[0]
            for arc in ((b, s), (s, b)):
                if arc in arcs and arc not in made:
                    found = found or walk(stack, buffer, made | {arc})
            if any(m == s for _, m in made):
                found = found or walk(stack[:-1], buffer, made)
        if len(buffer) > 1:
            found = found or walk((*stack, buffer[0]), buffer[1:], made)
        return found

    return walk((), (*range(1, n + 1), 0), frozenset())


def test_derivability_of_graphs_is_that_of_exhaustive_search() -> None:
    n = 3
    pairs = [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m]
    graphs = [set(g) for size in (3, 4) for g in combinations(pairs, size) if _is_rooted_dag(set(g), n)]
    found = native.transition_graph_coverage(
        system("dag").native, [[(h, m, 0) for h, m in g] for g in graphs], [n] * len(graphs)
    )
    assert found.astype(bool).tolist() == [by_search(g, n) for g in graphs]
    assert 0 < found.sum() < len(graphs)


def _is_rooted_dag(arcs: set[tuple[int, int]], n: int) -> bool:
    if {m for _, m in arcs} != set(range(1, n + 1)):
        return False
    reached = {0}
    while any(m not in reached and all(h in reached for h, k in arcs if k == m) for m in range(1, n + 1)):
        reached |= {m for m in range(1, n + 1) if all(h in reached for h, k in arcs if k == m)}
    return len(reached) == n + 1


def test_it_learns_graphs_by_heart_and_writes_deps_alone(tmp_path: Path) -> None:
    gold = graphs_treebank()
    parser = TransitionParser.train(gold, gold, config=SMALL)
    blank = gold.annotate(deps=["_"] * gold.word_count)
    parsed = parser.parse(blank)
    assert deps_scores(gold, parsed).labelled.f1 == 1
    assert parsed.annotate(deps=["_"] * gold.word_count).data == blank.data
    parser.save(tmp_path / "model")
    assert TransitionParser.load(tmp_path / "model").parse(blank).data == parsed.data


def test_arcs_that_have_no_place_are_counted() -> None:
    gold = gold_graphs(graphs_treebank("a/X/0:root|1.1:dep b/X/1:x|1:y"))
    assert (gold.with_empty_nodes, gold.doubled) == (1, 1)
    assert gold.graphs == [[(0, 1, gold.labels.index("root")), (1, 2, gold.labels.index("x"))]]


def test_graphs_out_of_reach_are_left_out_and_told() -> None:
    crossing = "a/X/3:x b/X/4:x c/X/0:root d/X/3:x"
    parser = TransitionParser.train(graphs_treebank(*SENTENCES, crossing), config=SMALL)
    assert parser.info["notes"][0].startswith("1 sentences (25.00%) have graphs that dag cannot derive")
    with pytest.raises(InputError, match="can derive none of the graphs"):
        TransitionParser.train(graphs_treebank(crossing), config=SMALL)


def test_what_graphs_do_not_have_is_refused() -> None:
    gold = graphs_treebank()
    with pytest.raises(InputError, match="expected 1 for dag"):
        TransitionParser.train(gold, config=replace(SMALL, beam=2))
    parser = TransitionParser.train(gold, config=replace(SMALL, epochs=1))
    with pytest.raises(InputError, match="which a dag parser does not support"):
        parser.parse(gold, options=ParseOptions(k_best=2))


def test_graphs_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, model, out = (str(tmp_path / name) for name in ("gold.conllu", "model", "out.conllu"))
    config = tmp_path / "small.toml"
    config.write_text("move_bits = 12\nlabel_bits = 10\nepochs = 12\nword_dropout = 0.0\n")
    graphs_treebank().write(gold)
    assert (
        run(
            [
                "train",
                "--parser",
                "transition",
                "--system",
                "dag",
                "--train",
                gold,
                "--model",
                model,
                "--config",
                str(config),
            ]
        )
        == 0
    )
    assert run(["parse", gold, "--model", model, "-o", out]) == 0
    capsys.readouterr()
    assert run(["evaluate", "--deps", gold, out]) == 0
    assert (
        capsys.readouterr().out.splitlines()[1] == "labelled    precision 100.00%  recall 100.00%  F1 100.00%"
    )
    assert run(["evaluate", "--deps", "--json", gold, out]) == 0
