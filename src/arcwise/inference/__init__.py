"""Exact inference over dependency trees: ``TreeDistribution``, ``TreeDistributionBatch`` and the functions
below them."""

from arcwise.inference.alternatives import Alternative, likeliest_arcs
from arcwise.inference.constraints import Constraints
from arcwise.inference.distribution import TreeDistribution, TreeDistributionBatch
from arcwise.inference.eisner import (
    eisner_decode,
    eisner_decode_batch,
    eisner_k_best,
    eisner_k_best_batch,
    eisner_log_partition,
    eisner_log_partition_batch,
    eisner_marginals,
    eisner_marginals_batch,
    eisner_sample,
    eisner_sample_batch,
)
from arcwise.inference.fitting_class import FittingClass, fitting_class
from arcwise.inference.matrix_tree import (
    matrix_tree_log_partition,
    matrix_tree_log_partition_batch,
    matrix_tree_marginals,
    matrix_tree_marginals_batch,
)
from arcwise.inference.mixture import TreeMixtureBatch
from arcwise.inference.scores import LOSSES, Scores
from arcwise.inference.spanning_tree import (
    spanning_tree_decode,
    spanning_tree_decode_batch,
    spanning_tree_k_best,
    spanning_tree_k_best_batch,
)
from arcwise.inference.tree_class import TreeClass
from arcwise.inference.wilson import (
    wilson_sample,
    wilson_sample_batch,
)
from arcwise.treebanks.field_values import LabelledArc

__all__ = [
    "LOSSES",
    "Alternative",
    "Constraints",
    "FittingClass",
    "LabelledArc",
    "Scores",
    "TreeClass",
    "TreeDistribution",
    "TreeDistributionBatch",
    "TreeMixtureBatch",
    "eisner_decode",
    "eisner_decode_batch",
    "eisner_k_best",
    "eisner_k_best_batch",
    "eisner_log_partition",
    "eisner_log_partition_batch",
    "eisner_marginals",
    "eisner_marginals_batch",
    "eisner_sample",
    "eisner_sample_batch",
    "fitting_class",
    "likeliest_arcs",
    "matrix_tree_log_partition",
    "matrix_tree_log_partition_batch",
    "matrix_tree_marginals",
    "matrix_tree_marginals_batch",
    "spanning_tree_decode",
    "spanning_tree_decode_batch",
    "spanning_tree_k_best",
    "spanning_tree_k_best_batch",
    "wilson_sample",
    "wilson_sample_batch",
]
