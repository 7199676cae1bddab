"""What every parser promises, whatever it is inside: run over every trainer, system, tree class and labelled
or not, over grammars and pipelines. What a parser can do it is asked (``capabilities``)."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from arcwise.errors import InputError
from arcwise.graph import TRAINERS, GraphConfig, GraphParser
from arcwise.induction import TagSentences, em
from arcwise.induction.parser import DmvParser
from arcwise.models import open_model
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing import Parser
from arcwise.transition import TransitionConfig, TransitionParser, every_named
from arcwise.transition import system as parse_system
from arcwise.treebanks import Treebank
from contracts.every_parser import with_graphs
from contracts.small_treebank import partial, small_treebank, two_rooted
from text.toy import toy_treebank


@dataclass(frozen=True)
class Case:
    """A way to train a parser, and what trees it can learn."""

    name: str
    train: Callable[[Treebank, int], Parser]
    projective: bool
    single_root: bool
    labelled: bool
    treebank: Callable[[], Treebank] | None = None
    """What it learns; None: a small treebank of its tree class."""

    def __str__(self) -> str:
        return self.name


_EPOCHS = 40
_FEWER_EPOCHS = {"mira": 12, "mira-factored": 12, "log-linear": 25, "eg": 30, "log-linear-batch": 6}
"""Enough for trainers that are quick learners: the test is faster so. A new trainer needs no entry."""


def graph_case(trainer: str, projective: bool, single_root: bool, labelled: bool) -> Case:
    entry = TRAINERS[trainer]
    own = {
        "C": max(1.0, 10 * entry.defaults.get("C", 0.0)),
        "learning_rate": 0.1,
        "word_dropout": 0.01,
        "clusters": 2,
        "k": 3,
    }

    def train(treebank: Treebank, threads: int) -> Parser:
        config = GraphConfig(
            trainer=trainer,
            epochs=_FEWER_EPOCHS.get(trainer, _EPOCHS),
            projective=projective,
            single_root=single_root,
            labelled=labelled,
            arc_bits=15,
            row_bits=16,
            **{name: value for name, value in own.items() if name in entry.reads},  # type: ignore[arg-type]
        )
        return GraphParser.train(treebank, config=config, threads=threads)

    kind = f"{'projective' if projective else 'non-projective'}-{'single' if single_root else 'multi'}"
    name = f"graph-{trainer}-{kind}-{'labelled' if labelled else 'unlabelled'}"
    return Case(name, train, projective, single_root, labelled)


def transition_case(system: str, beam: int, single_root: bool, labelled: bool) -> Case:
    def train(treebank: Treebank, threads: int) -> Parser:
        config = TransitionConfig(
            system=system,
            beam=beam,
            epochs=30,
            single_root=single_root,
            labelled=labelled,
            word_dropout=0.01,
            move_bits=14,
            label_bits=12,
        )
        return TransitionParser.train(treebank, config=config, threads=threads)

    kind = f"{'single' if single_root else 'multi'}-{'labelled' if labelled else 'unlabelled'}"
    projective = parse_system(system).is_projective
    name = f"transition-{system}-beam{beam}-{kind}"
    graphs = with_graphs if parse_system(system).many_heads else None
    return Case(name, train, projective, single_root, labelled, graphs)


def dmv_case() -> Case:
    def train(treebank: Treebank, threads: int) -> Parser:
        tags = TagSentences.from_treebank(treebank)
        return DmvParser(em(tags, restarts=3, threads=threads).grammar)

    return Case("dmv", train, projective=True, single_root=True, labelled=True)


def pipeline_case() -> Case:
    def train(treebank: Treebank, threads: int) -> Parser:
        options = {"epochs": 8, "arc_bits": 14, "row_bits": 14}
        return train_pipeline(treebank, config=PipelineConfig(jackknife=2), parser=options, threads=threads)

    return Case("pipeline", train, False, True, True, lambda: toy_treebank()[:100])


CASES = [
    *(
        transition_case(system.name, beam, single_root, labelled)
        for system in every_named()
        for beam, single_root, labelled in (
            (1, True, True),
            (4, True, True),
            (4, False, True),
            (1, False, False),
        )
        if not system.many_heads or (beam, labelled) == (1, True)
    ),
    dmv_case(),
    pipeline_case(),
]
CASES += [
    graph_case(trainer, projective, single_root, labelled)
    for trainer in TRAINERS
    for projective in (True, False)
    for single_root in (True, False)
    for labelled in (True, False)
]


def treebank_for(case: Case) -> Treebank:
    if case.treebank:
        return case.treebank()
    if not case.projective:
        return small_treebank(crossing=True)
    return small_treebank() if case.single_root else two_rooted()


@pytest.fixture(params=CASES, ids=str, scope="module")
def trained(request: pytest.FixtureRequest) -> tuple[Case, Parser]:
    case: Case = request.param
    return case, case.train(treebank_for(case), 1)


@pytest.mark.slow
def test_it_learns_a_small_treebank_by_heart(trained: tuple[Case, Parser]) -> None:
    case, parser = trained
    gold = treebank_for(case)
    parsed = parser.parse(gold)
    if not parser.capabilities.supervised:
        assert all(sentence.tree.is_complete for sentence in parsed)  # there is nothing to learn by heart
    elif parser.capabilities.writes == "graphs":
        assert parsed.column("deps") == gold.column("deps")
    else:
        assert parsed.heads.tolist() == gold.heads.tolist()
        if case.labelled:
            assert parsed.column("deprel") == gold.column("deprel")


def test_saved_and_loaded_it_gives_the_same_output(trained: tuple[Case, Parser], tmp_path: Path) -> None:
    case, parser = trained
    treebank = treebank_for(case)
    parser.save(tmp_path / "model")
    loaded = open_model(tmp_path / "model")
    assert loaded.kind == parser.kind
    assert loaded.parse(treebank).data == parser.parse(treebank).data


@pytest.mark.slow
def test_training_is_deterministic_at_any_number_of_threads(
    trained: tuple[Case, Parser], tmp_path: Path
) -> None:
    case, parser = trained
    parser.save(tmp_path / "one")
    case.train(treebank_for(case), 2).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_parsing_does_not_depend_on_threads(trained: tuple[Case, Parser]) -> None:
    case, parser = trained
    treebank = treebank_for(case)
    assert parser.parse(treebank, threads=3).data == parser.parse(treebank, threads=1).data


def test_labels_are_known_ones_or_left_alone(trained: tuple[Case, Parser]) -> None:
    case, parser = trained
    treebank = treebank_for(case)
    blank = treebank.annotate(deprel=["unheard-of"] * treebank.word_count)
    labels = set(parser.parse(blank).column("deprel"))
    if not parser.capabilities.supervised:
        assert labels == {"root", "dep"}
    elif case.labelled and parser.capabilities.writes == "trees":
        assert labels <= set(treebank.column("deprel"))
    else:
        assert labels == {"unheard-of"}


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if c.labelled and c.single_root], ids=str)
def test_it_learns_from_partial_trees_exactly_if_it_says_so(case: Case) -> None:
    whole = case.treebank() if case.treebank else small_treebank()
    gold = partial(whole)
    try:
        parser = case.train(gold, 1)
    except InputError:
        assert not case.train(treebank_for(case), 1).capabilities.partial_trees
        return
    assert parser.capabilities.partial_trees or not parser.capabilities.supervised
    parsed = parser.parse(whole)
    assert all(sentence.tree.is_complete for sentence in parsed)
    if parser.capabilities.supervised:
        known = gold.heads >= 0
        assert (parsed.heads == gold.heads)[known].all()
