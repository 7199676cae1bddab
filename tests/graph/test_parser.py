"""GraphParser: what can be asked of a parse, preparation of trees, model files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arcwise.errors import InputError, ModelError
from arcwise.evaluation.calibration import Calibration
from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph.training import GraphLearner
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.learning.preparation import prepare_trees
from arcwise.learning.progress import Progress
from arcwise.parsing import ParseOptions, Temperatures
from arcwise.parsing.calibration import fit_temperatures, reliability
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, partial, small_treebank, two_rooted

SMALL = {"arc_bits": 14, "row_bits": 15, "word_dropout": 0.1}


@pytest.fixture(scope="module")
def parser() -> GraphParser:
    return GraphParser.train(
        small_treebank(crossing=True), config=GraphConfig(trainer="log-linear", epochs=8, **SMALL)
    )


def blank(treebank: Treebank) -> Treebank:
    words = treebank.word_count
    return treebank.annotate(heads=np.full(words, -1, np.int32), deprel=["_"] * words)


def test_everything_but_heads_and_labels_survives(parser: GraphParser) -> None:
    text = (
        "# a comment\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\t_\tADP\t_\t_\t_\t_\t_\tX=1\n"
        "2\tle\t_\tDET\t_\t_\t_\t_\t_\t_\n2.1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    parsed = parser.parse(Treebank.from_string(text))
    changed = [a for a, b in zip(text.split("\n"), parsed.text.split("\n"), strict=True) if a != b]
    assert [row.split("\t")[0] for row in changed] == ["1", "2"]
    assert "X=1" in parsed.text


def test_confidences_are_the_marginals_of_the_distribution(parser: GraphParser) -> None:
    treebank = small_treebank(crossing=True)
    result = parser.parses(treebank, options=ParseOptions(confidence=True))
    found = result.probabilities
    assert found is not None
    distribution = parser.distributions(treebank)
    word = 0
    for s, sentence in enumerate(treebank):
        own = distribution[s]
        for m in range(1, len(sentence) + 1):
            head, label = int(result.heads[word]), result.label_strings[word]
            assert found.head[word] == pytest.approx(own.marginals[head, m], abs=1e-5)
            place = parser.labels.index(label)
            assert found.label[word] == pytest.approx(own.label_marginals[place, head, m], abs=1e-5)
            word += 1


def test_confidence_goes_to_misc_and_comments(parser: GraphParser) -> None:
    sentence = parser.parse(small_treebank(), options=ParseOptions(confidence=True))[0]
    assert all(m.startswith(("HeadProb=0.", "HeadProb=1.")) for m in sentence.misc)
    assert all("DeprelProb=" in m for m in sentence.misc)
    assert 0 < float(sentence.comments["tree_prob"]) <= 1
    assert float(sentence.comments["tree_entropy"]) >= 0


def test_k_best_trees_are_distinct_and_sorted(parser: GraphParser) -> None:
    treebank = small_treebank()[2:3]
    parsed = parser.parse(treebank, options=ParseOptions(k_best=4))
    assert [s.comments["parse_rank"] for s in parsed] == [str(i + 1) for i in range(len(parsed))]
    scores = [float(s.comments["parse_score"]) for s in parsed]
    assert scores == sorted(scores, reverse=True)
    assert 1 < len({tuple(s.heads) for s in parsed}) == len(parsed) <= 4
    assert parsed[0].tree == parser.parse(treebank)[0].tree


@pytest.mark.parametrize("decode", ["map", "mbr", "max-z"])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_every_decoder_in_every_tree_class(
    parser: GraphParser, decode: str, projective: bool, single_root: bool
) -> None:
    options = ParseOptions(decode=decode, projective=projective, single_root=single_root)  # type: ignore[arg-type]
    parsed = parser.parse(blank(small_treebank()), options=options)
    assert len(parsed) == len(small_treebank())
    for sentence in parsed:
        assert sentence.tree.is_complete
        assert sentence.tree.is_projective or not projective
        assert len(sentence.tree.roots) == 1 or not single_root


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_greedy_takes_the_best_head_of_each_word_whatever_the_tree_class(
    parser: GraphParser, projective: bool, single_root: bool
) -> None:
    treebank = blank(small_treebank())
    options = ParseOptions(decode="greedy", projective=projective, single_root=single_root)
    heads = parser.parses(treebank, options=options).heads
    best = [own[1:] for own in parser.distributions(treebank).greedy_heads()]
    assert heads.tolist() == np.concatenate(best).tolist()


def test_map_and_mbr_agree_with_the_distribution(parser: GraphParser) -> None:
    treebank = small_treebank(crossing=True)
    distribution = parser.distributions(treebank)
    for decode, best in (("map", distribution.best()), ("mbr", distribution.minimum_risk())):
        parsed = parser.parse(treebank, options=ParseOptions(decode=decode))  # type: ignore[arg-type]
        assert [s.heads.tolist() for s in parsed] == [t.heads.tolist() for t in best]


def test_an_option_of_another_parser_is_refused(parser: GraphParser) -> None:
    with pytest.raises(InputError, match=r"^beam: found 8, which a graph-based parser does not support"):
        parser.parse(small_treebank(), options=ParseOptions(beam=8))


def test_unseen_tags_words_and_a_single_word(parser: GraphParser) -> None:
    parsed = parser.parse(
        Treebank.from_string(conllu(["zzz/NEW/0/root", "q/NEW/0/root r/NEW/1/x s/NEW/1/x"]))
    )
    assert all(s.tree.is_complete for s in parsed)


# ---- preparation


def test_projectivising_is_counted() -> None:
    prepared = prepare_trees(small_treebank(crossing=True), projective=True, single_root=True)
    assert prepared.projectivised == 2
    assert prepared.changed_heads == 2
    assert "2 sentences with crossing arcs were projectivised (2 heads changed)" in prepared.notes


def test_further_roots_count_as_unknown() -> None:
    prepared = prepare_trees(two_rooted(), projective=False, single_root=True)
    assert prepared.extra_roots == 1
    assert prepared.partial == 1
    assert prepare_trees(two_rooted(), projective=False, single_root=False).extra_roots == 0


def test_the_label_of_a_forgotten_root_is_forgotten_too() -> None:
    """It said `root`, which no arc from a word should learn; every other label stays."""
    treebank = two_rooted()
    prepared = prepare_trees(treebank, projective=False, single_root=True)
    extra = np.flatnonzero((treebank.heads == 0) & (prepared.heads < 0))
    assert len(extra) == 1
    assert [prepared.labels[word] for word in extra] == ["_"]
    others = np.delete(np.arange(treebank.word_count), extra)
    assert [prepared.labels[w] for w in others] == [treebank.column("deprel")[w] for w in others]
    assert prepare_trees(treebank, projective=False, single_root=False).labels == treebank.column("deprel")


@pytest.mark.parametrize("trainer", ["log-linear", "perceptron", "eg"])
def test_no_arc_from_a_word_learns_the_label_of_a_forgotten_root(trainer: str) -> None:
    """The second root is told apart by its word alone: its label must come from elsewhere."""
    sentences = ["go/V/0/root dogs/N/1/obj", "go/V/0/root cats/N/1/obj", "go/V/0/root mice/N/0/root"]
    bank = Treebank.from_string(conllu(sentences * 3))
    config = GraphConfig(trainer=trainer, epochs=5, arc_bits=12, row_bits=12, restrict_labels=False)
    parsed = GraphParser.train(bank, config=config).parse(bank)
    from_words = [
        label for label, head in zip(parsed.column("deprel"), parsed.heads, strict=True) if head > 0
    ]
    assert set(from_words) == {"obj"}


def test_words_that_projectivising_puts_under_the_root_or_takes_from_it_lose_their_label() -> None:
    bank = Treebank.from_string(conllu(["a/X/3/x b/X/0/root c/X/4/y d/X/2/z"]))
    prepared = prepare_trees(bank, projective=True, single_root=True)
    for word in range(4):
        changed = (bank.heads[word] == 0) != (prepared.heads[word] == 0)
        assert prepared.labels[word] == ("_" if changed else bank.column("deprel")[word])


@pytest.mark.parametrize("trainer", ["log-linear", "softmax-margin", "minimum-risk", "log-linear-batch"])
def test_sentences_that_no_tree_fits_are_left_out_and_told(trainer: str) -> None:
    """A word with a label that no arc of its tags was ever seen with, and without a head."""
    bank = Treebank.from_string(conllu(["a/X/2/x b/X/0/root", "a/X/_/never b/X/0/root", "a/X/0/root"]))
    config = GraphConfig(trainer=trainer, epochs=2, arc_bits=12, row_bits=12)
    report = GraphParser.train(bank, config=config).model.report
    assert [told.get("left out") for told in report["history"]] == [1] * len(report["history"])
    why = "their known heads and labels fit no tree with a single root"
    assert f"1 sentences were skipped: {why}" in report["notes"]


def test_a_second_root_leaves_no_sentence_out() -> None:
    """Its label used to stay, which no arc from a word has: no tree fitted, and nobody was told."""
    config = GraphConfig(trainer="log-linear-batch", epochs=2, arc_bits=12, row_bits=12)
    report = GraphParser.train(two_rooted(), config=config).model.report
    assert not any("left out" in told for told in report["history"])


def test_partial_trees_are_projectivised_around_what_is_known() -> None:
    crossing = small_treebank(crossing=True)
    heads = crossing.heads.copy()
    heads[0] = -1
    heads[-5:-3] = -1
    prepared = prepare_trees(crossing.annotate(heads=heads), projective=True, single_root=True)
    assert (prepared.heads[heads < 0] == -1).all()
    assert prepared.partial == 2


def test_a_treebank_without_trees_is_refused() -> None:
    with pytest.raises(InputError, match="has no heads"):
        GraphParser.train(blank(small_treebank()))
    with pytest.raises(InputError, match="has no label"):
        no_labels = small_treebank().annotate(deprel=["_"] * small_treebank().word_count)
        GraphParser.train(no_labels)


# ---- training options


def test_development_data_choose_epoch_and_C() -> None:
    treebank = small_treebank()
    config = GraphConfig(trainer="mira", epochs=3, try_C=(1e-9, 1.0), **SMALL)
    model = GraphParser.train(treebank, treebank, config=config).model
    assert model.config.C == 1.0
    assert model.report["dev_las"] == 1.0
    assert len(model.report["history"]) == 3


@pytest.mark.parametrize(
    ("trainer", "error", "advised"),
    [("mira", 0.03, True), ("mira", 0.02, False), ("log-linear", 0.03, False)],
)
def test_a_trainer_by_margins_whose_confidences_are_far_off_names_a_better_one(
    trainer: str,
    error: float,
    advised: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("arcwise.parsing.calibration.head_calibration_error", lambda _: error)
    treebank = small_treebank()
    with caplog.at_level("INFO", logger="arcwise"):
        GraphParser.train(treebank, treebank, config=GraphConfig(trainer=trainer, epochs=1, **SMALL))
    assert f"calibration error of heads {100 * error:.1f} %" in caplog.text
    assert ("use the trainer log-linear" in caplog.text) == advised


def test_patience_stops_early() -> None:
    treebank = small_treebank()
    config = GraphConfig(trainer="mira", C=1.0, epochs=50, patience=2, **SMALL)
    assert len(GraphParser.train(treebank, treebank, config=config).model.report["history"]) < 20


def test_a_column_of_ones_own_takes_part() -> None:
    plain = Treebank.from_string(
        conllu(["a/X/2/dep b/X/0/root c/X/2/dep", "a/X/0/root b/X/1/dep c/X/1/dep"] * 3)
    )
    told = plain.annotate(misc=[f"Vote={h}" for h in plain.heads])
    with_votes = GraphConfig(epochs=10, C=1.0, feature_columns=("MISC:Vote",), **SMALL)
    parsed = GraphParser.train(told, config=with_votes).parse(told)
    assert parsed.heads.tolist() == plain.heads.tolist()
    without = GraphParser.train(plain, config=GraphConfig(epochs=10, C=1.0, **SMALL)).parse(plain)
    assert without.heads.tolist() != plain.heads.tolist()
    with pytest.raises(
        InputError, match=r"feature_columns: found 'MISC:Vote', expected a column that .* has"
    ):
        GraphParser.train(plain, config=with_votes)


def test_ctrl_c_keeps_the_best_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    from arcwise.graph import trainer_table

    class Interrupted(trainer_table.MarginTrainer):
        def epoch(self, number, order, advance):  # type: ignore[no-untyped-def]
            if number == 4:
                raise KeyboardInterrupt
            return super().epoch(number, order, advance)

    monkeypatch.setattr(trainer_table, "MarginTrainer", Interrupted)
    treebank = small_treebank()
    parser = GraphParser.train(treebank, treebank, config=GraphConfig(epochs=9, C=1.0, **SMALL))
    assert parser.model.report["interrupted"]
    assert len(parser.model.report["history"]) == 3
    assert parser.parse(treebank).heads.tolist() == treebank.heads.tolist()


def test_partial_trees_are_told() -> None:
    parser = GraphParser.train(partial(), config=GraphConfig(epochs=2, **SMALL))
    assert any("unknown heads" in note for note in parser.model.report["notes"])


# ---- model files


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_less_precision_is_smaller_and_parses_the_same(
    parser: GraphParser, tmp_path: Path, precision: str
) -> None:
    parser.save(tmp_path / "full")
    parser.save(tmp_path / "less", precision=precision)  # type: ignore[arg-type]
    assert (tmp_path / "less").stat().st_size < (tmp_path / "full").stat().st_size
    treebank = small_treebank()
    assert (
        GraphParser.load(tmp_path / "less").parse(treebank).heads.tolist()
        == parser.parse(treebank).heads.tolist()
    )


def test_a_damaged_model_is_an_error_of_one_sentence(parser: GraphParser, tmp_path: Path) -> None:
    parser.save(tmp_path / "m")
    model = read_model(tmp_path / "m")
    without = {name: values for name, values in model.arrays.items() if name != "weights.values"}
    write_model(tmp_path / "cut", Packed("graph", 1, model.header, without))
    with pytest.raises(ModelError, match="cut: "):
        GraphParser.load(tmp_path / "cut")
    write_model(tmp_path / "empty", Packed("graph", 1, {}, {}))
    with pytest.raises(ModelError, match="empty: damaged graph model"):
        GraphParser.load(tmp_path / "empty")
    with pytest.raises(InputError, match="precision: found 'int4'"):
        parser.save(tmp_path / "m", precision="int4")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"epochs": 0}, "epochs: found 0, expected 1"),
        ({"C": -1.0}, "C: found -1.0, expected a number above 0"),
        ({"clusters": 1025}, "clusters: found 1025"),
        ({"arc_bits": 40}, "arc_bits: found 40"),
    ],
)
def test_bad_options_are_named(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as error:
        GraphConfig(**options)  # type: ignore[arg-type]
    assert message in str(error.value)


# ---- calibration


def test_the_fitted_temperature_is_the_best_one() -> None:
    treebank = Treebank.from_string(
        conllu(["a/X/2/dep b/X/0/root", "a/X/0/root b/X/1/dep", "a/X/2/dep b/X/0/root"])
    )
    parser = GraphParser.train(treebank, config=GraphConfig(trainer="perceptron", epochs=5, **SMALL))
    fitted = fit_temperatures(parser, treebank, steps=30)
    best = reliability(fitted, treebank).head_loss
    assert best <= reliability(parser, treebank).head_loss
    for factor in (0.8, 1.25):
        heads, labels = fitted.model.temperature, fitted.model.label_temperature
        other = fitted.with_temperatures(factor * heads, labels, fitted.model.smoothing)
        assert best <= reliability(other, treebank).head_loss + 1e-6
    # Two of three sentences are of one kind: that is what an honest parser says.
    said = fitted.parses(treebank, options=ParseOptions(confidence=True)).probabilities
    assert said is not None
    assert said.head == pytest.approx(2 / 3, abs=0.02)


def test_labels_have_a_temperature_of_their_own(tmp_path: Path) -> None:
    rows = ["a/X/0/root b/X/1/obj", "a/X/0/root b/X/1/obl", "a/X/0/root b/X/1/obj", "a/X/0/root b/X/1/obj"]
    rows += ["a/X/0/root c/Y/1/nmod"]
    treebank = Treebank.from_string(conllu(rows))
    parser = GraphParser.train(treebank, config=GraphConfig(trainer="log-linear", epochs=3, **SMALL))
    fitted = fit_temperatures(parser, treebank, steps=30)
    assert fitted.model.label_temperature != fitted.model.temperature
    fitted.save(tmp_path / "m")
    parses = GraphParser.load(tmp_path / "m").parses(treebank, options=ParseOptions(confidence=True))
    said = parses.probabilities
    assert said is not None
    # Three of four labels of the second word are obj; nmod, which it never had, has a little too; root, which
    # only arcs from the root have, nothing.
    (one,) = {tuple(own[:, 1, 2]) for own in fitted.distributions(treebank[:4]).label_marginals}
    obj, obl, nmod, root = (one[fitted.labels.index(label)] for label in ("obj", "obl", "nmod", "root"))
    assert obj / (obj + obl) == pytest.approx(3 / 4, abs=0.02)
    assert 0 < nmod < obl
    assert root == 0
    # Trees, and the probabilities of heads, are those of the heads' temperature (but for labels never seen).
    other = fitted.with_temperatures(fitted.model.temperature, 77.0, fitted.model.smoothing)
    again = other.parses(treebank, options=ParseOptions(confidence=True))
    assert (again.heads == parses.heads).all()
    assert (again.labels == parses.labels).all()
    for name in ("head", "log_tree", "head_entropy"):
        assert getattr(again.probabilities, name) == pytest.approx(getattr(said, name), abs=1e-6)
    assert found_labels(fitted, treebank).error < found_labels(other, treebank).error


def test_a_label_that_a_low_temperature_rules_out_counts_against_it() -> None:
    rows = ["a/X/0/root b/X/1/obj", "a/X/0/root b/X/1/obl", "a/X/0/root b/X/1/obj"]
    treebank = Treebank.from_string(conllu(rows))
    parser = GraphParser.train(treebank, config=GraphConfig(trainer="log-linear", epochs=3, **SMALL))
    losses = [
        reliability(parser.with_temperatures(1.0, labels), treebank).label_loss
        for labels in (1e-6, 1e-3, 1.0)
    ]
    assert losses[0] >= losses[1] > losses[2]


def found_labels(parser: GraphParser, treebank: Treebank) -> Calibration:
    found = reliability(parser, treebank).labels
    assert found is not None
    return found


def test_training_with_development_data_fits_temperatures() -> None:
    treebank = small_treebank()
    model = GraphParser.train(treebank, treebank, config=GraphConfig(epochs=2, **SMALL)).model
    assert model.temperature != 1.0
    assert model.label_temperature not in (1.0, model.temperature)


def chains(count: int, seed: int) -> Treebank:
    """Sentences in which nouns follow their adjectives and everything else follows the verb, short arcs and a
    few long ones."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        words = ["go/VERB/0/root"]
        while len(words) < 14:
            at = len(words) + 1
            if rng.random() < 0.5:
                words += [f"a{rng.integers(40)}/ADJ/{at + 1}/amod", f"n{rng.integers(40)}/NOUN/1/obj"]
            else:
                head = rng.integers(1, at)
                words.append(f"x{rng.integers(40)}/ADV/{head}/advmod")
        sentences.append(" ".join(words))
    return Treebank.from_string(conllu(sentences), source=f"chains-{seed}.conllu")


