"""The native network beside torch's own layers, with the same weights."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import native
from contracts.small_treebank import small_treebank
from neural.slow_network import SlowNetwork, random_network

torch = pytest.importorskip("torch", reason="needs torch: make test-torch installs it")


@pytest.mark.parametrize("layers, units", [(1, 10), (3, 48)])
def test_the_encoder_is_that_of_torch(layers: int, units: int) -> None:
    treebank = small_treebank(crossing=True)
    arguments = random_network(
        {"lower": 20, "upos": 7}, treebank, seed=8, layers=layers, units=units, tags=(6,), scale=1.5
    )
    arrays = arguments["arrays"]
    lstm = torch.nn.LSTM(27, units, num_layers=layers, bidirectional=True, batch_first=True)
    state = {}
    for layer in range(layers):
        for direction, end in (("forward", ""), ("backward", "_reverse")):
            name = f"layer.{layer}.{direction}"
            state[f"weight_ih_l{layer}{end}"] = torch.tensor(arrays[f"{name}.input"])
            state[f"weight_hh_l{layer}{end}"] = torch.tensor(arrays[f"{name}.recurrent"])
            state[f"bias_ih_l{layer}{end}"] = torch.tensor(arrays[f"{name}.bias"] / 4)
            state[f"bias_hh_l{layer}{end}"] = torch.tensor(arrays[f"{name}.bias"] * 0.75)
    lstm.load_state_dict(state)
    slow, where = SlowNetwork(**arguments), (treebank.layout, treebank.data)
    found = native.NeuralNetwork(**arguments)
    states, arcs, labels, at = found.states(*where), [], [], 0
    with torch.no_grad():
        for rows in slow.rows(treebank):
            x = np.hstack([arrays[f"table.{t}"][rows[:, t]] for t in range(2)])
            own = lstm(torch.tensor(x)[None])[0][0]
            np.testing.assert_allclose(states[at : at + own.numel()].reshape(own.shape), own, atol=1e-4)
            at += own.numel()
            space = {
                name: torch.nn.functional.leaky_relu(
                    torch.nn.functional.linear(
                        own, torch.tensor(arrays[f"{name}.weight"]), torch.tensor(arrays[f"{name}.bias"])
                    ),
                    0.1,
                )
                for name in ("arc_head", "arc_dependent", "label_head", "label_dependent")
            }
            part = {name: torch.tensor(array) for name, array in arrays.items()}
            a, d, h, r = space.values()
            arcs.append(a @ part["arc.product"] @ d.T + (a @ part["arc.head"])[:, None])
            own_labels = torch.einsum("hi,sij,mj->hms", h, part["label.product"], r)
            own_labels = own_labels + (h @ part["label.head"].T)[:, None] + (r @ part["label.dependent"].T)
            own_labels = own_labels + part["label.bias"]
            own_labels[:, 0] = 0
            labels.append(own_labels)
    for look, expected in (("arcs", arcs), ("labels", labels)):
        flat = np.concatenate([one.numpy().ravel() for one in expected])
        np.testing.assert_allclose(getattr(found, look)(*where), flat, atol=1e-4)
