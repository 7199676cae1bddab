"""What every parser promises, whatever it is inside: run over every trainer, tree class and labelled or not."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from arcwise.graph import TRAINERS, GraphConfig, GraphParser
from arcwise.models import open_model
from arcwise.parsing import ParseOptions, Parser
from arcwise.transition import TransitionConfig, TransitionParser, every_named
from arcwise.transition import system as parse_system
from arcwise.treebanks import Treebank
from contracts.small_treebank import partial, small_treebank, two_rooted


@dataclass(frozen=True)
class Case:
    """A way to train a parser, and what trees it can learn."""

    name: str
    train: Callable[[Treebank, int], Parser]
    projective: bool
    single_root: bool
    labelled: bool
    keeps_heads: bool = True
    learns_from_partial_trees: bool = True

    def __str__(self) -> str:
        return self.name


_EPOCHS = {
    "perceptron": 40,
    "mira": 12,
    "mira-factored": 12,
    "log-linear": 25,
    "latent": 40,
    "eg": 30,
    "log-linear-batch": 6,
}


def graph_case(trainer: str, projective: bool, single_root: bool, labelled: bool) -> Case:
    def train(treebank: Treebank, threads: int) -> Parser:
        config = GraphConfig(
            trainer=trainer,  # type: ignore[arg-type]
            epochs=_EPOCHS[trainer],
            projective=projective,
            single_root=single_root,
            labelled=labelled,
            C=1.0 if trainer in ("mira", "mira-factored", "eg") else 10.0,
            learning_rate=0.1,
            word_dropout=0.01,
            clusters=2,
            k=3,
            arc_bits=15,
            row_bits=16,
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
    return Case(
        name, train, projective, single_root, labelled, keeps_heads=False, learns_from_partial_trees=False
    )


CASES = [
    *(
        transition_case(system.name, beam, single_root, labelled)
        for system in every_named()
        if not system.many_heads
        for beam, single_root, labelled in (
            (1, True, True),
            (4, True, True),
            (4, False, True),
            (1, False, False),
        )
    ),
]
CASES += [
    graph_case(trainer, projective, single_root, labelled)
    for trainer in TRAINERS
    for projective in (True, False)
    for single_root in (True, False)
    for labelled in (True, False)
]


def treebank_for(case: Case) -> Treebank:
    if not case.projective:
        return small_treebank(crossing=True)
    return small_treebank() if case.single_root else two_rooted()


@pytest.fixture(params=CASES, ids=str, scope="module")
def trained(request: pytest.FixtureRequest) -> tuple[Case, Parser]:
    case: Case = request.param
    return case, case.train(treebank_for(case), 1)


def test_it_learns_a_small_treebank_by_heart(trained: tuple[Case, Parser]) -> None:
    case, parser = trained
    gold = treebank_for(case)
    parsed = parser.parse(gold)
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


def test_given_heads_are_kept_and_the_rest_is_a_tree(trained: tuple[Case, Parser]) -> None:
    case, parser = trained
    if not case.keeps_heads:
        pytest.skip(f"{case.name} does not keep heads")
    treebank = small_treebank()
    wanted = np.full(treebank.word_count, -1, np.int32)
    wanted[0] = 3  # "The" hangs on the verb, against everything learned
    parsed = parser.parse(treebank.annotate(heads=wanted), options=ParseOptions(keep_heads=True))
    assert parsed.heads[0] == 3
    assert all(sentence.tree.is_complete for sentence in parsed)


def test_labels_are_known_ones_or_left_alone(trained: tuple[Case, Parser]) -> None:
    case, parser = trained
    treebank = treebank_for(case)
    blank = treebank.annotate(deprel=["unheard-of"] * treebank.word_count)
    labels = set(parser.parse(blank).column("deprel"))
    assert labels <= set(treebank.column("deprel")) if case.labelled else labels == {"unheard-of"}


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.labelled and c.single_root and c.learns_from_partial_trees], ids=str
)
def test_it_learns_from_partial_trees(case: Case) -> None:
    gold = partial()
    parsed = case.train(gold, 1).parse(small_treebank())
    known = gold.heads >= 0
    assert (parsed.heads == gold.heads)[known].all()
    assert all(sentence.tree.is_complete for sentence in parsed)
