"""Parsers whose scores are averaged over what several taggers say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.annotation.assistant import Assistant
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import TreeClass
from arcwise.models import averaged_tags, open_model
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing.parser import TAGS, ParseOptions
from arcwise.pipeline.pipeline import Pipeline
from arcwise.pipeline.tag_averaging import TagAveragedParser, TagAveragedScorer
from arcwise.text.tagger import Tagger
from arcwise.treebanks import Treebank
from text.toy import toy_treebank

TREES = TreeClass(projective=False, single_root=True)
SMALL: dict[str, Any] = {"epochs": 2, "arc_bits": 12, "row_bits": 12}
FORMS = ("Nobody", "zebras", "sparrows", "hears", ".")
TEXT = "The sparrow admires tutors."


def few() -> Treebank:
    """Forty sentences, of which every eighth has rare words."""
    treebank = toy_treebank()
    return Treebank.from_sentences([*treebank[:60:2], *treebank[len(treebank) - 10 :]])


def untagged(treebank: Treebank) -> Treebank:
    blank = ["_"] * treebank.word_count
    return treebank.annotate(lemma=blank, upos=blank, xpos=blank, feats=blank)


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return train_pipeline(few(), "5fold", parser=SMALL)


@pytest.fixture(scope="module")
def parts() -> tuple[GraphParser, list[Tagger]]:
    """A parser, and two taggers of which the second takes verbs and nouns for each other."""
    treebank = few()
    swapped = {"NOUN": "VERB", "VERB": "NOUN"}
    contrary = treebank.annotate(upos=[swapped.get(tag, tag) for tag in treebank.column("upos")])
    config = GraphConfig(trainer="log-linear", **SMALL)
    parser = GraphParser.train(treebank, config=config).with_temperatures(1.5, 0.8)
    return parser, [Tagger.train(treebank), Tagger.train(contrary)]


def word_distributions(parser: GraphParser, treebank: Treebank) -> list[np.ndarray]:
    """P(head, label) of every word on its own, from the definition."""
    matrices = []
    for scores in parser.scorer.scores(treebank, trees=TREES).tempered(1.5, 0.8).dense_arrays():
        weights = np.exp(scores)
        weights[:, :, 1:] /= weights[:, :, 1:].sum(axis=(0, 1))
        matrices.append(weights[:, :, 1:])
    return matrices


def test_scores_are_the_mean_over_the_taggers(parts: tuple[GraphParser, list[Tagger]]) -> None:
    parser, taggers = parts
    gold = toy_treebank()[:3]
    # The subject of every sentence has a certain tag, all other words have uncertain ones.
    certain = np.array([label == "nsubj" for label in gold.column("deprel")])
    tagged = gold.annotate(misc_update=[f"UposProb={'1.000' if c else '0.900'}" for c in certain])
    readings = [tagged]
    for tagger in taggers:
        # A tag beside a certain one is predicted given that one.
        columns = {n: np.where(certain, np.array(gold.column(n), object), "_").tolist() for n in TAGS}
        readings.append(tagger.tag(gold.annotate(**columns), keep=TAGS))
    assert readings[2].column("upos") != gold.column("upos")
    averaged = TagAveragedScorer(parser, taggers).scores(tagged, trees=TREES).dense_arrays()
    wanted = zip(*(word_distributions(parser, reading) for reading in readings), strict=True)
    for scores, members in zip(averaged, wanted, strict=True):
        np.testing.assert_allclose(np.exp(scores[:, :, 1:]), np.mean(members, axis=0), atol=1e-6)


def test_given_tags_are_not_averaged(parts: tuple[GraphParser, list[Tagger]]) -> None:
    parser, taggers = parts
    gold = toy_treebank()[:3]
    for given in (gold, taggers[1].tag(gold, keep=TAGS, confidence=True)):
        averaged = TagAveragedScorer(parser, taggers).scores(given, trees=TREES).dense_arrays()
        for scores, alone in zip(averaged, word_distributions(parser, given), strict=True):
            np.testing.assert_allclose(np.exp(scores[:, :, 1:]), alone, atol=1e-6)


@pytest.mark.slow
def test_a_small_pipeline_averages_over_its_taggers(pipeline: Pipeline, tmp_path: Path) -> None:
    parser = pipeline.parser
    assert isinstance(parser, TagAveragedParser)
    assert parser.info["further_taggers"] == 5
    assert parser.info["trainer"] == "log-linear"
    assert parser.info["calibration"]["on"] == "5fold of the training data"
    assert 0 < parser.info["dev_las"] <= 1
    pipeline.save(tmp_path / "small.arcwise", precision="float32")
    restored = open_model(tmp_path / "small.arcwise")
    assert isinstance(restored, Pipeline)
    assert restored(TEXT).to_conllu() == pipeline(TEXT).to_conllu()
    assert dict(restored.parser.info)["temperature"] == parser.info["temperature"]


@pytest.mark.slow
def test_trees_and_alternatives_are_the_same_without_confidences(pipeline: Pipeline) -> None:
    doc, without = pipeline(TEXT), pipeline(TEXT, confidence=False)
    assert [s.tree for s in without] == [s.tree for s in doc]
    assert [s.alternatives() for s in without] == [s.alternatives() for s in doc]


@pytest.mark.slow
def test_decided_tags_leave_the_page_nothing_to_average(
    pipeline: Pipeline, parts: tuple[GraphParser, list[Tagger]]
) -> None:
    parser, taggers = parts
    averaged = TagAveragedParser(TagAveragedScorer(parser, taggers), decoding=parser.decoding)
    pipeline = Pipeline(pipeline.tokenizer, taggers[0], averaged)
    words = Treebank.from_string(
        "".join(f"{m}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n" for m, form in enumerate(FORMS, 1)) + "\n"
    )
    assistant = Assistant(pipeline)
    before = assistant.suggest(words[0])
    parsed = pipeline.parse(words, options=ParseOptions(confidence=True))[0]
    assert [word.head for word in before.words] == parsed.heads[1:].tolist()
    assert f"HeadProb={before.words[0].probability:.4f}" in parsed.misc[0]
    decided = words.annotate(
        upos=[word.tags["upos"] for word in before.words] + ["_"] * (words.word_count - len(before.words))
    )
    after = assistant.suggest(decided[0])
    assert [word.probability for word in after.words] != [word.probability for word in before.words]
    alone = TagAveragedParser(TagAveragedScorer(parser, ()), decoding=parser.decoding)
    single = Assistant(Pipeline(pipeline.tokenizer, taggers[0], alone)).suggest(words[0])
    assert [word.probability for word in after.words] == pytest.approx(
        [word.probability for word in single.words]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"dev": "none"},
        {"dev": toy_treebank()[:12]},
        {"config": PipelineConfig(jackknife=0)},
    ],
)
def test_other_pipelines_have_one_tagger(options: dict[str, Any]) -> None:
    trained = train_pipeline(few(), **{"dev": "5fold", "parser": SMALL, **options})
    assert isinstance(trained.parser, GraphParser)


@pytest.mark.slow
def test_an_option_of_another_trainer_chooses_that_trainer() -> None:
    assert train_pipeline(few(), "none", parser={**SMALL, "C": 0.1}).parser.info["trainer"] == "mira"
    assert train_pipeline(few(), "none", parser=SMALL).parser.info["trainer"] == "log-linear"


@pytest.mark.slow
def test_confidences_are_fitted_on_words_that_no_tagger_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the tagger that tags a held-out sentence nor any that is averaged over was trained on it."""
    treebank = few()
    trained_on: dict[int, set[str]] = {}
    train, kept = Tagger.train, []

    def recorded(part: Treebank, **options: Any) -> Tagger:
        tagger = train(part, **options)
        kept.append(tagger)  # or its id could be given to another
        trained_on[id(tagger)] = texts(part)
        return tagger

    def texts(sentences: Iterable[Any]) -> set[str]:
        return {" ".join(sentence.forms) for sentence in sentences}

    held_out: list[tuple[set[str], set[str]]] = []
    scores = TagAveragedScorer.scores

    def spied(self: TagAveragedScorer, part: Treebank, **options: Any) -> Any:
        for tagger in self.taggers:
            held_out.append((texts(part), trained_on[id(tagger)]))
        return scores(self, part, **options)

    monkeypatch.setattr(averaged_tags.Tagger, "train", recorded)
    monkeypatch.setattr(TagAveragedScorer, "scores", spied)
    train_pipeline(treebank, "5fold", parser=SMALL)
    assert len(held_out) == 5 * 4
    for scored, seen in held_out:
        assert scored
        assert not scored & seen
