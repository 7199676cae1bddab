"""Reading and writing a treebank: arcwise, ufal.udpipe, conllu and udapi (``python -m
benchmarks.treebanks``).
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring.memory import peak_mb
from measuring.tables import table
from measuring.timing import interleaved

from benchmarks.report import write_section


def with_arcwise(source: str, target: str) -> None:
    from arcwise import Treebank

    Treebank.read(source).write(target)


def with_arcwise_annotating(source: str, target: str) -> None:
    """Do a parser's work: read forms and tags as Python strings, write new heads and labels."""
    from arcwise import Treebank

    treebank = Treebank.read(source)
    for sentence in treebank:
        len(sentence.forms), len(sentence.upos), len(sentence.heads)
    treebank.annotate(heads=treebank.heads, deprel=treebank.column("deprel")).write(target)


def with_udpipe(source: str, target: str) -> None:
    from ufal.udpipe import InputFormat, OutputFormat, ProcessingError, Sentence

    reader, writer = InputFormat.newConlluInputFormat(), OutputFormat.newConlluOutputFormat()
    reader.setText(Path(source).read_text())
    error, pieces = ProcessingError(), []
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        pieces.append(writer.writeSentence(sentence))
        sentence = Sentence()
    Path(target).write_text("".join(pieces))


def with_conllu(source: str, target: str) -> None:
    import conllu

    with Path(source).open() as lines, Path(target).open("w") as out:
        for sentence in conllu.parse_incr(lines):
            out.write(sentence.serialize())


def with_udapi(source: str, target: str) -> None:
    from udapi.core.document import Document

    document = Document()
    document.load_conllu(source)
    document.store_conllu(target)


CONTENDERS: dict[str, tuple[str | None, Callable[[str, str], None]]] = {
    "arcwise": (None, with_arcwise),
    "arcwise, columns as strings, heads and labels rewritten": (None, with_arcwise_annotating),
    "ufal.udpipe": ("ufal.udpipe", with_udpipe),
    "conllu": ("conllu", with_conllu),
    "udapi": ("udapi", with_udapi),
}


def installed(module: str | None) -> bool:
    try:
        return module is None or importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def memory_taken(label: str, source: str, target: str) -> float:
    """Peak megabytes of a fresh process that reads and writes the file, less those of importing the
    library.
    """
    sizes = []
    for mode in ("memory", "import"):
        command = [sys.executable, "-m", "benchmarks.treebanks", f"--only-{mode}", label, source, target]
        sizes.append(
            float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
        )
    return sizes[0] - sizes[1]


def measure_in_this_process(label: str, source: str, target: str, work: bool) -> None:
    tiny = io.StringIO("1\tw\t_\tX\t_\t_\t0\troot\t_\t_\n\n").getvalue()
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.conllu"
        small.write_text(tiny)
        CONTENDERS[label][1](str(small), str(Path(folder) / "out.conllu"))  # warm-up: imports and first use
    if work:
        CONTENDERS[label][1](source, target)
    print(peak_mb())


def command_seconds(*arguments: str) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "arcwise", *arguments], check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--treebank", default=None, help="CoNLL-U file (default: English-EWT train in ARCWISE_TREEBANKS)"
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only-memory", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--only-import", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_memory or options.only_import:
        measure_in_this_process(*(options.only_memory or options.only_import), work=bool(options.only_memory))
        return
    from arcwise import Treebank

    default = Path(os.environ.get("ARCWISE_TREEBANKS", ".")) / "English-EWT" / "train.conllu.xz"
    treebank = Treebank.read(options.treebank or default)
    with tempfile.TemporaryDirectory() as folder:
        source, target = str(Path(folder) / "in.conllu"), str(Path(folder) / "out.conllu")
        treebank.write(source)
        present = {label: run for label, (module, run) in CONTENDERS.items() if installed(module)}
        runs = {label: (lambda run=run: run(source, target)) for label, run in present.items()}
        seconds = interleaved(runs, repeat=options.repeat)
        rows = []
        for label in CONTENDERS:
            if label not in present:
                rows.append([label, "not installed", "", "", "", ""])
                continue
            present[label](source, target)
            identical = Path(source).read_bytes() == Path(target).read_bytes()
            memory = 2**20 * memory_taken(label, source, target) / len(treebank.data)
            speed = treebank.word_count / seconds[label]
            ratio = seconds[label] / seconds["arcwise"]
            rows.append(
                [
                    label,
                    f"{speed / 1e6:.2f} M",
                    f"{ratio:.1f} ×",
                    f"{memory:.1f} ×",
                    "yes" if identical else "no",
                ]
            )
        body = (
            f"English-EWT train: {treebank.word_count:,} words, {len(treebank.data) / 1e6:.1f} MB, plain "
            f"file to plain file.\n\n"
        )
        body += table(
            ["read + write", "words/s", "time, arcwise = 1", "peak memory / file size", "byte-identical"],
            rows,
        )
        half = treebank[: len(treebank) // 8]
        half.write(source)
        body += f"\n`arcwise --help`: {command_seconds('--help'):.2f} s. "
        body += (
            f"`arcwise evaluate` of two files of {half.word_count:,} words, start-up included: "
            f"{command_seconds('evaluate', source, source):.2f} s.\n"
        )
    print(body)
    write_section("treebanks", "Reading and writing treebanks", body)


if __name__ == "__main__":
    main()
