"""Planted faults: would the tests notice? Each fault below changes one line, and a named test must then fail.

Native faults are compiled into copies of the kernels, each with the program of native/tests; Python faults
swap the code of one function while the named test runs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from arcwise.errors import ArcwiseError
from faults.python_faults import planted
from inference import (
    test_constraints,
    test_distribution,
    test_fitting_class,
    test_large_scores,
    test_sampling,
)

NATIVE = Path(__file__).parents[2] / "native"


KERNELS_OF = {
    "test_eisner": ["interruption.hpp", "random.hpp", "minus_infinity.hpp", "lanes.hpp", "tall_integer.hpp", "wide_number.hpp", "derivative_number.hpp", "number_functions.hpp",
                    "score_range.hpp", "eisner.hpp", "eisner_chart.hpp", "eisner_sums.hpp", "eisner.cpp", "eisner_k_best.cpp"],
    "test_spanning_tree": ["random.hpp", "minus_infinity.hpp", "lanes.hpp", "spanning_tree.hpp", "spanning_tree.cpp"],
    "test_matrix_tree": ["interruption.hpp", "random.hpp", "minus_infinity.hpp", "lanes.hpp", "tall_integer.hpp", "wide_number.hpp", "derivative_number.hpp", "number_functions.hpp",
                         "score_range.hpp", "matrix_tree.hpp", "matrix_product.hpp", "matrix_product.cpp", "tree_elimination.hpp", "matrix_tree.cpp", "wilson.hpp", "wilson.cpp"],
    "test_padded_batch": ["interruption.hpp", "random.hpp", "minus_infinity.hpp", "lanes.hpp", "parallel.hpp", "tall_integer.hpp", "wide_number.hpp", "derivative_number.hpp",
                          "number_functions.hpp", "score_range.hpp", "eisner.hpp", "eisner_chart.hpp", "eisner_sums.hpp", "eisner.cpp", "eisner_k_best.cpp",
                          "spanning_tree.hpp", "spanning_tree.cpp", "matrix_tree.hpp", "matrix_product.hpp", "matrix_product.cpp", "tree_elimination.hpp",
                          "matrix_tree.cpp", "wilson.hpp", "wilson.cpp", "tree_inference.hpp", "marginal_derivatives.hpp", "marginal_derivatives.cpp",
                          "padded_batch.hpp", "padded_batch.cpp"],
}  # fmt: skip
"""The programs of native/tests and the kernels under each, every file after what it includes."""


@dataclass(frozen=True)
class NativeFault:
    """``old`` is replaced by ``new`` in a file of native/kernels; the program that tests it must then fail,
    naming ``caught``."""

    file: str
    old: str
    new: str
    caught: str
    tested_by: str = ""
    """The program; without one, the first that has the file."""

    @property
    def program(self) -> str:
        return self.tested_by or next(p for p, kernels in KERNELS_OF.items() if self.file in kernels)


NATIVE_FAULTS = [
    NativeFault("eisner_chart.hpp", "if (single_root_ && j < n_) return;", "", "log_partition"),
    NativeFault("eisner_chart.hpp", "cells_.by_end(j) + i + 1, j - i", "cells_.by_end(j) + i, j - i", "decode: value"),
    NativeFault("eisner_chart.hpp", "cells_.incomplete(j) + i, cells_", "cells_.incomplete(j) + i + 1, "
        "cells_", "log_partition"),
    NativeFault("eisner_chart.hpp", "first <= end && end < last", "first <= end && end < last - 1", "log_partition"),
    NativeFault("eisner_chart.hpp", "load(da + k) + d * right", "load(da + k) + d * left", "marginals"),
    NativeFault("eisner_chart.hpp", "return most + std::log(sum_of(total))", "return most", "log_partition"),
    NativeFault("lanes.hpp", "r * (1.0 / 6)", "r * (1.0 / 7)", "log_partition"),
    NativeFault("eisner_sums.hpp", "return shift.plus(chart.total());", "return chart.total();", "log_partition"),
    NativeFault("eisner_sums.hpp", "if (!holds_for_all(log_partition, n, EISNER_DEPTH, workspace)) "
        "break;", "", "log_partition"),
    NativeFault("eisner_sums.hpp", "if (is_deep_enough(chart.total(), n, EISNER_LOG_DEPTH)) "
        "{", "if (true) {", "log_partition"),
    NativeFault("eisner_sums.hpp", "largest_size(scores, n) < WideNumber::LARGEST_LOG", "true", "marginals"),
    NativeFault("tall_integer.hpp", "BinaryLogarithm{below - 1, 1 - part}", "BinaryLogarithm{below - 1, "
        "part}", "log_partition"),
    NativeFault("eisner_sums.hpp", "if (had_underflow(workspace, n)) break;", "", "log_partition"),
    NativeFault("eisner.cpp", "scores[at] > MINUS_INFINITY ? 1 : 0", "1", "count"),
    NativeFault("eisner_k_best.cpp", "if (--next.right_rank == 0)", "if (--next.right_rank >= 0)", "k_best"),
    NativeFault("eisner_k_best.cpp", "return left + value_of(complete(j", "return value_of(complete(j", "k_best"),
    NativeFault("spanning_tree.cpp", "load(from + h) - shift", "load(from + h)", "k-best"),
    NativeFault("spanning_tree.cpp", "if (single_root_) in[0] = MINUS_INFINITY;", "", "k-best"),
    NativeFault("spanning_tree.cpp", "single_root_ && std::exchange(root_arc_taken_, "
        "true)", "false", "decode"),
    NativeFault("spanning_tree.cpp", "head_[entry] = head;", "", "k-best"),
    NativeFault("spanning_tree.cpp", "> row(entry)[head] - best_[entry]", "> row(entry)[head]", "decode"),
    NativeFault("spanning_tree.cpp", "enter_[word] <= enter_[h] && enter_[h] < "
        "leave_[word]", "false", "k-best"),
    NativeFault("spanning_tree.cpp", "v <= n_ ? MINUS_INFINITY : second_in_column(v, "
        "head_[v])", "MINUS_INFINITY", "k-best"),
    NativeFault("tree_elimination.hpp", "log_partition_ += shift_[m];", "", "log partition"),
    NativeFault("tree_elimination.hpp", "largest_shift_ < LARGEST_SHIFT &&", "", "log partition"),
    NativeFault("matrix_tree.cpp", "if (is_deep_enough(log_partition, n, "
        "MATRIX_TREE_DEPTH))", "if (true)", "log partition"),
    NativeFault("tree_elimination.hpp", "if (SINGLE && recorded_zeros_ > 1) {", "if (false) {", "log partition"),
    NativeFault("tree_elimination.hpp", "row[1] = pivot == Number() ? Number() : "
        "unit<Number>();", "", "log partition"),
    NativeFault("tree_elimination.hpp", "const int column = ROOT_COLUMNS - 1 - "
        "order;", "const int column = 0;", "marginals"),
    NativeFault("tree_elimination.hpp", "weights.row(0)[m] = Number();", "", "marginals"),
    NativeFault("tree_elimination.hpp", "in_range_ && magnified_ < MOST_MAGNIFIED && ", "true || ", "log partition"),
    NativeFault("wilson.cpp", "root_sums_[m - 1] + "
        "workspace_.marginals[m]", "root_sums_[m - 1] + 1", "frequencies"),
    NativeFault("wilson.cpp", "row[1 + a] * escape_[kept[a]]", "row[1 + a]", "samples are trees"),
    NativeFault("number_functions.hpp", "a.change - quotient * b.change", "a.change + quotient * b.change", "slope", "test_padded_batch"),
    NativeFault("derivative_number.hpp", "own * a.slope + other * b.slope", "a.slope + b.slope", "slope", "test_padded_batch"),
    NativeFault("derivative_number.hpp", " + a.first * b.second + a.second * "
        "b.first", "", "bend", "test_padded_batch"),
    NativeFault("derivative_number.hpp", "both + first * second};", "both};", "bend", "test_padded_batch"),
    NativeFault("marginal_derivatives.cpp", "if (is_deep_enough(inner, n_, MATRIX_TREE_DEPTH)) return "
        "inner;", "return inner;", "slope"),
    NativeFault("padded_batch.cpp", "if (h > 0) wrong -= !(row[h] <= LARGEST_SCORE);", "", "log partition"),
    NativeFault("padded_batch.cpp", "std::fill(to + side() * batch.side(), to + batch.square(), "
        "Real{0});", "", "marginals"),
]  # fmt: skip


@pytest.fixture(scope="module", params=KERNELS_OF)
def faulty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    """All faults of one program compiled at once."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    program = request.param
    faults = [None, *(fault for fault in NATIVE_FAULTS if fault.program == program)]
    variants = [variant(program, number, fault) for number, fault in enumerate(faults)]
    includes = sorted(set(re.findall(r"^#include <.*>$", "\n".join(variants), re.MULTILINE)))
    bodies = [re.sub(r"^#(include|pragma once).*$", "", text, flags=re.MULTILINE) for text in variants]
    choice = "".join(f"if (number == {n}) fault_{n}_test::test();" for n in range(len(variants)))
    main = f"int main(int, char** arguments) {{ const int number = std::atoi(arguments[1]); {choice} }}"
    folder = tmp_path_factory.mktemp("faults")
    (folder / "faulty.cpp").write_text("\n".join([*includes, *bodies, main]))
    options = ["-std=c++20", "-O0", "-w", "-Wno-psabi", "-ffp-contract=off", "-DDEVICE=inline", "-pthread"]
    subprocess.run([compiler, *options, "faulty.cpp", "-o", "faulty"], cwd=folder, check=True)
    return Faulty(folder / "faulty", faults)


