"""Quick versions of all experiments on small synthetic treebanks: they run and write their tables."""

import importlib
import re
import sys
import types
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from experiments.page import PAGES
from measuring import trainings


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "mcdonald2005",
        "koo2007",
        "smith2007",
        "bohnet2016",
        "gormley2013",
        "neural_objectives",
        "second_order",
    ],
)
def test_the_quick_version_writes_its_page(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "neural_objectives":
        pytest.importorskip("torch", reason="networks are trained with torch")
    with_networks = ["--small", "--neural"] if name == "second_order" and find_spec("torch") else []
    importlib.import_module(f"experiments.{name}").main(
        ["--quick", *with_networks, "--output", str(world / "results")]
    )
    text = (world / "results" / f"{name}.md").read_text()
    assert f"python -m experiments.{name}" in text
    assert text.count("\n| --- |") >= 3
    for picture in (line.split("](")[1].rstrip(")") for line in text.splitlines() if line.startswith("![")):
        assert (world / "results" / picture).exists()
    monkeypatch.delenv("ARCWISE_TREEBANKS")
    monkeypatch.setenv("ARCWISE_CACHE", str(world / "empty"))
    (world / "results" / f"{name}.md").unlink()
    importlib.import_module(f"experiments.{name}").main(
        ["--quick", "--report", "--output", str(world / "results")]
    )
    assert (world / "results" / f"{name}.md").read_text() == text, "a page is written from its cells alone"
    cells = world / "results" / "cells" / f"{name}.jsonl"
    cells.write_text(re.sub(r'"code": "\w+"', '"code": "000000000000"', cells.read_text()))
    with pytest.raises(SystemExit, match="missing"):  # and from cells of the present code alone
        importlib.import_module(f"experiments.{name}").main(
            ["--quick", "--report", "--output", str(world / "results")]
        )


def test_a_report_without_cells_says_what_is_missing(world: Path) -> None:
    from experiments import koo2007

    with pytest.raises(SystemExit, match="has_several_roots Arabic-PADT-rs is missing"):
        koo2007.main(["--quick", "--report", "--output", str(world / "results")])


def test_a_budget_stops_before_the_next_cell(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from experiments import mcdonald2005

    monkeypatch.setattr("experiments.page.run_all", trainings.run_all)
    with pytest.raises(SystemExit, match=r"stopped by --budget with 3\d cells left"):
        mcdonald2005.main(["--quick", "--budget", "-1", "--output", str(world / "results")])


def test_a_training_is_done_once_and_in_a_process_of_its_own(world: Path) -> None:
    from arcwise.transition import TransitionConfig

    training = trainings.Training("Turkish-IMST", TransitionConfig(epochs=1, move_bits=12, label_bits=10))
    assert training.trained is None
    assert trainings.Training.from_json(training.to_json()) == training
    first = training.run()
    assert first.dev.words > 0
    assert first.seconds > 0
    assert training.run() == first


@pytest.mark.parametrize(
    "command, pages, passed",
    [
        ("--jobs 8 --budget 50", PAGES, ["--jobs", "8"]),
        ("koo2007 smith2007 --jobs 2", ("koo2007", "smith2007"), ["--jobs", "2"]),
        ("--report --jobs 2 koo2007", ("koo2007",), ["--report", "--jobs", "2"]),
        ("", PAGES, []),
    ],
)
def test_all_pages_are_computed_with_the_same_options(
    command: str, pages: Sequence[str], passed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of an option is not taken for a page, wherever the pages stand; the budget is what is left."""
    calls = []
    for name in PAGES:
        module = types.SimpleNamespace(main=lambda argv, name=name: calls.append((name, argv)))
        monkeypatch.setitem(sys.modules, f"experiments.{name}", module)
    importlib.import_module("experiments.__main__").main(command.split())
    assert [name for name, _ in calls] == list(pages)
    for _, argv in calls:
        if "--budget" in command:
            assert argv[-2] == "--budget"
            assert 49 < float(argv[-1]) <= 50
            argv = argv[: argv.index("--budget")]
        assert argv[: len(passed)] == passed


def test_a_page_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        importlib.import_module("experiments.__main__").main(["koo2008"])
    assert end.value.code == 2
    assert "found 'koo2008', expected options and pages: mcdonald2005" in capsys.readouterr().err
