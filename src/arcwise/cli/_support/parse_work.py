"""The files of ``arcwise parse``, one after the other: what is read, where its trees go, and what happens when one cannot be read."""

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

import typer

from arcwise.cli._support.files import names_folder, refuse_existing
from arcwise.errors import InputError, OptionError

if TYPE_CHECKING:
    from arcwise.parsing.parser import ParseOptions, Parser
    from arcwise.parsing.parses import Note
    from arcwise.pipeline.document_names import DocumentNames
    from arcwise.pipeline.parse_input import InputSettings, Parsed
    from arcwise.treebanks import Sentence, Treebank

_MOST_NOTES = 10
"""Notes shown on standard error; all are in the comments of the output."""
_SPOOL = 1 << 24
"""Bytes of the trees of one of several files that are kept in memory until the file is read to its end."""
_SUFFIXES = {"conllu": ".conllu", "json": ".jsonl"}
_WAITED_FOR = {
    "auto": "text or CoNLL-U, parsed at each blank line",
    "text": "text, parsed at each blank line",
    "conllu": "CoNLL-U, parsed at each blank line",
    "lines": "sentences, one a line",
    "tokens": "sentences, one a line, with blanks between words",
    "json": "JSON, an object a line",
}


@dataclass(frozen=True)
class ParseOutput:
    """Where trees go, and as what."""

    path: str
    to: str = "conllu"
    show: bool = False
    html: str | None = None

    @property
    def is_stream(self) -> bool:
        """Whether it is CoNLL-U or JSON, not pictures."""
        return not self.show and self.html is None


