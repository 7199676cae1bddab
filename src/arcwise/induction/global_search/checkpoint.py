"""Checkpoints: the state of a search over counts in a file, to resume it later."""

from __future__ import annotations

import base64
import heapq
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from arcwise import native
from arcwise.errors import InputError
from arcwise.induction.dmv import log_ratio, read_json
from arcwise.induction.global_search.certificate import Proof
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.count_nodes import CountNode
from arcwise.induction.global_search.messages import DualMessages
from arcwise.induction.global_search.options import CountOptions
from arcwise.induction.global_search.problem import InductionTask, TracePoint
from arcwise.treebanks.files import PathLike, open_output

KIND = "arcwise grammar induction checkpoint"
VERSION = 2


def save_checkpoint(search: CountSearch, path: PathLike) -> None:
    """Write the state of a search atomically."""
    state = {
        "kind": KIND,
        "version": VERSION,
        "certificate": search.certificate(),
        "options": asdict(search.options),
        "seed": search.seed,
        "epsilon": search.epsilon,
        "nodes": search.nodes,
        "seconds": search.seconds,
        "restarts_done": search.restarts_done,
        "stuck": search.stuck,
        "cut": search.cut,
        "trace": [[p.seconds, p.lower, p.upper, p.nodes, p.open_nodes] for p in search.trace],
        # Nodes that workers hold count as open: their subtrees are not in the proof yet.
        "open": [
            [node.bound, node.number, _packed(node.box)] for node in (*search.held.values(), *search.open)
        ],
    }
    with open_output(path) as stream:
        stream.write(json.dumps(state).encode())


def load_checkpoint(task: InductionTask, path: PathLike) -> CountSearch:
    """Restore a search; it must be about the same corpus and constraint."""
    state = read_json(path)
    if not isinstance(state, dict) or state.get("kind") != KIND or state.get("version") != VERSION:
        raise InputError(f"{path}: is not a checkpoint of this version of arcwise")
    proof = state["certificate"]
    sentences = [list(s) for s in task.corpus.sentences]
    if sentences != proof["sentences"] or list(task.corpus.tags) != proof["tags"]:
        raise InputError(f"{path}: is a checkpoint of another corpus")
    if task.constraint_json != proof["constraint"]:
        raise InputError(f"{path}: is a checkpoint with another constraint")
    search = CountSearch(task, seed=state["seed"], options=CountOptions(**state["options"]))
    for name in ("nodes", "seconds", "restarts_done", "stuck", "cut", "epsilon"):
        setattr(search, name, state[name])
    search.trace = [TracePoint(*point) for point in state["trace"]]
    search.proof.nodes = proof["nodes"]
    search.proof.multipliers = [
        search.messages.read(written, proof["coordinates"])
        if isinstance(written, dict)
        else _unpacked_mu(written, proof["coordinates"], search)
        for written in proof["multipliers"]
    ]
    heads = np.array([h for s in proof["heads"] for h in s], np.int32)
    search.best.offer(task.gathered(heads))
    search.best.theta = log_ratio(native.dmv_counts(task.corpus.batch, heads), task.features)
    search.open = [
        # Bases of linear programs are not stored; a resumed node starts without one.
        CountNode((-bound, number), _unpacked(box, search), None, _messages(search.proof, number))
        for bound, number, box in state["open"]
    ]
    heapq.heapify(search.open)
    return search


def _messages(proof: Proof, node: int) -> DualMessages | None:
    """The messages behind the bound of an open node."""
    last = proof.multipliers[proof.uses(node)[-1]] if proof.uses(node) else None
    return last if isinstance(last, DualMessages) else None


def _packed(box: native.CountBox) -> str:
    return base64.b64encode(box.low.tobytes() + box.high.tobytes() + box.alive.tobytes()).decode()


def _unpacked(text: str, search: CountSearch) -> native.CountBox:
    data, size = base64.b64decode(text), 4 * search.problem.coordinates
    return native.CountBox(  # its points are listed when the node is expanded
        np.frombuffer(data[:size], np.int32),
        np.frombuffer(data[size : 2 * size], np.int32),
        np.frombuffer(data[2 * size :], np.uint64),
    )


def _unpacked_mu(values: Any, coordinates: Any, search: CountSearch) -> Any:
    mu = np.zeros(search.problem.coordinates, np.int64)
    mu[coordinates] = values
    return mu
