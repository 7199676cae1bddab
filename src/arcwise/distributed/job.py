"""``parse_corpus``: parse a corpus of any size into a folder, shard by shard, with many workers; resumable.

The folder holds the parsed shards, ``errors.jsonl`` with the broken records, and ``_job`` with the job's
description, the plan of each file and a marker for each finished shard.
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
from arcwise.distributed.parse_shard import JobPaths, Marker, Outcome, ParseShard, close_caches
from arcwise.distributed.progress import JobProgress, Tally
from arcwise.distributed.records import BrokenRecord
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
"""Seconds between updates of errors.jsonl while the job runs."""
_MOST_ROUNDS = 10
"""Restarts of the engine without a finished shard in between, before the job fails. More than the attempts
that ``parse_shard.py`` needs to isolate a record that crashes its worker."""


def _check_not_blank(text: str) -> None:
    """Reject a blank name; whether the model exists is checked when the job starts."""
    if not text.strip():
        raise InputError(f"found {text!r}, expected the name or path of a model")


@dataclass(frozen=True)
class CorpusOptions:
    """Options of a job. All but ``max_errors``, ``threads`` and ``overwrite`` affect the output."""

    model: str = option(
        "en",
        "Name of a model that comes with arcwise, or path of a model file.",
        check=_check_not_blank,
        form="the name or path of a model",
    )
    parse: ParseOptions = section(ParseOptions, "How sentences are parsed.")
    format: InputFormat | None = option(None, "Input format (default: by file name).")
    fields: TextFields = section(
        TextFields, "Fields of JSON objects and Parquet rows that hold text and document name."
    )
    to: OutputFormat = option("conllu", "Output format.")
    packing: Packing = option("gz", "Compression of output files.")
    shard_bytes: int = option(SHARD_BYTES, "Uncompressed bytes of input per shard.", low=1)
    max_errors: int | None = option(
        None, "Stop after more broken records than this (default: never stop).", low=0
    )
    threads: int = option(1, "Threads per worker.", low=1)
    overwrite: bool = option(
        False,
        "Start over if the folder has output of another model or other options, or the input has changed.",
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Summary:
    """Totals of a job, over this run and earlier ones."""

    shards: int
    records: int
    sentences: int
    words: int
    errors: int
    """Lines of errors.jsonl."""
    undone: int
    """Shards that failed; the next run retries them."""
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

    Every process may be killed at any time: the same call resumes the job, and the output is byte-identical.
    A folder with the output of another model or other options is refused unless ``overwrite`` is set. Broken
    records are reported in ``errors.jsonl``.
    """
    files = find_inputs([inputs] if isinstance(inputs, str) else inputs, format=options.format)
    # The model is opened and checked before the first folder is made.
    _check_model(options, files)
    require(*libraries_of(options.to, options.packing))
    folder = Path(out)
    _refuse_input_folder(files, folder)
    make_folder(folder)
    paths = JobPaths(folder, output_suffix(options.to, options.packing))
    with _locked(folder), progress or JobProgress(shown=False) as shown:
        job = CorpusJob(options, paths, engine, shown)
        return job.run(files)


