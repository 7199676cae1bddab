"""Tests that need torch are skipped, with a reason, where it is not installed: for the conftest of their
folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arcwise.optional import is_installed


class _NeedsTorch(pytest.Module):
    def collect(self) -> Any:
        pytest.skip("needs torch: make test-torch installs it and runs these tests", allow_module_level=True)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """Nothing here is imported without torch, for examples in it neither."""
    found = yield
    if is_installed("torch") or file_path.suffix != ".py":
        return found
    return [_NeedsTorch.from_parent(parent, path=file_path)] if file_path.stem.startswith("test_") else []
