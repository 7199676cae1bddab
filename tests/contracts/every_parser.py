"""One parser of every kind, trainer and system, quickly trained: for contracts that all of them keep."""

from collections.abc import Callable

from arcwise.graph import TRAINERS, GraphConfig, GraphParser
from arcwise.induction.dmv import DMV
from arcwise.induction.parser import DmvParser
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing import Parser
from arcwise.pipeline.pipeline import Pipeline
from arcwise.siblings import SiblingConfig, SiblingParser
from arcwise.siblings.config import SIBLING_TRAINERS
from arcwise.transition import TransitionConfig, TransitionParser, every_named
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank
from neural.random_models import PARSERS as NEURAL
from neural.random_models import random_parser
from text.toy import toy_treebank


def graph_parser(trainer: str) -> Parser:
    config = GraphConfig(trainer="latent", epochs=2, clusters=2, arc_bits=12, row_bits=12)
    return GraphParser.train(small_treebank(), small_treebank(), config=config.for_trainer(trainer))


def sibling_parser(trainer: str) -> Parser:
    config = SiblingConfig(trainer=trainer, epochs=2, arc_bits=12, row_bits=12, sibling_bits=12)
    return SiblingParser.train(small_treebank(), small_treebank(), config=config)


def transition_parser(system: str) -> Parser:
    config = TransitionConfig(system=system, epochs=2, move_bits=12, label_bits=10)
    return TransitionParser.train(with_graphs(), config=config)


def with_graphs() -> Treebank:
    """The small treebank with its trees in DEPS too, for DAG systems."""
    treebank = small_treebank()
    arcs = zip(treebank.heads, treebank.column("deprel"), strict=True)
    return treebank.annotate(deps=[f"{head}:{label}" for head, label in arcs])


def toy_pipeline() -> Pipeline:
    options = {"epochs": 2, "arc_bits": 12, "row_bits": 12}
    return train_pipeline(toy_treebank()[:100], config=PipelineConfig(jackknife=2), parser=options)


PARSERS: dict[str, Callable[[], Parser]] = {
    **{f"graph-{trainer}": lambda trainer=trainer: graph_parser(trainer) for trainer in TRAINERS},
    **{
        f"siblings-{trainer}": lambda trainer=trainer: sibling_parser(trainer) for trainer in SIBLING_TRAINERS
    },
    **{f"transition-{s.name}": lambda name=s.name: transition_parser(name) for s in every_named()},
    "dmv": lambda: DmvParser(DMV.random(("DET", "NOUN", "VERB"), seed=3)),
    **{name: lambda options=options: random_parser(**options) for name, options in NEURAL.items()},
    "pipeline": toy_pipeline,
}