@dataclass(frozen=True)
class Faulty:
    """A program of native/tests whose argument is the number of a fault (0: none): it then has that fault."""

    path: Path
    faults: list[NativeFault | None]


def kernel(name: str) -> Path:
    """The file of that name, in whichever room it is."""
    (path,) = (NATIVE / "kernels").glob(f"*/{name}")
    return path


def variant(program: str, number: int, fault: NativeFault | None) -> str:
    """The kernels and their test, with one fault, in namespaces of their own."""
    texts = {name: kernel(name).read_text() for name in KERNELS_OF[program]}
    if fault is not None:
        found = texts[fault.file].count(fault.old)
        assert found == 1, f"{fault.file} has {found} places with {fault.old!r}, expected 1"
        texts[fault.file] = texts[fault.file].replace(fault.old, fault.new)
    test = (NATIVE / "tests" / f"{program}.cpp").read_text().replace("int main()", "void test()")
    if "tree_enumeration.hpp" in test:
        test = (NATIVE / "tests" / "tree_enumeration.hpp").read_text() + test
    both = "\n".join([*texts.values(), f"namespace fault_{number}_test {{", test, "}"])
    return both.replace("namespace arcwise", f"namespace fault_{number}").replace(
        "arcwise::", f"fault_{number}::"
    )


