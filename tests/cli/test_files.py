"""Every command with files of all kinds: what cannot be read or written is told in one line before it harms
anything."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.treebanks import files
from cli.every_command import (
    CERTIFICATE,
    GIVEN,
    MODEL,
    OTHER,
    PIPELINE,
    PLAIN,
    RELEASED,
    TRANSITION,
    TREEBANK,
    Prepared,
    files_of,
    names,
    text_parameters,
)
from contracts.small_treebank import small_treebank

FULL = Path("/dev/full")
Output = pytest.CaptureFixture[str]

READS = [(command, name) for command in names() for name in files_of(command).reads]
MAY_READ = [(command, name) for command in names() for name in files_of(command).may_read]
WRITES = [(command, name) for command in names() for name in files_of(command).outputs]
PLOTS = [(command, name) for command in names() for name in files_of(command).plots]
FOLDERS = [(command, name) for command in names() for name in files_of(command).folders]

TREEBANKS = [(c, name) for c in names() for name, value in GIVEN[c].items() if value in (TREEBANK, OTHER)]


def may_do_anything() -> bool:
    """Whether we are root, or the like: a file that nobody may read can be read."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).chmod(0)
        return os.access(file.name, os.R_OK)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A treebank, trees of another parser, two models and a certificate."""
    folder = tmp_path_factory.mktemp("made")
    small_treebank().write(folder / TREEBANK)
    small_treebank().annotate(deprel=["dep"] * small_treebank().word_count).write(folder / OTHER)
    (folder / "small.toml").write_text("epochs = 2\narc_bits = 12\nrow_bits = 13\n")
    train = ["train", "--quiet", "--train", str(folder / TREEBANK)]
    assert run([*train, "--config", str(folder / "small.toml"), "--model", str(folder / MODEL)]) == 0
    assert run([*train, "--parser", "transition", "--epochs", "1", "--model", str(folder / TRANSITION)]) == 0
    induce = ["induce", str(folder / TREEBANK), "--learner", "global", "--epsilon", "0.5"]
    assert run([*induce, "--certificate", str(folder / CERTIFICATE)]) == 0
    (folder / RELEASED).mkdir()
    small_treebank().write(folder / RELEASED / "xx_small-ud-train.conllu")
    name = PIPELINE.removesuffix(".arcwise")
    models_train = ["models", "train", name, "--quiet", "--treebank", str(folder / RELEASED)]
    assert run([*models_train, "--folder", str(folder)]) == 0
    (folder / "small.toml").unlink()
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Prepared:
    shutil.copytree(made, tmp_path / "here")
    return Prepared(tmp_path / "here")


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers end as soon as they could begin, and open no browser."""
    monkeypatch.setattr("arcwise.web.server.serve", lambda *_, **__: None)
    monkeypatch.setattr("arcwise.web.serve_service.run_service", lambda *_, **__: True)


