"""The tree distribution as a layer of PyTorch: differentiable, batched, on CPU and GPU. Needs torch."""

from arcwise.optional import require

require("torch")

from arcwise.torch.distribution import TreeDistribution  # noqa: E402
from arcwise.torch.losses import hinge, log_likelihood, softmax_margin  # noqa: E402
from arcwise.torch.tree_tensors import Trees, from_trees, to_trees  # noqa: E402

__all__ = [
    "TreeDistribution",
    "Trees",
    "from_trees",
    "hinge",
    "log_likelihood",
    "softmax_margin",
    "to_trees",
]
