"""Second-order inference and parsing: arcwise and SuPar, orders 1 and 2, certificates of the best trees.

    python -m benchmarks.second_order [--speed | --train NAME … | --table]

``--speed`` compares Eisner with siblings with SuPar's CRF2o (``pip install --no-deps supar`` after
torch==2.13.0) on one core and writes a section of RESULTS.md. ``--train`` trains one parser and prints its
figures as a line of JSON, which ``--rows FILE`` collects. Needs ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring.inputs import read, with_columns
from measuring.tables import table

from arcwise.evaluation import by_arc_length, evaluate, verdicts
from arcwise.factors import FactoredTreeDistribution, Siblings, best_tree_with_siblings
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning.config import from_dict
from arcwise.siblings import SiblingConfig, SiblingParser
from arcwise.siblings.scorer import sentence_scores
from arcwise.treebanks import Treebank
from arcwise.trees import is_projective
from benchmarks.peers.gpu_trees import supar_siblings
from benchmarks.report import write_section

Floats = npt.NDArray[np.float64]

LENGTHS = (25, 100)
LONG = ("7-10", "11 or more")
TREEBANKS = ("English-EWT", "Turkish-IMST", "Danish-CDT", "Dutch-Alpino-cdbl")
ORDERS: dict[int, tuple[Any, Any]] = {1: (GraphParser, GraphConfig), 2: (SiblingParser, SiblingConfig)}


# ---- speed of inference


def inputs(n: int, count: int) -> list[tuple[Floats, Floats]]:
    """Random scores of arcs and siblings of ``count`` sentences."""
    rng = np.random.default_rng(n)
    return [(rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1,) * 3)) for _ in range(count)]


def distribution(arcs: Floats, siblings: Floats) -> FactoredTreeDistribution:
    """Scores as arcwise takes them: checked and copied."""
    return FactoredTreeDistribution(arcs, factors=[Siblings(siblings)], projective=True, single_root=True)


def supar_operations(n: int, count: int) -> dict[str, Callable[[], object]]:
    """The operations of SuPar's CRF2o on a batch of random scores."""
    import torch

    distribution = supar_siblings()
    torch.set_num_threads(1)
    arcs, siblings = (torch.tensor(np.stack(part)).float() for part in zip(*inputs(n, count), strict=True))
    lengths = torch.full((count,), n)

    def crf() -> Any:
        return distribution((arcs.clone(), siblings.clone()), lengths)

    return {"best tree": lambda: crf().argmax, "marginals of arcs": lambda: crf().marginals}


def arcwise_operations(n: int, count: int) -> dict[str, Callable[[], object]]:
    """The same operations of arcwise, from arrays: checks and copies included."""
    sentences = inputs(n, count)
    return {
        "best tree": lambda: [distribution(*sentence).best() for sentence in sentences],
        "marginals of arcs": lambda: [distribution(*sentence).marginals for sentence in sentences],
    }


