"""Would the tests notice? Each fault of the table changes one place of a trainer, and a named test must then
fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.planting import NATIVE, Fault, build, places, run_tests, what_is_missing
from faults.table import FAULTS

NUMBERED = list(enumerate(FAULTS, 1))


@pytest.fixture(scope="session")
def module() -> Path:
    """The native module with all faults in it."""
    missing = what_is_missing()
    if missing:
        pytest.skip(missing)
    return build(FAULTS)


@pytest.mark.parametrize("file", sorted({f.file for f in FAULTS}))
def test_every_fault_has_its_place(file: str) -> None:
    places((NATIVE / "kernels" / file).read_text(), [(n, f) for n, f in NUMBERED if f.file == file])


def test_names_are_different() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_without_a_fault_the_named_tests_pass(module: Path) -> None:
    done = run_tests(module, 0, sorted({fault.caught_by for fault in FAULTS}))
    assert done.status == 0, done.output


@pytest.mark.parametrize(("number", "fault"), NUMBERED, ids=[fault.name for fault in FAULTS])
def test_a_planted_fault_is_caught(module: Path, number: int, fault: Fault) -> None:
    done = run_tests(module, number, [fault.caught_by])
    assert done.status == 1, f"{fault.caught_by} does not notice it\n{done.output}"
    assert "assertion failed" in done.output, done.output
