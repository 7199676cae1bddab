"""What arcwise tells the program that uses it, by ``logging`` under the name ``arcwise``; nothing is printed unless the program asks for it.

INFO: a model was loaded; what training says between its epochs; notes about single sentences. WARNING: data that teach
little; a sentence was left as it is.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("arcwise")
logger.addHandler(logging.NullHandler())