def processor_seconds(contenders: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Seconds of processor time per call, the best of ``repeat`` turns: the machine may be shared."""
    calls, best = {}, dict.fromkeys(contenders, math.inf)
    for label, run in contenders.items():
        run()  # warm up
        began = time.process_time()
        run()
        calls[label] = max(1, int(0.05 / max(time.process_time() - began, 1e-9)))
    for _ in range(repeat):
        for label, run in contenders.items():
            began = time.process_time()
            for _ in range(calls[label]):
                run()
            best[label] = min(best[label], (time.process_time() - began) / calls[label])
    return best


def speed_rows(lengths: Sequence[int] = LENGTHS, repeat: int = 5) -> list[list[object]]:
    """Microseconds per sentence; the peer in the batch size that is faster for it."""
    rows: list[list[object]] = []
    for n in lengths:
        count = 32 if n <= 25 else 8
        ours, theirs = arcwise_operations(n, 4), supar_operations(n, count)
        for name in ours:
            seconds = processor_seconds({"arcwise": ours[name], "SuPar": theirs[name]}, repeat)
            own, other = seconds["arcwise"] / 4, seconds["SuPar"] / count
            rows.append([n, name, f"{1e6 * own:,.0f}", f"{1e6 * other:,.0f}", f"{other / own:,.0f} ×"])
    return rows


def speed() -> None:
    rows = speed_rows()
    body = (
        "Projective trees with sibling scores, random, one core, µs of processor time per sentence: best "
        "tree, and marginals of arcs. arcwise sentence by sentence from numpy arrays "
        "(`FactoredTreeDistribution`); SuPar's "
        "`Dependency2oCRF` in batches of 32 and 8, `.argmax` and `.marginals`, in single precision.\n\n"
    ) + table(["n", "operation", "arcwise", "SuPar", "arcwise is faster by"], rows)
    write_section("second-order-speed", "Second-order inference", body, module="second_order")
    print(body)


# ---- parsers


def parts(name: str) -> dict[str, Treebank]:
    """Forms and gold UPOS only."""
    return {part: with_columns(read(name, part), all_columns=False) for part in ("train", "dev", "test")}


def sibling_pairs(treebank: Treebank) -> set[tuple[int, int, int]]:
    """Adjacent dependents on one side of a head: (head, inner, outer), places in the treebank."""
    pairs = set()
    heads, bounds = np.asarray(treebank.heads).tolist(), treebank.sentence_words.tolist()
    for first, end in pairwise(bounds):
        for words, to_right in ((range(first, end), True), (range(end - 1, first - 1, -1), False)):
            last: dict[int, int] = {}
            for m in words:
                h = first - 1 + heads[m]  # of the root: the place before the sentence
                if (m > h) == to_right:
                    if h in last:
                        pairs.add((h, last[h], m))
                    last[h] = m
    return pairs


def accuracy(parsed: Treebank, gold: Treebank) -> dict[str, float]:
    """Attachment, sentences without a wrong head, adjacent siblings, arcs of 7 words and more."""
    score = evaluate(gold, parsed).attachment
    found, right = sibling_pairs(parsed), sibling_pairs(gold)
    long = [group for group in by_arc_length(verdicts(gold, parsed)) if group.name in LONG]
    return {
        "UAS": score.uas,
        "LAS": score.las,
        "exact": score.complete,
        "siblings' precision": len(found & right) / max(len(found), 1),
        "siblings' recall": len(found & right) / max(len(right), 1),
        "long arcs' recall": sum(g.gold_heads_found for g in long) / sum(g.gold for g in long),
    }


def certificates(model: Any, treebank: Treebank, sentences: int, seconds: float) -> dict[str, Any]:
    """How the best trees with crossing arcs are proven."""
    sample, began = treebank.spread(min(sentences, len(treebank))), time.monotonic()
    done = before = optimal = crossing = 0
    slowest = 0.0
    for place in range(len(sample)):
        if time.monotonic() - began > seconds:
            break
        scores, siblings = sentence_scores(model, sample, place)
        started = time.monotonic()
        tree = best_tree_with_siblings(scores, siblings, single_root=True)
        slowest = max(slowest, time.monotonic() - started)
        done += 1
        before += tree.is_optimal and not tree.branched
        optimal += tree.is_optimal
        crossing += not is_projective(tree.tree)
    return {
        "sentences": done,
        "optimal before branching": before / max(done, 1),
        "optimal": optimal / max(done, 1),
        "crossing": crossing / max(done, 1),
        "slowest seconds": slowest,
    }


def words_per_second(parser: Any, test: Treebank) -> float:
    """Words per second of processor time."""
    data = test.data
    run = {"": lambda: parser.parse(Treebank(data), threads=1).data}
    return test.word_count / processor_seconds(run, 3)[""]


def trained(
    name: str, order: int, settings: dict[str, Any], proofs: int, folder: Path | None = None
) -> dict[str, Any]:
    """Train one parser and measure it."""
    data = parts(name)
    kind, config = ORDERS[order]
    began = time.process_time()
    parser = kind.train(data["train"], data["dev"], config=from_dict(config, settings, where="settings"))
    seconds = time.process_time() - began
    row: dict[str, Any] = {"treebank": name, "order": order, **settings, "training CPU s": round(seconds)}
    for part in ("dev", "test"):
        result = parser.parse(data[part])
        row |= {f"{part} {name}": value for name, value in accuracy(result, data[part]).items()}
        if folder and part == "test":
            folder.mkdir(exist_ok=True)
            row["parsed"] = f"{name}-{order}-{time.time_ns()}.conllu"
            result.write(folder / row["parsed"])
    row |= {
        "parses projective": parser.decoding.projective,
        "words/s": round(words_per_second(parser, data["test"])),
    }
    if proofs and order == 2:
        row |= {
            f"proofs, {key}": value
            for key, value in certificates(parser.model, data["dev"], proofs, 90).items()
        }
    return row


def parsed_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE, values as JSON where they are."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def report(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    cells = [
        [
            row["treebank"],
            row["order"],
            row.get("trainer", "mira"),
            *(
                f"{100 * row[f'{part} {score}']:.2f}"
                for part in ("dev", "test")
                for score in ("UAS", "LAS", "exact")
            ),
            f"{row['words/s']:,}",
        ]
        for row in rows
    ]
    print(
        table(
            [
                "treebank",
                "order",
                "trainer",
                "dev UAS",
                "LAS",
                "exact",
                "test UAS",
                "LAS",
                "exact",
                "words/s",
            ],
            cells,
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--train", metavar="TREEBANK")
    parser.add_argument("--order", type=int, default=2, choices=(1, 2))
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="options of the parser")
    parser.add_argument(
        "--proofs", type=int, default=0, metavar="N", help="certificates of N development sentences"
    )
    parser.add_argument(
        "--rows", type=Path, help="file of lines of JSON to append to, or to print as a table"
    )
    options = parser.parse_args()
    if options.speed:
        speed()
    elif options.train:
        if "ARCWISE_TREEBANKS" not in os.environ:
            sys.exit("ARCWISE_TREEBANKS: set it to a folder that contains the treebanks")
        row = trained(
            options.train,
            options.order,
            parsed_settings(options.set),
            options.proofs,
            options.rows and options.rows.with_suffix(""),
        )
        line = json.dumps(row)
        print(line, flush=True)
        if options.rows:
            with options.rows.open("a") as out:
                out.write(line + "\n")
    elif options.rows:
        report(options.rows)


if __name__ == "__main__":
    main()
