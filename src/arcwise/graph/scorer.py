"""``GraphScorer``: arc scores from hashed features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from arcwise import native
from arcwise.graph.model import GraphModel
from arcwise.graph.table import arc_data
from arcwise.inference import Scores, TreeClass
from arcwise.learning.model_file import Packed, Precision
from arcwise.parsing.parses import Codes
from arcwise.treebanks import Treebank


class GraphScorer:
    """Scores arcs by the sum of the weights of their features (McDonald et al. 2005)."""

    def __init__(self, model: GraphModel) -> None:
        self._model = model

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training data."""
        return self._model.alphabets.labels

    @cached_property
    def _native(self) -> native.GraphScorer:
        # Lazy: a model that is only inspected or saved needs none.
        model = self._model
        return native.GraphScorer(
            model.table,
            model.weights,
            temperature=model.temperature,
            label_temperature=model.label_temperature,
            # Margins have no scale, so unseen arcs are kept below all others.
            margins=not model.config.trainer_kind.probabilistic,
        )

    def _data(self, treebank: Treebank) -> native.ArcData:
        model = self._model
        # Features see normalised characters; the output keeps the original bytes.
        return arc_data(model.table, model.look_alikes.view(treebank), model.alphabets, model.config.tag)

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The scores of every arc with every label.

        Arcs and labels unlike any in training get a low score that depends on the temperatures, so that their
        probability is low but never 0.
        """
        batch = self._native.scores(self._data(treebank), required, threads=threads)
        return Scores(batch, self.labels)

    def decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        required: Codes | None,
        gold: bool,
        legal: native.LegalSettings | None = None,
        threads: int,
    ) -> native.ParseResult:
        """Score and decode in one native call."""
        data = self._data(treebank)
        arcs: dict[str, Any] = {"asked_heads": data.heads, "asked_labels": data.labels} if gold else {}
        return self._native.parse(data, required, settings=settings, legal=legal, threads=threads, **arcs)

    def k_best_decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        k: int,
        required: Codes | None,
        threads: int,
    ) -> native.KBestResult:
        """Score and find the k best trees in one native call."""
        return self._native.k_best(self._data(treebank), required, settings=settings, k=k, threads=threads)

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model with its weights."""
        return self._model.pack(precision)
