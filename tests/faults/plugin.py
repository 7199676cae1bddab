"""pytest plugin of the processes that tests/faults starts: puts the module with the faults in place, and
tells what kind of failure there was."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

import pytest

MODULE = "arcwise._native_faults"


class _FaultsFinder:
    """Finds the module where it was compiled; everything else is found as ever."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != MODULE:
            return None
        return spec_from_file_location(name, os.environ["ARCWISE_FAULTS_MODULE"])


sys.meta_path.insert(0, _FaultsFinder())  # type: ignore[arg-type]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """An assertion that failed is what a planted fault must lead to; anything else is said to be something
    else."""
    report = yield
    if call.excinfo is not None:
        caught = call.when == "call" and call.excinfo.errisinstance((AssertionError, pytest.fail.Exception))
        report.sections.append(("kind of failure", "assertion failed" if caught else "something else"))
    return report
