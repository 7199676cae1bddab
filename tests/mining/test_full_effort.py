"""``--time full``: a neural parser is cross-fitted as well where torch is installed."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from arcwise.mining import mine
from arcwise.mining.crossfit import EFFORTS, Effort, NeuralEffort, crossfit
from mining.planted import planted

QUICK = Effort(folds=2, epochs=1, parsers=("graph", "neural"))


@pytest.mark.slow
def test_a_neural_parser_finds_planted_errors() -> None:
    pytest.importorskip("torch", reason="needs torch to train a neural parser")
    bank, wrong = planted(160)
    effort = Effort(folds=2, parsers=("neural",), neural=NeuralEffort(epochs=(15, 15)))
    evidence = crossfit(bank, effort=effort)
    neural = evidence.parsers["neural"]
    assert np.isfinite(neural.arc).all()
    assert np.isfinite(neural.conditional).all()
    words = mine(bank, signals=["parsers"], crossfitted=evidence).words
    places = zip(words.sentence.tolist(), words.position.tolist(), strict=True)
    planted_words = np.array([place in wrong for place in places])
    # The other words of a sentence with an error suffer with it, so that the means are compared.
    assert neural.arc[planted_words].mean() < 0.2 < 0.6 < neural.arc[~planted_words].mean()


def test_without_torch_the_other_parsers_are_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "neural" in EFFORTS["full"].parsers
    monkeypatch.setattr(
        "arcwise.mining.crossfit.find_spec", lambda name: None if name == "torch" else find_spec(name)
    )
    bank, _ = planted(12)
    assert list(crossfit(bank, effort=QUICK).parsers) == ["graph"]
