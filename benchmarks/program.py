"""arcwise inside a program and as a co-process: many short texts, hard input, and latency.

    python -m benchmarks.program [--memory | --confidence]

Short texts are paragraphs of the development data of English-EWT (ARCWISE_TREEBANKS), cut into pieces of one
or two sentences. They are parsed one by one (``nlp(text)``), with ``nlp.pipe``, and as one text;
one thread, taking turns. Hard input goes to the standard input of ``arcwise parse`` in a
separate process, start-up included. ``--memory`` measures only the peak memory of ``arcwise parse`` on long
raw text, which is the same development data repeated; ``--confidence`` only the processor time of
``nlp(text)`` with and without confidences.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from measuring.tables import table
from measuring.timing import interleaved

from arcwise.models import load
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

MODELS = ("en-fast", "en")
_CHILD = (
    "import sys\n"
    "from arcwise.cli.main import run\n"
    "from measuring.memory import peak_mb\n"
    "status = run(sys.argv[1:])\n"
    "print(peak_mb(), file=sys.stderr)\n"
    "sys.exit(status)\n"
)


def short_texts(folder: Path) -> list[str]:
    """Sentences of the development data as texts, short neighbours joined in pairs."""
    texts: list[str] = []
    for sentence in Treebank.read(folder / "English-EWT" / "dev.conllu.xz"):
        if texts and len(texts[-1].split()) + len(sentence) < 12:
            texts[-1] += f" {sentence.text}"
        else:
            texts.append(sentence.text)
    return texts


def rows_of_texts(texts: list[str], model: str, repeat: int) -> list[list[object]]:
    nlp, whole, last = load(model), "\n\n".join(texts), "as one text, `nlp(whole)`"
    words = sum(document.treebank.word_count for document in nlp.pipe(texts))
    ways = {
        "one by one, `nlp(text)`": lambda: [nlp(text) for text in texts],
        "`nlp.pipe(texts)`": lambda: list(nlp.pipe(texts)),
        "`nlp.pipe(texts, batch_size=32)`": lambda: list(nlp.pipe(texts, batch_size=32)),
        last: lambda: nlp(whole),
    }
    times = interleaved(ways, repeat=repeat)
    return [[model, label, f"{words / s:,.0f}", f"{times[last] / s:.0%}"] for label, s in times.items()]


def rows_of_confidences(text: str, repeat: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for model in MODELS:
        nlp = load(model)
        words = nlp(text, confidence=False).treebank.word_count
        ways = {
            "`nlp(text)`": partial(nlp, text),
            "`nlp(text, confidence=False)`": partial(nlp, text, confidence=False),
            "`nlp(text, confidence=True)`": partial(nlp, text, confidence=True),
        }
        times = interleaved(ways, repeat=repeat, clock=time.process_time)
        rows += [[model, label, f"{s:.2f}", f"{words / s:,.0f}"] for label, s in times.items()]
    return rows


def hard_inputs(folder: Path) -> dict[str, tuple[list[str], bytes]]:
    """Options of ``arcwise parse`` and the input, by description."""
    forms = Treebank.read(folder / "English-EWT" / "dev.conllu.xz").column("form")[:10_000]
    rows = "".join(f"{i}\t{form}{8 * (chr(9) + '_')}\n" for i, form in enumerate(forms, 1))
    letters = ("".join(forms).replace("\n", "") * 30)[: 1 << 20]
    return {
        "one sentence of 10,000 words, CoNLL-U": ([], f"{rows}\n".encode()),
        "the same, with confidences": (["--confidence"], f"{rows}\n".encode()),
        "109 KB without a blank": ([], letters[: 109 * 1024].encode()),
        "1 MB without a blank": ([], letters.encode()),
        "1 MB of `a1-b2.c3/`": ([], (b"a1-b2.c3/" * (1 << 17))[: 1 << 20]),
        "1 MB of one letter": ([], b"a" * (1 << 20)),
        "1 MB of full stops": ([], b"." * (1 << 20)),
    }


def rows_of_hard(folder: Path) -> list[list[object]]:
    rows: list[list[object]] = []
    for name, (options, data) in hard_inputs(folder).items():
        for model in MODELS:
            command = [sys.executable, "-c", _CHILD, "parse", "--model", model, *options]
            began = time.perf_counter()
            done = subprocess.run(command, input=data, capture_output=True, check=True)
            took = time.perf_counter() - began
            memory = float(done.stderr.split()[-1])
            parsed = Treebank(done.stdout)
            rows.append([name, model, f"{took:.2f}", f"{memory:.0f}", f"{parsed.word_count:,}", len(parsed)])
    return rows


def rows_of_memory(folder: Path) -> list[list[object]]:
    """Peak memory of ``arcwise parse`` on raw texts of which the second is four times as long."""
    text = "\n".join(sentence.text for sentence in Treebank.read(folder / "English-EWT" / "dev.conllu.xz"))
    rows: list[list[object]] = []
    for model in MODELS:
        for size in (1_600_000, 6_400_000):
            data = (f"{text}\n" * (size // len(text) + 1)).encode()[:size]
            command = [sys.executable, "-c", _CHILD, "parse", "--model", model, "--errors", "replace"]
            with tempfile.TemporaryFile() as source:
                source.write(data)
                source.seek(0)
                done = subprocess.run(
                    command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True
                )
            rows.append([model, f"{size / 1e6:.1f}", f"{float(done.stderr.split()[-1]):.0f}"])
    return rows


def rows_of_answers(texts: list[str], asked: int) -> list[list[object]]:
    rows: list[list[object]] = []
    for model in MODELS:
        for flags in (["--immediate"], []):
            times = answers(model, flags, texts[:asked])
            shown = " ".join(["arcwise parse", *flags])
            middle, late = times[len(times) // 2], times[int(0.99 * len(times))]
            rows.append([f"`{shown}`", model, f"{1e3 * middle:.1f}", f"{1e3 * late:.1f}"])
    return rows


def answers(model: str, flags: list[str], texts: list[str]) -> list[float]:
    """Sorted seconds from writing a paragraph to a pipe to reading its trees from another one."""
    command = [sys.executable, "-m", "arcwise", "parse", "--model", model, "--format", "lines", *flags]
    times: list[float] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in ["Warm.", *texts]:
            line = " ".join(text.split()).encode() + b"\n"
            began = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            while process.stdout.readline() != b"\n":
                pass
            times.append(time.perf_counter() - began)
        process.stdin.close()
    return sorted(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--memory", action="store_true", help="measure only the memory for long texts")
    parser.add_argument("--confidence", action="store_true", help="measure only the time of confidences")
    options = parser.parse_args()
    if "ARCWISE_TREEBANKS" not in os.environ:
        sys.exit("ARCWISE_TREEBANKS: set it to a folder that contains English-EWT/dev.conllu.xz")
    folder = Path(os.environ["ARCWISE_TREEBANKS"])
    if options.memory:
        put(
            "program-memory",
            "Memory for long texts",
            "Peak memory of `arcwise parse` on raw text from a file (English-EWT dev, repeated), "
            "one thread.\n\n" + table(["model", "text, MB", "peak memory, MB"], rows_of_memory(folder)),
        )
        return
    texts = short_texts(folder)
    if options.confidence:
        put(
            "program-confidence",
            "Confidences of `nlp(text)`",
            "English-EWT dev as one text, one thread, model loading excluded; processor time, minimum of "
            f"{options.repeat} rounds in turns. A document of `en` has confidences unless they are switched "
            "off, one of the greedy `en-fast` only if asked for, since they take a beam.\n\n"
            + table(
                ["model", "call", "s", "words/s"], rows_of_confidences("\n\n".join(texts), options.repeat)
            ),
        )
        return
    words = sum(len(text.split()) for text in texts) / len(texts)
    rows = [row for model in MODELS for row in rows_of_texts(texts, model, options.repeat)]
    put(
        "program",
        "Many short texts",
        f"{len(texts):,} texts of {words:.0f} whitespace-separated words (English-EWT dev), one thread, with "
        f"the confidences that a model computes unasked: all of `en`, none of `en-fast`. Words per second, "
        f"model loading excluded.\n\n" + table(["model", "how", "words/s", "relative to one text"], rows),
    )
    put(
        "program-hard",
        "Hard input",
        "Standard input of `arcwise parse`: seconds including start-up and model loading, and peak "
        "memory.\n\n" + table(["input", "model", "s", "MB", "words", "sentences"], rows_of_hard(folder)),
    )
    put(
        "program-answers",
        "Latency of a co-process",
        f"From writing a line to `arcwise parse --format lines` to reading its trees, {options.answers} "
        f"sentences, one after the other. Without `--immediate` the command waits for a pause of 0.1 "
        f"s.\n\n" + table(["command", "model", "p50 ms", "p99 ms"], rows_of_answers(texts, options.answers)),
    )


def put(name: str, title: str, body: str) -> None:
    """Write a section, and print it."""
    write_section(name, title, body, module="program")
    print(body, flush=True)


if __name__ == "__main__":
    main()
