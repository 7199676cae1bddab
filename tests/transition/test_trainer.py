"""The trainer against its slow twin and against the definitions: steps, update positions, exploration,
dropout, averages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from arcwise import Treebank, native
from arcwise.transition import TransitionConfig, derivation, start
from arcwise.transition import system as parse_system
from arcwise.transition.model import make_scorer
from arcwise.transition.training import TransitionTrainer, word_vocabulary
from reference.transition_search import Twin
from reference.transition_trainer import Gold, StaticSentence, TwinSentence, TwinSettings, TwinTrainer

MOVES = ("a:w b:w", "a:p b:p", "b:p b>:p", "a:p", "a.l1:label b:p", "a:w")
ARCS = ("a:p b:p", "a:w", "b:w")


@dataclass
class Toy:
    """Sentences by chance, a model with weights by chance, and the twins of the sentences."""

    config: TransitionConfig
    scorer: native.TransitionScorer
    data: native.TransitionData
    sentences: list[TwinSentence]
    weights: np.ndarray

    def trainer(
        self,
        rule: str = "local",
        *,
        beam: int = 1,
        explore: float = 0.0,
        dropout: float = 0.0,
        step_bound: float = 0.0,
        warm_epochs: int = 0,
        seed: int = 1,
        static_oracle: bool = False,
    ) -> native.TransitionTrainer:
        self.scorer.set_weights(self.weights)
        return native.TransitionTrainer(
            self.scorer,
            self.data,
            rule=getattr(native.UpdateRule, rule.replace("-", "_")),
            beam=beam,
            single_root=False,
            explore=explore,
            dropout=dropout,
            step_bound=step_bound,
            warm_epochs=warm_epochs,
            seed=seed,
            static_oracle=static_oracle,
        )

    def twin(self, **settings: Any) -> TwinTrainer:
        return TwinTrainer(self.weights, TwinSettings(**settings))


def toy(
    name: str,
    *,
    words: int = 4,
    sentences: int = 3,
    labels: int = 2,
    seed: int = 1,
    spread: float = 0.5,
    move_bits: int = 10,
    twin_sentence: type[TwinSentence] = TwinSentence,
    **changes: Any,
) -> Toy:
    rng = np.random.default_rng(seed)
    config = TransitionConfig(
        system=name,
        move_bits=move_bits,
        label_bits=7,
        move_templates=MOVES,
        label_templates=ARCS,
        word_dropout=0.0,
        single_root=False,
        **changes,
    )
    system = parse_system(name)
    trees = sorted(Twin(system, words).trees())
    golds = [
        Gold(trees[rng.integers(len(trees))], tuple(int(label) for label in rng.integers(labels, size=words)))
        for _ in range(sentences)
    ]
    rows = "".join(
        "".join(
            f"{m}\tw{rng.integers(4)}\t_\t{'ABC'[rng.integers(3)]}\t_\t_\t{h}\tx\t_\t_\n"
            for m, h in enumerate(gold.heads, 1)
        )
        + "\n"
        for gold in golds
    )
    treebank = Treebank.from_string(rows)
    scorer = make_scorer(config, system, labels, word_vocabulary(treebank, config))
    data = native.TransitionData(scorer, treebank.layout, treebank.data)
    data.set_gold(treebank.heads, np.array([label for g in golds for label in g.labels], np.int32))
    twins = [twin_sentence(system, scorer, data, number, gold, labels) for number, gold in enumerate(golds)]
    weights = (spread * rng.normal(size=scorer.weight_count)).astype(np.float32)
    return Toy(config, scorer, data, twins, weights)


def learn_both(made: Toy, trainer: native.TransitionTrainer, twin: TwinTrainer, *, epochs: int = 3) -> None:
    """Sentence after sentence, and after each the weights and their averages must be those of the twin."""
    for epoch in range(1, epochs + 1):
        for number, sentence in enumerate(made.sentences):
            trainer.learn(epoch, np.array([number]), twin.settings.explore > 0)
            twin.learn(sentence)
            np.testing.assert_allclose(made.scorer.weights(), twin.weights, atol=1e-5)
            np.testing.assert_allclose(trainer.averages(made.scorer), twin.mean, atol=1e-5)
    assert (twin.weights != made.weights).any()


SYSTEMS = ["arc-standard", "arc-eager", "hybrid", "easy-first", "bounded(K=3)"]


@pytest.mark.parametrize("name", SYSTEMS)
def test_scores_are_sums_of_weights(name: str) -> None:
    made = toy(name)
    made.scorer.set_weights(made.weights)
    for sentence in made.sentences:
        state = sentence.start()
        found = native.transition_scored_moves(made.scorer, made.data, sentence.number, state.engine, True)
        for *move, score in found:
            places = native.transition_weight_places(
                made.scorer, made.data, sentence.number, state.engine, tuple(move), []
            )
            assert score == pytest.approx(made.weights[places].sum(), abs=1e-5)


def label_places(*, distance_in_labels: bool) -> tuple[set[int], set[int]]:
    """The places of the label weights of the arc 1 ← 3, before and after word 2 is gone; of moves none is
    shared."""
    made = toy("non-projective(D=2)", words=3, sentences=1, distance_in_labels=distance_in_labels)
    moves = (1 << made.config.move_bits) * 4
    (sentence,) = made.sentences
    apart = start(parse_system("non-projective(D=2)"), 3, single_root=False)
    left_arc = next(move for move in apart.moves() if move[1:3] == (1, 3))
    beside = apart.after(next(move for move in apart.moves() if move[1:3] == (2, 3)))
    assert left_arc in beside.moves()
    found = [
        set(native.transition_weight_places(made.scorer, made.data, sentence.number, state, left_arc, []))
        for state in (apart, beside)
    ]
    assert not any(place < moves for place in found[0] & found[1])
    return ({p for p in found[0] if p >= moves}, {p for p in found[1] if p >= moves})


def test_label_templates_are_about_the_distance_of_places_if_wanted() -> None:
    apart, beside = label_places(distance_in_labels=False)
    assert apart == beside
    apart, beside = label_places(distance_in_labels=True)
    assert not apart & beside


# ---- steps


@pytest.mark.parametrize("name", SYSTEMS)
def test_local_perceptron_steps_are_those_of_the_twin(name: str) -> None:
    made = toy(name)
    learn_both(made, made.trainer(), made.twin())


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("bound", [0.02, 1.0])
def test_local_passive_aggressive_steps_are_those_of_the_twin(name: str, bound: float) -> None:
    made = toy(name, spread=0.1)
    learn_both(made, made.trainer(step_bound=bound), made.twin(step_bound=bound))


def first_choice(made: Toy) -> tuple[list[int], list[int], float]:
    """Of the first state: the weights of the best right and of the best wrong move, and by how much the wrong
    one wins."""
    sentence = made.sentences[0]
    state = sentence.start()
    scores = {
        m: float(made.weights[sentence.places(state, m)].sum()) for ms in sentence.labelled(state) for m in ms
    }
    right = max((m for m in scores if sentence.is_right(state, m)), key=scores.__getitem__)
    wrong = max((m for m in scores if not sentence.is_right(state, m)), key=scores.__getitem__)
    return (
        sentence.places(state, right),
        sentence.places(state, wrong),
        scores[wrong] - scores[right],
    )


def one_choice(seed: int) -> Toy:
    """Two words and one label: after the first arc of easy-first there is nothing left to choose. The table
    of moves is so small that weights have several meanings."""
    return toy("easy-first", words=2, sentences=1, labels=1, seed=seed, spread=0.1, move_bits=6)


def test_one_perceptron_step_by_hand() -> None:
    """w + f(gold) − f(predicted) where the wrong move wins; otherwise nothing."""
    moved = []
    for seed in range(12):
        made = one_choice(seed)
        right, wrong, by = first_choice(made)
        trainer = made.trainer()
        updates = trainer.learn(1, np.array([0]), False)
        moved.append(updates)
        assert updates == int(by >= 0)
        expected = changed(made.weights, right, wrong, 1.0 if by >= 0 else 0.0)
        np.testing.assert_allclose(made.scorer.weights(), expected, atol=1e-6)
    assert 0 < sum(moved) < 12


@pytest.mark.parametrize("bound", [0.03, 100.0])
def test_one_passive_aggressive_step_by_hand(bound: float) -> None:
    """w + τ Δf with Δf = f(gold) − f(predicted) and τ = min(C, loss / ‖Δf‖²); with C out of the way, the
    margin is 1 after it, also where both sides share weights."""
    shared = 0
    for seed in range(12):
        made = one_choice(seed)
        right, wrong, by = first_choice(made)
        loss = by + 1
        assert loss > 0
        made.trainer(step_bound=bound).learn(1, np.array([0]), False)
        after = made.scorer.weights()
        difference = changed(np.zeros_like(made.weights), right, wrong, 1.0)
        step = min(bound, loss / (difference @ difference))
        np.testing.assert_allclose(after, made.weights + step * difference, atol=1e-6)
        if bound > loss:
            assert after[right].sum() - after[wrong].sum() == pytest.approx(1, abs=1e-5)
        shared += bool(set(right) & set(wrong))
    assert shared


def changed(weights: np.ndarray, right: list[int], wrong: list[int], step: float) -> np.ndarray:
    after = weights.astype(np.float64)
    np.add.at(after, right, step)
    np.add.at(after, wrong, -step)
    return after


# ---- a static oracle


@pytest.mark.parametrize("name", SYSTEMS)
def test_local_steps_of_a_static_oracle_follow_one_derivation(name: str) -> None:
    made = toy(name, twin_sentence=StaticSentence)
    learn_both(made, made.trainer(static_oracle=True, explore=1.0), made.twin())


@pytest.mark.parametrize("rule", ["early", "max-violation"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_beam_updates_of_a_static_oracle_go_towards_one_derivation(name: str, rule: Any) -> None:
    made = toy(name, twin_sentence=StaticSentence)
    learn_both(made, made.trainer(rule, beam=4, static_oracle=True), made.twin(rule=rule, beam=4), epochs=2)


def test_the_derivation_of_a_static_oracle_attaches_as_soon_as_it_can() -> None:
    """Arc-standard, 2 → 1 and 2 → 3: the left arc does not wait for the right one."""
    chosen = parse_system("arc-standard")
    moves = derivation(chosen, [2, 0, 2])
    assert moves is not None
    kinds = [chosen.transitions[m.transition].kind for m in moves]
    assert kinds == ["shift", "left-arc", "shift", "right-arc", "right-arc"]


# ---- beams


def test_a_beam_holds_every_state_once() -> None:
    """Easy-first builds a tree in any order of its arcs: a beam as wide as the number of labelled trees finds
    all of them, though each has several derivations."""
    made = toy("easy-first", words=3, sentences=1, labels=1)
    made.scorer.set_weights(made.weights)
    trees = Twin(parse_system("easy-first"), 3).trees()
    parses = native.transition_parse(
        made.scorer, made.data, beam=len(trees), single_root=False, k=len(trees), threads=1
    )
    assert {tuple(row) for row in np.array(parses.heads).reshape(-1, 3)} == trees


BEAM_SYSTEMS = ["arc-standard", "arc-eager", "bounded(K=3)"]


@pytest.mark.parametrize("name", BEAM_SYSTEMS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_early_updates_are_where_no_correct_item_is_left(name: str, seed: int) -> None:
    made = toy(name, seed=seed)
    twin = made.twin(rule="early", beam=4)
    learn_both(made, made.trainer("early", beam=4), twin, epochs=2)


def test_early_updates_of_the_twin_are_early() -> None:
    """What the test above compares with: most updates stop before the end, and some are made at the end."""
    lengths = []
    for seed in range(1, 4):
        made = toy("arc-standard", seed=seed)
        twin = made.twin(rule="early", beam=4)
        for sentence in made.sentences * 3:
            twin.learn(sentence)
        lengths += [len(v.bad.moves) for v in twin.violations]
    assert min(lengths) < 4 < max(lengths)


@pytest.mark.parametrize("name", BEAM_SYSTEMS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_max_violation_updates_are_where_the_beam_is_most_wrong(name: str, seed: int) -> None:
    made = toy(name, seed=seed)
    twin = made.twin(rule="max-violation", beam=3)
    learn_both(made, made.trainer("max-violation", beam=3), twin, epochs=2)


@pytest.mark.parametrize("rule", ["early", "max-violation"])
@pytest.mark.parametrize("bound", [0.01, 10.0])
def test_passive_aggressive_steps_of_a_beam(rule: Any, bound: float) -> None:
    made = toy("arc-standard", spread=0.3)
    twin = made.twin(rule=rule, beam=3, step_bound=bound)
    learn_both(made, made.trainer(rule, beam=3, step_bound=bound), twin)


def test_the_gold_side_is_the_best_of_many_correct_derivations() -> None:
    """Arc-standard has many derivations of a tree; the update goes towards the one that scores best, not the
    first."""
    made = toy("arc-standard", seed=5, words=5, sentences=2)
    twin = made.twin(rule="max-violation", beam=8)
    learn_both(made, made.trainer("max-violation", beam=8), twin, epochs=2)


@pytest.mark.parametrize("rule", ["early", "max-violation"])
@pytest.mark.parametrize("name", ["arc-standard", "arc-eager", "bounded(K=3)", "easy-first", "hybrid"])
def test_every_update_of_a_beam_is_valid(name: str, rule: str) -> None:
    """w·f(gold) ≤ w·f(beam) at each update (Huang, Fayong & Guo 2012), also where a good derivation fell out
    of the beam early and another one stayed. Weights are those of a few local epochs, disturbed before each
    sentence, so that this happens."""
    updates = 0
    for seed in range(4):
        made = toy(name, seed=seed, words=5, spread=0.0, sentences=12, labels=1)
        trainer = made.trainer(rule, beam=2, warm_epochs=3)
        for epoch in (1, 2, 3):
            trainer.learn(epoch, np.arange(12), False)
        learned, rng = made.scorer.weights(), np.random.default_rng(seed)
        for number, sentence in [*enumerate(made.sentences)] * 8:
            before = (learned + 2.0 * rng.normal(size=len(learned))).astype(np.float32)
            made.scorer.set_weights(before)
            if trainer.learn(4, np.array([number]), False) == 0:
                continue
            updates += 1
            where, good, bad = trainer.last_beam_update()
            assert where == number
            assert score_along(sentence, good, before) <= score_along(sentence, bad, before) + 1e-3
    assert updates > 200


def score_along(sentence: TwinSentence, moves: list[tuple[int, int, int, int]], weights: np.ndarray) -> float:
    """w·f of a derivation, from the start."""
    state, total = sentence.start().engine, 0.0
    for move in moves:
        places = native.transition_weight_places(
            sentence.scorer, sentence.data, sentence.number, state, move, []
        )
        total += float(weights[places].sum(dtype=np.float64))
        state = state.after(move)
    return total


def test_averages_of_a_beam_have_the_last_update_too() -> None:
    """One sentence, one step: the mean is that of the weights before and after it."""
    made = toy("arc-standard", sentences=1)
    trainer = made.trainer("max-violation", beam=3)
    assert trainer.learn(1, np.array([0]), False) == 1
    after = made.scorer.weights()
    assert (after != made.weights).any()
    np.testing.assert_allclose(trainer.averages(made.scorer), (made.weights + after) / 2, atol=1e-6)


def test_a_beam_begins_with_local_epochs_and_then_averages_anew() -> None:
    made = toy("arc-standard")
    trainer = made.trainer("max-violation", beam=3, warm_epochs=1)
    warm = made.twin()
    for number, sentence in enumerate(made.sentences):
        trainer.learn(1, np.array([number]), True)
        warm.learn(sentence)
    np.testing.assert_allclose(made.scorer.weights(), warm.weights, atol=1e-5)
    then = TwinTrainer(warm.weights, TwinSettings(rule="max-violation", beam=3))
    for number, sentence in enumerate(made.sentences):
        trainer.learn(2, np.array([number]), True)
        then.learn(sentence)
        np.testing.assert_allclose(made.scorer.weights(), then.weights, atol=1e-5)
        np.testing.assert_allclose(trainer.averages(made.scorer), then.mean, atol=1e-5)


# ---- exploration


@pytest.mark.parametrize("name", ["arc-eager", "hybrid", "easy-first"])
@pytest.mark.parametrize("bound", [0.0, 0.5])
def test_exploring_always_follows_the_parser_with_the_dynamic_oracle(name: str, bound: float) -> None:
    made = toy(name, seed=4)
    trainer = made.trainer(explore=1.0, step_bound=bound)
    learn_both(made, trainer, made.twin(explore=1.0, step_bound=bound))


def test_where_there_is_no_dynamic_oracle_nothing_is_explored() -> None:
    made = toy("arc-standard")
    trainer, twin = made.trainer(explore=1.0), made.twin()
    for number, sentence in enumerate(made.sentences):
        trainer.learn(2, np.array([number]), True)
        twin.learn(sentence)
    np.testing.assert_allclose(made.scorer.weights(), twin.weights, atol=1e-5)


def ways_through(made: Toy, share: float) -> dict[tuple[bool, ...], np.ndarray]:
    """Which of the parser's wrong moves are followed, in every possible way, and the weights after the
    sentence."""
    ways: dict[tuple[bool, ...], np.ndarray] = {}
    waiting: list[tuple[bool, ...]] = [()]
    while waiting:
        follows = waiting.pop()
        coins = iter(follows)
        twin = made.twin(explore=share, coin=lambda coins=coins: 0.0 if next(coins) else 1.0)  # type: ignore[misc]
        try:
            twin.learn(made.sentences[0])
            ways[follows] = twin.weights
        except StopIteration:
            waiting += [(*follows, True), (*follows, False)]
    return ways


@pytest.mark.parametrize("share", [0.25, 0.9])
def test_the_share_of_wrong_moves_that_are_followed(share: float) -> None:
    """The weights after a sentence tell which wrong moves were followed (but for the last, after which
    nothing is learned)."""
    made = toy("arc-eager", words=4, sentences=1, labels=1, seed=10)
    outcomes: list[np.ndarray] = []
    chances: list[float] = []
    for follows, weights in ways_through(made, share).items():
        if number_of(weights, outcomes) is None:
            outcomes.append(weights)
            chances.append(0.0)
        chances[number_of(weights, outcomes) or 0] += float(np.prod(np.where(follows, share, 1 - share)))
    assert len(outcomes) > 3
    trainer = made.trainer(explore=share)
    found = []
    for epoch in range(2, 502):
        made.scorer.set_weights(made.weights)
        trainer.learn(epoch, np.array([0]), True)
        found.append(number_of(made.scorer.weights(), outcomes))
    assert None not in found
    for number, chance in enumerate(chances):
        assert_share([one == number for one in found], chance)


def number_of(weights: np.ndarray, outcomes: list[np.ndarray]) -> int | None:
    return next((n for n, known in enumerate(outcomes) if np.allclose(weights, known, atol=1e-4)), None)


def assert_share(found: list[bool], expected: float) -> None:
    """Within four standard deviations; the seeds are fixed, so that this does not change from run to run."""
    assert abs(np.mean(found) - expected) < 4 * (expected * (1 - expected) / len(found)) ** 0.5


def test_exploration_begins_after_the_first_epoch() -> None:
    made = toy("arc-eager", seed=4, explore=1.0)
    made.scorer.set_weights(made.weights)
    trainer = TransitionTrainer(made.config, made.scorer, made.data, np.arange(len(made.sentences)))
    twin = made.twin()
    order = np.arange(len(made.sentences))
    for epoch in (1, 2):
        trainer.epoch(epoch, order, lambda _: None)
        for sentence in made.sentences:
            twin.learn(sentence)
        np.testing.assert_allclose(made.scorer.weights(), twin.weights, atol=1e-5)
        twin.settings.explore = 1.0


# ---- word dropout


@pytest.mark.parametrize("amount", [0.5, 3.0])
def test_the_share_of_words_taken_for_unknown(amount: float) -> None:
    """a/(a+f) of the words of frequency f. One word a sentence, one choice a word, that of its label: its
    weights tell whether the word was dropped."""
    counts = {"often": 9, "twice": 2, "once": 1}
    forms = [form for form, count in counts.items() for _ in range(count)]
    treebank = Treebank.from_string("".join(f"1\t{f}\t_\tA\t_\t_\t0\tx\t_\t_\n\n" for f in forms))
    config = TransitionConfig(
        system="easy-first", move_bits=12, label_bits=8, move_templates=("a:w b:w",), label_templates=("a:w",)
    )
    system = parse_system("easy-first")
    scorer = make_scorer(config, system, 2, word_vocabulary(treebank, config))
    data = native.TransitionData(scorer, treebank.layout, treebank.data)
    data.set_gold(treebank.heads, np.zeros(len(forms), np.int32))
    trainer = native.TransitionTrainer(
        scorer,
        data,
        rule=native.UpdateRule.local,
        beam=1,
        single_root=False,
        explore=0.0,
        dropout=amount,
        step_bound=1.0,
        warm_epochs=0,
        seed=7,
    )
    state = native.TransitionState(system.native, 1, False)
    (move,) = state.moves()

    def changed_by_a_step(number: int, unknown: list[int]) -> set[int]:
        right, wrong = (
            native.transition_weight_places(scorer, data, number, state, (*move[:3], label), unknown)
            for label in (0, 1)
        )
        return set(right) ^ set(wrong)

    for form, count in counts.items():
        number = forms.index(form)
        as_known, as_unknown = changed_by_a_step(number, []), changed_by_a_step(number, [1])
        dropped = []
        for epoch in range(1, 801):
            scorer.set_weights(np.zeros(scorer.weight_count, np.float32))
            trainer.learn(epoch, np.array([number]), False)
            changed = set(np.flatnonzero(scorer.weights()))
            assert changed in (as_known, as_unknown)
            dropped.append(changed == as_unknown)
        assert_share(dropped, amount / (amount + count))
