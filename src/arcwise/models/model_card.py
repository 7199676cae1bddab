"""Model cards: Markdown with the YAML front matter that model hubs read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcwise.errors import ModelError
from arcwise.learning.model_file import read_model
from arcwise.models.registry import load, model_path
from arcwise.parsing.calibration import reliability
from arcwise.parsing.scored import ScoredParser
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from arcwise.pipeline.pipeline import Pipeline
    from arcwise.treebanks import Treebank

_PARSERS = {
    "graph": "graph-based parser",
    "neural": "neural parser, which also corrects tags",
    "transition": "greedy transition-based parser",
    "dmv": "grammar",
}
"""Kind of parser → description on the card."""
_LICENCES = {
    "agpl-3.0", "apache-2.0", "cc-by-3.0", "cc-by-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0",
    "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "gpl-2.0", "gpl-3.0", "lgpl-3.0", "lgpl-lr", "mit", "pddl",
}  # fmt: skip
"""Identifiers of licences that hubs know."""
_HEADLINE = ("UPOS", "UAS", "LAS")
"""Metrics of the front matter."""
GENRES = (
    "Trained on the genres of this treebank alone: expect lower accuracy, and confidences that are too high, "
    "on other text."
)

Scores = Mapping[str, Mapping[str, float]]
"""Part of the treebank → CoNLL 2018 metric → F1 in per cent, from raw text."""


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """The contents of a model card. Texts are Markdown; empty ones are left out."""

    file: str
    """Name of the model file."""
    load: str
    """Argument of ``arcwise.load``."""
    language: str
    code: str = ""
    """Language code (ISO 639)."""
    treebank: str = ""
    sentences: int | None = None
    """Size of the training part."""
    words: int | None = None
    lessons: str = ""
    """The teacher of the model, and its text."""
    licence: str = ""
    made_by: str = ""
    """The training command."""
    parser: str = ""
    """Kind of its parser."""
    bytes: int = 0
    scores: Scores
    closing: Sequence[str] = (GENRES,)
    """Paragraphs on what to expect of the model."""

    def front_matter(self) -> str:
        """Return the YAML between two lines of dashes."""
        values: dict[str, Any] = {"language": [self.code]} if self.code else {}
        values |= _licence(self.licence)
        values |= {"library_name": "arcwise", "pipeline_tag": "token-classification"}
        values["tags"] = ["dependency-parsing", "universal-dependencies", "tokenization", "lemmatization"]
        treebank = self.treebank or "treebank"
        results = [
            {
                "task": {"type": "token-classification", "name": "Dependency parsing of raw text"},
                "dataset": {"type": "universal_dependencies", "name": treebank, "split": part},
                "metrics": [
                    {"type": name.lower(), "name": f"{name} (F1)", "value": metrics[name]}
                    for name in _HEADLINE
                    if name in metrics
                ],
            }
            for part, metrics in self.scores.items()
        ]
        if results:
            values["model-index"] = [{"name": self.load, "results": results}]
        return f"---\n{_yaml(values)}---\n"

    def markdown(self) -> str:
        """Return the whole card."""
        size = ""
        if self.sentences is not None and self.words is not None:
            size = f", training part, {self.sentences:,} sentences, {self.words:,} words"
        lines = {
            "Data": f"{self.treebank}{size}" if self.treebank else "",
            "Teacher": self.lessons,
            "Licence": self.licence,
            "Training command": self.made_by,
            "Size": f"{self.bytes / 1e6:.1f} MB" if self.bytes else "",
        }
        parser = _PARSERS.get(self.parser, "parser")
        text = (
            f"{self.front_matter()}# {self.language}: {self.file}\n\n"
            f"Pipeline from raw text to trees: tokenizer, tagger, lemmatizer and {parser}. "
            f"`arcwise.load({json.dumps(self.load)})`\n\n"
        )
        text += "".join(f"- **{key}**: {value}\n" for key, value in lines.items() if value)
        if self.scores:
            text += f"\n{_table(self.scores)}"
        return text + "".join(f"\n{paragraph}\n" for paragraph in self.closing)


def describe(
    pipeline: Pipeline, file: Path, *, load: str, scores: Scores | None = None, closing: Sequence[str] = ()
) -> ModelCard:
    """Return the card of a pipeline from the metadata in its file.

    load: its name for ``arcwise.load``; scores: in place of those in the file; closing: paragraphs to add.
    """
    card, info = pipeline.card, pipeline.parser.info
    code = re.match(r"[a-z]{2,3}(?=$|[-_.])", str(card.get("code") or load))
    if scores is None:
        scores = {part: card[part] for part in ("dev", "test") if isinstance(card.get(part), Mapping)}
    made_by = card.get("made by")
    return ModelCard(
        file=file.name,
        load=load,
        language=str(card.get("language") or load),
        code=code[0] if code else "",
        treebank=str(card.get("treebank") or info.get("train") or ""),
        sentences=info.get("train_sentences"),
        words=info.get("train_words"),
        licence=str(card.get("licence") or ""),
        made_by=f"`{made_by}`" if made_by else "",
        parser=str(info.get("kind") or ""),
        bytes=file.stat().st_size,
        scores=scores,
        closing=(GENRES, *calibration_notes(card), *closing),
    )


def model_card(
    model: PathLike, parts: Mapping[str, Treebank] | None = None, *, threads: int = 1
) -> ModelCard:
    """Return the card of a shipped or installed model, or of a file.

    parts: score the model on these parts of a treebank (``dev``, ``test``) instead of repeating the scores
    that its file has; on ``test``, measure the calibration too.
    """
    from arcwise.models.raw_text import raw_text_calibration, raw_text_scores

    path = model_path(model)
    if read_model(path).kind != "pipeline":
        raise ModelError(f"{path}: is not a pipeline; only pipelines have cards")
    pipeline = load(model)
    name = str(model) if Path(model) != path else path.name
    if parts is None:
        return describe(pipeline, path, load=name)
    scores = {part: raw_text_scores(pipeline, gold, threads=threads) for part, gold in parts.items()}
    closing = []
    pipeline.card.pop("calibration", None)
    if "test" in parts:
        pipeline.card["calibration"] = raw_text_calibration(pipeline, parts["test"], threads=threads)
        closing.append(calibration_note(pipeline, parts["test"]))
    return describe(pipeline, path, load=name, scores=scores, closing=closing)


def calibration_notes(card: Mapping[str, Any]) -> list[str]:
    """Return the calibration from raw text that a model file states, in a sentence; none if it states none.

    >>> calibration_notes({"calibration": {"HeadProb": 0.93, "UposProb": 0.4}})
    ['Expected calibration error on the raw text of the test set: HeadProb 0.9 %, UposProb 0.4 %.']
    """
    errors = card.get("calibration")
    if not isinstance(errors, Mapping) or not errors:
        return []
    stated = ", ".join(f"{name} {error:.1f} %" for name, error in errors.items())
    return [f"Expected calibration error on the raw text of the test set: {stated}."]


def calibration_note(pipeline: Pipeline, test: Treebank) -> str:
    """Return the calibration on gold words with the pipeline's predicted tags, in a sentence."""
    parser = pipeline.parser
    if not isinstance(parser, ScoredParser):
        return (
            "Its confidences are shares of a beam, not calibrated probabilities, and it "
            "has no alternatives and accepts no constraints: graph-based and neural models do."
        )
    curves = reliability(parser, pipeline.tagger.tag(test))
    labels = "" if curves.labels is None else f", DeprelProb {100 * curves.labels.error:.1f} %"
    return (
        "Expected calibration error on the test set, with gold tokens: HeadProb "
        f"{100 * curves.heads.error:.1f} %{labels}."
    )


