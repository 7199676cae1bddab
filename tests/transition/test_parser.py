"""The trained parser: search, training rules, options, model files, the command line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arcwise import Treebank, native
from arcwise.cli.main import run
from arcwise.errors import InputError, ModelError
from arcwise.parsing.parser import ParseOptions
from arcwise.transition import State, TransitionConfig, TransitionParser, every_named, start
from arcwise.transition import system as parse_system
from arcwise.transition.model import TransitionModel, make_scorer
from arcwise.transition.preparation import derivable_trees
from arcwise.transition.training import word_vocabulary
from contracts.small_treebank import small_treebank, two_rooted

SMALL = TransitionConfig(epochs=4, move_bits=12, label_bits=10)


def trained(name: str, **changes: object) -> TransitionParser:
    return TransitionParser.train(
        small_treebank(crossing=True), config=replace(SMALL, system=name, **changes)
    )  # type: ignore[arg-type]


def best_of_all_paths(
    parser: TransitionParser, data: native.TransitionData, state: State, *, all_labels: bool
) -> tuple[float, int]:
    """The best score of any derivation and how many there are, by trying every move, with its best label or
    with each."""
    if state.is_final:
        return 0.0, 1
    scored = native.transition_scored_moves(parser.model.scorer, data, 0, state, all_labels)
    following = [
        (m[4], best_of_all_paths(parser, data, state.after(m[:4]), all_labels=all_labels)) for m in scored
    ]
    return max(s + best for s, (best, _) in following), sum(number for _, (_, number) in following)


def sentence_of(*words: tuple[str, str]) -> Treebank:
    rows = "".join(f"{i}\t{w}\t_\t{p}\t_\t_\t_\t_\t_\t_\n" for i, (w, p) in enumerate(words, 1))
    return Treebank.from_string(rows + "\n")


def model_by_chance(config: TransitionConfig, words: Treebank, *, labels: int, seed: int) -> TransitionModel:
    system, vocabulary = parse_system(config.system), word_vocabulary(words, config)
    size = make_scorer(config, system, labels, vocabulary).weight_count
    weights = np.random.default_rng(seed).normal(size=size).astype(np.float32)
    return TransitionModel.build(config, system, tuple("abcde"[:labels]), vocabulary, weights, report={})


@pytest.mark.parametrize("name", ["arc-standard", "arc-eager", "hybrid", "bounded(K=3,D=2)", "easy-first"])
def test_a_wide_beam_finds_the_best_derivation(name: str) -> None:
    """Unlabelled, so that the number of all derivations of three words stays below the beam."""
    parser = trained(name, labelled=False)
    three = sentence_of(("Tom", "PROPN"), ("saw", "VERB"), ("birds", "NOUN"))
    data = native.TransitionData(parser.model.scorer, three.layout, three.data)
    result = native.transition_parse(parser.model.scorer, data, beam=64, single_root=True)
    state = start(parser.model.system, 3, single_root=True)
    best, number = best_of_all_paths(parser, data, state, all_labels=False)
    assert number <= 64
    assert result.scores[0] == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "words", "labels"),
    [
        ("arc-standard", 3, 2),
        ("arc-eager", 3, 2),
        ("hybrid", 3, 2),
        ("easy-first", 2, 5),
        ("bounded(K=3)", 2, 5),
        ("bounded(K=3,D=2)", 2, 5),
        ("attardi", 2, 5),
    ],
)
def test_a_wide_beam_finds_the_best_labelled_derivation(name: str, words: int, labels: int) -> None:
    """With weights by chance, so that a label which is not the best of its arc may well lead to the best
    derivation."""
    config = replace(SMALL, system=name)
    few = sentence_of(*[("Tom", "PROPN"), ("saw", "VERB"), ("birds", "NOUN")][:words])
    for seed in range(8):
        model = model_by_chance(config, few, labels=labels, seed=seed)
        data = native.TransitionData(model.scorer, few.layout, few.data)
        state = start(model.system, words, single_root=True)
        best, number = best_of_all_paths(TransitionParser(model), data, state, all_labels=True)
        assert number <= 64
        result = native.transition_parse(model.scorer, data, beam=64, single_root=True)
        assert result.scores[0] == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("name", [s.name for s in every_named() if not s.many_heads])
def test_greedy_is_a_beam_of_one(name: str) -> None:
    """The heap of easy-first and the in-place greedy loop make the moves that the best score of every state
    asks for."""
    parser = trained(name)
    treebank = small_treebank(crossing=True)
    data = native.TransitionData(parser.model.scorer, treebank.layout, treebank.data)
    result = native.transition_parse(parser.model.scorer, data, beam=1, single_root=True)
    for number, sentence in enumerate(treebank):
        state = start(parser.model.system, len(sentence), single_root=True)
        while not state.is_final:
            moves = native.transition_scored_moves(parser.model.scorer, data, number, state, False)
            state = state.after(max(moves, key=lambda m: m[4])[:4])
        first = int(treebank.sentence_words[number])
        assert state.heads[1:] == result.heads[first : first + len(sentence)].tolist()


@pytest.mark.parametrize("name", ["easy-first", "non-projective(D=2)", "non-projective(D=4)"])
def test_the_heap_of_easy_first_sees_every_change(name: str) -> None:
    """Forty words with weights by chance: scores that a move changes are those that are looked at again."""
    config = replace(SMALL, system=name)
    words = sentence_of(*[(f"w{i % 11}", "ABCDE"[i * i % 5]) for i in range(40)])
    model = model_by_chance(config, words, labels=3, seed=1)
    data = native.TransitionData(model.scorer, words.layout, words.data)
    result = native.transition_parse(model.scorer, data, beam=1, single_root=True)
    state = start(model.system, 40, single_root=True)
    while not state.is_final:
        moves = native.transition_scored_moves(model.scorer, data, 0, state, False)
        state = state.after(max(moves, key=lambda m: m[4])[:4])
    assert state.heads[1:] == result.heads.tolist()


@pytest.mark.parametrize("update", ["early", "max-violation"])
def test_beam_updates_learn_the_treebank(update: str) -> None:
    parser = trained("arc-standard", beam=4, update=update, epochs=12, unreachable="skip")
    gold = small_treebank()
    assert (parser.parse(gold).heads == gold.heads).mean() > 0.95


def test_passive_aggressive_steps_learn_too() -> None:
    parser = trained("hybrid", trainer="mira", C=1.0, epochs=8)
    gold = small_treebank()
    assert (parser.parse(gold).heads == gold.heads).mean() > 0.95


@pytest.mark.parametrize(("how", "used"), [("skip", 8), ("projectivise", 10), ("closest", 10)])
def test_unreachable_trees_are_counted_and_treated_as_asked(how: str, used: int) -> None:
    treebank = small_treebank(crossing=True)
    prepared = derivable_trees(
        treebank,
        parse_system("arc-eager"),
        single_root=True,
        unreachable=how,
        threads=1,  # type: ignore[arg-type]
    )
    assert len(prepared.sentences) == used
    assert prepared.notes[0].startswith("2 sentences (20.00%) have trees that arc-eager cannot derive")
    reachable = derivable_trees(
        treebank, parse_system("non-projective(D=4)"), single_root=True, unreachable="skip", threads=1
    )
    assert reachable.notes == []


def test_partial_trees_are_left_out_and_told() -> None:
    treebank = small_treebank()
    heads = treebank.heads.copy()
    heads[0] = -1
    prepared = derivable_trees(
        treebank.annotate(heads=heads),
        parse_system("hybrid"),
        single_root=True,
        unreachable="skip",
        threads=1,
    )
    assert prepared.notes == ["1 sentences have words without heads and were skipped"]
    assert 0 not in prepared.sentences


def test_k_best_are_distinct_and_sorted() -> None:
    parser = trained("arc-standard", beam=8)
    parsed = parser.parse(small_treebank()[:1], options=ParseOptions(k_best=3))
    assert [s.comments["parse_rank"] for s in parsed] == ["1", "2", "3"]
    scores = [float(s.comments["parse_score"]) for s in parsed]
    assert scores == sorted(scores, reverse=True)
    assert len({tuple(s.heads) + tuple(s.deprels) for s in parsed}) == 3


def test_confidence_is_the_share_of_the_beam() -> None:
    parser = trained("arc-eager")
    treebank = small_treebank()
    parsed = parser.parse(treebank, options=ParseOptions(confidence=True))
    found = parser.parses(treebank, options=ParseOptions(confidence=True)).probabilities
    assert found is not None
    assert ((found.head > 0) & (found.head <= 1 + 1e-9)).all()
    assert (found.label <= found.head + 1e-9).all()
    assert parsed[0].misc[0].startswith("HeadProb=")
    assert "tree_prob" in parsed[0].comments


def test_single_and_multi_root() -> None:
    gold = two_rooted()
    multi = TransitionParser.train(gold, config=replace(SMALL, single_root=False, epochs=10))
    assert multi.parse(gold).heads.tolist() == gold.heads.tolist()
    one = multi.parse(gold, options=ParseOptions(single_root=True))
    assert all(len(s.tree.roots) == 1 for s in one)


def test_what_the_parser_cannot_do_is_refused() -> None:
    parser = trained("arc-eager")
    for options in (
        ParseOptions(decode="mbr"),
        ParseOptions(projective=False),
        ParseOptions(keep_heads=True),
    ):
        with pytest.raises(InputError, match="which a transition-based parser does not support"):
            parser.parse(small_treebank(), options=options)
    with pytest.raises(InputError, match=r"expected 1\.\.64"):
        parser.parse(small_treebank(), options=ParseOptions(beam=65))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"beam": 65}, "beam: found 65"),
        ({"update": "local", "beam": 4}, "found 'local' with a beam"),
        ({"system": "arc-lazy"}, "expected one of arc-standard"),
        ({"C": 0.0}, "C: found 0.0"),
        ({"explore": 2.0}, "explore"),
    ],
)
def test_wrong_options_are_explained(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        replace(SMALL, **changes)  # type: ignore[arg-type]


def test_a_template_that_is_not_understood_is_named() -> None:
    with pytest.raises(InputError, match="found element 'q:lower'"):
        trained("arc-eager", move_templates=("q:w",))


def test_a_damaged_model_is_a_model_error(tmp_path: Path) -> None:
    from arcwise.learning.model_file import Packed, write_model

    write_model(tmp_path / "m", Packed("transition", 1, {"labels": ["x"]}, {"w": np.ones(2, np.float32)}))
    with pytest.raises(ModelError, match="damaged transition model"):
        TransitionParser.load(tmp_path / "m")


def test_a_custom_system_travels_in_the_model(tmp_path: Path) -> None:
    toml = tmp_path / "mine.toml"
    toml.write_text(
        "capacity = 3\nmax_distance = 2\n"
        + "".join(f'[[transition]]\nkind = "{k}"\n' for k in ("left-arc", "right-arc", "shift"))
    )
    parser = trained(str(toml))
    parser.save(tmp_path / "model")
    toml.unlink()
    loaded = TransitionParser.load(tmp_path / "model")
    assert loaded.model.system.name == "mine"
    assert loaded.parse(small_treebank()).data == parser.parse(small_treebank()).data


def test_train_parse_evaluate_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, model, out = (str(tmp_path / name) for name in ("gold.conllu", "model", "out.conllu"))
    config = tmp_path / "small.toml"
    config.write_text("move_bits = 12\nlabel_bits = 10\nepochs = 10\n")
    small_treebank().write(gold)
    train = [
        "train",
        "--parser",
        "transition",
        "--train",
        gold,
        "--dev",
        gold,
        "--model",
        model,
        "--config",
        str(config),
    ]
    assert run([*train, "--system", "bounded(K=3)", "--beam", "2"]) == 0
    assert run(["parse", gold, "--model", model, "-o", out]) == 0
    assert run(["evaluate", gold, out]) == 0
    assert Treebank.read(out).heads.tolist() == small_treebank().heads.tolist()
    assert run(["info", model]) == 0
    capsys.readouterr()
    assert run([*train, "--system", "arc-lazy"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
