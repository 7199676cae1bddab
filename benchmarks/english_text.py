"""Tokenization of informal English: ``python -m benchmarks.english_text [--write]``.

Counts the lines of tests/pipeline/english_lines.txt that are split into the right words (and sentences) by
the shipped models, by the same models without character substitutes and rules, and by spaCy's tokenizer;
then scores the same models on the raw text of English-EWT (ARCWISE_TREEBANKS).
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from dataclasses import replace

from measuring.english_lines import Line, read_lines
from measuring.tables import table
from measuring.trainings import read_whole

import arcwise
from arcwise.evaluation import evaluate
from arcwise.text.plain_text import plain_text
from arcwise.text.tokenizer import Tokenizer
from benchmarks.report import write_section

Cut = Callable[[str], list[list[str]]]
METRICS = ("Tokens", "Sentences", "Words")


def by_tokenizer(tokenizer: Tokenizer) -> Cut:
    """Words of each sentence of a text."""
    return lambda text: [sentence.forms for sentence in tokenizer.tokenize(text).treebank]


def without_rules(tokenizer: Tokenizer) -> Tokenizer:
    """The same weights without character substitutes; rules only for line breaks and grapheme clusters."""
    packed = tokenizer.pack()
    kept = {name: value for name, value in packed.header.items() if name not in ("look_alikes", "rules")}
    return Tokenizer.unpack(replace(packed, header=kept))


def by_spacy() -> Cut | None:
    """spaCy's rules for English, with its rule-based sentence splitter."""
    if importlib.util.find_spec("spacy") is None:
        return None
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    return lambda text: [
        [token.text for token in sentence if not token.is_space] for sentence in nlp(text).sents
    ]


def main() -> None:
    """Print the tables, and write them to RESULTS.md on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables to RESULTS.md")
    options = parser.parse_args()
    tokenizers = {name: arcwise.load(name).tokenizer for name in ("en", "en-fast")}
    tokenizers["en, without substitutes and rules"] = without_rules(tokenizers["en"])
    cutters: dict[str, Cut | None] = {name: by_tokenizer(tokenizer) for name, tokenizer in tokenizers.items()}
    cutters["spaCy's rules"] = by_spacy()
    lines = read_lines()
    kinds = list(dict.fromkeys(line.kind for line in lines))
    rows = [(name, *_right(cut, lines, kinds)) for name, cut in cutters.items()]
    body = table(("correct lines", *kinds, "all"), rows)
    scores = [
        (name, *(f"{part[metric]:.2f}" for part in parts for metric in METRICS))
        for name, parts in (
            (name, [_scores(tokenizer, p) for p in ("dev", "test")]) for name, tokenizer in tokenizers.items()
        )
    ]
    heads = [f"{part}: {metric}" for part in ("dev", "test") for metric in METRICS]
    body += f"\n\nRaw text of English-EWT, F1 in per cent:\n\n{table(('model', *heads), scores)}"
    print(body)
    if options.write:
        write_section("english_text", "Informal English", body)


def _right(cut: Cut | None, lines: list[Line], kinds: list[str]) -> list[str]:
    if cut is None:
        return ["not installed", *[""] * len(kinds)]
    correct = {line.text: line.agrees(cut(line.text)) for line in lines}
    counts = [
        [correct[line.text] for line in lines if line.kind in group]
        for group in (*[[k] for k in kinds], kinds)
    ]
    return [f"{sum(right)}/{len(right)}" for right in counts]


def _scores(tokenizer: Tokenizer, part: str) -> dict[str, float]:
    gold = read_whole("English-EWT", part)
    scores = evaluate(gold, tokenizer.tokenize(plain_text(gold).text).treebank).conll18
    return {metric: 100 * scores[metric].f1 for metric in METRICS}


if __name__ == "__main__":
    main()
