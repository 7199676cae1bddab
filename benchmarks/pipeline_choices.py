"""Variants of the tokenizer and of the tagger, compared on development data.

    python -m benchmarks.pipeline_choices
    python -m benchmarks.pipeline_choices --context     only the words that sentence ends depend on

Takes minutes. Needs ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from measuring.tables import table
from measuring.trainings import read

from arcwise.evaluation.evaluate import evaluate
from arcwise.text.plain_text import plain_text
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

TAGGED = ("Turkish-IMST", "Danish-CDT")
CUT = (*TAGGED, "English-EWT", "Portuguese-Bosque")
TOKENIZERS: Mapping[str, TokenizerConfig] = {
    "damped steps, dropout (the default)": TokenizerConfig(),
    "damped steps": TokenizerConfig(dropout=0.0),
    "plain AdaGrad": TokenizerConfig(dropout=0.0, damping=0.0, rate=0.03),
}
CONTEXTS: Mapping[str, TokenizerConfig] = {
    "narrow context": TokenizerConfig(context="narrow"),
    "wide context": TokenizerConfig(context="wide"),
}
IN_CONTEXT = ("Gothic-PROIEL", "Turkish-IMST", "Portuguese-Bosque")
HEADER = ("treebank", "tokenizer", "Tokens", "Sentences", "Words")
TAGGERS: Mapping[str, TaggerConfig] = {
    "conditional likelihood, damped steps (the default)": TaggerConfig(),
    "conditional likelihood, plain AdaGrad": TaggerConfig(damping=0.0, rate=0.05),
    "averaged structured perceptron for UPOS": TaggerConfig(perceptron=True),
}


def tokenizer_rows(treebank: str, configs: Mapping[str, TokenizerConfig]) -> list[list[object]]:
    train, dev = (read(treebank, part) for part in ("train", "dev"))
    rows: list[list[object]] = []
    for name, config in configs.items():
        tokenized = Tokenizer.train(train, config=config).tokenize(plain_text(dev).text).treebank
        scores = evaluate(dev, tokenized).conll18
        rows.append(
            [treebank, name, *(f"{100 * scores[m].f1:.2f}" for m in ("Tokens", "Sentences", "Words"))]
        )
    return rows


def tagger_rows(treebank: str) -> list[list[object]]:
    train, dev = (read(treebank, part) for part in ("train", "dev"))
    return [
        [
            treebank,
            name,
            *(f"{share:.2f}" for share in right(dev, Tagger.train(train, config=config).tag(dev))),
        ]
        for name, config in TAGGERS.items()
    ]


def right(gold: Treebank, tagged: Treebank) -> list[float]:
    """Accuracy of UPOS, XPOS, FEATS and LEMMA, in per cent."""
    columns = ((gold.column(name), tagged.column(name)) for name in ("upos", "xpos", "feats", "lemma"))
    return [100 * sum(a == b for a, b in zip(*pair, strict=True)) / gold.word_count for pair in columns]


def compare_contexts() -> None:
    """Write the section on narrow and wide context."""
    body = (
        "Development data: F1 of tokens, sentences and words from raw text, in per cent. By default "
        "(`auto`) context is wide where most sentences of the training data end without punctuation, "
        "as in Gothic.\n\n"
        + table(HEADER, [row for name in IN_CONTEXT for row in tokenizer_rows(name, CONTEXTS)])
    )
    write_section("tokenizer_context", "Words that sentence ends depend on", body, module="pipeline_choices")
    print(body)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--context", action="store_true", help="compare narrow and wide context alone")
    if parser.parse_args().context:
        return compare_contexts()
    body = (
        "Development data: F1 of tokens, sentences and words from raw text; tagging accuracy on gold words, "
        "in per cent. XPOS and FEATS come as a bundle and LEMMA as a lemma script, both conditioned on "
        "the predicted UPOS; the three taggers share these models.\n\n"
        + table(
            HEADER,
            [row for name in CUT for row in tokenizer_rows(name, TOKENIZERS)],
        )
        + "\n"
        + table(
            ["treebank", "tagger", "UPOS", "XPOS", "FEATS", "LEMMA"],
            [row for name in TAGGED for row in tagger_rows(name)],
        )
    )
    write_section("pipeline_choices", "Variants of tokenizer and tagger", body)
    print(body)


if __name__ == "__main__":
    main()
