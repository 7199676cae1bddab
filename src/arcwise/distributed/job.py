"""``parse_corpus``: a corpus of any size, parsed shard by shard by many workers into a folder. The same call again does what is missing.

The folder has the parsed shards, ``errors.jsonl`` with the broken records, and ``_job`` with what the job is, how files are cut and
which shards are done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arcwise import __version__
from arcwise.distributed.inputs import InputFile, InputFormat, find_inputs
from arcwise.distributed.parse_shard import Marker, Outcome, ParseShard, Places, forget
from arcwise.distributed.progress import JobProgress, Tally
from arcwise.distributed.records import Broken
from arcwise.distributed.shards import SHARD_BYTES, FilePlan, PlanFile, Shard
from arcwise.distributed.writers import (
    OutputFormat,
    Packing,
    libraries_of,
    output_suffix,
)
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError, WorkerError
from arcwise.learning.options import check_options, option, section
from arcwise.models import model_path, open_model, shipped_models
from arcwise.optional import require
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.pipeline import as_pipeline
from arcwise.pipeline.text_fields import TextFields
from arcwise.treebanks.files import PathLike, make_folder, open_output

_ERRORS_EVERY = 30.0
"""Seconds from one writing of errors.jsonl to the next, while the job runs."""
_MOST_ROUNDS = 10
"""An engine that gives up so many times, without a shard done in between, has the last word."""


def _said(text: str) -> None:
    """Whether there is such a model is asked when the job starts."""
    if not text.strip():
        raise InputError(f"found {text!r}, expected the name or path of a model")


@dataclass(frozen=True)
class CorpusOptions:
    """What is asked of a job. All of it but ``max_errors``, ``threads`` and ``overwrite`` decides what is written."""

    model: str = option(
        "en",
        "The name of a model that comes with arcwise, or the path of one.",
        check=_said,
        form="the name or path of a model",
    )
    parse: ParseOptions = section(ParseOptions, "How sentences are parsed.")
    format: InputFormat | None = option(None, "Of the input; if nothing is said: by the names of the files.")
    fields: TextFields = section(
        TextFields, "Where JSON objects and rows of Parquet have their text and name."
    )
    to: OutputFormat = option("conllu", "The format of the output.")
    packing: Packing = option("gz", "How the files of the output are compressed.")
    shard_bytes: int = option(SHARD_BYTES, "Unpacked bytes of input for each shard.", low=1)
    max_errors: int | None = option(
        None, "With more broken records than that the job stops; if nothing is said, it never does.", low=0
    )
    threads: int = option(1, "Of each worker.", low=1)
    overwrite: bool = option(
        False,
        "Begin again where the folder has what another model or other options made, or where the input has changed.",
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Summary:
    """What a job has done, in this run and before."""

    shards: int
    records: int
    sentences: int
    words: int
    errors: int
    """Lines of errors.jsonl."""
    undone: int
    """Shards that could not be done, and are tried again when the job is run again."""
    words_now: int
    """Words parsed in this run."""


def parse_corpus(
    inputs: str | Sequence[str],
    out: PathLike,
    *,
    options: CorpusOptions = CorpusOptions(),
    engine: Engine = ThisProcess(),
    progress: JobProgress | None = None,
) -> Summary:
    """Parse files (``inputs``: see ``find_inputs``) into the folder ``out``.

    Every process may be killed at any time: the same call again finds what is done, and the output is the same to the byte. With
    another model or other options it refuses to go on in the same folder, unless ``overwrite``. Broken records are in ``errors.jsonl``.
    """
    files = find_inputs([inputs] if isinstance(inputs, str) else inputs, format=options.format)
    _check_model(options, files)
    require(*libraries_of(options.to, options.packing))
    folder = Path(out)
    _refuse_own_input(files, folder)
    make_folder(folder)
    places = Places(folder, output_suffix(options.to, options.packing))
    with _locked(folder), progress or JobProgress(shown=False) as shown:
        job = CorpusJob(options, places, engine, shown)
        return job.run(files)


class CorpusJob:
    """One run of a job: plan, parse what is missing, write down what was broken."""

    def __init__(self, options: CorpusOptions, places: Places, engine: Engine, progress: JobProgress) -> None:
        self.options, self.places, self.engine, self.progress = options, places, engine, progress
        self.described = describe(options)
        self.hash = hashlib.sha256(json.dumps(self.described, sort_keys=True).encode()).hexdigest()
        self.markers: dict[str, Marker] = {}
        """Shards that are done."""
        self.failed: dict[str, Outcome] = {}
        """Shards that could not be."""
        self.errors = 0
        self._errors_written, self._next_writing = 0, 0.0

    def run(self, files: Sequence[InputFile]) -> Summary:
        """All of it."""
        self._agree()
        plans = self._plans(files)
        shards = [shard for plan in plans for shard in plan.shards]
        self.errors = sum(len(plan.broken) for plan in plans)
        for shard in shards:
            if (marker := self._marker(shard)) is not None:
                self._note(Outcome(shard, marker))
        todo = [shard for shard in shards if shard.name not in self.markers]
        self._refuse_changed(todo)
        self.progress.begin(shards, self.markers)
        words_before = Tally.of(self.markers.values()).words
        try:
            self._check_errors()
            with contextlib.closing(self._outcomes(todo)) as outcomes:
                for outcome in outcomes:
                    self._note(outcome)
                    self._write_errors_now_and_then(plans)
                    self.progress.advance(outcome.shard, outcome.marker, self.errors)
                    self._check_errors()
        finally:
            self._write_errors(plans)
            _remove_parts(self.places.folder)
            forget()
        shutil.rmtree(self.places.folder / "_job" / "begun", ignore_errors=True)
        total = Tally.of(self.markers.values())
        done, undone, now = len(self.markers), len(self.failed), total.words - words_before
        return Summary(done, total.records, total.sentences, total.words, self.errors, undone, now)

    # ---- what the folder is for

    def _agree(self) -> None:
        """The folder is that of this very job, or of none yet."""
        path = self.places.description
        kept = _read_json(path)
        if kept is not None and kept != self.described:
            if not self.options.overwrite:
                raise InputError(f"{self.places.folder}: {_difference(kept, self.described)}")
            for name in ("done", "plan", "begun"):
                shutil.rmtree(self.places.folder / "_job" / name, ignore_errors=True)
        make_folder(path.parent)
        with open_output(path) as stream:
            stream.write(json.dumps(self.described, indent=1).encode() + b"\n")

    def _refuse_changed(self, todo: Sequence[Shard]) -> None:
        """Shards to do that were done with other input: told, not silently replaced."""
        if self.options.overwrite:
            return
        for shard in todo:
            known = Marker.read(self.places.marker(shard))
            if known is not None and known.input != shard.sha256:
                raise InputError(
                    f"{shard.file.path}: has changed since it was parsed into {self.places.folder}, expected the same "
                    "file, another folder or to overwrite what is there"
                )

    # ---- the work

    def _plans(self, files: Sequence[InputFile]) -> list[FilePlan]:
        work = PlanFile(self.places.plans.absolute(), self.options.fields, self.options.shard_bytes)
        self.progress.say_planning(len(files))
        return list(self.engine.map(work, files))

    def _marker(self, shard: Shard) -> Marker | None:
        """The marker of a shard that is done, and done so."""
        marker = Marker.read(self.places.marker(shard))
        if marker is None or (marker.input, marker.job) != (shard.sha256, self.hash):
            return None
        path = self.places.output(shard)
        with contextlib.suppress(OSError):
            return marker if path.stat().st_size == marker.size else None
        return None

    def _outcomes(self, todo: list[Shard]) -> Generator[Outcome, None, None]:
        """The outcome of each shard, as it is done. An engine that gives up a shard whose workers died is asked again: a shard knows its
        attempts, and finds the record that is to blame."""
        options = self.options
        work = ParseShard(
            str(self.places.folder.absolute()),
            _known_everywhere(options.model),
            self.hash,
            options.fields,
            options.parse,
            options.to,
            options.packing,
            options.threads,
        )
        left = {shard.name: shard for shard in largest_first(todo)}
        rounds = 0
        while left:
            try:
                for outcome in self.engine.map(work, list(left.values()), ordered=False):
                    del left[outcome.shard.name]
                    rounds = 0
                    yield outcome
            except WorkerError:
                rounds += 1
                if rounds >= _MOST_ROUNDS:
                    raise

    # ---- broken records

    def _note(self, outcome: Outcome) -> None:
        if outcome.marker is None:
            self.failed[outcome.shard.name] = outcome
            self.errors += 1
        else:
            self.markers[outcome.shard.name] = outcome.marker
            self.errors += len(outcome.marker.broken)

    def _check_errors(self) -> None:
        most = self.options.max_errors
        if most is not None and self.errors > most:
            raise InputError(
                f"{self.places.errors}: found {self.errors} broken records, expected at most {most} (max_errors); "
                "what is done is kept"
            )

    def _write_errors_now_and_then(self, plans: Sequence[FilePlan]) -> None:
        """So that they can be looked at while the job runs."""
        if self.errors > self._errors_written and time.monotonic() > self._next_writing:
            self._write_errors(plans)

    def _write_errors(self, plans: Sequence[FilePlan]) -> None:
        """``errors.jsonl``, in the order of the input, whatever the order of the work."""
        with open_output(self.places.errors) as stream:
            for plan in plans:
                for broken in self._broken_of(plan):
                    found = {"file": plan.file.path, "line": broken.line, "reason": broken.reason}
                    stream.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._errors_written, self._next_writing = self.errors, time.monotonic() + _ERRORS_EVERY

    def _broken_of(self, plan: FilePlan) -> Iterator[Broken]:
        for shard in plan.shards:
            if shard.name in self.markers:
                yield from self.markers[shard.name].broken
            elif shard.name in self.failed:
                yield Broken(shard.first_line, self.failed[shard.name].reason)
        yield from plan.broken


def largest_first(shards: Sequence[Shard]) -> list[Shard]:
    """The shards in order, but first those that are much larger than they should be, so that no worker is left with one at the end."""
    large = sorted((shard for shard in shards if shard.is_large), key=lambda shard: -shard.size)
    return [*large, *(shard for shard in shards if not shard.is_large)]


def describe(options: CorpusOptions) -> dict[str, Any]:
    """Everything that decides what is written, as JSON."""
    return {
        "arcwise": __version__,
        "model": Path(options.model).name,
        "model_sha256": hashlib.sha256(model_path(options.model).read_bytes()).hexdigest(),
        "parse": json.loads(json.dumps(asdict(options.parse))),
        "format": options.format,
        "fields": asdict(options.fields),
        "to": options.to,
        "packing": options.packing,
        "shard_bytes": options.shard_bytes,
    }


def _known_everywhere(model: str) -> str:
    """The model as workers find it: the name of one that comes with arcwise, or an absolute path."""
    return model if model in shipped_models() else str(model_path(model).absolute())


def _difference(kept: Any, now: dict[str, Any]) -> str:
    """A sentence about the first difference between two jobs."""
    if not isinstance(kept, dict):
        return "has a damaged _job/job.json, expected that of a job of arcwise"
    name = next((key for key in now if kept.get(key) != now[key]), "arcwise")
    was, is_now = kept.get(name), now[name]
    if isinstance(was, dict) and isinstance(is_now, dict):
        key = next((key for key in is_now if was.get(key) != is_now[key]), name)
        name, was, is_now = key, was.get(key), is_now[key]
    told = f"another file of model {now['model']}" if name == "model_sha256" else f"{name} {is_now!r}"
    begun = "" if name == "model_sha256" else f" {was!r}"
    return (
        f"was begun with {'another model file' if name == 'model_sha256' else f'{name}{begun}'}, found {told}; expected the same, "
        "another folder or to overwrite what is there"
    )


def _check_model(options: CorpusOptions, files: Sequence[InputFile]) -> None:
    """What can be known before the work: the model opens, has what is asked for, and takes text if there is any."""
    parser = open_model(options.model)
    options.parse.check(parser.kind, parser.capabilities)
    text = next((file for file in files if file.format != "conllu"), None)
    if text is not None and as_pipeline(parser) is None:
        raise InputError(
            f"{text.path}: found {text.format}, but the model is a {parser.kind} parser, which needs CoNLL-U; "
            "expected a model of 'arcwise train --pipeline'"
        )


def _refuse_own_input(files: Sequence[InputFile], folder: Path) -> None:
    target = folder.resolve()
    for file in files:
        if Path(file.path).resolve().is_relative_to(target):
            raise InputError(
                f"{folder}: is a folder that is read ({file.path}), expected another one to write to"
            )


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return "damaged"


def _remove_parts(folder: Path) -> None:
    """What killed processes left half-written."""
    for path in folder.rglob(".*.part"):
        with contextlib.suppress(OSError):
            path.unlink()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One job at a time in a folder; where the system has no locks, none is kept."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    make_folder(folder / "_job")
    with (folder / "_job" / "lock").open("wb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{folder}: another job is writing there, expected to be alone") from None
        except OSError:
            pass  # a file system without locks
        yield
