"""Latent clusters grown by splitting and merging (Petrov et al. 2006, "Learning accurate, compact, and
interpretable tree annotation"; proposed for arcs by Smith & Smith 2007, section 6).

The model has all its clusters from the start, but those of a *group* have the same weights, hence the same
gradients: together they are one cluster. Splitting a group moves the weights of its halves apart by noise;
merging a split gives both halves their mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.graph.trainers import LossTrainer

if TYPE_CHECKING:
    from arcwise.graph.config import GraphConfig
    from arcwise.learning.training import Advance

CLUSTERS = (1, 2, 4, 8)
"""Rows of weights start at multiples of eight cells, so that only these numbers of clusters have columns."""
# As large as the noise that latent clusters start with.
_NOISE = 0.01
# Sentences on which the loss of a merger is measured: each candidate needs a pass over them.
_SAMPLE = 300

Group = tuple[int, ...]
Floats = npt.NDArray[np.float32]


class SplitMergeTrainer(LossTrainer):
    """Log-likelihood with latent clusters that are split, trained, and merged by half.

    Training starts with one cluster. There are log2(``clusters``) rounds at equal distances; each splits all
    groups in two, trains, and undoes the half of these splits that cost the least likelihood.
    """

    def __init__(self, config: GraphConfig, table: native.ArcTable, data: native.ArcData) -> None:
        super().__init__(config, table, data, loss=native.TreeLoss.likelihood, noise=0.0)
        self._clusters, self._first_row = config.clusters, 1 << config.arc_bits
        self._random = np.random.default_rng(config.seed)
        rounds = CLUSTERS.index(config.clusters)
        self._length = max(config.epochs // (rounds + 1), 1)
        self._last_split = rounds * self._length + 1
        self.groups: list[Group] = [tuple(range(config.clusters))]
        """Clusters with the same weights."""
        self._splits: list[tuple[Group, Group]] = []

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """Split or merge if it is time, then one step per sentence; also reports the number of groups."""
        since, offset = number - 1, (number - 1) % self._length
        if since > 0 and offset == 0 and number <= self._last_split:
            self.split()
        elif self._splits and offset == (self._length + 1) // 2:
            self.merge(number, order[:_SAMPLE])
        return super().epoch(number, order, advance) | {"clusters": float(len(self.groups))}

    @property
    def rate(self) -> float:
        """The learning rate, times the mean number of clusters in a group, since these share its gradient."""
        return self._config.effective_rate * self._clusters / len(self.groups)

    def split(self) -> None:
        """Split every group in two halves, by noise on the weights of the features seen so far."""
        self._splits = []
        groups: list[Group] = []
        for group in self.groups:
            half = len(group) // 2
            if half == 0:
                groups.append(group)
                continue
            split = group[:half], group[half:]
            column = self._columns(0)[:, group[0]].copy()
            noise = np.where(column != 0, self._random.normal(0, _NOISE, len(column)), 0).astype(np.float32)
            for part, change in zip(split, (noise, -noise), strict=True):
                for cluster in part:
                    self._set(cluster, column + change)
            self._splits.append(split)
            groups += split
        self.groups = groups

    def merge(self, number: int, sample: npt.NDArray[np.int64]) -> None:
        """Undo the half of the last splits that cost the sample the least likelihood."""
        losses = [self.loss_of_merger(split, number, sample) for split in self._splits]
        for at in np.argsort(losses, kind="stable")[: len(losses) // 2]:
            first, second = self._splits[at]
            mean = self._mean(first, second)
            for cluster in (*first, *second):
                self._set(cluster, mean)
            self.groups = [group for group in self.groups if group not in (first, second)]
            self.groups.append((*first, *second))
        self._splits = []

    def loss_of_merger(self, split: tuple[Group, Group], number: int, sample: npt.NDArray[np.int64]) -> float:
        """The loss of a sample with this split undone; the weights stay as they are."""
        columns, both = self._columns(0), [*split[0], *split[1]]
        before, mean = columns[:, both].copy(), self._mean(*split)
        columns[:, both] = mean[:, None]
        loss = self.loss(number, sample)
        columns[:, both] = before
        return loss

    def loss(self, number: int, sample: npt.NDArray[np.int64]) -> float:
        """The loss of some sentences under the current weights."""
        steps = self.steps
        report = self._native.run(sample, number, 0.0)
        # A step of length 0 changes no weight, but counts.
        self.steps = steps
        return report.loss

    def _mean(self, first: Group, second: Group) -> Floats:
        """The mean of two groups, each with the weight of its number of clusters."""
        mean: Floats = self._columns(0)[:, [*first, *second]].mean(axis=1, dtype=np.float32)
        return mean

    def _columns(self, table: int) -> Floats:
        """Shape (rows, clusters): a view of the weights (0) or their running sums (1)."""
        return self.tables[table][self._first_row :].reshape(-1, self._clusters)

    def _set(self, cluster: int, weights: Floats) -> None:
        """Change the weights of a cluster, as a step would."""
        columns, sums = self._columns(0), self._columns(1)
        sums[:, cluster] += np.float32(self.steps) * (weights - columns[:, cluster])
        columns[:, cluster] = weights
