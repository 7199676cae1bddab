"""Tests of how neural parsers are trained: skipped, with a reason, where torch is not installed."""

from needs_torch import pytest_collect_file

__all__ = ["pytest_collect_file"]
