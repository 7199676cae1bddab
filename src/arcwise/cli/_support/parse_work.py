"""The work of ``arcwise parse``: inputs, outputs, and files that cannot be read."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arcwise.cli._support.files import names_folder, refuse_existing
from arcwise.cli._support.output import echo
from arcwise.errors import InputError, OptionError

if TYPE_CHECKING:
    from arcwise.parsing.parser import ParseOptions, Parser
    from arcwise.parsing.parses import Note
    from arcwise.pipeline.document_names import DocumentNames
    from arcwise.pipeline.parse_input import InputSettings, Parsed
    from arcwise.treebanks import Sentence, Treebank

_MAX_NOTES = 10
"""Notes printed on standard error; the comments of the output have all of them."""
_SPOOL = 1 << 24
"""Bytes of output of one of several files that are buffered in memory until the file is complete."""
_SUFFIXES = {"conllu": ".conllu", "json": ".jsonl"}
_PROMPTS = {
    "auto": "text or CoNLL-U, parsed at each blank line",
    "text": "text, parsed at each blank line",
    "conllu": "CoNLL-U, parsed at each blank line",
    "lines": "sentences, one per line",
    "tokens": "sentences, one per line, with spaces between words",
    "json": "JSON, one object per line",
}


@dataclass(frozen=True)
class ParseOutput:
    """The destination and the format of the trees."""

    path: str
    to: str = "conllu"
    show: bool = False
    html: str | None = None

    @property
    def is_stream(self) -> bool:
        """Whether the format is CoNLL-U or JSON, not pictures."""
        return not self.show and self.html is None


class Target(Protocol):
    """A binary stream to write to."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""
        ...

    def flush(self) -> None:
        """Pass buffered bytes on."""
        ...


@dataclass
class ParseWork:
    """Parses inputs and writes their trees."""

    parser: Parser
    reading: InputSettings
    options: ParseOptions
    threads: int
    output: ParseOutput
    failed: list[str] = field(default_factory=list)
    """Files that could not be parsed, if there are several."""
    broken: int = 0
    """Lines of JSON that could not be parsed."""
    first_notes: list[Note] = field(default_factory=list)
    notes: int = 0

    def run(self, sources: Sequence[str], targets: Mapping[str | Path, Path], *, text: str | None) -> int:
        """Parse everything; the exit status, 1 if a file of several or a line of JSON could not be parsed."""
        from arcwise.pipeline.parse_input import files_in, parse_text
        from arcwise.treebanks.files import path_kind

        if "-" in sources:
            self._prompt()
        files: Sequence[str | Path] = [*targets]
        if text is not None:
            self._write(parse_text(self.parser, text, options=self.options, threads=self.threads))
        elif targets:
            self._each(files, lambda path: self._write_file(path, targets[path]))
        else:
            files = [f for s in sources for f in (files_in(s) if path_kind(s) == "folder" else [s])]
            self._one_stream(files)
        self._print_notes()
        if self.failed:
            names = ", ".join(self.failed)
            _say(f"{len(self.failed)} of {len(files)} files could not be parsed: {names}")
        if self.broken:
            _say(f"{self.broken} line{'s' * (self.broken > 1)} of JSON could not be parsed")
        return 1 if self.failed or self.broken else 0

    def _prompt(self) -> None:
        if sys.stdin is not None and sys.stdin.isatty():
            _say(f"waiting for {_PROMPTS[self.reading.format]}; Ctrl-D on an empty line ends the input")

    def _one_stream(self, files: Sequence[str | Path]) -> None:
        """Parse all files into one output."""
        if len(files) == 1:
            self._write(self._parsed(files[0]))
        elif not self.output.is_stream:
            self._write(self._parsed_files(files))
        else:
            from arcwise.pipeline.document_names import DocumentNames
            from arcwise.treebanks import open_output

            names = DocumentNames()
            with open_output(self.output.path) as target:
                self._each(files, lambda file: self._append(file, names, target))

    def _append(self, file: str | Path, names: DocumentNames, target: Target) -> None:
        """Write the trees of one of several files, none of them if the file cannot be read to its end.
        Standard input is not buffered."""
        name = "standard-input" if str(file) == "-" else Path(file).as_posix()
        if str(file) == "-":
            return self._put(self._parsed(file), target, names, name)
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL) as spool:
            self._put(self._parsed(file), spool, names, name)
            spool.seek(0)
            shutil.copyfileobj(spool, target)
        return target.flush()

    def _write_file(self, file: str | Path, target: Path) -> None:
        from arcwise.treebanks import open_output
        from arcwise.treebanks.files import make_folder

        make_folder(target.parent)
        with open_output(target) as stream:
            self._put(self._parsed(file), stream)

    def _each(self, files: Sequence[str | Path], work: Callable[[str | Path], None]) -> None:
        """Do the work for each file. One of several that cannot be read is reported and skipped."""
        for file in files:
            with self._skip_unreadable(file, several=len(files) > 1):
                work(file)

    def _parsed_files(self, files: Sequence[str | Path]) -> Iterator[Parsed]:
        for file in files:
            with self._skip_unreadable(file, several=True):
                yield from self._parsed(file)

    @contextlib.contextmanager
    def _skip_unreadable(self, file: str | Path, *, several: bool) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            if isinstance(error, OptionError) or not several:  # a wrong option concerns all files
                raise
            self.failed.append(str(file))
            _say(str(error))

    def _parsed(self, path: str | Path) -> Iterator[Parsed]:
        from arcwise.pipeline.parse_input import parse_file

        return parse_file(self.parser, path, self.reading, options=self.options, threads=self.threads)

    def _write(self, results: Iterator[Parsed]) -> None:
        """Write trees as CoNLL-U or JSON, in the terminal, or as an HTML page."""
        if self.output.is_stream:
            from arcwise.treebanks import open_output

            with open_output(self.output.path) as target:
                self._put(results, target)
        elif self.output.show:
            from arcwise.cli._support.output import wants_color
            from arcwise.cli.show import print_trees

            print_trees(enumerate(self._sentences(results), 1), color=wants_color())
        else:
            from arcwise.treebanks import open_output
            from arcwise.visual import html_parts

            with open_output(self.output.html or "-") as page:
                for part in html_parts(self._sentences(results)):
                    page.write(part.encode())

    def _sentences(self, results: Iterator[Parsed]) -> Iterator[Sentence]:
        for parsed in results:
            if (treebank := self._checked(parsed)) is not None:
                yield from treebank

    def _put(
        self, results: Iterator[Parsed], target: Target, names: DocumentNames | None = None, name: str = ""
    ) -> None:
        """Write each tree as soon as it is parsed. ``names``: names documents, if there are several."""
        from arcwise.pipeline.document_names import DocumentNames
        from arcwise.pipeline.json_input import ParsedLine

        began = False
        for parsed in results:
            treebank = self._checked(parsed)
            if isinstance(parsed, ParsedLine):
                if self.output.to == "json":
                    target.write(_json_line(parsed.to_json()))
                elif treebank is not None:
                    names = names or DocumentNames()
                    document = parsed.name or (f"{name}:{parsed.line}" if name else str(parsed.line))
                    names.start(document, numbered=not parsed.is_cut, new=not name and parsed.name is None)
                    target.write(names.named(treebank).data)
            elif treebank is not None:
                if names is not None:
                    if not began:
                        names.start(name, numbered=parsed.numbered)
                    treebank, began = names.named(treebank), True
                self._put_sentences(treebank, target)
            target.flush()

    def _put_sentences(self, treebank: Treebank, target: Target) -> None:
        if self.output.to == "json":
            for sentence in treebank:
                target.write(_json_line(sentence.to_json()))
        else:
            target.write(treebank.data)

    def _checked(self, parsed: Parsed) -> Treebank | None:
        """The sentences; None, with a message, for a line of JSON without any."""
        from arcwise.pipeline.json_input import ParsedLine

        if isinstance(parsed, ParsedLine):
            if parsed.error:
                self.broken += 1
                _say(parsed.error)
        else:
            self.notes += len(parsed.notes)
            self.first_notes.extend(parsed.notes[: _MAX_NOTES - len(self.first_notes)])
        return parsed.treebank

    def _print_notes(self) -> None:
        """Print the first notes on standard error."""
        for note in self.first_notes:
            _say(str(note))
        if self.notes > _MAX_NOTES:
            _say(f"{self.notes - _MAX_NOTES} more notes; the comments (# parse_note) have all of them")


