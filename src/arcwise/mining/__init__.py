"""Error mining: rank the words of a treebank by the probability that their annotation is wrong."""

from arcwise.mining.combiner import Combiner
from arcwise.mining.history import RevisionHistory
from arcwise.mining.mine import MiningResult, SuspectedError, mine
from arcwise.mining.revisions import Revisions
from arcwise.mining.signal import Measurement, Signal
from arcwise.mining.signals import SIGNALS

__all__ = [
    "SIGNALS",
    "Combiner",
    "Measurement",
    "MiningResult",
    "RevisionHistory",
    "Revisions",
    "Signal",
    "SuspectedError",
    "mine",
]