def test_native_faults_are_caught_and_nothing_else(faulty: Faulty) -> None:
    for number, fault in enumerate(faulty.faults):
        outcome = run(faulty.path, number)
        assert (outcome.returncode == 0) == (fault is None), fault
        assert fault is None or fault.caught in outcome.stderr, (fault, outcome.stderr)


def run(program: Path, number: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, str(number)], capture_output=True, text=True, timeout=120, check=False)


@dataclass(frozen=True)
class PythonFault:
    """``old`` is replaced by ``new`` in a function of arcwise.inference; the test must then fail."""

    function: str
    old: str
    new: str
    test: Callable[[], object]


def every_class(test: Callable[..., object], **case: object) -> Callable[[], object]:
    """The test for all four tree classes."""
    return lambda: [test(projective=p, single_root=s, **case) for p, s in test_distribution.TREE_CLASSES]


def some_cases(test: Callable[..., object], **case: object) -> Callable[[], object]:
    """A property test, for all classes, with the first few seeds."""
    inner = test.hypothesis.inner_test  # type: ignore[attr-defined]
    return lambda: [every_class(inner, seed=seed, **case)() for seed in range(8)]


LABELLED = some_cases(
    test_distribution.test_every_labelled_operation_against_enumeration, n=3, spread=1.0, holes=0.0
)
PLAIN = some_cases(test_distribution.test_every_operation_against_enumeration, n=4, spread=1.0, holes=0.0)
CONSTRAINED = some_cases(test_constraints.test_every_operation_under_constraints, n=4, spread=1.0)
WITHOUT_REPLACEMENT = every_class(test_sampling.test_all_trees_can_be_drawn_however_unlikely)
FITTING = every_class(test_fitting_class.test_it_is_the_first_class_that_has_a_tree)

