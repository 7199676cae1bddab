"""Reliability of probabilities."""

import numpy as np
import pytest

from arcwise.errors import InputError
from arcwise.evaluation.calibration import calibration


def test_honest_probabilities_have_no_error() -> None:
    said = np.repeat([0.25, 0.75], 400)
    right = np.concatenate([np.arange(400) % 4 == 0, np.arange(400) % 4 != 0])
    found = calibration(said, right)
    assert found.error == pytest.approx(0)
    assert [b.count for b in found.bins if b.count] == [400, 400]


def test_overconfidence_is_measured_and_drawn() -> None:
    found = calibration(np.full(10, 1.0), np.arange(10) < 6, bins=5)
    assert found.error == pytest.approx(0.4)
    assert "0.80 – 1.00         10  1.000  0.600" in str(found)


@pytest.mark.parametrize("said, right, bins", [([0.5], [True, False], 10), ([], [], 10), ([0.5], [True], 0)])
def test_bad_input(said: list[float], right: list[bool], bins: int) -> None:
    with pytest.raises(InputError):
        calibration(np.array(said), np.array(right, bool), bins=bins)
