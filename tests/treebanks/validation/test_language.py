"""Language data: learned from a treebank, edited, and checked at levels 4 and 5."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.treebanks.validation import (
    LANGUAGE_FILE,
    Inventory,
    LanguageData,
    check_files,
    check_sentence,
    find_language,
)

ROWS = [
    "# sent_id = one",
    "# text = Birds have been singing",
    "1 Birds bird NOUN _ Case=Nom|Number=Plur 4 nsubj _ _",
    "2 have have AUX _ Mood=Ind|VerbForm=Fin 4 aux _ _",
    "3 been be AUX _ VerbForm=Part 4 aux _ _",
    "4 singing sing VERB _ VerbForm=Ger,Part 0 root _ _",
    "",
    "# sent_id = two",
    "# text = It was seen, said le roi",
    "1 It it PRON _ Number=Sing|Number[psor]=Plur|PronType=Prs 3 nsubj:pass _ _",
    "2 was be AUX _ Mood=Ind|VerbForm=Fin 3 aux:pass _ _",
    "3 seen see VERB _ VerbForm=Part 0 root _ SpaceAfter=No",
    "4 , , PUNCT _ _ 5 punct _ _",
    "5 said say VERB _ VerbForm=Part 3 parataxis _ _",
    "6 le le DET _ Gender=Masc|PronType=Art 7 det _ Lang=fr",
    "7 roi roi NOUN _ Gender=Masc 5 nsubj _ Lang=fr",
    "",
    "# sent_id = three",
    "# text = Sun is star",
    "1 Sun sun NOUN _ Case=Acc 3 nsubj _ _",
    "2 is be AUX _ Mood=Ind|VerbForm=Fin 3 cop _ _",
    "3 star star NOUN _ Case=Nom 0 root _ _",
    "",
    "",
]
TEXT = "\n".join(line if line.startswith("#") else line.replace(" ", "\t") for line in ROWS)
TREEBANK = Treebank.from_string(TEXT)


def findings(
    text: str, data: LanguageData, level: int = 5, *, partial: bool = False
) -> list[tuple[str, str]]:
    treebank = Treebank.from_string(text)
    inventory = replace(Inventory.of(treebank), language=data)
    return [
        (finding.rule, finding.row or "")
        for sentence in treebank
        for finding in check_sentence(sentence, inventory, level=level, partial=partial)
    ]


def test_the_data_of_a_treebank() -> None:
    data = LanguageData.of(TREEBANK)
    assert data.auxiliaries == {"be", "have"}
    assert data.copulas == {"be"}
    assert data.relations is not None
    assert {"nsubj:pass", "aux:pass", "parataxis", "det"} <= data.relations
    assert data.features == {
        "NOUN": {"Case": {"Acc", "Nom"}, "Number": {"Plur"}},
        "AUX": {"Mood": {"Ind"}, "VerbForm": {"Fin", "Part"}},
        "VERB": {"VerbForm": {"Ger", "Part"}},
        "PRON": {"Number": {"Sing"}, "Number[psor]": {"Plur"}, "PronType": {"Prs"}},
    }
    pieces = [Treebank.from_string(part + "\n\n") for part in TEXT.strip().split("\n\n")]
    assert LanguageData.of(pieces) == data


def test_a_treebank_has_all_that_was_learned_from_it() -> None:
    assert findings(TEXT, LanguageData.of(TREEBANK)) == []


def test_the_file_has_the_data_and_says_what_is_rare(tmp_path: Path) -> None:
    file = tmp_path / LANGUAGE_FILE
    data = LanguageData.of(TREEBANK)
    file.write_text(data.to_toml("my\ntreebank"), "utf-8")
    assert LanguageData.read(file) == data
    text = file.read_text("utf-8")
    assert "# Language data of my?treebank, made by" in text
    assert "# Rare: have (1)\nauxiliaries = " in text
    assert '[features.PRON]\n# Rare: Sing (1)\nNumber = ["Sing"]\n' in text
    assert '"Number[psor]" = ["Plur"]\n' in text


def test_any_lemma_can_be_written_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    lemmas = frozenset(['a"b', "a\\b", "\x7f", "😀", "né", "a\u2028b", "#", "'"])
    data = LanguageData(auxiliaries=lemmas, features={})
    file.write_bytes(data.to_toml().encode())
    assert LanguageData.read(file) == data


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


@pytest.mark.parametrize(
    "text, expected",
    [
        (changed("Case=Acc", "Kind=Acc"), [("feature-unknown", "1")]),
        (changed("Case=Acc", "Case=Dat"), [("feature-value-unknown", "1")]),
        (changed("Case=Acc", "VerbForm=Part"), [("feature-upos-not-permitted", "1")]),
        (changed("Case=Acc", "Number=Sing"), [("feature-value-upos-not-permitted", "1")]),
        (changed("VerbForm=Ger,Part", "VerbForm=Fin,Ger"), [("feature-value-upos-not-permitted", "4")]),
        (changed("nsubj:pass", "nsubj:outer"), [("unknown-deprel", "1")]),
        (changed("have\tAUX", "haben\tAUX"), [("aux-lemma", "2")]),
        (changed("is\tbe", "is\thave"), [("cop-lemma", "2")]),
        # Words of another language have their own data, which are not here; _ is not annotated.
        (changed("Gender=Masc\t5", "Case=Dat\t5"), []),
        (changed("have\tAUX", "_\tAUX"), []),
    ],
)  # fmt: skip
def test_what_the_language_does_not_have_is_found(text: str, expected: list[tuple[str, str]]) -> None:
    data = LanguageData.of(TREEBANK)
    assert findings(text, data) == expected
    assert findings(text, data, level=3) == []
    assert findings(text, data, level=4) == [pair for pair in expected if "lemma" not in pair[0]]
    assert findings(text, LanguageData()) == []


def test_open_fields_are_no_errors_of_a_partial_annotation() -> None:
    text = changed("NOUN\t_\tCase=Acc\t3\tnsubj", "_\t_\tKind=Acc\t_\t_")
    assert findings(text, LanguageData.of(TREEBANK), partial=True) == []


def test_messages_say_what_may_be_meant(tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    file.write_text(changed("nsubj:pass", "nsubj:pas"))
    ((_, finding),) = [
        (path, finding)
        for path, finding in check_files([file], language=LanguageData.of(TREEBANK))
        if finding.level > 3
    ]
    assert finding.message == (
        "DEPREL: the language data do not have the relation 'nsubj:pas'; did you mean nsubj:pass?"
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("auxiliarys = []", "found 'auxiliarys'; did you mean auxiliaries?"),
        ("colour = 3", "found 'colour'; expected auxiliaries, copulas, relations, features"),
        ("relations = 'nsubj'", "relations: found 'nsubj', expected a list of strings"),
        ("copulas = [1]", r"copulas: found \[1\], expected a list of strings"),
        ("features = 1", "features: found 1, expected a table for each UPOS"),
        ("[features.Noun]", r"features: found 'Noun', expected a table \[features.UPOS\]"),
        ("[features.NOUN]\nCase = 'Nom'", "features.NOUN.Case: found 'Nom', expected a list of strings"),
        ("relations = [", "is not valid TOML"),
    ],
)
def test_mistakes_in_the_file_are_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / LANGUAGE_FILE
    file.write_text(text)
    with pytest.raises(InputError, match=rf"{LANGUAGE_FILE}: {message}"):
        LanguageData.read(file)


# ---- the command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.conllu").write_text(TEXT)
    (tmp_path / "dev.conllu").write_text(changed("nsubj:pass", "nsubj:outer"))
    return tmp_path


def test_the_command_learns_and_then_checks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, dev = str(folder / "train.conllu"), str(folder / "dev.conllu")
    assert run(["validate", "--level", "ud", "--no-warnings", dev]) == 0
    assert run(["validate", "--level", "4", dev]) == 2
    assert "--level 4: needs language data; expected arcwise-language.toml" in capsys.readouterr().err
    assert run(["validate", "--learn", train]) == 0
    file = folder / LANGUAGE_FILE
    assert capsys.readouterr().err == (
        f"{file}: 9 relations, 6 features, 2 auxiliaries; read it and delete mistakes\n"
    )
    assert find_language([dev]) == file
    assert run(["validate", "--level", "ud", "--no-warnings", "--json", dev]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["rule"] == "unknown-deprel"
    assert err == f"language data: {file}\n"
    assert run(["validate", "--level", "3", dev]) == 0


def test_edited_data_are_never_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, file = str(folder / "train.conllu"), folder / LANGUAGE_FILE
    file.write_text("auxiliaries = ['be']  # mine\n")
    assert run(["validate", "--learn", train]) == 2
    assert f"{file}: exists already; use --overwrite to replace it" in capsys.readouterr().err
    assert run(["validate", "--learn", train, "--to", str(file)]) == 2
    assert file.read_text() == "auxiliaries = ['be']  # mine\n"
    # Only auxiliaries are checked, since only they are listed.
    assert run(["validate", "--level", "5", train, "--no-warnings"]) == 1
    assert capsys.readouterr().out.endswith("'have' is not an auxiliary of the language data [aux-lemma]\n")
    assert run(["validate", "--learn", train, "--overwrite"]) == 0
    assert LanguageData.read(file) == LanguageData.of(TREEBANK)
    assert sorted(path.name for path in folder.iterdir()) == [LANGUAGE_FILE, "dev.conllu", "train.conllu"]


def test_data_elsewhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, dev, file = (str(folder / name) for name in ("train.conllu", "dev.conllu", "x.toml"))
    assert run(["validate", "--learn", train, "--to", file]) == 0
    assert run(["validate", "--level", "4", "--language", file, dev]) == 1
    assert run(["validate", "--learn", train, "--to", "-"]) == 0
    assert capsys.readouterr().out.endswith(Path(file).read_text())


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--learn", "--level", "ud"], "--learn: cannot be combined with --level"),
        (["--learn", "--json"], "--learn: cannot be combined with --json"),
        (["--to", "x.toml"], "--to: needs --learn"),
        (["--overwrite"], "--overwrite: needs --learn"),
        (["--language", "train.conllu", "--level", "2"], "--language train.conllu: needs --level 4, 5"),
        (["--language", "train.conllu", "--level", "ud"], "train.conllu: is not valid TOML"),
        (["--language", "none.toml", "--level", "ud"], "none.toml: no such file"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    assert run(["validate", *arguments, "train.conllu"]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / LANGUAGE_FILE).exists()


def test_nothing_is_learned_from_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "raw.conllu").write_text("1\tBirds\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    assert run(["validate", "--learn", str(tmp_path / "raw.conllu")]) == 2
    assert "has no annotated words to learn from" in capsys.readouterr().err
    assert not (tmp_path / LANGUAGE_FILE).exists()
