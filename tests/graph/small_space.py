"""A small space and its data, for tests of trainers below the parser."""

from dataclasses import dataclass

import numpy as np

from arcwise import native
from arcwise.graph.config import GraphConfig
from arcwise.graph.preparation import prepare_heads
from arcwise.graph.space import Alphabets, arc_data, learn_alphabets, make_space, word_counts
from arcwise.treebanks import Treebank
from contracts.small_treebank import partial, small_treebank, two_rooted


@dataclass
class Small:
    config: GraphConfig
    treebank: Treebank
    alphabets: Alphabets
    space: native.ArcSpace
    data: native.ArcData

    def order(self, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).permutation(len(self.treebank)).astype(np.int64)


TREEBANKS = {
    "whole": lambda: small_treebank(crossing=True),
    "projective": small_treebank,
    "two roots": two_rooted,
    "partial": partial,
}


def small(treebank: str = "whole", **options: object) -> Small:
    """A small space over one of ``TREEBANKS``, prepared as the parser does."""
    bank = TREEBANKS[treebank]()
    settings = {"arc_bits": 9, "row_bits": 10, "word_dropout": 0.0} | options
    config = GraphConfig(**settings)  # type: ignore[arg-type]
    heads = prepare_heads(bank, projective=config.projective, single_root=config.single_root).heads
    alphabets = learn_alphabets(config, bank)
    words = word_counts(config, bank)
    space = make_space(config, alphabets, words.hashes, words.counts)
    data = arc_data(space, bank, alphabets, config.tag, heads)
    space.learn_classes(data, restricted=config.restrict_labels)
    everywhere = np.full_like(space.reach, 99)  # no arc is left out: trees to choose from, even here
    space.set_classes(space.label_starts, space.label_ids, everywhere)
    return Small(config, bank, alphabets, space, data)