class Target(Protocol):
    """Takes bytes."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""
        ...

    def flush(self) -> None:
        """Hand them on."""
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
    """Those of several files that could not be parsed."""
    broken: int = 0
    """Lines of JSON that could not be parsed."""
    first_notes: list[Note] = field(default_factory=list)
    notes: int = 0

    def run(self, sources: Sequence[str], targets: Mapping[str | Path, Path], *, text: str | None) -> int:
        """All of it; the exit status: 1 if some of several files, or lines of JSON, could not be parsed."""
        from arcwise.pipeline.parse_input import files_in, parse_text
        from arcwise.treebanks.files import path_kind

        if "-" in sources:
            self._say_what_is_waited_for()
        files: Sequence[str | Path] = [*targets]
        if text is not None:
            self._write(parse_text(self.parser, text, options=self.options, threads=self.threads))
        elif targets:
            self._each(files, lambda path: self._write_file(path, targets[path]))
        else:
            files = [f for s in sources for f in (files_in(s) if path_kind(s) == "folder" else [s])]
            self._one_stream(files)
        self._tell_notes()
        if self.failed:
            names = ", ".join(self.failed)
            _say(f"{len(self.failed)} of {len(files)} files could not be parsed: {names}")
        if self.broken:
            _say(f"{self.broken} line{'s' * (self.broken > 1)} of JSON could not be parsed")
        return 1 if self.failed or self.broken else 0

    def _say_what_is_waited_for(self) -> None:
        if sys.stdin is not None and sys.stdin.isatty():
            waited = _WAITED_FOR[self.reading.format]
            _say(f"waiting for {waited}; Ctrl-D on an empty line ends the input")

    # ---- several files

    def _one_stream(self, files: Sequence[str | Path]) -> None:
        """All files into one output."""
        if len(files) == 1:
            self._write(self._parsed(files[0]))
        elif not self.output.is_stream:
            self._write(self._one_after_the_other(files))
        else:
            from arcwise.pipeline.document_names import DocumentNames
            from arcwise.treebanks import open_output

            names = DocumentNames()
            with open_output(self.output.path) as target:
                self._each(files, lambda file: self._append(file, names, target))

    def _append(self, file: str | Path, names: DocumentNames, target: Target) -> None:
        """The trees of one of several files: all or, where it cannot be read to its end, none. Those of standard input at once."""
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
        """Do the work for each file. Where there are several, one that cannot be read is told, and the others are parsed."""
        for file in files:
            with self._told(file, several=len(files) > 1):
                work(file)

    def _one_after_the_other(self, files: Sequence[str | Path]) -> Iterator[Parsed]:
        for file in files:
            with self._told(file, several=True):
                yield from self._parsed(file)

    @contextlib.contextmanager
    def _told(self, file: str | Path, *, several: bool) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            if isinstance(error, OptionError) or not several:  # what was asked for holds for all files
                raise
            self.failed.append(str(file))
            _say(str(error))

    def _parsed(self, path: str | Path) -> Iterator[Parsed]:
        from arcwise.pipeline.parse_input import parse_file

        return parse_file(self.parser, path, self.reading, options=self.options, threads=self.threads)

    # ---- writing

    def _write(self, found: Iterator[Parsed]) -> None:
        """Trees as CoNLL-U or JSON, in the terminal, or on a page."""
        if self.output.is_stream:
            from arcwise.treebanks import open_output

            with open_output(self.output.path) as target:
                self._put(found, target)
        elif self.output.show:
            from arcwise.cli._support.output import wants_color
            from arcwise.cli.show import print_trees

            print_trees(enumerate(self._sentences(found), 1), color=wants_color())
        else:
            from arcwise.treebanks import open_output
            from arcwise.visual import html_parts

            with open_output(self.output.html or "-") as page:
                for part in html_parts(self._sentences(found)):
                    page.write(part.encode())

    def _sentences(self, found: Iterator[Parsed]) -> Iterator[Sentence]:
        for parsed in found:
            if (treebank := self._checked(parsed)) is not None:
                yield from treebank

    def _put(
        self, found: Iterator[Parsed], target: Target, names: DocumentNames | None = None, name: str = ""
    ) -> None:
        """Trees one after the other, each handed on as soon as it is there. ``names``: several documents come one after the other."""
        from arcwise.pipeline.document_names import DocumentNames
        from arcwise.pipeline.json_input import ParsedLine

        began = False
        for parsed in found:
            treebank = self._checked(parsed)
            if isinstance(parsed, ParsedLine):
                if self.output.to == "json":
                    target.write(_json_line(parsed.to_json()))
                elif treebank is not None:
                    names = names or DocumentNames()
                    own = parsed.name or (f"{name}:{parsed.line}" if name else str(parsed.line))
                    names.start(own, numbered=not parsed.is_cut, new=not name and parsed.name is None)
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

    # ---- what is said of single sentences and lines

    def _checked(self, parsed: Parsed) -> Treebank | None:
        """The sentences; None, and a word about it, where a line of JSON has none."""
        from arcwise.pipeline.json_input import ParsedLine

        if isinstance(parsed, ParsedLine):
            if parsed.error:
                self.broken += 1
                _say(parsed.error)
        else:
            self.notes += len(parsed.notes)
            self.first_notes.extend(parsed.notes[: _MOST_NOTES - len(self.first_notes)])
        return parsed.treebank

    def _tell_notes(self) -> None:
        """The first notes on standard error."""
        for note in self.first_notes:
            _say(str(note))
        if self.notes > _MOST_NOTES:
            _say(f"{self.notes - _MOST_NOTES} more of this kind; comments (# parse_note) have them all")


def _say(line: str) -> None:
    typer.echo(f"arcwise: {line}", err=True)


def _json_line(values: Mapping[str, Any]) -> bytes:
    """One line; what UTF-8 does not have (half of a surrogate pair, from an escape) as an escape."""
    try:
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def targets_of(sources: Sequence[str], output: str, *, to: str, overwrite: bool) -> Mapping[str | Path, Path]:
    """For a folder that is parsed into another one, or files into a folder (``DIR/``): each file → its parse. Checked before the work."""
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
            raise InputError(f"{output}: is in the folder that is read, expected one outside of {folder}")
        files = files_in(folder)
        names = [Path(file).relative_to(folder) for file in files]
    places = [Path(output) / name for name in names]
    targets = [place.with_name(f"{place.name}{_SUFFIXES[to]}") for place in places]
    if twice := [target for target, times in Counter(targets).items() if times > 1]:
        raise InputError(f"{twice[0]}: is to be written twice, expected files of different names")
    refuse_existing(targets, read=files, overwrite=overwrite)
    return dict(zip(files, targets, strict=True))
