"""``SiblingScorer``: arc scores that take the best, or all, projective trees with their siblings into account."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.graph.scorer import GraphScorer
from arcwise.graph.table import arc_data
from arcwise.inference import Scores, TreeClass
from arcwise.learning.model_file import Packed, Precision
from arcwise.parsing.parses import Codes
from arcwise.siblings.model import SiblingModel
from arcwise.treebanks import Treebank


class SiblingScorer:
    """Scores each arc by the projective trees that contain it.

    After a margin trainer, an arc's score is that of the best tree with it (a max-marginal), so every decoder
    returns the best tree of the second-order model. After a probabilistic trainer, it is the log of the arc's
    exact probability. Decisions (``required``) are part of these trees.
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
            single_root=trees.single_root,
            by_sum=model.config.trainer_kind.probabilistic,
            threads=threads,
        )
        return Scores(batch, self.labels)

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model with its weights."""
        return self._model.pack(precision)


def second_order(
    arcs: native.ScoreBatch,
    table: native.ArcTable,
    siblings: npt.NDArray[np.float32],
    data: native.ArcData,
    *,
    single_root: bool,
    by_sum: bool,
    threads: int,
) -> native.ScoreBatch:
    """Replace the scores of arcs by max-marginals, or by log-marginals, of trees with siblings."""
    return native.with_siblings(
        arcs,
        table,
        siblings,
        data,
        bits=int(len(siblings)).bit_length() - 1,
        single_root=single_root,
        by_sum=by_sum,
        threads=threads,
    )
