"""``SIGNALS``: the table of signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arcwise.errors import OptionError
from arcwise.mining.frames import frames
from arcwise.mining.labeller import labels_given_tree
from arcwise.mining.lexicon import lexicon
from arcwise.mining.parser_signals import conditional, parsers, tags, thresholds
from arcwise.mining.rule_signal import rules
from arcwise.mining.signal import FunctionSignal, Signal
from arcwise.mining.variation import variation

SIGNALS: Mapping[str, Signal] = {
    signal.name: signal
    for signal in (
        FunctionSignal(
            "parsers",
            "probability of the head and label according to parsers trained on other documents",
            parsers,
            crossfits=True,
        ),
        FunctionSignal(
            "conditional",
            "probability of the head and label given all other annotated arcs of the sentence",
            conditional,
            crossfits=True,
        ),
        FunctionSignal(
            "labels",
            "probability of the label given the rest of the annotated tree",
            labels_given_tree,
            crossfits=True,
        ),
        FunctionSignal("tags", "UPOS according to a tagger trained on other documents", tags, crossfits=True),
        FunctionSignal("variation", "the same words annotated differently elsewhere", variation),
        FunctionSignal("frames", "labels, attachments and valency frames that are unusual here", frames),
        FunctionSignal("lexicon", "other tags, lemmas or features of the same form elsewhere", lexicon),
        FunctionSignal("rules", "violations of the rules of arcwise validate", rules),
        FunctionSignal(
            "thresholds",
            "labels less probable than the same label elsewhere (confident learning)",
            thresholds,
            crossfits=True,
        ),
    )
}
"""Name → signal, in the order of reasons."""


def chosen_signals(names: Sequence[str]) -> list[Signal]:
    """The signals of these names (all if empty), in the order of the table."""
    for name in names:
        if name not in SIGNALS:
            raise OptionError("signals", f"found {name!r}, expected some of {', '.join(SIGNALS)}")
    return [signal for name, signal in SIGNALS.items() if not names or name in names]