def _table(scores: Scores) -> str:
    names = list(dict.fromkeys(name for metrics in scores.values() for name in metrics))
    rows = "".join(
        f"| {part} | " + " | ".join(f"{metrics[n]:.2f}" if n in metrics else "–" for n in names) + " |\n"
        for part, metrics in scores.items()
    )
    return (
        "CoNLL 2018 metrics from raw text (F1, %), computed by `arcwise.evaluation`, which agrees with the "
        f"official scorer:\n\n| part | {' | '.join(names)} |\n|{' --- |' * (len(names) + 1)}\n{rows}"
    )


def _licence(text: str) -> dict[str, str]:
    """Return the keys of the front matter for a licence.

    >>> _licence("CC BY-SA 4.0 (the treebank's)"), _licence("MIT or GPL")
    ({'license': 'cc-by-sa-4.0'}, {'license': 'other', 'license_name': 'MIT or GPL'})
    """
    if not text:
        return {}
    identifier = re.sub(r"\s*\(.*|,.*", "", text).strip().lower().replace(" ", "-")
    if identifier in _LICENCES:
        return {"license": identifier}
    return {"license": "other", "license_name": text}


def _yaml(value: Any, indent: str = "") -> str:
    """Return plain values as YAML; texts are quoted as in JSON, which YAML includes.

    >>> print(_yaml({"language": ["de"], "n": [{"a": 1.5, "b": "x: y"}]}), end="")
    language:
    - "de"
    n:
    - a: 1.5
      b: "x: y"
    """
    if isinstance(value, Mapping):
        return "".join(f"{indent}{key}:{_below(item, indent)}" for key, item in value.items())
    below = f"{indent}  "
    items = [_yaml(x, below) if isinstance(x, Mapping) else f"{below}{_scalar(x)}\n" for x in value]
    return "".join(f"{indent}- {item.removeprefix(below)}" for item in items)


def _below(value: Any, indent: str) -> str:
    if isinstance(value, Mapping):
        return f"\n{_yaml(value, f'{indent}  ')}"
    return f"\n{_yaml(value, indent)}" if isinstance(value, list) else f" {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
