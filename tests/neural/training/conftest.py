"""Tests of how neural parsers are trained: skipped, with a reason, where torch is not installed."""

import pytest

from needs_torch import pytest_collect_file

__all__ = ["one_thread", "pytest_collect_file"]


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """So small networks are quickest with one thread."""
    import torch

    torch.set_num_threads(1)
