"""The tests of udtools, the official scorer and validator, applied to arcwise.

The test cases are in its source distribution alone: ``ARCWISE_UDTOOLS_SDIST`` names it, or pip downloads
that of the installed version.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import unittest
from importlib.metadata import version
from pathlib import Path

import pytest

from arcwise import InputError, Treebank
from arcwise.cli.main import run
from arcwise.evaluation import evaluate
from arcwise.treebanks.validation import RULES, check_treebank

udeval = pytest.importorskip("udtools.udeval", reason="needs udtools")

from treebanks.validation.official import official_ids, verdicts  # noqa: E402


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the test cases, unpacked."""
    folder = tmp_path_factory.mktemp("udtools")
    named = os.environ.get("ARCWISE_UDTOOLS_SDIST")
    archive = Path(named) if named else _downloaded(folder)
    if archive is None:
        pytest.skip("needs the source distribution of udtools: set ARCWISE_UDTOOLS_SDIST")
    with tarfile.open(archive) as packed:
        members = [
            member
            for member in packed.getmembers()
            if "/tests/test-cases/" in member.name and member.isfile()
        ]
        for member in members:
            content = packed.extractfile(member)
            assert content is not None
            target = folder / member.name.partition("/tests/test-cases/")[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())
    return folder


def _downloaded(folder: Path) -> Path | None:
    package = f"udtools=={version('udtools')}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(folder),
    ]
    try:
        subprocess.run([*command, package], capture_output=True, timeout=120, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    return next(folder.glob("udtools-*.tar.gz"), None)


@pytest.mark.slow
def test_every_test_case_of_udtools_has_the_same_verdict_and_the_same_rules(cases: Path) -> None:
    files = sorted(cases.rglob("*.conllu"))
    assert len(files) >= 118
    for file in files:
        text = file.read_bytes().decode()
        theirs, ours = verdicts(text)
        assert ours == theirs, file.name
        findings = check_treebank(Treebank.from_string(text, strict=False))
        errors = {
            finding.rule for finding in findings if not finding.warning and RULES[finding.rule].official
        }
        if file.parent.name == "valid":
            assert not errors, file.name
        elif file.parent.name in ("invalid-level1", "invalid-level2", "invalid-level3", "invalid-functions"):
            # One file has lost its line ends in the distribution, and udtools finds nothing either.
            assert errors or not official_ids(text), file.name


@pytest.mark.slow
def test_the_command_agrees_on_the_verdict_of_every_test_case(cases: Path) -> None:
    for file in sorted((cases / "valid").glob("*.conllu")):
        assert run(["validate", "--level", "ud", "--no-warnings", str(file)]) == 0, file.name


@pytest.mark.slow
def test_the_evaluation_example_of_udtools_has_the_same_scores(cases: Path) -> None:
    gold, system = sorted((cases / "eval").glob("*.conllu"), key=lambda path: "gold" not in path.name)
    treebanks = [Treebank.read(path, strict=False) for path in (gold, system)]
    official = udeval.evaluate(*(udeval.load_conllu(io.StringIO(t.text), t.source, {}) for t in treebanks))
    ours = evaluate(*treebanks).conll18.scores
    for name, score in ours.items():
        expected = official[name]
        assert (score.precision, score.recall, score.f1) == (
            expected.precision,
            expected.recall,
            expected.f1,
        ), name
    assert {name for name, score in official.items() if score.gold_total} <= set(ours)


def test_the_unit_tests_of_the_official_aligner_pass_with_our_alignment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(udeval, "load_conllu", lambda file, path, kind: Treebank.from_string(file.read()))
    monkeypatch.setattr(udeval, "evaluate", lambda gold, system: evaluate(gold, system).conll18)
    monkeypatch.setattr(udeval, "UDError", InputError)
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(udeval.TestAlignment)
    assert tests.countTestCases() >= 4
    result = unittest.TestResult()
    tests.run(result)
    assert result.testsRun == tests.countTestCases()
    assert [text for _, text in result.failures + result.errors] == []
