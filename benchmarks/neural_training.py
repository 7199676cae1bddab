"""Training steps of neural parsers and what follows the last epoch: ``python -m benchmarks.neural_training
[--encoder FOLDER] [--treebank English-EWT] [--steps 60] [--device cpu] [--threads 1] [--sentences N]``.

Times the steps of a transformer (``--encoder``) and of the default BiLSTM, both with all tags; then, after
one epoch, each stage of model selection on development data. Steps run first without interruption, then with
a synchronisation after each phase, which costs time but tells the phases apart. ``host`` is the time until
Python has issued a step: close to that of the whole step, it means that the GPU waits for Python.
``launches`` counts kernels on a GPU and innermost operators, views included, on a CPU. ``--sentences``
shortens the treebank. Needs torch, ARCWISE_TREEBANKS and, for ``--encoder``, transformers. Prints only.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from measuring.tables import machine, table
from measuring.trainings import read_whole
from torch.profiler import ProfilerActivity, profile

from arcwise.inference.labels import codes_of
from arcwise.learning.progress import Progress
from arcwise.neural import NeuralConfig, NeuralParser, model_selection
from arcwise.neural.data import Data
from arcwise.neural.trainer import NetworkTrainer, repeatable
from arcwise.neural.training import NeuralLearner
from arcwise.treebanks import Treebank

PHASES = ("encoder", "scores and loss", "backward", "optimiser")
STAGES = ("select_tag_columns", "_most_likely_temperatures", "_select_decoder", "_calibrated")
"""Functions of ``model_selection``."""
WARM_UP = 5
"""Steps before the first that is timed."""


def synchronised() -> float:
    """The time when a GPU has done everything that was asked of it."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


@contextmanager
def timed(seconds: Counter[str], owner: Any, methods: dict[str, str]) -> Iterator[None]:
    """Add the time of an object's or module's functions to ``seconds``, by the names in ``methods``."""
    originals = {method: getattr(owner, method) for method in methods}

    def wrapped(method: str, name: str) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            started = synchronised()
            result = originals[method](*arguments, **options)
            seconds[name] += synchronised() - started  # type: ignore[assignment]
            return result

        return run

    for method, name in methods.items():
        setattr(owner, method, wrapped(method, name))
    try:
        yield
    finally:
        for method, original in originals.items():
            setattr(owner, method, original)


def launches(step: Callable[[], object]) -> int:
    """Count the kernels of a step, or on a CPU its innermost operators."""
    on_gpu = torch.cuda.is_available()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with profile(activities=activities) as profiler:
        step()
        synchronised()
    events: Any = profiler.events()
    if on_gpu:
        return sum(e.device_type.name == "CUDA" for e in events)
    return sum(e.name.startswith("aten::") and not e.cpu_children for e in events)


def time_steps(learner: NeuralLearner, steps: int) -> tuple[object, ...]:
    """Row of the table of steps."""
    config = learner.config
    assert config.batch_words is not None
    labels = codes_of(learner.prepared.labels, learner.labels)
    tags = learner.tags.codes(learner.train)
    data = Data.of(learner.tagged, learner._rows, learner.prepared.heads, labels, tags, learner.device)
    order = np.random.default_rng(1).permutation(len(learner.train)).astype(np.int64)
    with repeatable(learner.device, 1):
        trainer = NetworkTrainer(config, learner.shape, data, learner.inputs.atoms, learner._encoder())
        trainer.network.train()
        batches = list(data.batches(config.batch_words, order, states=trainer._states))
        batches = (batches * (1 + (steps + WARM_UP) // len(batches)))[: steps + WARM_UP]
        for sentences in batches[:WARM_UP]:
            trainer._learn(sentences, config)
        batches, started = batches[WARM_UP:], synchronised()
        for sentences in batches:
            trainer._learn(sentences, config)
        issued = time.perf_counter() - started
        whole = synchronised() - started
        seconds: Counter[str] = Counter()
        with (
            timed(seconds, trainer, {"_learn": "step", "_loss": "loss", "_update": "optimiser"}),
            timed(seconds, trainer.network, {"encoded": "encoder"}),
        ):
            for sentences in batches:
                trainer._learn(sentences, config)
        count = launches(lambda: trainer._learn(batches[0], config))
    seconds["scores and loss"] = seconds["loss"] - seconds["encoder"]
    seconds["backward"] = seconds["step"] - seconds["loss"] - seconds["optimiser"]
    sentences_per_second = sum(map(len, batches)) / whole
    phases = (f"{1000 * seconds[phase] / steps:.1f}" for phase in PHASES)
    return (
        f"{sentences_per_second:,.0f}",
        f"{1000 * whole / steps:.1f}",
        f"{1000 * issued / steps:.1f}",
        *phases,
        f"{count:,}",
    )


def time_stages(learner: NeuralLearner, dev: Treebank, threads: int) -> dict[str, float]:
    """Seconds of each stage after one epoch."""
    quiet, seconds = Progress(shown=False), Counter[str]()
    started = synchronised()
    model, _ = learner.run(dev, quiet, epochs=1)
    stages = {"an epoch, with its evaluation": synchronised() - started}
    with timed(seconds, model_selection, {stage: stage.strip("_").replace("_", " ") for stage in STAGES}):
        model = replace(model, writes=model_selection.select_tag_columns(model, dev, dev, threads, quiet))
        model = model_selection.tune_decoding(model, dev, (), threads=threads, progress=quiet)
    started = synchronised()
    NeuralParser(model).parse(dev, threads=threads)
    return stages | dict(seconds) | {"parse the development data": synchronised() - started}


def main() -> None:
    """Measure and print both tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--encoder", help="folder of a transformer")
    arguments.add_argument("--treebank", default="English-EWT")
    arguments.add_argument("--steps", type=int, default=60)
    arguments.add_argument("--batch-words", type=int)
    arguments.add_argument("--device", default="auto")
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--sentences", type=int, help="use only this many sentences")
    options = arguments.parse_args()
    train, dev = (read_whole(options.treebank, part)[: options.sentences] for part in ("train", "dev"))
    common = {"device": options.device, "learns": ("upos", "xpos", "feats", "lemma")}
    common |= {"batch_words": options.batch_words}
    configs = {"transformer": {"encoder": options.encoder}} if options.encoder else {}
    step_rows, stage_rows = [], []
    for name, chosen in (configs | {"BiLSTM base": {}}).items():
        learner = NeuralLearner.of(
            train, train, NeuralConfig(**common, **chosen), options.threads, Progress(shown=False)
        )
        step_rows.append((name, *time_steps(learner, options.steps)))
        stages = time_stages(learner, dev, options.threads)
        stage_rows += [(name, stage, f"{seconds:.1f}") for stage, seconds in stages.items()]
    print(machine(), torch.cuda.get_device_name() if torch.cuda.is_available() else "")
    header = ("network", "sentences/s", "ms/step", "host", *PHASES, "launches")
    print(table(header, step_rows))
    print(table(("network", "stage", "seconds"), stage_rows))


if __name__ == "__main__":
    main()
