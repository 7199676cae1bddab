"""Features that the papers have beside those of every day: pairs of single values, prefixes, squeezed
templates, many clusters."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from arcwise.errors import OptionError
from arcwise.features.templates import parse_templates
from arcwise.graph import GraphParser
from arcwise.graph.config import GraphConfig
from arcwise.graph.table import template_lines
from arcwise.graph.templates import ARC_TEMPLATES, LABEL_TEMPLATES, squeezed_templates, with_prefixes
from arcwise.treebanks import Treebank
from graph.small_space import Small, cells, feature_places, labelled_scores, small, states

WORDS = [
    ("dogs", "Case=Nom|Number=Plur", "Soft=a,b", 2, "nsubj"),
    ("see", "Mood=Ind|Number=Plur|Tense=Pres", "Soft=b", 0, "root"),
    ("cats", "Number=Plur|Case=Nom", "Soft=b,a|X=1", 2, "obj"),
    ("now", "_", "_", 2, "obj"),
]
"""Words 1 and 3 have the same values in another order; word 4 has none."""
FEW = [("sleep", "Mood=Imp", "Soft=b", 0, "root"), ("now", "Number=Plur", "Soft=a", 1, "obj")]


def with_values() -> Treebank:
    def rows(words: list[tuple[str, str, str, int, str]]) -> str:
        return "".join(
            f"{i}\t{form}\t_\tT\t_\t{feats}\t{head}\t{label}\t_\t{misc}\n"
            for i, (form, feats, misc, head, label) in enumerate(words, 1)
        )

    return Treebank.from_string(f"{rows(WORDS)}\n{rows(FEW)}\n")


def values_of(column: str) -> list[list[str]]:
    """The values of each word, by the book; the root has none."""
    place, key, separator = {"feats": (1, "", "|"), "misc.Soft": (2, "Soft=", ",")}[column]
    fields = [word[place].partition("|X")[0] if key else word[place] for word in WORDS]
    return [[]] + [field.removeprefix(key).split(separator) if field != "_" else [] for field in fields]


def pairs_alone(column: str, *, labels: bool) -> Small:
    """A table with no other feature than pairs."""
    line = (f"h.upos m.upos pairs.{column}",)
    return small(
        with_values(),
        labelled=labels,
        arc_templates=() if labels else line,
        label_templates=line if labels else (),
        arc_bits=20,
        row_bits=20,
    )


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("column", ["feats", "misc.Soft"])
def test_each_pair_of_a_value_of_the_head_and_one_of_the_modifier_is_a_feature(
    column: str, labels: bool
) -> None:
    """Same tags and direction: places are the same exactly if head's value and modifier's value are."""
    case, values = pairs_alone(column, labels=labels), values_of(column)
    place_of: dict[tuple[str, str, bool, bool], set[int]] = {}
    for h in range(5):
        for m in range(1, 5):
            if h == m:
                continue
            wanted = {(a, b, m > h, h == 0) for a in values[h] for b in values[m]}
            found = feature_places(case, 0, h, m, 0)
            assert len(found) == len(set(found)) == len(wanted) * (2 if labels else 1)
            for key in wanted:
                place_of[key] = place_of.get(key, set(found)) & set(found)
    assert all(place_of.values())
    if not labels:  # each pair has one place, its own
        alone = [arc for arc in place_of.values() if len(arc) == 1]
        assert len({next(iter(arc)) for arc in alone}) == len(alone)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("column", ["feats", "misc.Soft"])
def test_scores_are_sums_over_pairs(column: str, labels: bool) -> None:
    assert_scores_are_sums(pairs_alone(column, labels=labels))


def assert_scores_are_sums(case: Small) -> None:
    """The score of a label: the log of the sum over its clusters of exp of the sum of its weights."""
    rng = np.random.default_rng(1)
    weights = (0.3 * rng.normal(size=cells(case))).astype(np.float32)
    for s in range(len(case.treebank)):
        scores = labelled_scores(case, weights, s)
        n = scores.shape[1] - 1
        for h, m in ((h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m):
            of_label: dict[int, list[float]] = {}
            for number, (label, _) in enumerate(states(case, s, h, m)):
                total = weights[feature_places(case, s, h, m, number)].sum(dtype=np.float64)
                of_label.setdefault(max(label, 0), []).append(float(total))
            for label, sums in of_label.items():
                assert scores[label, h, m] == pytest.approx(np.logaddexp.reduce(sums), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("clusters", [65, 1024])
def test_there_may_be_a_thousand_clusters(clusters: int, labelled: bool) -> None:
    case = small(
        with_values(),
        trainer="latent",
        clusters=clusters,
        labelled=labelled,
        restrict_labels=False,
        arc_bits=12,
        row_bits=14,
    )
    assert len(states(case, 0, 2, 1)) == clusters * (3 if labelled else 1)
    assert_scores_are_sums(case)


@pytest.mark.slow
def test_a_thousand_clusters_are_trained_and_squeezed() -> None:
    bank = with_values()
    config = GraphConfig(
        trainer="latent", clusters=1000, squeezed=True, epochs=20, labelled=False, row_bits=20
    )
    parser = GraphParser.train(bank, config=config)
    assert parser.parse(bank).heads.tolist() == bank.heads.tolist()


# ---- templates


def test_every_template_with_a_word_is_there_with_its_prefix() -> None:
    """McDonald et al. 2005, section 2.4: of head and of modifier; neighbours keep their words."""
    arc, label = template_lines(GraphConfig(word_prefixes=True))
    both = {*arc, *label}
    for line in map(str, parse_templates([*ARC_TEMPLATES, *LABEL_TEMPLATES])):
        assert line.replace("h.word", "h.prefix5").replace("m.word", "m.prefix5") in both
    assert len(arc) + len(label) == len(both)


def test_without_the_options_templates_are_those_of_every_day() -> None:
    arc, label = template_lines(GraphConfig())
    assert arc == [str(t) for t in parse_templates(ARC_TEMPLATES)]
    assert label == [str(t) for t in parse_templates(LABEL_TEMPLATES)]


def test_prefixes_are_added_once() -> None:
    once = with_prefixes(parse_templates(["h.word m.upos"]))
    assert with_prefixes(once) == once


def test_squeezed_templates_have_no_two_words_two_lemmas_or_four_tags() -> None:
    kept = squeezed_templates(parse_templates([*ARC_TEMPLATES, *LABEL_TEMPLATES]))
    assert 0 < len(kept) < len(ARC_TEMPLATES) + len(LABEL_TEMPLATES)
    for template in kept:
        atoms = [part.atom for part in template.parts]
        assert atoms.count("word") < 2
        assert atoms.count("lemma") < 2
        assert atoms.count("upos") + atoms.count("xpos") < 4
    assert "h.word m.upos @ direction distance" in map(str, kept)


# ---- options


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"feats_pairs": True}, "h.upos m.upos pairs.feats @ direction"),
        ({"list_columns": ("MISC:Soft",)}, "h.upos m.upos pairs.misc.Soft @ direction"),
    ],
)
def test_a_model_with_pairs_is_kept_and_parses_the_same(
    tmp_path: Path, options: dict[str, object], line: str
) -> None:
    bank = with_values()
    parser = GraphParser.train(bank, config=GraphConfig(epochs=3, arc_bits=12, row_bits=12, **options))  # type: ignore[arg-type]
    assert line in (*parser.model.alphabets.arc_templates, *parser.model.alphabets.label_templates)
    parser.save(tmp_path / "model")
    again = GraphParser.load(tmp_path / "model")
    assert again.model.alphabets == parser.model.alphabets
    assert again.parse(bank).data == parser.parse(bank).data


def test_pairs_of_an_empty_column_are_left_out_unless_the_column_was_asked_for() -> None:
    bank = with_values()
    empty = bank.annotate(feats=["_"] * 6)
    config = GraphConfig(epochs=1, arc_bits=10, row_bits=10, feats_pairs=True)
    assert not any(
        "pairs" in t for t in GraphParser.train(empty, config=config).model.alphabets.label_templates
    )
    with pytest.raises(OptionError, match="list_columns: found 'MISC:Sfot', expected a column that"):
        GraphParser.train(bank, config=GraphConfig(epochs=1, list_columns=("MISC:Sfot",)))


def test_only_columns_with_several_values_are_lists() -> None:
    with pytest.raises(OptionError, match="list_columns"):
        GraphConfig(list_columns=("UPOS",))


TABLE_1 = """p-word p-pos; p-word; p-pos; c-word c-pos; c-word; c-pos
p-word p-pos c-word c-pos; p-pos c-word c-pos; p-word c-word c-pos; p-word p-pos c-pos; p-word p-pos c-word
p-word c-word; p-pos c-pos; p-pos b-pos c-pos
p-pos p-pos+1 c-pos-1 c-pos; p-pos-1 p-pos c-pos-1 c-pos
p-pos p-pos+1 c-pos c-pos+1; p-pos-1 p-pos c-pos c-pos+1"""
"""McDonald et al. 2005, in the paper's names: parent, child, a word between; its place after the name."""
SURROUNDING = ("p-pos-1", "p-pos+1", "c-pos-1", "c-pos+1")


