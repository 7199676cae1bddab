"""Whether a parser's confidences mean what they say, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UNCALIBRATED = (
    "confidences are not calibrated: the parser was trained without development data. "
    "'arcwise calibrate' fits them, 'arcwise train --dev 5fold' needs no other data"
)


def confidence_text(info: Mapping[str, Any]) -> str | None:
    """What is to be known of the confidences of a parser, by its ``info``: on what they were fitted, or that they were not. None if it has none.

    >>> confidence_text({"temperature": 1.0}) == UNCALIBRATED
    True
    >>> confidence_text({"temperature": 0.4, "calibration": {"on": "5fold of the training data", "error": 0.031, "doubts": []}})
    'confidences are calibrated on 5fold of the training data (calibration error of heads there 3.1 %)'
    """
    info = info["parser"] if info.get("kind") == "pipeline" else info
    if "temperature" not in info:
        return None
    found = info.get("calibration")
    if found is None:
        return UNCALIBRATED if info["temperature"] == 1.0 else "confidences are calibrated"
    if found["doubts"]:
        return f"confidences are calibrated on {found['on']}, but are doubtful: {'; '.join(found['doubts'])}"
    return f"confidences are calibrated on {found['on']} (calibration error of heads there {100 * found['error']:.1f} %)"


def confidence_warning(info: Mapping[str, Any]) -> str | None:
    """The same where there is something to warn of."""
    text = confidence_text(info)
    return text if text is not None and ("not calibrated" in text or "doubtful" in text) else None
