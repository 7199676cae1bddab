"""Files made to be slow: commands take time and memory in proportion to the file, or refuse in one line.

Each command runs in a process with bounded memory and processor time, which a quadratic one exceeds.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from arcwise import Treebank
from arcwise.errors import InputError
from arcwise.transition import system
from arcwise.treebanks.rows import Row
from arcwise.treebanks.streaming import stream_opened
from arcwise.treebanks.validation import tree as validation_tree
from arcwise.treebanks.validation.tree import RawTree
from arcwise.trees import tree_properties

MEMORY, SECONDS = 2_000_000_000, 30


def sentence(*rows: str, text: str = "w") -> str:
    return f"# sent_id = a\n# text = {text}\n" + "".join(row + "\n" for row in rows) + "\n"


def row(
    number: int = 1, head: int = 0, label: str = "root", *, feats: str = "_", deps: str = "_", misc: str = "_"
) -> str:
    return f"{number}\tw\tw\tX\t_\t{feats}\t{head}\t{label}\t{deps}\t{misc}"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A command with bounded address space and processor time, not of the clock: other work on the machine
    does not count."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    command = [sys.executable, "-m", "arcwise", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, preexec_fn=bound, check=False)


def long_fields() -> Iterator[tuple[str, str]]:
    yield "features", row(feats="|".join(f"f{i}=x" for i in range(16_000)))
    yield "heads", row(deps="|".join(f"{i}:X" for i in range(500_000)))
    yield "relations", row(deps="|".join(f"0:{'ab'[i % 2]}" for i in range(100_000)))
    yield "many features", row(feats="|".join(f"f{i}=x" for i in range(1_000_000)))
    yield "attributes", row(misc="|".join(f" a{i}=1" for i in range(100_000)))


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for _, line in long_fields()], ids=[name for name, _ in long_fields()])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_validate_of_a_very_long_field_is_linear(line: str, form: list[str], tmp_path: Path) -> None:
    file = tmp_path / "long.conllu"
    file.write_text(sentence(line))
    result = run("validate", "--level", "ud", *form, str(file))
    assert result.returncode == 1, result.stderr[-500:]
    assert "and more of this rule; the first 100 are listed" in result.stdout
    lines = result.stdout.splitlines()
    assert len(lines) < 800
    assert max(map(len, lines)) < (300_000 if form else 1500)


@pytest.mark.slow
def test_numbers_of_thousands_of_digits_are_findings(tmp_path: Path) -> None:
    file = tmp_path / "digits.conllu"
    nines = "9" * 5000
    file.write_text(sentence(row(deps=f"{nines}:dep"), f"{nines}\tw\tw\tX\t_\t_\t{nines}\tdep\t_\t_"))
    for level in ("format", "1", "ud"):
        result = run("validate", "--level", level, str(file))
        assert result.returncode == 1, result.stderr[-500:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments, message",
    [
        (["validate", "--level", "ud"], "nothing wrong"),
        (["validate", "--consistency"], "1 file: 0 inconsistencies"),
        (["validate", "--learn", "--to", "-"], "2 relations, 0 features"),
        (["enhance"], "left unchanged: 1 sentence that has more than 2000 words"),
        (["search", "--count", "[empty=yes|no] <- [empty=yes]"], ""),
        (["search", "upos=X", "--set", "xpos=N; feats.A=B"], "400,000 fields of 1 sentence changed"),
        (["show", "--tikz", "trees.tex"], "has 200000 words; a picture shows at most 2000"),
        (["show"], "200000 words, too many to draw arcs"),
        (["show", "--svg", "tree.svg"], "has 200000 words; a picture shows at most 2000"),
        (["show", "--html", "trees.html"], "has 200000 words; a picture shows at most 2000"),
        (["coverage"], "the sentence has 200000 words; easy-first takes quadratic time"),
        (["coverage", "--system", "arc-standard"], ""),
        (["stats"], ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_sentence_of_200000_words(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("chain.conllu")
    rows = [row(i, i - 1, "dep" if i > 1 else "root") for i in range(1, 200_001)]
    file.write_text(sentence(*rows, text=" ".join(["w"] * len(rows))))
    result = run(*arguments, str(file))
    assert result.returncode == (2 if "at most" in message or "quadratic" in message else 0)
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chain.conllu"]


@pytest.mark.slow
def test_validate_of_a_long_sentence_with_crossing_arcs_is_linear(tmp_path: Path) -> None:
    chance = random.Random(1)
    rows = [row()]
    for i in range(2, 30_001):
        mark = chance.random() < 0.2
        head = chance.randrange(1, i)
        rows.append(
            f"{i}\tw\tw\t{'PUNCT' if mark else 'VRB'}\t_\t_\t{head}\t{'punct' if mark else 'Dep'}\t_\t _"
        )
    file = tmp_path / "crossing.conllu"
    file.write_text(sentence(*rows))
    result = run("validate", "--level", "ud", str(file))
    assert result.returncode == 1, result.stderr[-500:]
    assert "punct-is-nonproj" in result.stdout


def test_arcs_are_projective_or_not_by_either_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(0)
    for _ in range(200):
        order = list(range(1, chance.randrange(2, 30)))
        chance.shuffle(order)
        heads, done = [0] * len(order), [0]
        for word in order:
            heads[word - 1] = chance.choice([*done, -1] if chance.random() < 0.2 else done)
            done.append(word)
        rows = [Row("word", row(i, head).split("\t")) for i, head in enumerate(heads, 1)]
        with monkeypatch.context() as patch:
            plain = RawTree(rows, heads).nonprojective
            patch.setattr(validation_tree, "_FEW_WORDS", 0)
            assert RawTree(rows, heads).nonprojective == plain == frozenset(_crossing(heads))


def _crossing(heads: list[int]) -> Iterator[int]:
    def above(word: int) -> set[int]:
        nodes = {word}
        while word > 0 and heads[word - 1] >= 0:
            word = heads[word - 1]
            nodes.add(word)
        return nodes

    for word, head in enumerate(heads, 1):
        between = range(min(word, head) + 1, max(word, head))
        if head >= 0 and any(head not in above(node) for node in between):
            yield word


class CountedSource:
    """A file without a sentence end that counts the bytes that were asked for."""

    def __init__(self, size: int) -> None:
        self.left, self.reads = size, 0

    def read(self, size: int, /) -> bytes:
        piece = b"1" * min(size, self.left)
        self.left -= len(piece)
        self.reads += 1
        return piece


def test_trees_with_too_many_long_arcs_are_one_line() -> None:
    heads = np.zeros(200_000, np.int32)
    heads[1:] = 1
    with pytest.raises(InputError, match="a tree of 200000 words has too many long arcs"):
        tree_properties(heads)
    chain = np.arange(200_000, dtype=np.int32)
    assert tree_properties(chain).depth.tolist() == [200_000]


@pytest.mark.slow
def test_projectivise_refuses_a_long_sentence_with_crossing_arcs(tmp_path: Path) -> None:
    rows = [row(i, {1: 0, 2: 4}.get(i, 1), "dep") for i in range(1, 3002)]
    file, output = tmp_path / "crossing.conllu", tmp_path / "out.conllu"
    file.write_text(sentence(*rows))
    result = run("projectivise", str(file), "-o", str(output))
    assert result.returncode == 2
    assert "the sentence has crossing arcs and 3001 words" in result.stderr
    assert not output.exists()


def test_a_line_without_end_is_read_in_linear_time() -> None:
    source = CountedSource(1 << 20)
    treebanks = list(stream_opened(source, "endless", batch_bytes=1 << 8, strict=False))
    assert [len(treebank.data) for treebank in treebanks] == [1 << 20]
    # Each read copies what is pending: a few reads, each twice as long, and not thousands.
    assert source.reads < 20


def test_bounds_of_transition_systems_that_are_too_large_are_one_line() -> None:
    for text in ("attardi(N=22222222222)", "bounded(K=22222222222)", "non-projective(D=2000000)"):
        with pytest.raises(InputError, match="expected at most 1000000, or unbounded"):
            system(text)
    with pytest.raises(InputError, match=r"found 'N=9+…' in attardi"):
        system(f"attardi(N={'9' * 5000})")
    assert system("attardi(N=1000)").max_distance == 1000


def test_capacities_that_are_too_large_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "one.conllu"
    file.write_text(sentence(row()))
    result = run("coverage", "-K", "2-99999999999", "-D", "1", str(file))
    assert result.returncode == 2
    assert "expected numbers from 2 to 1000" in result.stderr


def test_json_with_a_lone_surrogate_is_read() -> None:
    word = {"form": "a\ud800", "lemma": "\udfff"}
    values = {"sent_id": "s\ud800", "text": "a\ud800", "words": [word]}
    treebank = Treebank.from_json({"sentences": [values, {"words": [word], "comments": ["x = \ud800"]}]})
    assert treebank[0].forms == ["a?"]
    assert treebank[0].sent_id == "s?"
    assert treebank[1].comments == {"x": "?"}
