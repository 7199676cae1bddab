"""Exact inference over dependency trees: ``TreeDistribution``, and the plain functions under it."""

from arcwise.inference.constraints import Constraints
from arcwise.inference.distribution import TreeDistribution
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
from arcwise.inference.tree_class import TreeClass

__all__ = [
    "Constraints",
    "TreeClass",
    "TreeDistribution",
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
]
