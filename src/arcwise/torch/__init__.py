"""Distributions over dependency trees as a PyTorch layer: differentiable, batched, on CPU and GPU.

Needs torch.
"""

from typing import TYPE_CHECKING

from arcwise.deprecation import renamed
from arcwise.optional import require

require("torch")

from arcwise.torch.distribution import TreeCRF  # noqa: E402
from arcwise.torch.losses import hinge, log_likelihood, risk, softmax_margin  # noqa: E402
from arcwise.torch.sibling_trees import SiblingTreeCRF  # noqa: E402
from arcwise.torch.sparse_map import SparseTrees  # noqa: E402
from arcwise.torch.tree_tensors import Trees, from_trees, to_trees  # noqa: E402

__all__ = [
    "SiblingTreeCRF",
    "SparseTrees",
    "TreeCRF",
    "Trees",
    "from_trees",
    "hinge",
    "log_likelihood",
    "risk",
    "softmax_margin",
    "to_trees",
]

if TYPE_CHECKING:
    TreeDistribution = TreeCRF
else:
    __getattr__ = renamed(__name__, {"TreeDistribution": "arcwise.torch:TreeCRF"})
