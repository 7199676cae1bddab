"""Memory and CPU time of the trainer ``log-linear-batch`` on a few sentences, until it converges.

    python -m benchmarks.batch_training

The first 79 training sentences of English-EWT (ARCWISE_TREEBANKS), 2,077 words, with all defaults.
"""

from __future__ import annotations

import time

from measuring.memory import peak_mb
from measuring.trainings import read_whole

from arcwise.graph import GraphConfig, GraphParser

TREEBANK, SENTENCES = "English-EWT", 79


def main() -> None:
    train = read_whole(TREEBANK, "train")[:SENTENCES]
    before, started = peak_mb(), time.process_time()
    report = GraphParser.train(train, config=GraphConfig(trainer="log-linear-batch")).model.report
    history = report["history"]
    print(
        f"{TREEBANK}, first {SENTENCES} sentences ({train.word_count:,} words): "
        f"{time.process_time() - started:.0f} CPU s, peak {peak_mb():.0f} MB ({before:.0f} before training), "
        f"{len(history)} epochs, L(w) {history[-1]['L(w)']:.4f}"
    )


if __name__ == "__main__":
    main()
