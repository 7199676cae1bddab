"""Waiting for what happens in the background."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def until(done: Callable[[], Any], seconds: float = 20) -> Any:
    """Wait until something holds; what it is then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := done():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come to pass")
