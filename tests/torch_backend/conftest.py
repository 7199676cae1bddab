"""Tests of ``arcwise.torch``: skipped, with a reason, where torch is not installed; run over every kind of
device that is here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from needs_torch import pytest_collect_file

__all__ = ["device", "pytest_collect_file"]


@pytest.fixture(params=["enumeration", "cpu", "emulated", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A device, and the backend named so computing for it."""
    from torch_backend.devices import using

    with using(request.param) as device:
        yield device
