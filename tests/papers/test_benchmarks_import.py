"""Every benchmark imports: a renamed function is noticed before someone runs one for an hour."""

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
OWN = ("arcwise", "benchmarks", "measuring", "experiments", "recipes")


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCHMARKS.glob("[a-z]*.py")))
def test_it_imports(name: str) -> None:
    try:
        import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in OWN:
            raise
        pytest.skip(f"needs {error.name}")
