"""``MarginalEnsemble``: parsers of several kinds as one, for parsing and as a teacher."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import GraphParser, NeuralParser
from arcwise.distillation import Distillation
from arcwise.errors import InputError, OptionError
from arcwise.graph import GraphConfig
from arcwise.parsing import MarginalEnsemble, ParseOptions, Parser
from arcwise.transition import TransitionConfig, TransitionParser
from contracts.small_treebank import small_treebank
from neural.random_models import random_model

SMALL = {"arc_bits": 12, "row_bits": 13}


@pytest.fixture(scope="module")
def members() -> list[GraphParser]:
    trainers = ("log-linear", "minimum-risk")
    configs = [GraphConfig(trainer=trainer, epochs=4, **SMALL) for trainer in trainers]  # type: ignore[arg-type]
    return [GraphParser.train(small_treebank(), config=config) for config in configs]


def test_it_parses_by_the_mean_of_marginals(members: list[GraphParser]) -> None:
    treebank = small_treebank()
    ensemble = MarginalEnsemble(members, [1, 3])
    assert isinstance(ensemble, Parser)
    mixture = ensemble.distributions(treebank, projective=False, single_root=True)
    of_members = [m.distributions(treebank, projective=False, single_root=True) for m in members]
    for mean, first, second in zip(mixture.marginals, *(d.marginals for d in of_members), strict=True):
        np.testing.assert_allclose(mean, 0.25 * first + 0.75 * second, atol=1e-12)
    options = ParseOptions(decode="mbr-labelled", projective=False, single_root=True)
    parsed = ensemble.parse(treebank, options=options)
    assert [s.tree for s in parsed] == mixture.minimum_labelled_risk()
    assert (parsed.heads == treebank.heads).mean() > 0.9
    assert parsed.column("form") == treebank.column("form")


def test_one_member_is_itself(members: list[GraphParser]) -> None:
    treebank = small_treebank()
    options = ParseOptions(decode="mbr", projective=True, single_root=True)
    alone, ensemble = (
        p.parse(treebank, options=options) for p in (members[0], MarginalEnsemble(members[:1]))
    )
    assert ensemble.data == alone.data


def test_it_is_a_teacher(members: list[GraphParser]) -> None:
    treebank = small_treebank()
    ensemble = MarginalEnsemble(members)
    lesson = Distillation(ensemble, text=treebank)
    data = lesson.prepare(treebank, projective=False, single_root=True, labelled=True)
    assert data.soft_targets.probabilities.size
    config = GraphConfig(trainer="log-linear", epochs=3, **SMALL)  # type: ignore[arg-type]
    student = GraphParser.train(treebank, config=config, distillation=lesson)
    assert student.info["taught"]["teacher"] == "marginal-ensemble"


def test_the_networks_of_a_neural_ensemble_are_parsers() -> None:
    parser = NeuralParser(random_model(members=3))
    assert len(parser.members) == 3
    treebank = small_treebank()[:2]
    mixture = MarginalEnsemble(parser.members).distributions(treebank, projective=False, single_root=True)
    mean = np.mean(
        [m.distributions(treebank, projective=False, single_root=True).marginals[0] for m in parser.members],
        0,
    )
    np.testing.assert_allclose(mixture.marginals[0], mean, atol=1e-9)


def test_what_it_cannot_do_is_refused(members: list[GraphParser]) -> None:
    ensemble = MarginalEnsemble(members)
    with pytest.raises(OptionError, match="confidence"):
        ensemble.parse(small_treebank(), options=ParseOptions(confidence=True))
    with pytest.raises(InputError, match="no model file; save its members"):
        ensemble.save("ensemble.arcwise")
    with pytest.raises(InputError, match="members: found none"):
        MarginalEnsemble([])
    config = TransitionConfig(epochs=1, move_bits=12, label_bits=10)
    transition = TransitionParser.train(small_treebank(), config=config)
    with pytest.raises(OptionError, match="found a transition parser, which has no distributions"):
        MarginalEnsemble([transition])
