"""Evaluate parsers: attachment and CoNLL 2018 scores, breakdowns, significance, calibration."""

from arcwise.evaluation.agreement import Agreement, Coefficients, LabelPair, agreement
from arcwise.evaluation.attachment import Attachment, GoldTrees, UasLas, attachment, uas_las
from arcwise.evaluation.breakdowns import (
    ArcGroup,
    Confusion,
    SentenceGroup,
    by_arc_length,
    by_crossing,
    by_label,
    by_sentence_length,
    confusions,
)
from arcwise.evaluation.compare import Comparison, DifferingSentence, ScoreDifference, compare
from arcwise.evaluation.conll18 import Conll18, Score, conll18
from arcwise.evaluation.evaluate import BREAKDOWNS, Evaluation, evaluate
from arcwise.evaluation.significance import (
    Interval,
    WinLoss,
    mcnemar,
    paired_bootstrap,
    permutation_test,
    sign_test,
)
from arcwise.evaluation.soundness import Soundness, soundness
from arcwise.evaluation.verdicts import Options, Verdicts, verdicts

__all__ = [
    "BREAKDOWNS",
    "Agreement",
    "ArcGroup",
    "Attachment",
    "Coefficients",
    "Comparison",
    "Confusion",
    "Conll18",
    "DifferingSentence",
    "Evaluation",
    "GoldTrees",
    "Interval",
    "LabelPair",
    "Options",
    "Score",
    "ScoreDifference",
    "SentenceGroup",
    "Soundness",
    "UasLas",
    "Verdicts",
    "WinLoss",
    "agreement",
    "attachment",
    "by_arc_length",
    "by_crossing",
    "by_label",
    "by_sentence_length",
    "compare",
    "confusions",
    "conll18",
    "evaluate",
    "mcnemar",
    "paired_bootstrap",
    "permutation_test",
    "sign_test",
    "soundness",
    "uas_las",
    "verdicts",
]