def contents(folder: Path) -> dict[Path, bytes]:
    """All files of a folder, hidden ones too."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def ending(name: str) -> str:
    return ".png" if name == "plot" else ""


def refused(here: Prepared, arguments: list[str], capsys: Output) -> str:
    """The one line that a command says that cannot do its work and leaves everything as it was."""
    before = contents(here.folder)
    capsys.readouterr()
    assert run(arguments) == 2, arguments
    lines = capsys.readouterr().err.splitlines(keepends=True)
    said = "".join(
        line for line in lines if not line.startswith("warning: ")
    )  # of the model, before the work
    assert said.count("\n") == 1, said
    assert said.startswith("arcwise"), said
    assert contents(here.folder) == before
    return said


# ---- the tables themselves


def test_every_command_is_tried() -> None:
    assert set(GIVEN) == set(names())


@pytest.mark.parametrize("command", names())
def test_every_parameter_that_names_a_file_is_declared(command: str) -> None:
    known = files_of(command)
    declared = {*known.reads, *known.may_read, *known.outputs, *known.folders}
    assert text_parameters(command) - PLAIN.keys() - declared == set()


@pytest.mark.parametrize("command", names())
def test_every_command_works(command: str, here: Prepared) -> None:
    assert run(here.arguments(command)) == 0


# ---- what is written


@pytest.mark.parametrize(("command", "name"), WRITES)
def test_the_output_is_a_folder(command: str, name: str, here: Prepared, capsys: Output) -> None:
    target = here.folder / f"folder{ending(name)}"
    target.mkdir()
    told = refused(here, here.arguments(command, **{name: str(target)}), capsys)
    assert "is a folder, expected a file" in told


@pytest.mark.parametrize(("command", "name"), WRITES)
def test_the_output_has_no_folder(command: str, name: str, here: Prepared, capsys: Output) -> None:
    for folder in (here.folder / "nowhere", here.folder / TREEBANK):
        target = folder / f"x{ending(name)}"
        assert "no such folder" in refused(here, here.arguments(command, **{name: str(target)}), capsys)


@pytest.mark.parametrize(("command", "name"), WRITES)
@pytest.mark.parametrize("link", ["itself", "symbolic", "hard"])
def test_the_output_is_an_input(command: str, name: str, link: str, here: Prepared, capsys: Output) -> None:
    known = files_of(command)
    for read in (*known.reads, *known.may_read):
        source = here.folder / GIVEN[command].get(read, "nothing")
        if not source.is_file():
            continue
        target = source
        if link != "itself":
            target = here.folder / f"link-{read}{ending(name)}"
            (target.symlink_to if link == "symbolic" else target.hardlink_to)(source)
        told = refused(here, here.arguments(command, **{name: str(target)}), capsys)
        assert "is an input too, expected a different output file" in told


@pytest.mark.parametrize(("command", "name"), WRITES)
@pytest.mark.parametrize("what", ["folder", "file"])
def test_the_output_may_not_be_written(
    command: str, name: str, what: str, here: Prepared, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = here.folder / f"x{ending(name)}"
    if what == "file":
        target.write_text("of a person")
    closed = target if what == "file" else here.folder

    def access(path: str | Path, mode: int) -> bool:  # the tests may run as root, who may do anything
        return not (mode & os.W_OK and Path(path) == closed)

    monkeypatch.setattr(files.os, "access", access)
    assert "read-only" in refused(here, here.arguments(command, **{name: str(target)}), capsys)


@pytest.mark.skipif(may_do_anything(), reason="this user may do anything")
@pytest.mark.parametrize(("command", "name"), WRITES)
def test_no_permission_to_write(command: str, name: str, here: Prepared, capsys: Output) -> None:
    target = here.folder / f"x{ending(name)}"
    target.write_text("of a person")
    target.chmod(0o444)
    assert "it is read-only" in refused(here, here.arguments(command, **{name: str(target)}), capsys)
    target.unlink()
    here.folder.chmod(0o555)
    told = refused(here, here.arguments(command, **{name: str(target)}), capsys)
    here.folder.chmod(0o755)
    assert "the folder is read-only" in told


@pytest.mark.skipif(may_do_anything(), reason="this user may do anything")
@pytest.mark.parametrize(("command", "name"), READS + MAY_READ)
def test_no_permission_to_read(command: str, name: str, here: Prepared, capsys: Output) -> None:
    source = here.folder / "closed"
    shutil.copy(here.folder / TREEBANK, source)
    source.chmod(0)
    more = {"constrain": "0.1"} if name == "rules" else {}
    if (command, name) in (("systems", "system"), ("coverage", "system"), ("train", "system")):
        pytest.skip("a system is a file only if its name ends in .toml")
    capsys.readouterr()
    assert run(here.arguments(command, **{name: str(source)}, **more)) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "Permission denied" in told


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("command", "name"), WRITES)
def test_the_disk_is_full(command: str, name: str, here: Prepared, capsys: Output) -> None:
    target = here.folder / f"full{ending(name)}"
    target.symlink_to(FULL)
    told = refused(here, here.arguments(command, **{name: str(target)}), capsys)
    assert told.startswith(f"arcwise: {target}: cannot be written (No space left on device)")


@pytest.mark.parametrize(("command", "name"), PLOTS)
def test_what_a_plot_needs_is_asked_for_first(
    command: str, name: str, here: Prepared, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = str(here.folder / "plot.doc")
    assert "found the extension 'doc'" in refused(here, here.arguments(command, **{name: target}), capsys)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    arguments = here.arguments(command, **{name: str(here.folder / "plot.png")})
    capsys.readouterr()
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert "this needs matplotlib, which is not installed" in told.err
    assert told.out == ""


@pytest.mark.parametrize(("command", "name"), FOLDERS)
def test_the_folder_to_write_into_is_a_file(command: str, name: str, here: Prepared, capsys: Output) -> None:
    for target in (here.folder / TREEBANK, here.folder / OTHER):
        told = refused(here, here.arguments(command, **{name: str(target)}), capsys)
        assert "is a file, expected a folder" in told
    told = refused(here, here.arguments(command, **{name: str(here.folder / TREEBANK / "x")}), capsys)
    assert "cannot be created" in told


# ---- folders of files, whose names nobody typed


def test_parts_of_a_split_that_are_there_already_are_not_replaced_unasked(
    here: Prepared, capsys: Output
) -> None:
    arguments = here.arguments("split")
    assert run(arguments) == 0
    corrected = here.folder / "parts" / "b.conllu"
    corrected.write_bytes(corrected.read_bytes() + b"# corrected by hand\n\n")
    assert "a.conllu: exists already; use --overwrite to replace it" in refused(here, arguments, capsys)
    assert run([*arguments, "--overwrite"]) == 0
    assert b"corrected" not in corrected.read_bytes()


def test_a_split_never_replaces_the_file_it_reads(here: Prepared, capsys: Output) -> None:
    whole = here.folder / "train.conllu"
    shutil.copy(here.folder / TREEBANK, whole)
    arguments = ["split", str(whole), str(here.folder), "--overwrite"]
    assert "is an input too, expected a different output folder" in refused(here, arguments, capsys)


@pytest.fixture
def texts(here: Prepared) -> Path:
    """A folder of two files, one in a folder of its own."""
    (here.folder / "in" / "more").mkdir(parents=True)
    for path in ("in/a.conllu", "in/more/b.conllu"):
        shutil.copy(here.folder / TREEBANK, here.folder / path)
    return here.folder / "in"


def test_a_folder_is_parsed_into_another_one(here: Prepared, texts: Path, capsys: Output) -> None:
    into = here.folder / "out"
    arguments = ["parse", str(texts), "--model", str(here.folder / MODEL), "--output"]
    assert run([*arguments, str(into)]) == 0
    written = sorted(str(p.relative_to(into)) for p in into.rglob("*.conllu"))
    assert written == ["a.conllu.conllu", "more/b.conllu.conllu"]
    assert "exists already; use --overwrite to replace it" in refused(here, [*arguments, str(into)], capsys)
    assert run([*arguments, str(into), "--overwrite"]) == 0


def test_a_folder_cannot_be_parsed_into_itself_or_a_file(here: Prepared, texts: Path, capsys: Output) -> None:
    arguments = ["parse", str(texts), "--model", str(here.folder / MODEL), "--output"]
    for target in (texts, texts / "more", texts / "new"):
        assert "is inside the input folder" in refused(here, [*arguments, str(target)], capsys)
    file = str(here.folder / OTHER)
    assert "is a file, expected a folder" in refused(here, [*arguments, file], capsys)
    assert "cannot be created" in refused(here, [*arguments, f"{file}/x"], capsys)
    assert not (texts / "new").exists()


def test_two_outputs_are_not_the_same_file(here: Prepared, capsys: Output) -> None:
    (here.folder / "link").symlink_to(here.folder / "x")
    arguments = here.arguments("induce", output=str(here.folder / "x"), model=str(here.folder / "link"))
    assert "would be written twice, expected different files" in refused(here, arguments, capsys)


def test_a_search_goes_on_from_its_own_checkpoint(here: Prepared) -> None:
    state = str(here.folder / "state")
    assert run(here.arguments("induce", checkpoint=state)) == 0
    assert run(here.arguments("induce", checkpoint=state, resume=state)) == 0


# ---- what is read


@pytest.fixture
def unreadable(here: Prepared) -> dict[str, Path]:
    """Files that hold no treebank, no model and no certificate."""
    found = {name: here.folder / name for name in ("missing", "folder", "empty", "bytes", "packed.gz", "cut")}
    found["folder"].mkdir()
    found["empty"].write_bytes(b"")
    found["bytes"].write_bytes(b"1\t\xff\xfe\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    found["packed.gz"].write_bytes(b"\x1f\x8b\x08 is no gzip")
    found["cut"].write_bytes((here.folder / MODEL).read_bytes()[:1000])
    return found


@pytest.mark.parametrize(("command", "name"), READS)
def test_what_must_be_read_cannot_be(
    command: str, name: str, here: Prepared, unreadable: dict[str, Path], capsys: Output
) -> None:
    more = {"constrain": "0.1"} if name == "rules" else {}
    for what, path in unreadable.items():
        arguments = here.arguments(command, **{name: str(path)}, **more)
        if (name, what) in (
            ("config", "empty"),
            ("rules", "cut"),
        ):  # a TOML file of no options; words are rules
            continue
        if command == "validate" and path.is_file():  # it lists what is wrong, for that is its work
            assert run(arguments) in (1, 2), what
            continue
        told = refused(here, arguments, capsys)
        assert str(path) in told, (what, told)


@pytest.mark.parametrize(("command", "name"), MAY_READ)
def test_what_may_be_read_cannot_be(
    command: str, name: str, here: Prepared, unreadable: dict[str, Path], capsys: Output
) -> None:
    for what, path in unreadable.items():
        capsys.readouterr()
        status = run(here.arguments(command, **{name: str(path)}))
        told = capsys.readouterr().err
        assert status in (0, 2), what
        assert status == 0 or told.count("\n") == 1, (what, told)


@pytest.mark.parametrize("name", ["utf-16.conllu", "utf-16"])
@pytest.mark.parametrize(("command", "parameter"), TREEBANKS)
def test_utf_16_is_named(command: str, parameter: str, name: str, here: Prepared, capsys: Output) -> None:
    path = here.folder / name
    path.write_bytes(small_treebank().text.encode("utf-16"))
    told = refused(here, here.arguments(command, **{parameter: str(path)}), capsys)
    assert f"{path}: is UTF-16 text, expected UTF-8" in told


@pytest.mark.slow
@pytest.mark.parametrize(("command", "parameter"), TREEBANKS)
def test_a_line_without_end_is_one_message(
    command: str, parameter: str, here: Prepared, capsys: Output
) -> None:
    path = here.folder / "endless.conllu"
    path.write_bytes(b"1" * 10_000_000)
    if command == "validate":
        assert run(here.arguments(command, **{parameter: str(path)})) == 1
        told = capsys.readouterr().out
    elif command == "search":
        assert run(here.arguments(command, **{parameter: str(path)})) in (1, 2)
        told = capsys.readouterr().err
    else:
        told = refused(here, here.arguments(command, **{parameter: str(path)}), capsys)
    assert "endless.conllu" in told
    assert len(told) < 11_000


# ---- what is printed


@contextmanager
def standard_output(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with os.fdopen(descriptor, "wb") as raw, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", io.TextIOWrapper(raw, "utf-8", write_through=False))
        yield
        sys.stdout.detach()  # type: ignore[attr-defined]


def prints(command: str, here: Prepared, capfd: pytest.CaptureFixture[str]) -> bool:
    capfd.readouterr()
    assert run(here.arguments(command)) == 0
    shutil.rmtree(here.folder / "parts", ignore_errors=True)
    return bool(capfd.readouterr().out)


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", names())
def test_standard_output_is_full(
    command: str, here: Prepared, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = prints(command, here, capfd)
    with standard_output(os.open(FULL, os.O_WRONLY), monkeypatch):
        status = run(here.arguments(command))
    told = capfd.readouterr().err
    if printed:
        assert status == 2
        assert told == "arcwise: standard output: cannot be written (No space left on device)\n"
    else:
        assert status == 0


@pytest.mark.parametrize("command", names())
def test_the_reader_has_gone(
    command: str, here: Prepared, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = prints(command, here, capfd)
    ours, theirs = os.pipe()
    os.close(ours)
    with standard_output(theirs, monkeypatch):
        status = run(here.arguments(command))
    assert capfd.readouterr().err.count("arcwise") == 0
    assert status == (141 if printed else 0)


@pytest.mark.skipif(not FULL.exists(), reason="needs a shell and /dev/full")
@pytest.mark.parametrize(
    ("rest", "status", "told"),
    [
        ("| (exec <&-); exit ${PIPESTATUS[0]}", 141, ""),
        ("> /dev/full", 2, "arcwise: standard output: cannot be written (No space left on device)\n"),
        (">&-", None, ""),
        ("<&- 2>/dev/full", None, ""),
        ("> /dev/null 2>/dev/full", 0, ""),
    ],
)
@pytest.mark.parametrize("command", ["features", "stats", "parse", "evaluate"])
def test_in_a_shell(command: str, rest: str, status: int | None, told: str, here: Prepared) -> None:
    line = " ".join([sys.executable, "-m", "arcwise", *here.arguments(command)])
    done = subprocess.run(["bash", "-c", f"{line} {rest}"], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    if status is not None:
        assert (done.returncode, done.stderr) == (status, told)


@pytest.mark.slow
def test_nothing_to_read_and_nowhere_to_write(here: Prepared) -> None:
    model = str(here.folder / MODEL)
    for rest, told in (
        (f"parse --model {model} <&-", "standard input: is closed, expected something to read"),
        (f"parse --model {model} {here.folder / TREEBANK} >&-", "standard output: is closed"),
    ):
        done = subprocess.run(
            ["bash", "-c", f"{sys.executable} -m arcwise {rest}"], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert done.stderr.startswith(f"arcwise: {told}")
        assert done.stderr.count("\n") == 1


def test_a_terminal_that_cannot_show_all_letters(here: Prepared) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arcwise", *here.arguments("show")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "sleeps" in done.stdout
