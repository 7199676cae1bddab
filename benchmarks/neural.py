"""Native forward pass of the neural parser against torch with the same weights, on one thread.

    python -m benchmarks.neural [--quick]

Random weights in the sizes of ``arcwise train --size small|base``, 50 labels, vocabularies of English-EWT,
whose development data are parsed. The native network goes from the treebank's bytes to trees (minimum Bayes
risk, one label per word); torch goes from prepared rows of its tables to the scores of all arcs and the
labels of the best ones. torch gets batches of similar length in two forms, packed and of equal length.
``--quick`` measures the small network once and prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import treebank_folder
from tests.neural.slow_network import SlowNetwork, random_network

from arcwise import native
from arcwise.optional import is_installed
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

AFFIXES = [f"prefix{n}" for n in (1, 2, 3)] + [f"suffix{n}" for n in (1, 2, 3, 4, 5)]
ATOMS = {"lower": 100} | dict.fromkeys([*AFFIXES, "shape"], 32) | {"upos": 50}
SIZES: dict[str, dict[str, int]] = {
    "small": {"layers": 2, "units": 128, "arc_size": 128, "label_size": 64},
    "base": {"layers": 3, "units": 256, "arc_size": 256, "label_size": 96},
}
LABELS = 50
BATCH = 64
"""Sentences per torch batch."""
Rows = npt.NDArray[np.int64]


def settings(**options: Any) -> native.DecodeSettings:
    """Minimum Bayes risk over trees with one root."""
    return native.DecodeSettings(
        decoder=native.Decoder.minimum_risk, projective=False, single_root=True, **options
    )


def native_runs(arguments: dict[str, Any], treebank: Treebank) -> dict[str, Callable[[], object]]:
    """Parse with the native network in both precisions; in 8 bits also with temperature and
    probabilities.
    """
    runs: dict[str, Callable[[], object]] = {}
    for precision in ("float32", "int8"):
        network = native.NeuralNetwork(**arguments, precision=precision)

        def parse(network: native.NeuralNetwork = network, **options: Any) -> object:
            return network.parse(treebank.layout, treebank.data, settings=settings(**options), threads=1)

        def told(parse: Callable[..., object] = parse) -> object:
            return parse(temperature=1.2, probabilities=True)

        runs[f"arcwise, {precision}"] = parse
        runs[f"arcwise, {precision}, temperature 1.2 and probabilities"] = told
    return runs


@dataclass
class TorchNetwork:
    """The same network in torch."""

    arrays: dict[str, Any]
    lstm: Any
    tables: int

    @classmethod
    def made(cls, arguments: dict[str, Any], size: dict[str, int]) -> TorchNetwork:
        import torch

        arrays = {name: torch.tensor(array) for name, array in arguments["arrays"].items()}
        lstm = torch.nn.LSTM(
            sum(ATOMS.values()), size["units"], size["layers"], bidirectional=True, batch_first=True
        )
        state = {}
        for layer in range(size["layers"]):
            for direction, end in (("forward", ""), ("backward", "_reverse")):
                name = f"layer.{layer}.{direction}"
                state[f"weight_ih_l{layer}{end}"] = arrays[f"{name}.input"]
                state[f"weight_hh_l{layer}{end}"] = arrays[f"{name}.recurrent"]
                state[f"bias_ih_l{layer}{end}"] = arrays[f"{name}.bias"]
                state[f"bias_hh_l{layer}{end}"] = torch.zeros_like(arrays[f"{name}.bias"])
        lstm.load_state_dict(state)
        return cls(arrays, lstm.eval(), len(ATOMS))

    def space(self, name: str, states: Any) -> Any:
        """A multilayer perceptron."""
        from torch.nn.functional import leaky_relu, linear

        return leaky_relu(linear(states, self.arrays[f"{name}.weight"], self.arrays[f"{name}.bias"]), 0.1)

    def __call__(self, rows: Any, lengths: Any) -> Any:
        """Labels of the best arcs of a batch, (B, N+1); rows: (B, N+1, tables)."""
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

        arrays = self.arrays
        words = torch.cat([arrays[f"table.{t}"][rows[..., t]] for t in range(self.tables)], dim=-1)
        if lengths is None:
            states = self.lstm(words)[0]
        else:
            packed = pack_padded_sequence(words, lengths, batch_first=True)
            states = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        a, d = self.space("arc_head", states), self.space("arc_dependent", states)
        arcs = a @ (d @ arrays["arc.product"].T + arrays["arc.head"]).transpose(1, 2)
        heads = arcs.argmax(dim=1)
        h, r = self.space("label_head", states), self.space("label_dependent", states)
        h = torch.gather(h, 1, heads[..., None].expand_as(r))
        S, R, _ = arrays["label.product"].shape
        both = (r @ arrays["label.product"].reshape(S * R, R).T).view(*r.shape[:2], S, R)
        labels = ((both + arrays["label.head"]) @ h[..., None])[..., 0] + r @ arrays["label.dependent"].T
        return (labels + arrays["label.bias"]).argmax(dim=-1)


def torch_runs(
    arguments: dict[str, Any], size: dict[str, int], rows: list[Rows]
) -> dict[str, Callable[[], object]]:
    """The same in torch, float32."""
    import torch

    network = TorchNetwork.made(arguments, size)
    ordered = sorted(rows, key=len, reverse=True)
    packed, equal = [], []
    for first in range(0, len(ordered), BATCH):
        some = ordered[first : first + BATCH]
        padded = np.zeros((len(some), len(some[0]), network.tables), np.int64)
        for place, sentence in enumerate(some):
            padded[place, : len(sentence)] = sentence
        packed.append((torch.tensor(padded), torch.tensor([len(sentence) for sentence in some])))
    for length in {len(sentence) for sentence in rows}:
        same = [sentence for sentence in rows if len(sentence) == length]
        for first in range(0, len(same), BATCH):
            equal.append((torch.tensor(np.stack(same[first : first + BATCH])), None))

    def run(batches: list[tuple[Any, Any]]) -> None:
        with torch.inference_mode():
            for batch in batches:
                network(*batch)

    return {"torch, packed": lambda: run(packed), "torch, equal lengths": lambda: run(equal)}


def measured(name: str, train: Treebank, dev: Treebank, repeat: int) -> list[list[str]]:
    """Table rows: contender, words per second, and speed-up over the faster torch variant."""
    size = SIZES[name]
    arguments = random_network(ATOMS, train, seed=1, labels=LABELS, **size)
    runs = native_runs(arguments, dev)
    if is_installed("torch"):
        runs |= torch_runs(arguments, size, SlowNetwork(**arguments).rows(dev))
    seconds = interleaved(runs, repeat=repeat)
    torch_best = min((s for label, s in seconds.items() if label.startswith("torch")), default=None)
    rows = []
    for label, one in seconds.items():
        times = f"{torch_best / one:.1f}" if torch_best else "–"
        rows.append([name, label, f"{dev.word_count / one:,.0f}", times])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="measure only the small network, once, and print"
    )
    quick = parser.parse_args().quick
    if is_installed("torch"):
        import torch

        torch.set_num_threads(1)
    folder = treebank_folder() / "English-EWT"
    train, dev = (Treebank.read(folder / f"{part}.conllu.xz") for part in ("train", "dev"))
    rows = [
        row
        for name in (["small"] if quick else SIZES)
        for row in measured(name, train, dev, 1 if quick else 7)
    ]
    body = table(["network", "one thread", "words/s", "× the faster torch variant"], rows)
    body += (
        f"\nInstructions: {native.neural_instructions()[-1]}. {dev.word_count:,} words in {len(dev):,} "
        f"sentences.\n"
    )
    if not is_installed("torch"):
        body += "torch: not installed.\n"
    print(body)
    if not quick:
        write_section("neural", "Neural parser: native forward pass", body)


if __name__ == "__main__":
    main()
