"""Variants of the tokenizer and of the tagger, compared on development data.

    python -m benchmarks.pipeline_choices

Takes minutes. Needs ARCWISE_TREEBANKS.
"""

from __future__ import annotations

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
TAGGERS: Mapping[str, TaggerConfig] = {
    "conditional likelihood, damped steps (the default)": TaggerConfig(),
    "conditional likelihood, plain AdaGrad": TaggerConfig(damping=0.0, rate=0.05),
    "averaged structured perceptron for UPOS": TaggerConfig(perceptron=True),
}


def tokenizer_rows(treebank: str) -> list[list[object]]:
    train, dev = (read(treebank, part) for part in ("train", "dev"))
    rows: list[list[object]] = []
    for name, config in TOKENIZERS.items():
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


def main() -> None:
    body = (
        "Development data: F1 of tokens, sentences and words from raw text; tagging accuracy on gold words, "
        "in per cent. XPOS and FEATS come as a bundle and LEMMA as a lemma script, both conditioned on "
        "the predicted UPOS; the three taggers share these models.\n\n"
        + table(
            ["treebank", "tokenizer", "Tokens", "Sentences", "Words"],
            [row for name in CUT for row in tokenizer_rows(name)],
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