def _say(line: str) -> None:
    echo(f"arcwise: {line}", err=True)


def _json_line(values: Mapping[str, Any]) -> bytes:
    """One line of JSON. Half of a surrogate pair, which UTF-8 cannot encode, is written as an escape."""
    try:
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def targets_of(sources: Sequence[str], output: str, *, to: str, overwrite: bool) -> Mapping[str | Path, Path]:
    """Input file → output file, where the output is a folder; checked before any work."""
    from arcwise.pipeline.parse_input import files_in
    from arcwise.treebanks.files import path_kind

    folders = [name for name in sources if path_kind(name) == "folder"]
    if output == "-" or not (folders or names_folder(output)):
        return {}
    if not sources:
        raise InputError(f"--output: found a folder ({output}), expected a file for --text")
    if folders and len(sources) > 1:
        raise InputError(
            f"INPUT: found a folder ({folders[0]}) and more, expected one folder for --output {output}"
        )
    files: Sequence[str | Path] = sources
    names = [Path("standard-input" if name == "-" else Path(name).name) for name in sources]
    if folders:
        folder = folders[0]
        if Path(output).resolve().is_relative_to(Path(folder).resolve()):
            raise InputError(f"{output}: is inside the input folder, expected a folder outside {folder}")
        files = files_in(folder)
        names = [Path(file).relative_to(folder) for file in files]
    paths = [Path(output) / name for name in names]
    targets = [path.with_name(f"{path.name}{_SUFFIXES[to]}") for path in paths]
    if duplicates := [target for target, times in Counter(targets).items() if times > 1]:
        raise InputError(
            f"{duplicates[0]}: would be written twice, expected input files with different names"
        )
    refuse_existing(targets, read=files, overwrite=overwrite)
    return dict(zip(files, targets, strict=True))
