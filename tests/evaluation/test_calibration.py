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
    assert "80 – 100          10  100.0    60.0" in str(found)


def test_a_review_of_the_least_sure_finds_errors() -> None:
    said = np.arange(100)[::-1] / 100  # the last words are the least sure
    right = np.ones(100, bool)
    right[[99, 96, 85, 10]] = False
    found = calibration(said, right)
    assert [(review.share, review.errors) for review in found.reviews] == [
        (0.05, 0.5),
        (0.1, 0.5),
        (0.2, 0.75),
        (0.3, 0.75),
    ]
    assert str(found).endswith(
        "least confident words: 50 % in 5 %, 50 % in 10 %, 75 % in 20 %, 75 % in 30 % of the words"
    )


def test_without_errors_there_is_nothing_to_review() -> None:
    found = calibration(np.full(4, 0.9), np.ones(4, bool))
    assert found.reviews == ()
    assert str(found).endswith("expected calibration error 10.00 %")


@pytest.mark.parametrize("said, right, bins", [([0.5], [True, False], 10), ([], [], 10), ([0.5], [True], 0)])
def test_bad_input(said: list[float], right: list[bool], bins: int) -> None:
    with pytest.raises(InputError):
        calibration(np.array(said), np.array(right, bool), bins=bins)
