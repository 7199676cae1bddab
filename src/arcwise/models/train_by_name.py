"""Train a pipeline on the folder of a treebank and install it, with its card, under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arcwise.errors import InputError
from arcwise.learning.config import from_dict
from arcwise.learning.model_file import write_model
from arcwise.learning.progress import Progress
from arcwise.models.installed import SUFFIX, check_model_name, model_folders, train_command
from arcwise.models.model_card import calibration_note, describe
from arcwise.models.raw_text import raw_text_calibration, raw_text_scores
from arcwise.models.registry import open_packed
from arcwise.models.train_pipeline import PipelineConfig, read_config, train_pipeline
from arcwise.models.treebank_folder import TreebankFolder, settings_for
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import check_output, make_folder, open_output, path_kind


@dataclass(frozen=True, kw_only=True)
class NamedTraining:
    """The training of a model that is installed by a name."""

    name: str
    treebank: str
    """Folder of the treebank."""
    language: str | None = None
    licence: str | None = None
    folder: str | None = None
    """The folder to install the model in (default: the folder of installed models)."""
    overwrite: bool = False
    parser: str | None = None
    config: str | None = None
    """TOML file of a pipeline; by default the settings depend on the size of the treebank."""
    seed: int | None = None
    threads: int = 1


def train_by_name(training: NamedTraining, progress: Progress) -> tuple[Path, Path]:
    """Train, score and install a model; returns the files of the model and of its card.

    Raises ``KeyboardInterrupt`` if the training was interrupted; then nothing is installed.
    """
    folder = TreebankFolder.find(training.treebank)
    model, card_file = _targets(training)
    train = folder.read("train")
    parts = {part: folder.read(part) for part in ("dev", "test") if part in folder.files}
    config, parser = _settings(training, train)
    progress.say(f"{train.source}: {len(train):,} sentences, {train.word_count:,} words; {config}")
    notes = {
        "language": training.language or folder.code or training.name,
        "code": folder.code,
        "treebank": folder.path.resolve().name,
        "licence": training.licence or folder.licence,
        "made by": train_command(training.name, folder.path.resolve().name).strip("'"),
    }
    pipeline = train_pipeline(
        train,
        parts.get("dev", "auto"),
        config=config,
        parser=parser,
        card={key: value for key, value in notes.items() if value},
        threads=training.threads,
        progress=progress,
    )
    if pipeline.parser.info.get("interrupted"):
        raise KeyboardInterrupt
    # The scores are those of the weights as they are stored.
    saved = open_packed(pipeline.pack("int8"))
    assert isinstance(saved, Pipeline)
    pipeline.card |= {p: raw_text_scores(saved, gold, threads=training.threads) for p, gold in parts.items()}
    if "test" in parts:
        pipeline.card["calibration"] = raw_text_calibration(saved, parts["test"], threads=training.threads)
    write_model(model, pipeline.pack("int8"))
    _write_card(saved, pipeline.card, parts, model, card_file, training.name)
    return model, card_file


def _targets(training: NamedTraining) -> tuple[Path, Path]:
    """Return the files to write; raises ``InputError`` before the training if they cannot be written."""
    folder = model_folders()[0] if training.folder is None else Path(training.folder)
    model = folder / f"{check_model_name(training.name)}{SUFFIX}"
    if path_kind(model) is not None and not training.overwrite:
        raise InputError(f"{model}: exists already; choose another name, or overwrite it")
    make_folder(folder)
    card = model.with_name(f"{training.name}.md")
    for path in (model, card):
        check_output(path)
    return model, card


def _settings(training: NamedTraining, train: Treebank) -> tuple[PipelineConfig, dict[str, Any]]:
    if training.config is not None:
        kind: Any = training.parser
        return read_config(training.config, kind=kind, jackknife=None, seed=training.seed)
    values, parser = settings_for(train, training.parser or "graph")
    chosen = {"kind": training.parser, "seed": training.seed}
    values |= {name: value for name, value in chosen.items() if value is not None}
    return from_dict(PipelineConfig, values, where=training.name), parser


def _write_card(
    saved: Pipeline,
    notes: Mapping[str, Any],
    parts: Mapping[str, Treebank],
    model: Path,
    file: Path,
    name: str,
) -> None:
    saved.card = dict(notes)
    closing = [calibration_note(saved, parts["test"])] if "test" in parts else []
    card = describe(saved, model, load=name, closing=closing)
    with open_output(file) as out:
        out.write(card.markdown().encode())
