"""Students over the parsers that can be taught: what they learn from a teacher, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.distillation import Distillation, DistillationConfig, DistillationData
from arcwise.distillation.teacher import read_distillation_config
from arcwise.errors import InputError, OptionError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph.trainer_table import TRAINERS
from arcwise.models.registry import trainable_kind
from arcwise.models.teacher import load_distillation, open_teacher
from arcwise.parsing.scored import ScoredParser
from arcwise.parsing.scorer import FunctionScorer
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Sentence, Treebank
from contracts.small_treebank import conllu, partial, small_treebank

SMALL = {"arc_bits": 12, "row_bits": 13}
LOG_LINEAR = [name for name, kind in TRAINERS.items() if kind.learns_distributions]
TREES_ONLY = [name for name, kind in TRAINERS.items() if not kind.learns_distributions]
STUDENTS: list[tuple[str, dict[str, Any]]] = [
    ("graph", {"trainer": "log-linear", "epochs": 6, **SMALL}),
    ("graph", {"trainer": "softmax-margin", "epochs": 6, **SMALL}),
    ("transition", {"epochs": 6, "move_bits": 12, "label_bits": 10}),
    ("transition", {"epochs": 6, "move_bits": 12, "label_bits": 10, "system": "hybrid", "trainer": "mira"}),
]


def train(
    kind: str, options: dict[str, Any], treebank: Treebank, distillation: Distillation | None, **more: Any
) -> Any:
    parser, config = trainable_kind(kind)
    return parser.train(
        treebank, more.pop("dev", None), config=config(**options), distillation=distillation, **more
    )


def blind(treebank: Treebank) -> Treebank:
    nothing = np.full(treebank.word_count, -1, np.int32)
    return treebank.annotate(heads=nothing, deprel=["_"] * treebank.word_count, strict=False)


@pytest.fixture(scope="module")
def teacher() -> GraphParser:
    config = GraphConfig(trainer="log-linear", epochs=8, **SMALL)  # type: ignore[arg-type]
    return GraphParser.train(small_treebank(crossing=True), config=config)


def oracle(sure: float = 60.0, labels: tuple[str, ...] = ()) -> ScoredParser:
    """A teacher who knows the trees of the small treebank by heart."""
    known = small_treebank()
    names = labels or tuple(sorted(set(known.column("deprel"))))
    trees = {tuple(sentence.forms): sentence for sentence in known}

    def scores(sentence: Sentence) -> np.ndarray:
        own = trees[tuple(sentence.forms)]
        found = np.zeros((len(names), len(own) + 1, len(own) + 1))
        for m, (head, label) in enumerate(zip(own.tree.heads[1:], own.deprels, strict=True), start=1):
            found[names.index(label) if label in names else 0, head, m] = sure
        return found

    return ScoredParser(FunctionScorer(scores, names))


# ---- what a teacher who is sure teaches


@pytest.mark.parametrize("kind, options", STUDENTS)
@pytest.mark.parametrize("gold_share", [0.0, 0.3, 1.0])
def test_a_teacher_who_is_sure_of_the_gold_trees_changes_nothing(
    kind: str, options: dict[str, Any], gold_share: float
) -> None:
    treebank = small_treebank()
    plain = train(kind, options, treebank, None)
    taught = train(
        kind, options, treebank, Distillation(oracle(), config=DistillationConfig(gold_share=gold_share))
    )
    assert (plain.model.weights == taught.model.weights).all()


@pytest.mark.parametrize("kind, options", STUDENTS)
def test_blind_text_of_a_sure_teacher_is_as_good_as_a_treebank(kind: str, options: dict[str, Any]) -> None:
    treebank = small_treebank()
    some, rest = treebank[:3], treebank[3:]
    plain = train(kind, options, treebank, None)
    taught = train(
        kind, options, some, Distillation(oracle(), blind(rest), DistillationConfig(text_weight=1.0))
    )
    assert (plain.model.weights == taught.model.weights).all()
    assert taught.info["taught"]["text_sentences"] == len(rest)
    assert taught.info["train_sentences"] == 3


@pytest.mark.parametrize("trainer", TREES_ONLY)
def test_trainers_that_want_trees_get_those_of_minimum_risk(trainer: str) -> None:
    treebank = small_treebank()
    options = {"trainer": trainer, "epochs": 3, **SMALL}
    plain = train("graph", options, treebank, None)
    taught = train("graph", options, treebank[:3], Distillation(oracle(), blind(treebank[3:])))
    assert (plain.model.weights == taught.model.weights).all()


def test_a_beam_gets_the_trees_of_minimum_risk() -> None:
    treebank = small_treebank()
    options = {"epochs": 3, "beam": 4, "warm_epochs": 0, "move_bits": 12, "label_bits": 10}
    plain = train("transition", options, treebank, None)
    config = DistillationConfig(text_weight=1.0)
    taught = train("transition", options, treebank[:3], Distillation(oracle(), blind(treebank[3:]), config))
    assert (plain.model.weights == taught.model.weights).all()


# ---- what one who is not sure teaches


@pytest.mark.parametrize("trainer", ["log-linear", "latent"])
def test_the_student_comes_nearer_to_the_teacher(trainer: str, teacher: GraphParser) -> None:
    """KL(teacher ‖ student) falls from epoch to epoch, where the teacher alone is listened to."""
    treebank = small_treebank(crossing=True)
    distillation = Distillation(teacher, config=DistillationConfig(gold_share=0.0, least=0.0))
    wanted = teacher.distributions(treebank)
    divergences = []
    for epochs in (1, 4, 16):
        options = {"trainer": trainer, "epochs": epochs, "average": False, "word_dropout": 0.0, **SMALL}
        student = train("graph", options, treebank, distillation)
        divergences.append(float(np.sum(wanted.kl(student.distributions(treebank)))))
    plain = train("graph", options, treebank, None).distributions(treebank)
    assert divergences[0] > divergences[1] > divergences[2]
    if trainer == "log-linear":
        assert divergences[2] < float(np.sum(wanted.kl(plain)))


@pytest.mark.parametrize("trainer", ["log-linear", "softmax-margin", "minimum-risk"])
def test_partial_trees_are_learned_as_without_a_teacher(trainer: str, teacher: GraphParser) -> None:
    """A mixture of what is known of some words and what the teacher says of others is no distribution over
    trees."""
    treebank = partial()
    distilled = Distillation(teacher).prepare(treebank, projective=False, single_root=True, labelled=True)
    names = distilled.soft_targets.label_names
    codes = np.array([names.index(label) if label in names else -1 for label in treebank.column("deprel")])
    found = distilled.targets(np.asarray(treebank.heads), codes.astype(np.int32), names)
    for s, sentence in enumerate(treebank):
        first, last = (int(found.starts[treebank.sentence_words[k]]) for k in (s, s + 1))
        assert (first == last) == bool((sentence.tree.heads[1:] < 0).any())
    options = {"trainer": trainer, "epochs": 3, **SMALL}
    plain = train("graph", options, treebank, None)
    taught = train(
        "graph", options, treebank, Distillation(teacher, config=DistillationConfig(gold_share=1.0))
    )
    assert (plain.model.weights == taught.model.weights).all()


def test_a_log_linear_student_settles() -> None:
    """What a teacher says of heads is what some distribution over trees says: so weights do not run away,
    however long one learns."""
    treebank = small_treebank(crossing=True)
    config = GraphConfig(trainer="log-linear", epochs=2, **SMALL)  # type: ignore[arg-type]
    unsure = GraphParser.train(small_treebank()[:4], config=config).with_temperatures(2.0, 2.0, 0.2)
    distillation = Distillation(unsure, small_treebank(crossing=True), DistillationConfig(gold_share=0.3))
    sizes = []
    for epochs in (40, 160):
        options = {"trainer": "log-linear", "epochs": epochs, "average": False, "word_dropout": 0.0, **SMALL}
        found = train("graph", options, treebank, distillation).model.weights
        sizes.append(float(np.abs(found).max()))
    assert sizes[1] < 2 * sizes[0]


@pytest.mark.parametrize("projective", [True, False])
def test_the_teacher_speaks_of_the_trees_of_the_student(teacher: GraphParser, projective: bool) -> None:
    treebank = small_treebank(crossing=True)
    config = DistillationConfig(least=0.0)
    distilled = Distillation(teacher, treebank[:2], config).prepare(
        treebank, projective=projective, single_root=True, labelled=True
    )
    wanted = teacher.distributions(treebank, projective=projective, single_root=True).label_marginals
    first, n = int(treebank.sentence_words[4]), len(treebank[4])
    own = distilled.soft_targets.select_words(np.arange(first, first + n))
    heads = np.zeros((n + 1, n + 1))
    np.add.at(heads, (own.heads, own.words + 1), own.probabilities)
    assert np.allclose(heads, wanted[4].sum(0))
    assert np.allclose(own.probabilities, wanted[4][own.labels, own.heads, own.words + 1], rtol=0, atol=0.06)
    assert len(distilled.treebank) == len(treebank) + 2
    text = teacher.distributions(treebank[:2], projective=projective).minimum_labelled_risk()
    assert [sentence.tree for sentence in distilled.treebank[len(treebank) :]] == text


def test_only_the_text_is_weighed(teacher: GraphParser) -> None:
    treebank = small_treebank()
    config = DistillationConfig(text_weight=0.25)
    distilled = Distillation(teacher, treebank[:2], config).prepare(
        treebank, projective=True, single_root=True, labelled=True
    )
    assert distilled.weights.tolist() == [1.0] * len(treebank) + [0.25] * 2


@pytest.mark.parametrize("kind, options", STUDENTS)
def test_the_result_does_not_depend_on_threads(
    kind: str, options: dict[str, Any], teacher: GraphParser
) -> None:
    treebank, text = small_treebank(), small_treebank(crossing=True)[8:]
    found = [train(kind, options, treebank, Distillation(teacher, text), threads=n) for n in (1, 3)]
    assert (found[0].model.weights == found[1].model.weights).all()


@pytest.mark.parametrize("kind, options", [STUDENTS[0], STUDENTS[2]])
def test_folds_of_the_treebank_choose_the_epoch(
    kind: str, options: dict[str, Any], teacher: GraphParser
) -> None:
    treebank, text = small_treebank(), small_treebank(crossing=True)[8:]
    found = train(kind, options, treebank, Distillation(teacher, text), dev="4fold")
    assert len(found.info["folds"]) == 6
    assert found.info["taught"]["text_sentences"] == 2


def test_a_fold_is_left_out_of_the_distilled(teacher: GraphParser) -> None:
    treebank = small_treebank()
    distilled = Distillation(teacher, treebank[:2]).prepare(
        treebank, projective=True, single_root=True, labelled=True
    )
    some = distilled.without_fold(3, 1)
    numbers = [0, 2, 3, 5, 6, 8, 9]
    assert [s.forms for s in some.treebank] == [distilled.treebank[s].forms for s in numbers]
    assert some.gold_sentences == 5
    assert len(some.soft_targets) == some.treebank.word_count
    last = distilled.soft_targets.probabilities[distilled.soft_targets.starts[-2] :]
    assert some.soft_targets.probabilities[some.soft_targets.starts[-2] :].tolist() == last.tolist()


def test_with_folds_of_the_teacher_nobody_has_seen_the_sentence() -> None:
    """Each part is read by a teacher trained on the others; the order of the words stays."""
    treebank = small_treebank()
    seen: list[set[tuple[str, ...]]] = []

    def again(others: Treebank) -> ScoredParser:
        seen.append({tuple(s.forms) for s in others})
        known, fold = seen[-1], float(len(seen))

        def scores(sentence: Sentence) -> np.ndarray:
            assert tuple(sentence.forms) not in known
            return fold * np.eye(len(sentence) + 1, k=1)

        return ScoredParser(FunctionScorer(scores))

    flat = ScoredParser(FunctionScorer(lambda sentence: np.zeros((len(sentence) + 1, len(sentence) + 1))))
    distillation = Distillation(flat, config=DistillationConfig(teacher_folds=3, least=0.0), retrain=again)
    distilled = distillation.prepare(treebank, projective=False, single_root=True, labelled=False)
    assert len(seen) == 3
    for s, sentence in enumerate(treebank):
        one = again_scores(sentence, s % 3 + 1)
        at = int(treebank.sentence_words[s])
        span = slice(distilled.soft_targets.starts[at], distilled.soft_targets.starts[at + 1])
        assert np.allclose(
            distilled.soft_targets.probabilities[span], one[distilled.soft_targets.heads[span], 1]
        )


def again_scores(sentence: Sentence, fold: int) -> Any:
    parser = ScoredParser(FunctionScorer(lambda own: fold * np.eye(len(own) + 1, k=1)))
    return parser.distributions([sentence], projective=False, single_root=True).marginals[0]


def test_a_graph_parser_can_be_trained_anew_for_each_part(teacher: GraphParser, tmp_path: Any) -> None:
    path = tmp_path / "teacher.arcwise"
    teacher.save(path)
    distillation = replace(open_teacher(path), config=DistillationConfig(teacher_folds=2))
    distilled = distillation.prepare(small_treebank(), projective=True, single_root=True, labelled=True)
    plain = open_teacher(path).prepare(small_treebank(), projective=True, single_root=True, labelled=True)
    assert len(distilled.soft_targets) == len(plain.soft_targets)
    sure = [
        np.maximum.reduceat(own.probabilities, own.starts[:-1]).mean()
        for own in (plain.soft_targets, distilled.soft_targets)
    ]
    assert sure[0] > sure[1]  # one who knows the sentences is surer


# ---- labels


def test_labels_that_the_treebank_lacks_are_learned_from_the_text(teacher: GraphParser) -> None:
    treebank = small_treebank(crossing=True)
    few = Treebank.from_string(conllu(["The/DET/2/det cat/NOUN/3/nsubj sleeps/VERB/0/root"]))
    options = {"trainer": "log-linear", "epochs": 4, **SMALL}
    alone = train("graph", options, few, Distillation(teacher))
    taught = train("graph", options, few, Distillation(teacher, blind(treebank)))
    assert set(alone.labels) == {"det", "nsubj", "root"}
    assert set(alone.labels) < set(taught.labels) <= set(teacher.labels)


@pytest.mark.parametrize("kind, options", STUDENTS)
def test_a_student_without_labels_learns_heads(
    kind: str, options: dict[str, Any], teacher: GraphParser
) -> None:
    treebank = small_treebank()
    found = train(kind, {**options, "labelled": False}, treebank, Distillation(teacher, blind(treebank)))
    assert (found.parse(treebank).heads == treebank.heads).all()


# ---- what is refused


def test_a_teacher_needs_distributions() -> None:
    config = TransitionConfig(epochs=1, move_bits=12, label_bits=10)
    parser = TransitionParser.train(small_treebank(), config=config)
    with pytest.raises(OptionError, match="teacher: found a transition parser, which has no distributions"):
        Distillation(parser)


def test_a_teacher_of_another_label_set_is_refused(teacher: GraphParser) -> None:
    other = oracle(labels=("SUB", "OBJ"))
    with pytest.raises(
        OptionError, match=r"teacher: found the labels OBJ, SUB, expected those of small.conllu: "
    ):
        train(*STUDENTS[0], small_treebank(), Distillation(other))


def test_a_teacher_without_labels_is_refused() -> None:
    flat = ScoredParser(FunctionScorer(lambda sentence: np.zeros((len(sentence) + 1, len(sentence) + 1))))
    with pytest.raises(
        OptionError, match="teacher: the teacher has no labels; expected a labelled one, or labelled = false"
    ):
        train(*STUDENTS[0], small_treebank(), Distillation(flat))
    train("graph", {**STUDENTS[0][1], "labelled": False}, small_treebank(), Distillation(flat))


def test_text_without_words_or_tags_is_refused(teacher: GraphParser) -> None:
    treebank = small_treebank()
    with pytest.raises(InputError, match="empty: has no words, expected text to learn from"):
        Distillation(teacher, Treebank(b"", source="empty"))
    bare = treebank.annotate(upos=["_"] * treebank.word_count)
    with pytest.raises(InputError, match=r"has no tags \(UPOS\), expected text tagged like the treebank"):
        train(*STUDENTS[0], treebank, Distillation(teacher, bare))


def test_columns_that_the_text_lacks_are_told(teacher: GraphParser) -> None:
    treebank = small_treebank().annotate(lemma=["x"] * small_treebank().word_count)
    distilled = Distillation(teacher, small_treebank()).prepare(
        treebank, projective=True, single_root=True, labelled=True
    )
    assert "the treebank has LEMMA, the text does not" in distilled.notes


@pytest.mark.parametrize("trainer", TREES_ONLY)
@pytest.mark.parametrize("option", [{"gold_share": 0.1}, {"text_weight": 2.0}, {"teacher_folds": 3}])
def test_options_that_a_trainer_does_not_read_are_refused(
    trainer: str, option: dict[str, Any], teacher: GraphParser
) -> None:
    distillation = Distillation(
        teacher, small_treebank(), DistillationConfig(**option), retrain=lambda _: teacher
    )
    with pytest.raises(OptionError, match=f"{next(iter(option))}: found .*the trainer {trainer} "):
        train("graph", {"trainer": trainer, **SMALL}, small_treebank(), distillation)


def test_those_who_learn_from_trees_need_text(teacher: GraphParser) -> None:
    with pytest.raises(OptionError, match="teacher: expected text to learn from: the trainer mira"):
        train("graph", {"trainer": "mira", **SMALL}, small_treebank(), Distillation(teacher))
    with pytest.raises(OptionError, match="teacher: expected text to learn from: arc-standard"):
        train("transition", {"system": "arc-standard"}, small_treebank(), Distillation(teacher))


def test_graphs_cannot_be_taught(teacher: GraphParser) -> None:
    with pytest.raises(OptionError, match="teacher: found one, but dag builds graphs"):
        train("transition", {"system": "dag"}, small_treebank(), Distillation(teacher, small_treebank()))


def test_a_teacher_that_cannot_be_trained_has_no_folds() -> None:
    with pytest.raises(OptionError, match="teacher_folds: expected 0: this teacher cannot be retrained"):
        Distillation(oracle(), config=DistillationConfig(teacher_folds=2))
    with pytest.raises(OptionError, match="teacher_folds: found 1, expected 0, or at least 2 folds"):
        DistillationConfig(teacher_folds=1)


def test_the_doubts_about_a_teacher_are_told(teacher: GraphParser) -> None:
    def notes(**options: Any) -> tuple[str, ...]:
        distillation = Distillation(teacher, config=DistillationConfig(**options))
        bank = small_treebank(crossing=True)
        return distillation.prepare(bank, projective=False, single_root=True, labelled=True).notes

    assert any("the teacher was trained on this treebank" in note for note in notes())
    assert not notes(gold_share=1.0)


# ---- text from files


def test_raw_text_needs_a_pipeline(teacher: GraphParser, tmp_path: Any) -> None:
    model, text = tmp_path / "t.arcwise", tmp_path / "raw.txt"
    teacher.save(model)
    text.write_text("Birds sing.\n")
    with pytest.raises(
        OptionError, match=r"text: found raw text in .*raw.txt, but the teacher is not a pipeline"
    ):
        load_distillation(model, [text])


def test_a_pipeline_cuts_and_tags_raw_text(tmp_path: Any) -> None:
    raw, untagged = tmp_path / "raw.txt", tmp_path / "blind.conllu"
    raw.write_text("Birds sing in spring. She sleeps.\n")
    untagged.write_text("1\tDogs\t_\t_\t_\t_\t_\t_\t_\t_\n2\tbark\t_\tX\t_\t_\t_\t_\t_\t_\n\n")
    distillation = load_distillation("en", [raw, untagged])
    assert distillation.text is not None
    assert [s.forms for s in distillation.text] == [
        ["Birds", "sing", "in", "spring", "."],
        ["She", "sleeps", "."],
        ["Dogs", "bark"],
    ]
    assert "_" not in distillation.text.column("upos")
    assert distillation.text[2].upos[1] == "X"  # what is there stays
    distilled = distillation.prepare(english(), projective=True, single_root=True, labelled=True)
    assert isinstance(distilled, DistillationData)
    parser: Any = distillation.teacher
    wanted = parser.distributions(
        distillation.text, projective=True, single_root=True
    ).minimum_labelled_risk()
    assert [sentence.tree for sentence in distilled.treebank[1:]] == wanted


def english() -> Treebank:
    return Treebank.from_string(conllu(["Birds/NOUN/2/nsubj sing/VERB/0/root"]))


def test_former_names_still_work(teacher: GraphParser, tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="use arcwise.distillation.Distillation"):
        from arcwise.parsing.teaching import Teaching
    with pytest.warns(DeprecationWarning, match="use arcwise.models.teacher.load_distillation"):
        from arcwise.models.teaching import teaching_of
    assert (Teaching, teaching_of) == (Distillation, load_distillation)
    config = GraphConfig(trainer="log-linear", epochs=1, **SMALL)  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match="teaching= is deprecated: use distillation="):
        GraphParser.train(small_treebank(), config=config, teaching=Distillation(teacher))  # type: ignore[call-arg]
    (tmp_path / "old.toml").write_text("[teaching]\ngold_share = 0.25\n")
    assert read_distillation_config(tmp_path / "old.toml", {}).gold_share == 0.25
