"""What a person wrote stays, alternatives and k best: ``arcwise parse`` from end to end."""

import re
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.cli.parse import with_all_columns
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank
from text.toy import toy_treebank

HAND = [
    "The/DET/2/strange cat/NOUN/3/nsubj sleeps/VERB/0/root",
    "A/DET/3/det cat/NOUN/4/nsubj dog/NOUN/0/root barked/VERB/0/root",  # crossing arcs, two roots
    "Birds/NOUN/_/_ sing/VERB/0/_ songs/NOUN/_/obj",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models, and a file with trees written by hand."""
    folder = tmp_path_factory.mktemp("keep")
    small_treebank().write(folder / "small.conllu")
    toy_treebank()[:80].write(folder / "toy.conllu")
    (folder / "hand.conllu").write_text(conllu(HAND))
    quick = ["--epochs", "3", "--quiet"]
    for name in ("graph", "transition"):
        data = str(folder / "small.conllu")
        assert run(["train", "--train", data, "--model", str(folder / name), "--parser", name, *quick]) == 0
    toy = str(folder / "toy.conllu")
    assert run(["train", "--train", toy, "--model", str(folder / "pipeline"), "--pipeline", "--quiet"]) == 0
    return folder


def parse(folder: Path, *arguments: str, model: str = "graph", file: str = "hand.conllu") -> int:
    return run(["parse", str(folder / file), "--model", str(folder / model), *arguments])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["graph", "pipeline"])
@pytest.mark.parametrize("keep", [["--keep"], ["--keep", "head,deprel"], ["--keep-heads"]])
def test_one_hand_tree_outside_the_class_does_not_end_the_run(
    folder: Path, model: str, keep: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.conllu"
    assert parse(folder, *keep, "--projective", "--single-root", "-o", str(output), model=model) == 0
    told = capsys.readouterr().err
    assert "hand.conllu (s2): its constraints need several roots (3 and 4) and crossing arcs" in told
    parsed, hand = Treebank.read(output), Treebank.read(folder / "hand.conllu")
    assert "several roots" in parsed[1].comments["parse_note"]
    assert parsed[0].deprels == ["strange", "nsubj", "root"]
    for column in ("head", "deprel", *(("upos",) if keep == ["--keep"] else ())):
        for before, after in zip(hand.column(column), parsed.column(column), strict=True):
            assert before in ("_", after)
    assert parsed[2].tree.is_complete
    assert parsed[2].deprels[2] == "obj"


def test_the_list_of_columns_may_be_left_out_wherever_the_option_stands(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, model = str(folder / "hand.conllu"), str(folder / "graph")
    shown = []
    for arguments in (
        ["--keep", file, "--model", model],
        [file, "--model", model, "--keep"],
        [file, "--keep=all", "--model", model],
        [file, "--keep", "lemma,upos,xpos,feats,head,deprel,deps", "--model", model],
    ):
        assert run(["parse", *arguments]) == 0
        shown.append(capsys.readouterr().out)
    assert len(set(shown)) == 1
    assert with_all_columns(["a", "--keep", "--", "--keep"]) == ["a", "--keep=all", "--", "--keep"]
    monkeypatch.chdir(tmp_path)
    Path("heads").write_text("")  # a file of such a name is a file
    assert with_all_columns(["--keep", "heads"]) == ["--keep=all", "heads"]
    assert with_all_columns(["--keep", "lemmas"]) == ["--keep", "lemmas"]


@pytest.mark.parametrize(
    "model, arguments, message",
    [
        ("graph", ["--keep", "heads,upos"], "--keep: found 'heads', expected one of lemma, upos, xpos"),
        ("graph", ["--keep", "heads"], "--keep: found 'heads', expected one of lemma, upos, xpos"),
        ("graph", ["--keep", "DEPREL"], "--keep: found 'DEPREL', expected one of lemma, upos, xpos"),
        ("graph", ["--keep", "nothing.conllu"], "nothing.conllu: no such file"),
        ("graph", ["--keep="], "--keep: found '', expected one of"),
        (
            "transition",
            ["--keep"],
            "--keep: found head, deprel, which a transition-based parser does not keep",
        ),
        ("transition", ["--keep-heads"], "--keep-heads: found True, which a transition-based parser"),
        ("transition", ["--misc-constraints"], "--misc-constraints: found True, which a transition-based"),
        ("transition", ["--alternatives", "2"], "--alternatives: found 2, which a transition-based parser"),
        ("graph", ["--alternatives", "-1"], "--alternatives: found -1, expected 0..1000"),
        ("graph", ["--html", "x.html", "-o", "y"], "--html: cannot be combined with --output"),
        ("graph", ["--html", "x.html", "--show"], "--html: cannot be combined with --show"),
    ],
)
def test_what_cannot_be_is_one_line_and_status_2(
    folder: Path, model: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(folder, *arguments, model=model) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1


def misc_file(folder: Path, misc: str) -> Path:
    path = folder / "misc.conllu"
    small_treebank().annotate(misc=[misc, *["_"] * (small_treebank().word_count - 1)]).write(path)
    return path


def test_constraints_in_misc(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = misc_file(tmp_path, "Head=3|Deprel=obj|Note=mine")
    model = str(folder / "graph")
    assert run(["parse", str(file), "--model", model, "--misc-constraints"]) == 0
    first = Treebank.from_string(capsys.readouterr().out)[0]
    assert (first.heads[1], first.deprels[0], first.misc[0]) == (3, "obj", "Head=3|Deprel=obj|Note=mine")
    assert run(["parse", str(file), "--model", model]) == 0
    assert Treebank.from_string(capsys.readouterr().out)[0].heads[1] == 2
    file = misc_file(tmp_path, "Head=7")
    assert run(["parse", str(file), "--model", model, "--misc-constraints", "-o", str(tmp_path / "no")]) == 2
    shown = capsys.readouterr().err
    assert (
        "misc.conllu (s1), MISC of word 1: found Head=7, expected other words of the sentence (0..3)" in shown
    )
    assert not (tmp_path / "no").exists()


def test_decisions_that_fit_no_tree_are_told_and_the_run_goes_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(
        f"1\ta\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tb\t_\tNOUN\t_\t_\t_\t_\t_\tHead={1 if i < 12 else 0}\n\n"
        for i in range(13)
    )
    file = tmp_path / "cycles.conllu"
    file.write_text(text)
    model = str(folder / "graph")
    assert run(["parse", str(file), "--model", model, "--keep", "head", "--misc-constraints"]) == 0
    shown = capsys.readouterr()
    assert (
        "cycles.conllu (sentence 2): left unchanged: no tree satisfies its constraints (required: words"
        in shown.err
    )
    assert len(shown.err.splitlines()) == 11
    assert "2 more notes" in shown.err
    parsed = Treebank.from_string(shown.out)
    assert [s.heads.tolist()[1:] for s in parsed][-2:] == [[2, -1], [2, 0]]
    assert shown.out.count("# parse_note = left unchanged") == 12


def test_a_cycle_in_the_head_column_names_line_and_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cycle.conllu"
    file.write_text(conllu(["a/DET/2/x b/NOUN/1/x"]))
    assert run(["parse", str(file), "--model", str(folder / "graph"), "--keep"]) == 2
    assert "cycle.conllu:2 (s1): word 1 is on a cycle of heads" in capsys.readouterr().err


def test_alternatives_in_conllu_and_on_a_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, page, direct = tmp_path / "out.conllu", tmp_path / "page.html", tmp_path / "direct.html"
    arguments = ["--decode", "map", "--projective"]
    assert (
        parse(
            folder, "--alternatives", "3", "--confidence", "-o", str(output), *arguments, file="small.conllu"
        )
        == 0
    )
    for misc in Treebank.read(output).column("misc"):
        value = dict(pair.split("=", 1) for pair in misc.split("|"))
        arcs = value["Alternatives"].split(",")
        assert 1 <= len(arcs) <= 3
        assert all(re.fullmatch(r"\d+:[^:]+(:[^:]+)?:[01]\.\d{4}", arc) for arc in arcs)
        assert f":{value['DeprelProb']}" in value["Alternatives"]
    assert run(["show", str(output), "--html", str(page)]) == 0
    assert parse(folder, "--html", str(direct), "--alternatives", "3", *arguments, file="small.conllu") == 0
    told = [re.findall(r"<title>([^<]*%[^<]*)</title>", p.read_text()) for p in (page, direct)]
    assert told[0] == told[1]
    assert len(told[0]) == small_treebank().word_count
    assert capsys.readouterr().out == ""


def test_pictures_and_terminal_show_the_probability_of_head_and_label(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.conllu"
    assert parse(folder, "--confidence", "-o", str(output), file="small.conllu") == 0
    first = Treebank.read(output)[0]
    assert parse(folder, "--show", file="small.conllu") == 0
    lines = capsys.readouterr().out.splitlines()[1:4]
    assert first.label_probabilities is not None
    for line, label, p in zip(lines, first.deprels, first.label_probabilities, strict=True):
        assert re.search(rf"{label} +{100 * p:.0f}%$", line)


def test_k_best_have_rank_and_probability(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model in ("graph", "transition"):
        assert parse(folder, "--k-best", "3", "--confidence", model=model, file="small.conllu") == 0
        parsed = Treebank.from_string(capsys.readouterr().out)
        ranks = {s.comments["parse_rank"] for s in parsed}
        assert ranks >= ({"1"} if model == "graph" else {"1", "2"})
        assert all(0 <= float(s.comments["tree_prob"]) <= 1 for s in parsed)
        assert all(s.head_probabilities is not None for s in parsed)


def test_a_missing_file_is_told_before_another_is_parsed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "there.conllu"
    there.write_text("1\tDogs\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    assert run(["parse", str(there), "--keep", str(tmp_path / "missing.conllu")]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith("missing.conllu: no such file\n")
