"""``SiblingScorer``: arc scores that take projective trees with their siblings into account."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.factors import Siblings
from arcwise.graph.scorer import GraphScorer
from arcwise.graph.table import arc_data
from arcwise.inference import Scores, TreeClass
from arcwise.inference.arc_matrices import Floats
from arcwise.learning.model_file import Packed, Precision
from arcwise.parsing.parses import Codes
from arcwise.siblings.model import SiblingModel
from arcwise.treebanks import Treebank


class SiblingScorer:
    """Scores each arc by the projective trees that contain it.

    After a margin trainer, an arc's score is that of the best projective tree with it (a max-marginal), so
    every decoder returns the best tree of the second-order model; where arcs may cross, the arcs of the best
    tree of all (``best_tree_with_siblings``) get its score. After a probabilistic trainer, the score is the
    log of the arc's exact probability among projective trees. Decisions (``required``) are part of these
    trees. Sentences of more than 400 words keep their first-order scores.
    """

    def __init__(self, model: SiblingModel) -> None:
        self._model = model
        self._arcs = GraphScorer(model)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training data."""
        return self._model.alphabets.labels

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The scores of every arc with every label."""
        model = self._model
        arcs = self._arcs.scores(treebank, trees=trees, required=required, threads=threads)
        data = arc_data(model.table, model.look_alikes.view(treebank), model.alphabets, model.config.tag)
        batch = second_order(
            arcs.batch,
            model.table,
            model.siblings,
            data,
            trees=trees,
            by_sum=model.config.trainer_kind.probabilistic,
            threads=threads,
        )
        return Scores(batch, self.labels)

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model with its weights."""
        return self._model.pack(precision)


def sentence_scores(model: SiblingModel, treebank: Treebank, sentence: int) -> tuple[Floats, Siblings]:
    """Return the best score of each arc of a sentence, (n+1, n+1), and the scores of its siblings."""
    one = Treebank.from_sentences([treebank[sentence]])
    data = arc_data(model.table, model.look_alikes.view(one), model.alphabets, model.config.tag)
    arcs = GraphScorer(model).scores(one, trees=TreeClass(projective=False, single_root=True))
    bits = len(model.siblings).bit_length() - 1
    scores, siblings = native.second_order_scores(
        arcs.batch, model.table, model.siblings, data, bits=bits, sentence=0
    )
    return scores, Siblings(siblings)


def second_order(
    arcs: native.ScoreBatch,
    table: native.ArcTable,
    siblings: npt.NDArray[np.float32],
    data: native.ArcData,
    *,
    trees: TreeClass,
    by_sum: bool,
    threads: int,
) -> native.ScoreBatch:
    """Replace the scores of arcs by max-marginals, or by log-marginals, of trees with siblings."""
    return native.with_siblings(
        arcs,
        table,
        siblings,
        data,
        bits=len(siblings).bit_length() - 1,
        projective=trees.projective,
        single_root=trees.single_root,
        by_sum=by_sum,
        threads=threads,
    )