def in_our_names(feature: frozenset[str]) -> frozenset[str]:
    def part(name: str) -> str:
        side, kind, place = re.fullmatch(r"([pcb])-(word|pos)([+-]1)?", name).groups()  # type: ignore[union-attr]
        if side == "b":
            return "between.each"
        return {"p": "h", "c": "m"}[side] + (place or "") + {"word": ".word", "pos": ".upos"}[kind]

    return frozenset(map(part, feature))


@pytest.mark.parametrize("labelled", [True, False])
def test_the_feature_set_of_mcdonald_is_the_table_of_the_paper(labelled: bool) -> None:
    table = {frozenset(cell.split()) for line in TABLE_1.splitlines() for cell in line.split(";")}
    fourgrams = [feature for feature in table if len(feature & set(SURROUNDING)) == 2]
    assert (len(table), len(fourgrams)) == (18, 4)
    table |= {feature - {tag} for feature in fourgrams for tag in feature & set(SURROUNDING)}  # back-off
    wanted = {in_our_names(feature) for feature in table}
    # "for both the entire words as well as the 5-gram prefix"
    wanted |= {frozenset(part.replace(".word", ".prefix5") for part in feature) for feature in wanted}
    config = GraphConfig(features="mcdonald2005", labelled=labelled)
    arc, label = template_lines(config)
    assert not (arc if labelled else label)
    lines = label if labelled else arc
    assert all(line.endswith(" @ distance") for line in lines)
    found = [frozenset(line.removesuffix(" @ distance").split()) for line in lines]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_templates_beside_the_feature_set_of_a_paper_are_refused() -> None:
    config = GraphConfig(features="mcdonald2005", arc_templates=("h.upos m.upos",))
    with pytest.raises(OptionError, match=r"arc_templates.*features = 'mcdonald2005' replaces it"):
        config.refuse_unread()


