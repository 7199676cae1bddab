"""UPOS, XPOS, FEATS and lemmas; jack-knifing; lemma and split scripts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcwise import native
from arcwise.errors import InputError, ModelError
from arcwise.features.lemma_scripts import lemma_script
from arcwise.text.jackknife import jackknife_tags
from arcwise.text.multiword import scripts_for
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.columns import probability_pairs, upos_confidence
from text.toy import toy_treebank


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger.train(toy_treebank())


def blank(forms: list[str]) -> Treebank:
    return Treebank.from_sentences([Sentence.from_words(forms)])


def test_training_data_are_tagged_as_they_were(tagger: Tagger) -> None:
    gold = toy_treebank()
    tagged = tagger.tag(gold.annotate(upos=["_"] * gold.word_count, lemma=["_"] * gold.word_count))
    assert tagged.data == gold.data


def test_new_words_are_tagged_by_their_endings_and_neighbours(tagger: Tagger) -> None:
    (sentence,) = tagger.tag(blank(["The", "weasel", "greets", "ferrets", "."]))
    assert sentence.upos == ["DET", "NOUN", "VERB", "NOUN", "PUNCT"]
    assert sentence.lemmas[3] == "ferret"
    assert sentence.feats[3] == "Number=Plur"


def test_new_words_are_taken_apart_into_a_stem_and_an_ending() -> None:
    stems = ["tala", "wobi", "sirek", "munod", "kipla", "rofe", "danul", "jemit"]
    endings = {"": "Case=Nom", "len": "Case=Gen", "mas": "Case=Dat", "doku": "Case=Loc"}
    kept = [
        (stem, ending)
        for i, stem in enumerate(stems)
        for j, ending in enumerate(endings)
        if not ending or (i + j) % 3 or i == 0
    ]
    left_out = [(s, e) for s in stems for e in endings if (s, e) not in kept]
    rows = [f"1\t{s}{e}\t{s}\tNOUN\t_\t{endings[e]}\t0\troot\t_\t_\n\n" for s, e in kept]
    rows += [f"1\t{s}v{i}\t{s}v\tVERB\t_\t_\t0\troot\t_\t_\n\n" for i, s in enumerate(stems)]
    tagger = Tagger.train(Treebank.from_string("".join(rows)))
    tagged = tagger.tag(Treebank.from_sentences([Sentence.from_words([s + e]) for s, e in left_out]))
    assert len(left_out) > 4
    assert tagged.column("lemma") == [stem for stem, _ in left_out]
    assert tagged.column("feats") == [endings[ending] for _, ending in left_out]


def test_a_stem_may_change_its_last_letter() -> None:
    stems = ["tam", "wob", "sir", "mun", "kip", "rof", "dan", "jem"]
    rows = [f"1\t{s}ek\t{s}ek\tNOUN\t_\tCase=Nom\t0\troot\t_\t_\n\n" for s in stems]
    rows += [f"1\t{s}eği\t{s}ek\tNOUN\t_\tCase=Acc\t0\troot\t_\t_\n\n" for s in stems[:-2]]
    tagger = Tagger.train(Treebank.from_string("".join(rows)))
    tagged = tagger.tag(Treebank.from_sentences([Sentence.from_words([s + "eği"]) for s in stems[-2:]]))
    assert tagged.column("lemma") == ["danek", "jemek"]
    assert tagger.pack().header["alternations"] == [(ord("ğ"), ord("k"))]


def test_confidences_are_probabilities(tagger: Tagger) -> None:
    tags = tagger.tags(toy_treebank()[:20])
    assert np.all((tags.upos_probability > 0.5) & (tags.upos_probability <= 1))
    tagged = tagger.tag(blank(["The", "dog"]), confidence=True)
    assert [m.partition("=")[0] for m in tagged[0].misc] == ["UposProb", "UposProb"]


def test_threads_change_nothing(tagger: Tagger) -> None:
    assert tagger.tag(toy_treebank(), threads=3).data == tagger.tag(toy_treebank()).data


def test_the_same_seed_gives_the_same_tagger() -> None:
    first, second = (Tagger.train(toy_treebank()[:60]).pack().arrays for _ in range(2))
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.parametrize("config", [TaggerConfig(perceptron=True), TaggerConfig(joint_tags=0)])
def test_other_ways_to_learn(config: TaggerConfig) -> None:
    gold = toy_treebank()
    assert Tagger.train(gold, config=config).tag(gold).data == gold.data


def test_a_packed_tagger_is_the_same(tagger: Tagger) -> None:
    packed = tagger.pack()
    header, arrays = packed.header, packed.arrays
    again = Tagger.unpack(packed)
    assert again.tag(toy_treebank()).data == tagger.tag(toy_treebank()).data
    with pytest.raises(ModelError, match="damaged"):
        Tagger.unpack(replace(packed, arrays={k: v for k, v in arrays.items() if k != "transitions"}))
    with pytest.raises(ModelError, match="damaged"):
        Tagger.unpack(replace(packed, header={k: v for k, v in header.items() if k != "scripts"}))
    for name in (
        "states.outputs",
        "bundles.outputs",
        "lemmas.outputs",
        "dictionary.sets",
        "lexicon.scripts",
        "sets.states",
    ):
        with pytest.raises(ModelError, match="damaged"):
            Tagger.unpack(replace(packed, arrays={**arrays, name: np.full_like(arrays[name], 200)}))


def test_jackknifed_tags_come_from_others() -> None:
    treebank = toy_treebank()
    tagged = jackknife_tags(treebank[:40], folds=4)
    assert [s.forms for s in tagged] == [s.forms for s in treebank[:40]]
    assert [s.tree for s in tagged] == [s.tree for s in treebank[:40]]
    forms, upos = treebank.column("form"), treebank.column("upos")
    marked = treebank.annotate(upos=["X" if w == "cats" else u for w, u in zip(forms, upos, strict=True)])
    assert jackknife_tags(marked, folds=2).column("upos") == marked.column("upos")
    own = treebank.annotate(upos=["X"] * len(treebank[0]) + upos[len(treebank[0]) :])
    assert "X" not in jackknife_tags(own, folds=2)[0].upos  # no other sentence has this tag
    with pytest.raises(InputError, match="found 999 folds"):
        jackknife_tags(treebank, folds=999)


def test_an_empty_treebank_teaches_nothing() -> None:
    with pytest.raises(InputError, match="found no word"):
        Tagger.train(Treebank.from_string(""))


@given(st.text(min_size=1, max_size=12), st.text(min_size=1, max_size=12))
def test_a_lemma_script_makes_its_lemma(form: str, lemma: str) -> None:
    form, lemma = (t.encode("utf-8", "replace").decode() for t in (form, lemma))
    assert native.lemma_apply(lemma_script(form, lemma), form) == lemma


@pytest.mark.parametrize(
    "form, lemma",
    [
        ("Running", "run"),
        ("geese", "goose"),
        ("USA", "USA"),
        ("LONDON", "London"),
        ("İstanbul'da", "İstanbul"),
    ],
)
def test_lemma_scripts_of_real_words(form: str, lemma: str) -> None:
    script = lemma_script(form, lemma)
    assert native.lemma_apply(script, form) == lemma
    assert not script[-1]


@pytest.mark.parametrize(
    "token, words, other, others",
    [
        ("don't", ["do", "n't"], "WON'T", ["WO", "N'T"]),
        ("verlo", ["ver", "lo"], "tenerlo", ["tener", "lo"]),
        ("yirmilerindeki", ["yirmilerinde", "ki"], "evdeki", ["evde", "ki"]),
    ],
)
def test_split_scripts_carry_over(token: str, words: list[str], other: str, others: list[str]) -> None:
    script = next(scripts_for(token, words))
    assert native.split_apply(list(script), token) == words
    assert native.split_apply(list(script), other) == others


@pytest.mark.parametrize(
    "token, words",
    [("da", ["de", "a"]), ("Zum", ["Zu", "dem"]), ("DEL", ["DE", "EL"]), ("chamá-lo", ["chamar", "lo"])],
)
def test_some_split_script_makes_the_words(token: str, words: list[str]) -> None:
    assert words in [native.split_apply(list(s), token) for s in scripts_for(token, words)]


def test_a_script_too_long_for_its_token_splits_nothing() -> None:
    assert native.split_apply([(0, -3, False, ""), (-3, 0, True, "")], "it") == []


@pytest.mark.parametrize("changed", [{"damping": 0.01}, {"rate": 0.01}, {"epochs": 2}, {"prune": 0.5}])
def test_options_reach_the_trainer(changed: dict[str, float]) -> None:
    weights = [
        Tagger.train(toy_treebank(), config=TaggerConfig(**options)).pack().arrays  # type: ignore[arg-type]
        for options in ({}, changed)
    ]
    names = ("states.largest", "states.codes")
    assert any(weights[0][name].tobytes() != weights[1][name].tobytes() for name in names)


# ---- tags that are kept


def with_columns(forms: list[str], **columns: list[str]) -> Treebank:
    return Treebank.from_sentences([Sentence.from_words(forms, **columns)])


def test_kept_values_stay_and_the_others_are_chosen_to_fit_them() -> None:
    """A form that is a noun or a verb: whichever value is given decides the other columns."""
    noun = "1\tsees\tsee\tNOUN\tN\tNumber=Plur\t0\troot\t_\t_\n\n"
    verb = "1\tsees\tse\tVERB\tV\tTense=Pres\t0\troot\t_\t_\n\n"
    own = Tagger.train(Treebank.from_string(5 * noun + 9 * verb))
    (free,) = own.tag(blank(["sees"]))
    assert (free.upos, free.lemmas, free.feats) == (["VERB"], ["se"], ["Tense=Pres"])
    wanted = {"upos": ["NOUN"], "xpos": ["N"], "feats": ["Number=Plur"]}
    for name, value in wanted.items():
        (kept,) = own.tag(with_columns(["sees"], **{name: value}), keep=(name,), confidence=True)
        assert (kept.upos, kept.xpos, kept.feats, kept.lemmas) == (*wanted.values(), ["see"]), name
        (again,) = own.tag(with_columns(["sees"], **{name: value}))
        assert again.upos == ["VERB"]
    (lemma,) = own.tag(with_columns(["sees"], lemma=["own"]), keep=("lemma",))
    assert (lemma.lemmas, lemma.upos) == (["own"], ["VERB"])


def test_an_unseen_form_gets_no_script_that_only_fits_seen_ones() -> None:
    """Not *sing* → *se* by the script of *using*, nor *sang* → *sell* by that of *sold*."""
    irregular = [("sold", "sell"), ("rang", "ring"), ("told", "tell")]
    pairs = [("using", "use"), ("making", "make"), ("walk", "walk"), *irregular]
    rows = [f"1\t{form}\t{lemma}\tVERB\tV\t_\t0\troot\t_\t_\n\n" for form, lemma in pairs]
    verbs = Tagger.train(Treebank.from_string(9 * "".join(rows)))
    tagged = verbs.tag(blank(["sing", "sang", "bold", "baking", "sold", "Rang"]))
    assert tagged.column("lemma")[3:] == ["bake", "sell", "ring"]
    assert not {"se", "sell", "tell", "ring"} & set(tagged.column("lemma")[:3])
    packed = verbs.pack("float32")
    header = {name: value for name, value in packed.header.items() if name != "script_fits"}
    old = Tagger.unpack(replace(packed, header=header))
    assert {"se", "sell", "tell", "ring"} & set(old.tag(blank(["sing", "sang", "bold"])).column("lemma"))


def test_a_constant_lemma_of_a_class_fits_its_unseen_forms() -> None:
    rows = [f"1\t{n}\t@number@\tNUM\tM\t_\t0\troot\t_\t_\n\n" for n in (12, 47, 365, 88)]
    numerals = Tagger.train(Treebank.from_string(9 * "".join(rows)))
    assert numerals.tag(blank(["93"])).column("lemma") == ["@number@"]


def test_the_lemma_is_that_of_the_features_that_are_kept() -> None:
    rows = [
        f"1\tsees\t{lemma}\tNOUN\tN\tNumber={number}\t0\troot\t_\t_\n\n"
        for lemma, number in (("see", "Plur"), ("sees", "Sing"))
    ]
    own = Tagger.train(Treebank.from_string(9 * rows[0] + 5 * rows[1]))
    assert own.tag(blank(["sees"]))[0].lemmas == ["see"]
    for lemma, number in (("see", "Number=Plur"), ("sees", "Number=Sing")):
        (kept,) = own.tag(with_columns(["sees"], feats=[number]), keep=("feats",))
        assert (kept.feats, kept.lemmas) == ([number], [lemma])


def test_kept_values_that_training_never_saw_stay_too(tagger: Tagger) -> None:
    forms = ["The", "dog", "sees", "birds", "."]
    (kept,) = tagger.tag(
        with_columns(
            forms,
            upos=["X", "_", "_", "_", "_"],
            xpos=["_", "QQ", "_", "_", "_"],
            feats=["_", "_", "Odd=Yes", "_", "_"],
            lemma=["_", "_", "_", "BIRD", "_"],
        ),
        keep=("upos", "xpos", "feats", "lemma"),
        confidence=True,
    )
    assert kept.upos == ["X", "NOUN", "VERB", "NOUN", "PUNCT"]
    assert kept.xpos == ["D", "QQ", "V", "N", "P"]
    assert kept.feats == ["_", "Number=Sing", "Odd=Yes", "Number=Plur", "_"]
    assert kept.lemmas == ["the", "dog", "see", "BIRD", "."]
    assert kept.misc[0] == "UposProb=1.000"


def test_a_kept_tag_is_seen_by_its_neighbours() -> None:
    """Which of two tags a word has depends on the one before it alone."""
    rows = []
    for first, second in (("A", "C"), ("B", "D")):
        rows.append(f"1\tx\t_\t{first}\t_\t_\t0\troot\t_\t_\n2\ty\t_\t{second}\t_\t_\t1\tdep\t_\t_\n\n")
    own = Tagger.train(Treebank.from_string(20 * "".join(rows)))
    for first, second in (("A", "C"), ("B", "D")):
        (kept,) = own.tag(with_columns(["x", "y"], upos=[first, "_"]), keep=("upos",))
        assert kept.upos == [first, second]
    (kept,) = own.tag(with_columns(["x", "y"], upos=["_", "D"]), keep=("upos",))
    assert kept.upos == ["B", "D"]
    both = Treebank.from_sentences(
        [Sentence.from_words(["x", "y"], upos=[first, "_"]) for first in ("A", "B", "A")]
    )
    assert own.tag(both, keep=("upos",)).column("upos") == ["A", "C", "B", "D", "A", "C"]


def test_keeping_what_the_tagger_says_changes_nothing(tagger: Tagger) -> None:
    bank = toy_treebank()[:40]
    once = tagger.tag(bank)
    assert tagger.tag(once, keep=("lemma", "upos", "xpos", "feats")).data == once.data
    some = once.annotate(upos=["_" if w % 2 else t for w, t in enumerate(once.column("upos"))])
    assert tagger.tag(some, keep=("upos",), threads=3).data == once.data


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=50))
def test_a_confidence_has_the_digits_that_its_number_has(values: list[float]) -> None:
    """Taken from a table, which rounds as writing does."""
    found = upos_confidence(np.array([*values, 0.0005, 0.0625, 0.9995], np.float32))
    told = [float(value) for value in np.array([*values, 0.0005, 0.0625, 0.9995], np.float32)]
    assert [found.strings[code] for code in found.codes] == [f"UposProb={value:.3f}" for value in told]


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=50), st.booleans())
def test_a_probability_in_double_precision_is_rounded_as_in_writing(ties: list[int], single: bool) -> None:
    """Halves of the last digit, which neither precision holds exactly, and their neighbours."""
    halves = np.array(ties) / 20_000
    values = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, 1)])
    probabilities = values.astype(np.float32) if single else values
    coded = probability_pairs("HeadProb", probabilities, 4)
    assert [coded.strings[code] for code in coded.codes] == [
        f"HeadProb={float(p):.4f}" for p in probabilities
    ]
