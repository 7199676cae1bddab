"""Cross-fitted evidence for ``benchmarks.mining``, computed in advance and kept in a folder.

    python -m benchmarks.mining_evidence FOLDER --revisions FOLDER --treebanks FOLDER [--time thorough]

Every training (a parser and the fold that it does not see) has a file of its own, written as soon as it is
done, so that the program can be interrupted and resumed; what needs a GPU can run on another machine.
Probabilities are stored as log-odds in steps of 1/8, whether or not they are computed in the same run.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.engine import Engine, ThisProcess, WorkerPool, local_engine
from arcwise.mining.crossfit import EFFORTS, Crossfitted, Effort, FoldTraining, crossfit
from arcwise.mining.evidence import ParserEvidence
from arcwise.mining.signal import log_odds
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_output
from benchmarks.mining_pairs import PAIRS

Arrays = dict[str, npt.NDArray[Any]]
SECONDS = "processor_seconds"
"""The array with the processor time of a training, all of its threads together."""
_STEPS = 8.0
"""Steps of one unit of log-odds, of which there are 13.8 on either side."""
_NAN = -128
_NEAR_ARC = ("head", "label", "conditional", "best_tree")
"""Probabilities stored as differences; 8-bit integers wrap around, so that nothing is lost."""
_CONFIDENT = 0.9
"""Alternatives to arcs at least this probable are not stored."""


@dataclass(frozen=True)
class EvidenceFolder:
    """An engine for ``crossfit`` that keeps the result of every training in a file."""

    folder: Path
    """The folder of one treebank."""
    effort: Effort
    engine: Engine

    def path(self, task: FoldTraining) -> Path:
        """The file of a training; its name has the options that the parser depends on."""
        effort, neural = self.effort, self.effort.neural
        options: tuple[object, ...] = () if task.parser == "tagger" else (effort.epochs,)
        if task.parser == "neural":
            options = (neural.size, neural.words, *neural.epochs, neural.batch_words)
        name = "-".join(map(str, (task.parser, *options, f"{task.fold}of{effort.folds}")))
        return self.folder / f"{name}.npz.xz"

    def map(self, work: Callable[[Any], Any], items: Iterable[Any], *, ordered: bool = True) -> Iterator[Any]:
        """Yield the result of each training, from its file if there is one."""
        tasks = list(items)
        missing = [task for task in tasks if not self.path(task).exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        for number, task in enumerate(self.engine.map(partial(self._store, work), missing), 1):
            print(f"{self.folder.name}: {task} ({number} of {len(missing)})", file=sys.stderr, flush=True)
        for task in tasks:
            arrays = read_arrays(self.path(task))
            yield unpacked({name: values for name, values in arrays.items() if name != SECONDS})

    def pool(self, work: Callable[[Any], Any]) -> AbstractContextManager[WorkerPool[Any, Any]]:
        """Cross-fitting needs no pool."""
        raise NotImplementedError

    def _store(self, work: Callable[[FoldTraining], Any], task: FoldTraining) -> str:
        started = time.process_time()
        path = self.path(task)
        arrays = packed(work(task))
        seconds = time.process_time() - started
        stream = io.BytesIO()
        np.savez(stream, **arrays, **{SECONDS: np.float64(seconds)})
        with open_output(path) as output:
            output.write(stream.getvalue())  # compressed, as the name says
        return f"{path.name} took {seconds:.0f} s of processor time"


def evidence_of(
    treebank: Treebank, name: str, folder: Path, effort: Effort, engine: Engine = ThisProcess()
) -> Crossfitted:
    """The cross-fitted evidence about a treebank, from the folder or computed and added to it."""
    digest = hashlib.sha256(treebank.data).hexdigest()[:12]
    return crossfit(
        treebank, effort=effort, engine=EvidenceFolder(folder / f"{name}-{digest}", effort, engine)
    )


def packed(result: ParserEvidence | tuple[Any, Any] | None) -> Arrays:
    """The evidence of one training as small integers."""
    if result is None:
        return {}
    if not isinstance(result, ParserEvidence):
        predicted, probability = result
        names, codes = np.unique(predicted.astype(str), return_inverse=True)
        return {"tags": names, "predicted": codes.astype(np.uint8), "probability": _steps(probability)}
    names = np.unique(np.concatenate([result.other_label, result.proposed_labels.ravel()]).astype(str))
    unsure = ~(result.arc >= _CONFIDENT)
    arrays: Arrays = {"labels": names, "unsure": unsure}
    for field in fields(result):
        values = getattr(result, field.name)
        if field.name.startswith("proposed"):
            values = values[unsure].T
        if values.dtype == object:
            values = np.searchsorted(names, values.astype(str)).astype(
                np.uint8 if len(names) < 256 else np.uint16
            )
        elif values.dtype == np.float64:
            values = _steps(values)
        arrays[field.name] = values.astype(np.int16) if values.dtype == np.int32 else values
    for name in _NEAR_ARC:
        # They hardly differ from the probability of the arc, and differences compress well.
        arrays[name] = arrays[name] - arrays["arc"]
    return arrays


def unpacked(arrays: Arrays) -> ParserEvidence | tuple[Any, Any] | None:
    """The inverse of ``packed``, up to rounding."""
    if not arrays:
        return None
    if "tags" in arrays:
        return arrays["tags"].astype(object)[arrays["predicted"]], _probabilities(arrays["probability"])
    arrays |= {name: arrays[name] + arrays["arc"] for name in _NEAR_ARC}
    names, unsure = arrays["labels"].astype(object), arrays["unsure"]
    evidence = ParserEvidence.empty(len(unsure))
    for field in fields(evidence):
        values, target = arrays[field.name], getattr(evidence, field.name)
        if target.dtype == object:
            values = names[values]
        elif target.dtype == np.float64:
            values = _probabilities(values)
        if field.name.startswith("proposed"):
            target[unsure] = values.T
        else:
            target[:] = values
    evidence.proposed[evidence.proposed_heads < 0] = 0
    return evidence


def _steps(probability: npt.NDArray[np.float64]) -> npt.NDArray[np.int8]:
    steps = np.round(_STEPS * log_odds(np.asarray(probability, np.float64)))
    return np.where(np.isnan(steps), _NAN, np.nan_to_num(steps)).astype(np.int8)


def _probabilities(steps: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
    return np.where(steps == _NAN, np.nan, 1 / (1 + np.exp(-steps / _STEPS)))


def read_arrays(path: Path) -> Arrays:
    """The arrays of one file."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as arrays:
        return {name: arrays[name] for name in arrays.files}


def main() -> None:
    """Compute the evidence about the pairs, and about the treebanks with planted errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--revisions", type=Path, required=True)
    parser.add_argument("--treebanks", type=Path, required=True)
    parser.add_argument("--pair", nargs="*", choices=[pair.name for pair in PAIRS])
    parser.add_argument("--planted", nargs="*", default=[], choices=[pair.name for pair in PAIRS])
    parser.add_argument("--time", choices=list(EFFORTS), default="fast")
    parser.add_argument("--parsers", nargs="*", help="only some of the parsers")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    effort = EFFORTS[arguments.time]
    if arguments.parsers:
        effort = replace(effort, parsers=tuple(arguments.parsers))
    names = [pair.name for pair in PAIRS] if arguments.pair is None else arguments.pair
    wanted = [pair for pair in PAIRS if pair.name in names]
    banks = {pair.name: pair.older(arguments.revisions) for pair in wanted}
    for pair in PAIRS:
        if pair.name in arguments.planted:
            banks[f"{pair.name}-planted"] = pair.planted(arguments.revisions, arguments.treebanks)
    for name, bank in banks.items():
        evidence_of(bank, name, arguments.folder, effort, local_engine(arguments.workers))


if __name__ == "__main__":
    main()