PYTHON_FAULTS = [
    PythonFault("labels._labellings", "range(last, words)", "range(last + 1, words)", LABELLED),
    PythonFault("labels.log_sum_scores", "+ shift", "", every_class(test_distribution.test_labels_left_open_against_enumeration)),
    PythonFault("tree_inference.TreeInference._sentences", "self.temperature, "
        "self.label_temperature", "self.temperature, self.temperature", every_class(test_distribution.test_temperatures_change_probabilities_as_they_are_defined)),
    PythonFault("tree_inference.TreeInference._labelled_marginals", "self.temperature, "
        "self.label_temperature", "self.label_temperature, "
            "self.temperature", every_class(test_distribution.test_temperatures_change_probabilities_as_they_are_defined)),
    PythonFault("distribution.TreeDistribution.minimum_labelled_risk", "native.Decoder.minimum_labelled_risk", "native.Decoder.minimum_risk", LABELLED),
    PythonFault("labels.sample_labels", "rng.random(len(heads)) >= cumulative", "rng.random(len(heads)) >= "
        "cumulative * 0.9", every_class(test_sampling.test_with_labels)),
    PythonFault("constraints.Constraints.mask", "mask[..., np.arange(n + 1) != h, m] = "
        "False", "pass", CONSTRAINED),
    PythonFault("constraints.Constraints.mask", "too_long[0] = False", "pass", CONSTRAINED),
    PythonFault("constraints.Constraints.mask", "np.r_[0:first, last + 1 : n + 1]", "np.r_[0:first]", CONSTRAINED),
    PythonFault("constraints.crossing_pair", "left < start and right < end", "left < start and end < right", lambda: test_constraints.test_clashes_are_named(*test_constraints.CLASHES[6])),
    PythonFault("fitting_class._wider", "replace(wanted, single_root=False)", "replace(wanted, "
        "projective=False)", FITTING),
    PythonFault("fitting_class.has_tree", "constraints.mask(n, trees, None)", "Constraints().mask(n, trees, "
        "None)", FITTING),
    PythonFault("sampling.Space.without", "(*self.excluded, attachments[start])", "(attachments[start],)", WITHOUT_REPLACEMENT),
    PythonFault("sampling.Space.restricted", "restricted[..., m] = -np.inf", "pass", WITHOUT_REPLACEMENT),
    PythonFault("large_scores.divergence", "fsum([-log_zs[0], log_zs[1],", "fsum([log_zs[0], -log_zs[1],", every_class(test_distribution.test_entropy_and_kl)),
    PythonFault("large_scores.divergence", "_possible(p, "
        "p_trees)[ruled_out.nonzero()[-2:]].any()", "False", every_class(test_large_scores.test_an_arc_of_a_probability_below_all_doubles_still_counts_for_kl)),
    PythonFault("large_scores._tall_divergence", "inside + max(outside, 0.0)", "inside", every_class(test_large_scores.test_divergence_between_masked_distributions)),
    PythonFault("large_scores.log_probability", "< LARGE", "< np.inf", every_class(test_large_scores.test_masks_of_every_size_give_the_right_sums)),
    PythonFault("distribution.TreeDistribution.minimum_risk", "native.Decoder.minimum_risk", "native.Decoder.map", PLAIN),
    PythonFault("sentence_scores.SentenceScores.score", "not tree_class.holds(tree) or", "", test_distribution.test_a_tree_of_another_class_has_probability_zero),
]  # fmt: skip


@pytest.mark.parametrize("fault", PYTHON_FAULTS, ids=lambda f: f"{f.function}: {f.old[:40]}")
def test_a_python_fault_is_caught(fault: PythonFault) -> None:
    module, _, function = fault.function.partition(".")
    planting = planted(f"arcwise.inference.{module}", function, fault.old, fault.new)
    with planting, pytest.raises((AssertionError, ArcwiseError, pytest.fail.Exception)):
        fault.test()
