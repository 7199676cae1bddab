"""The logger ``arcwise``. Nothing is printed unless the program configures ``logging``.

INFO: a loaded model, training progress between epochs, notes about single sentences.
WARNING: training data of little use, a sentence left unparsed.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("arcwise")
logger.addHandler(logging.NullHandler())