class CorpusJob:
    """One run of a job: plan the shards, parse those that are missing, report broken records."""

    def __init__(
        self, options: CorpusOptions, paths: JobPaths, engine: Engine, progress: JobProgress
    ) -> None:
        self.options, self.paths, self.engine, self.progress = options, paths, engine, progress
        self.description = describe(options)
        # sort_keys: the hash must not depend on the order of fields.
        self.hash = hashlib.sha256(json.dumps(self.description, sort_keys=True).encode()).hexdigest()
        self.markers: dict[str, Marker] = {}
        """Finished shards, by name."""
        self.failed: dict[str, Outcome] = {}
        """Failed shards, by name."""
        self.errors = 0
        self._errors_written, self._next_writing = 0, 0.0

    def run(self, files: Sequence[InputFile]) -> Summary:
        """Run the whole job."""
        self._claim_folder()
        plans = self._plans(files)
        shards = [shard for plan in plans for shard in plan.shards]
        self.errors = sum(len(plan.broken) for plan in plans)
        for shard in shards:
            if (marker := self.paths.finished(shard, self.hash)) is not None:
                self._record(Outcome(shard, marker))
        todo = [shard for shard in shards if shard.name not in self.markers]
        self._refuse_changed(todo)
        self.progress.begin(shards, self.markers)
        words_before = Tally.of(self.markers.values()).words
        try:
            self._check_errors()
            # closing: an exception must end the workers before errors are written.
            with contextlib.closing(self._outcomes(todo)) as outcomes:
                for outcome in outcomes:
                    self._record(outcome)
                    self._write_errors_if_due(plans)
                    self.progress.advance(outcome.shard, outcome.marker, self.errors)
                    self._check_errors()
        finally:
            self._write_errors(plans)
            _remove_partial_files(self.paths.folder)
            close_caches()
        # Only after success: after a crash the counts are needed to isolate the record.
        shutil.rmtree(self.paths.folder / "_job" / "begun", ignore_errors=True)
        total = Tally.of(self.markers.values())
        done, undone, now = len(self.markers), len(self.failed), total.words - words_before
        return Summary(done, total.records, total.sentences, total.words, self.errors, undone, now)

    def _claim_folder(self) -> None:
        """Check that the folder is new or belongs to this very job, and write the job's description."""
        path = self.paths.description
        previous = _read_json(path)
        if previous is not None and previous != self.description:
            if not self.options.overwrite:
                raise InputError(f"{self.paths.folder}: {_difference(previous, self.description)}")
            for name in ("done", "plan", "begun"):
                shutil.rmtree(self.paths.folder / "_job" / name, ignore_errors=True)
        make_folder(path.parent)
        with open_output(path) as stream:
            stream.write(json.dumps(self.description, indent=1).encode() + b"\n")

    def _refuse_changed(self, todo: Sequence[Shard]) -> None:
        """Refuse to replace output whose input has changed, unless ``overwrite`` is set."""
        if self.options.overwrite:
            return
        for shard in todo:
            marker = Marker.read(self.paths.marker(shard))
            if marker is not None and marker.input != shard.sha256:
                raise InputError(
                    f"{shard.file.path}: has changed since it was parsed into {self.paths.folder}; "
                    "use another folder, or overwrite this one"
                )

    def _plans(self, files: Sequence[InputFile]) -> list[FilePlan]:
        work = PlanFile(self.paths.plans.absolute(), self.options.fields, self.options.shard_bytes)
        self.progress.planning(len(files))
        return list(self.engine.map(work, files))

    def _outcomes(self, todo: list[Shard]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each shard as it finishes.

        When the engine gives up a shard whose workers died, it is started again: the shard counts its
        attempts and isolates the record that crashes them.
        """
        options = self.options
        work = ParseShard(
            str(self.paths.folder.absolute()),
            _portable_model(options.model),
            self.hash,
            options.fields,
            options.parse,
            options.to,
            options.packing,
            options.threads,
        )
        remaining = {shard.name: shard for shard in largest_first(todo)}
        rounds = 0
        while remaining:
            try:
                # As they finish, since a slow shard must not delay reports of the others.
                for outcome in self.engine.map(work, list(remaining.values()), ordered=False):
                    del remaining[outcome.shard.name]
                    rounds = 0
                    yield outcome
            except WorkerError:
                rounds += 1
                if rounds >= _MOST_ROUNDS:
                    raise

    def _record(self, outcome: Outcome) -> None:
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
                f"{self.paths.errors}: found {self.errors} broken records, more than max_errors {most}; "
                "finished shards are kept"
            )

    def _write_errors_if_due(self, plans: Sequence[FilePlan]) -> None:
        """Update errors.jsonl now and then, so that it can be inspected while the job runs."""
        if self.errors > self._errors_written and time.monotonic() > self._next_writing:
            self._write_errors(plans)

    def _write_errors(self, plans: Sequence[FilePlan]) -> None:
        """Write ``errors.jsonl`` in the order of the input, whatever the order of the work."""
        with open_output(self.paths.errors) as stream:
            for plan in plans:
                for broken in self._broken_of(plan):
                    entry = {"file": plan.file.path, "line": broken.line, "reason": broken.reason}
                    stream.write(json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        self._errors_written, self._next_writing = self.errors, time.monotonic() + _ERRORS_EVERY

    def _broken_of(self, plan: FilePlan) -> Iterator[BrokenRecord]:
        for shard in plan.shards:
            if shard.name in self.markers:
                yield from self.markers[shard.name].broken
            elif shard.name in self.failed:
                yield BrokenRecord(shard.first_line, self.failed[shard.name].reason)
        yield from plan.broken


def largest_first(shards: Sequence[Shard]) -> list[Shard]:
    """Move oversized shards to the front, so that no worker is left with one at the end; keep the order else.

    Files are read forwards, which is why the other shards stay in order.
    """
    large = sorted((shard for shard in shards if shard.is_large), key=lambda shard: -shard.size)
    return [*large, *(shard for shard in shards if not shard.is_large)]


def describe(options: CorpusOptions) -> dict[str, Any]:
    """Everything that affects the output, as JSON."""
    return {
        # The version is part of it: another version may parse differently.
        "arcwise": __version__,
        "model": Path(options.model).name,
        "model_sha256": hashlib.sha256(model_path(options.model).read_bytes()).hexdigest(),
        # Through JSON, so that tuples compare equal to the lists of a file read back.
        "parse": json.loads(json.dumps(asdict(options.parse))),
        "format": options.format,
        "fields": asdict(options.fields),
        "to": options.to,
        "packing": options.packing,
        "shard_bytes": options.shard_bytes,
    }


def _portable_model(model: str) -> str:
    """The model as workers can find it: the name of one that comes with arcwise, or an absolute path."""
    return model if model in shipped_models() else str(model_path(model).absolute())


def _difference(previous: Any, current: dict[str, Any]) -> str:
    """A sentence about the first difference between the folder's job and this one."""
    if not isinstance(previous, dict):
        return "_job/job.json is damaged; use another folder, or overwrite this one"
    name = next((key for key in current if previous.get(key) != current[key]), "arcwise")
    was, is_now = previous.get(name), current[name]
    if isinstance(was, dict) and isinstance(is_now, dict):
        key = next((key for key in is_now if was.get(key) != is_now[key]), name)
        name, was, is_now = key, was.get(key), is_now[key]
    if name == "model_sha256":
        change = f"was started with another model file, not this file of model {current['model']}"
    else:
        change = f"was started with {name} {was!r}, not {name} {is_now!r}"
    return f"{change}; use the same settings or another folder, or overwrite this one"


def _check_model(options: CorpusOptions, files: Sequence[InputFile]) -> None:
    """Check before the work that the model opens, supports the options, and takes text if there is any."""
    parser = open_model(options.model)
    options.parse.check(parser.kind, parser.capabilities)
    text = next((file for file in files if file.format != "conllu"), None)
    if text is not None and as_pipeline(parser) is None:
        raise InputError(
            f"{text.path}: is {text.format}, but the model is a {parser.kind} parser, which needs CoNLL-U; "
            "use a model of 'arcwise train --pipeline'"
        )


def _refuse_input_folder(files: Sequence[InputFile], folder: Path) -> None:
    target = folder.resolve()
    for file in files:
        if Path(file.path).resolve().is_relative_to(target):
            raise InputError(f"{folder}: contains input ({file.path}); write to another folder")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return "damaged"


def _remove_partial_files(folder: Path) -> None:
    """Remove temporary files of killed processes."""
    for path in folder.rglob(".*.part"):
        with contextlib.suppress(OSError):
            path.unlink()


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Allow one job at a time in a folder, where the system has file locks."""
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
            raise InputError(f"{folder}: another job is writing there; wait for it to end") from None
        except OSError:
            pass  # a file system without locks, such as some network mounts
        yield
