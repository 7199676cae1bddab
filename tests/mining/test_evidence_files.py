"""Evidence that is kept in files equals what was computed, up to rounding."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from benchmarks.mining_evidence import EvidenceFolder, evidence_of, packed, unpacked

from arcwise.mining.crossfit import Effort, crossfit
from arcwise.mining.evidence import ParserEvidence
from mining.planted import planted

QUICK = Effort(folds=2, epochs=1, parsers=("graph",))


@pytest.fixture(scope="module")
def computed() -> ParserEvidence:
    return crossfit(planted(24)[0], effort=QUICK).parsers["graph"]


def test_packing_keeps_log_odds_to_an_eighth(computed: ParserEvidence) -> None:
    restored = unpacked(packed(computed))
    assert isinstance(restored, ParserEvidence)
    for name in ("arc", "head", "label", "other_label_probability", "conditional"):
        a, b = (
            np.clip(getattr(evidence, name), 2e-6, 1 - 2e-6).astype(float)
            for evidence in (computed, restored)
        )
        assert np.abs(np.log(a / (1 - a)) - np.log(b / (1 - b))).max() < 0.0626, name
    assert restored.other_label.tolist() == computed.other_label.tolist()
    unsure = computed.arc < 0.9
    assert unsure.any()
    assert (restored.proposed_heads[unsure] == computed.proposed_heads[unsure]).all()
    assert (restored.proposed_labels[unsure] == computed.proposed_labels[unsure]).all()


def test_packing_keeps_what_is_unknown() -> None:
    restored = unpacked(packed(ParserEvidence.empty(3)))
    assert isinstance(restored, ParserEvidence)
    for field in fields(restored):
        expected = getattr(ParserEvidence.empty(3), field.name)
        assert (getattr(restored, field.name) == expected).all() or np.isnan(expected).all(), field.name
    assert unpacked(packed(None)) is None


def test_only_missing_trainings_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank, _ = planted(24)
    first = evidence_of(bank, "toy", tmp_path, QUICK)
    files = sorted(tmp_path.rglob("*.xz"))
    assert [path.name for path in files] == [
        *(f"graph-1-{fold}of2.npz.xz" for fold in range(2)),
        *(f"tagger-{fold}of2.npz.xz" for fold in range(2)),
    ]
    trained = []
    store = EvidenceFolder._store

    def counted(self: EvidenceFolder, work: object, task: object) -> str:
        trained.append(task)
        return store(self, work, task)  # type: ignore[arg-type]

    monkeypatch.setattr(EvidenceFolder, "_store", counted)
    files[0].unlink()
    again = evidence_of(bank, "toy", tmp_path, QUICK)
    assert len(trained) == 1
    assert np.array_equal(first.parsers["graph"].arc, again.parsers["graph"].arc, equal_nan=True)
    assert first.tags.predicted.tolist() == again.tags.predicted.tolist()