@pytest.mark.parametrize("labelled", [True, False])
def test_a_parser_learns_with_the_features_of_mcdonald(labelled: bool, tmp_path: Path) -> None:
    treebank = with_values()
    config = GraphConfig(features="mcdonald2005", labelled=labelled, epochs=10, arc_bits=14, row_bits=14)
    parser = GraphParser.train(treebank, config=config)
    parser.save(tmp_path / "model")
    again = GraphParser.load(tmp_path / "model")
    assert again.model.config.features == "mcdonald2005"
    assert (again.parse(treebank).heads == treebank.heads).all()


def test_a_proposed_arc_has_a_feature_that_other_arcs_have_not() -> None:
    """The value is the head's number; 0 is the root; a word may propose several heads or none."""
    proposals = ["0", "1,3", "_", "33"]
    rows = "".join(
        f"{i}\tw\t_\tT\t_\t_\t{int(i > 1)}\tx\t_\t{'_' if vote == '_' else 'Vote=' + vote}\n"
        for i, vote in enumerate(proposals, 1)
    )
    bank = Treebank.from_string(rows + "\n")
    lines = ("m.upos proposed.misc.Vote @ nothing",)
    case = small(bank, labelled=False, arc_templates=lines, label_templates=(), arc_bits=20)
    places = {(h, m): feature_places(case, 0, h, m, 0) for h in range(5) for m in range(1, 5) if h != m}
    arcs = {arc for arc, own in places.items() if own}
    assert arcs == {(0, 1), (1, 2), (3, 2)}
    assert len({tuple(places[arc]) for arc in arcs}) == 1  # one weight: what a proposal is worth
