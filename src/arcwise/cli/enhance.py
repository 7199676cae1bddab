"""``arcwise enhance``: enhanced dependencies by rule from basic trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo, one_line

if TYPE_CHECKING:
    from arcwise.treebanks import Sentence, Treebank
    from arcwise.treebanks.edits import GeneratedDeps

FILES = Files(reads=("file",), writes=("output",))


def run(
    file: str = typer.Argument(..., help="CoNLL-U file with trees (.gz, .xz, - for standard input)."),
    output: str = typer.Option("-", "--output", "-o", help="Output file (- for standard output)."),
    rule_names: str = typer.Option(
        "all",
        "--rules",
        help="Rules to apply, separated by commas: case, conj-head, conj-dependent, xcomp-subject, relative, "
        "relative-object.",
    ),
    case: bool | None = typer.Option(
        None,
        "--case/--no-case",
        help="Put the feature Case into labels: obl:in:loc. [default: if nouns have that feature]",
    ),
    preview: bool = typer.Option(
        False, "--preview", help="Show the arcs that the basic trees lack, with their rules; write nothing."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace existing DEPS."),
) -> None:
    """Fill DEPS with enhanced dependencies that follow from the basic trees by rule.

    Labels get the lemmas of case markers and conjunctions (obl:in, conj:and), conjuncts the head and shared
    dependents of the first one, open complements their subjects, and antecedents the roles of relative
    pronouns. Review the result: the rules are usually right, but not always. Elided predicates are not
    restored.

    Sentences that have DEPS already, empty nodes, or words without HEAD or DEPREL are left as they are.
    """
    from arcwise.errors import InputError
    from arcwise.treebanks import Treebank, open_output
    from arcwise.treebanks.edits import ENHANCEMENT_RULES, generated_deps
    from arcwise.treebanks.edits.enhancement import enhanced, has_case_feature, obstacle

    chosen: list[Any] = list(ENHANCEMENT_RULES) if rule_names == "all" else rule_names.split(",")
    for rule in chosen:
        if rule not in ENHANCEMENT_RULES:
            raise InputError(f"--rules: found {rule!r}, expected {', '.join(ENHANCEMENT_RULES)}")
    if preview and output != "-":
        raise InputError("--preview: cannot be combined with --output")
    treebank = Treebank.read(file)
    with_case = has_case_feature(treebank) if case is None else case
    deps: dict[int, list[GeneratedDeps]] = {}
    reasons: Counter[str] = Counter()
    for sentence in treebank:
        reason = obstacle(sentence, overwrite=overwrite)
        if reason is not None:
            reasons[reason] += 1
            continue
        deps[sentence.number] = generated_deps(
            sentence, rules=chosen, with_case_feature=with_case, overwrite=overwrite
        )
    if preview:
        _print_preview(treebank, deps)
    else:
        with open_output(output) as out:
            out.write(enhanced(treebank, deps).data)
    _print_summary(deps, reasons)


def _print_preview(treebank: Treebank, deps: Mapping[int, list[GeneratedDeps]]) -> None:
    for number, words in deps.items():
        sentence = treebank[number]
        name = sentence.sent_id or f"sentence {number + 1}"
        for generated in words:
            for arc in generated.arcs:
                if arc.rule != "basic":
                    head = _shown(sentence, arc.head)
                    echo(one_line(f"{name}: {head} > {arc.label} {_shown(sentence, arc.word)} [{arc.rule}]"))


def _shown(sentence: Sentence, word: int) -> str:
    return f"{word}:{sentence.forms[word - 1]}" if word else "0"


def _print_summary(deps: Mapping[int, list[GeneratedDeps]], reasons: Mapping[str, int]) -> None:
    counts = Counter(arc.rule for words in deps.values() for generated in words for arc in generated.arcs)
    of_rules = ", ".join(f"{rule} {count:,}" for rule, count in counts.most_common() if rule != "basic")
    echo(
        f"{len(deps):,} sentence{'s' * (len(deps) != 1)} enhanced: {of_rules or 'basic arcs alone'}", err=True
    )
    for reason, count in reasons.items():
        left = "1 sentence that" if count == 1 else f"{count:,} sentences that each"
        echo(f"left unchanged: {left} {reason}", err=True)
