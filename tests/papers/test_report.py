"""Sections of benchmarks/RESULTS.md."""

from pathlib import Path

import pytest
from benchmarks.report import write_section


def test_a_section_names_its_command_and_replaces_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "RESULTS.md"
    monkeypatch.setattr("sys.argv", ["inference.py"])
    write_section("inference", "Inference", "first", results=results)
    write_section("parsers", "Parsers", "second", results=results)
    monkeypatch.setattr("sys.argv", ["inference.py", "--repeat", "3"])
    write_section("inference", "Inference", "third", results=results)
    text = results.read_text()
    assert "`python -m benchmarks.inference --repeat 3` ·" in text
    assert "`python -m benchmarks.parsers --repeat 3` ·" not in text
    assert "first" not in text
    assert text.index("third") < text.index("second")