@pytest.mark.parametrize("trainer", ["perceptron", "mira", "log-linear"])
def test_training_judges_development_data_by_the_scores_that_the_parser_has(trainer: str) -> None:
    """Arcs that are cut get the same scores while training and afterwards."""
    train, dev = chains(40, 1), chains(100, 2)
    config = GraphConfig(trainer=trainer, epochs=1, filter_after=1, projective=True, **SMALL)
    parser = GraphParser.train(train, config=config)
    model = parser.model
    judged = GraphLearner.of(train, config, 1, Progress(shown=False)).development(dev)
    found = judged.attachment(model.decoding, model.weights)
    right = np.asarray(parser.parse(blank(dev)).heads) == dev.heads
    assert found.uas == pytest.approx(right.mean(), abs=1e-9)


def test_the_file_keeps_temperatures_and_smoothing_and_older_ones_have_none(tmp_path: Path) -> None:
    treebank = small_treebank()
    trained = GraphParser.train(treebank, config=GraphConfig(epochs=2, **SMALL))
    trained.with_temperatures(1.5, 0.5, 0.25).save(tmp_path / "m")
    again = GraphParser.load(tmp_path / "m")
    assert again.temperatures == Temperatures(1.5, 0.5, 0.25)
    assert again.info["smoothing"] == 0.25
    packed = again.pack()
    header = {name: value for name, value in packed.header.items() if name != "smoothing"}
    write_model(tmp_path / "older", replace(packed, header=header))
    assert GraphParser.load(tmp_path / "older").temperatures == Temperatures(1.5, 0.5, 0.0)
