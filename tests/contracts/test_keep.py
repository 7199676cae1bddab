"""What a person wrote stays: kept columns, constraints of MISC and of Python, for every kind of parser; those
that cannot say so in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arcwise.errors import ConstraintError, InputError
from arcwise.inference import Constraints
from arcwise.parsing import ParseOptions, Parser, ScoredParser
from arcwise.parsing.parser import KEPT, TAGS
from arcwise.treebanks import Treebank
from contracts.every_parser import PARSERS, with_graphs
from contracts.small_treebank import conllu, small_treebank
from contracts.test_scorers import SCORERS

KINDS: dict[str, Callable[[], Parser]] = {
    name: PARSERS[name]
    for name in PARSERS
    if name in ("graph-mira", "graph-latent", "graph-log-linear", "dmv", "pipeline")
    or name.startswith("transition-")
} | {f"scorer-{name}": SCORERS[name] for name in SCORERS}
_MADE: dict[str, Parser] = {}


def made(name: str) -> Any:
    if name not in _MADE:
        _MADE[name] = KINDS[name]()
    return _MADE[name]


@pytest.fixture(params=KINDS, scope="module")
def parser(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


CONSTRAINED = [name for name in KINDS if not name.startswith(("transition-", "dmv"))]


@pytest.fixture(params=CONSTRAINED, scope="module")
def constrained(request: pytest.FixtureRequest) -> Any:
    """A parser that takes constraints."""
    found = made(request.param)
    assert found.capabilities.constraints
    assert found.capabilities.alternatives
    return found


def scored(parser: Any) -> ScoredParser:
    """The parser itself, or the one inside a pipeline."""
    found = getattr(parser, "parser", parser)
    assert isinstance(found, ScoredParser)
    return found


def as_tagged(parser: Any, treebank: Treebank) -> Treebank:
    """The treebank as the parser inside a pipeline sees it."""
    return parser.tagger.tag(treebank) if parser.kind == "pipeline" else treebank


def hand_annotated() -> Treebank:
    """Every second word with values in all columns that no parser here would think of; the others blank."""
    whole = with_graphs()
    n = whole.word_count
    columns = {
        "lemma": [f"lemma{w}" for w in range(n)],
        "upos": ["X" if w % 4 else "VERB" for w in range(n)],
        "xpos": [f"XP{w}" for w in range(n)],
        "feats": ["Mood=Odd" for _ in range(n)],
        "deprel": ["never:seen" if w % 3 else "obj" for w in range(n)],
        "deps": whole.column("deps"),
    }
    written = {name: [v if w % 2 else "_" for w, v in enumerate(own)] for name, own in columns.items()}
    heads = np.where(np.arange(n) % 2, whole.heads, -1).astype(np.int32)
    return whole.annotate(heads=heads, **written)


def test_everything_that_is_not_blank_stays_in_every_column_that_is_kept(parser: Any) -> None:
    treebank = hand_annotated()
    able = parser.capabilities.keep
    parsed = parser.parse(treebank, options=ParseOptions(keep=able))
    for column in able:
        before, after = treebank.column(column), parsed.column(column)
        assert [a for b, a in zip(before, after, strict=True) if b != "_"] == [b for b in before if b != "_"]
    if parser.capabilities.writes == "trees" and "head" in able:
        assert all(sentence.tree.is_complete for sentence in parsed)
    for column in set(KEPT) - set(able):
        with pytest.raises(InputError, match=rf"^keep: found {column}, which a .* does not keep \(it keeps "):
            parser.parse(treebank, options=ParseOptions(keep=(column,)))


def test_keeping_everything_of_whole_trees_changes_no_byte(parser: Any) -> None:
    gold = small_treebank()
    able = parser.capabilities.keep
    parsed = parser.parse(gold, options=ParseOptions(keep=able))
    columns = [column for column in able if column != "deps"]
    assert all(
        parsed.column(column) == gold.column(column) for column in columns if "_" not in gold.column(column)
    )
    if parser.capabilities.constraints and parser.kind != "pipeline":
        assert parsed.data == gold.data


def test_tags_that_are_kept_are_those_the_parser_sees() -> None:
    pipeline = made("pipeline")
    treebank = small_treebank().annotate(xpos=["N"] * small_treebank().word_count)
    blank = treebank.annotate(heads=np.full(treebank.word_count, -1, np.int32))
    options = ParseOptions(keep=("upos", "xpos", "feats", "lemma"), confidence=True)
    one = pipeline.analyse(blank, options=options)
    tagged = pipeline.tagger.tag(blank, keep=TAGS)
    assert tagged.column("upos") == blank.column("upos")
    two = pipeline.parser.analyse(tagged, options=ParseOptions(confidence=True))
    assert one.treebank.heads.tolist() == two.treebank.heads.tolist()
    assert one.parses.probabilities.head.tolist() == two.parses.probabilities.head.tolist()
    other = pipeline.analyse(blank, options=ParseOptions(confidence=True))
    assert other.treebank.column("upos") != blank.column("upos")
    assert other.parses.probabilities.head.tolist() != one.parses.probabilities.head.tolist()


def blank_but(places: dict[int, tuple[int, str]]) -> Treebank:
    """The small treebank without trees, but for word → (head or -1, label)."""
    whole = small_treebank()
    heads, labels = np.full(whole.word_count, -1, np.int32), ["_"] * whole.word_count
    for word, (head, label) in places.items():
        heads[word], labels[word] = head, label
    return whole.annotate(heads=heads, deprel=labels)


def possible_trees(parser: Any, treebank: Treebank, **options: bool) -> list[Any]:
    """A tree of every sentence that the parser thinks possible, whatever it leaves out."""
    trees = scored(parser).distributions(as_tagged(parser, treebank), **options)
    return [drawn[0] for drawn in trees.sample(1, seed=5)]


def test_a_label_without_a_head_constrains_the_tree(constrained: Any) -> None:
    """The parse is the best tree of those in which the word has the label."""
    own = scored(constrained)
    if not own.labels:
        return
    for label in own.labels:
        bank = blank_but({0: (-1, label)})
        parsed = constrained.parse(bank, options=ParseOptions(keep=("deprel",)))
        assert parsed.column("deprel")[0] == label
        assert all(sentence.tree.is_complete for sentence in parsed)
        trees = own.distributions(as_tagged(constrained, bank)[:1])[0]
        try:
            given = trees.given(Constraints(labels={1: label})).best()
        except Exception:  # no arc has it: it is written all the same
            assert "parse_note" in parsed[0].comments
            continue
        decoder = own.decoding.decode
        if decoder == "map":
            assert parsed[0].tree.heads.tolist() == given.heads.tolist()


def test_confidences_are_those_given_what_is_kept(constrained: Any) -> None:
    own = scored(constrained)
    first, second = (tree.heads for tree in possible_trees(constrained, blank_but({}))[:2])
    bank = blank_but({0: (int(first[1]), "_"), 4: (int(second[2]), "_")})
    found = constrained.analyse(bank, options=ParseOptions(keep=("head",), confidence=True))
    marginals = own.distributions(
        as_tagged(constrained, bank)[:2],
        constraints=[Constraints(required=[(first[1], 1)]), Constraints(required=[(second[2], 2)])],
    ).marginals
    for word, (s, m) in enumerate([(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5)]):
        wanted = marginals[s][found.parses.heads[word], m]
        if (
            constrained.kind != "pipeline"
        ):  # the tags here are none of its own: which arcs it leaves out depends on what is kept
            assert found.parses.probabilities.head[word] == pytest.approx(wanted, abs=1e-6)
    assert found.parses.probabilities.head[[0, 4]].tolist() == [1.0, 1.0]


# ---- trees outside the class, and decisions that fit no tree


ODD = [
    "The/DET/2/det cat/NOUN/3/nsubj sleeps/VERB/0/root",
    "A/DET/3/det cat/NOUN/4/nsubj the/DET/0/root dog/VERB/0/root",  # arcs cross, two roots
    "The/DET/_/_ cat/NOUN/3/_ sleeps/VERB/_/_",  # with what MISC says of it, a cycle
    "Birds/NOUN/_/_ sing/VERB/_/_ songs/NOUN/_/_",
]


def odd() -> Treebank:
    whole = Treebank.from_string(conllu(ODD), source="odd.conllu")
    return with_misc(whole, {9: "Head=2"})


def test_hand_trees_outside_the_class_widen_it_for_their_sentence(constrained: Any) -> None:
    options = ParseOptions(keep_heads=True, misc_constraints=True, projective=True, single_root=True)
    found = constrained.analyse(odd(), options=options)
    parsed = found.treebank
    assert parsed[1].heads.tolist() == odd()[1].heads.tolist()
    assert [note.sentence for note in found.notes] == [1, 2]
    assert str(found.notes[0]) == (
        "odd.conllu (s2): its constraints need several roots (3 and 4) and crossing arcs (0 → 3 and 4 → 2), "
        "which this sentence may therefore have"
    )
    assert parsed[1].comments["parse_note"] == found.notes[0].text
    last = constrained.parse(Treebank.from_sentences([odd()[3]]), options=options)
    assert parsed[3].heads.tolist() == last[0].heads.tolist()
    assert parsed[3].tree.is_projective
    assert len(parsed[3].tree.roots) == 1


def test_decisions_that_fit_no_tree_leave_the_sentence_as_it_is(constrained: Any) -> None:
    for more in ({}, {"confidence": True, "alternatives": 2}, {"k_best": 2, "confidence": True}):
        options = ParseOptions(keep_heads=True, misc_constraints=True, **more)
        found = constrained.analyse(odd(), options=options)
        cycle = next(s for s in found.treebank if s.sent_id == "s3")
        assert cycle.heads.tolist() == [-1, -1, 3, -1]
        assert "left unchanged" in cycle.comments["parse_note"]
        assert "2 → 3 → 2 form a cycle" in cycle.comments["parse_note"]
        assert all("Prob=" not in m.replace("UposProb", "") for m in cycle.misc)
        assert all("Alternatives" not in m for m in cycle.misc)
        assert "odd.conllu (s3): left unchanged" in str(found.notes[-1])
        last = next(s for s in found.treebank if s.sent_id == "s4")
        assert last.tree.is_complete


def test_partial_trees_that_no_projective_tree_has_widen_too(constrained: Any) -> None:
    """2 → 1 and 1 → 3 do not cross, but the arc from the root to 2 crosses one."""
    text = conllu(["a/DET/2/_ b/NOUN/_/_ c/VERB/1/_"])
    bank = Treebank.from_string(text, source="partial.conllu")
    found = constrained.analyse(bank, options=ParseOptions(keep=("head",), projective=True, single_root=True))
    assert found.treebank.heads.tolist() == [2, 0, 1]
    assert "crossing arcs" in found.notes[0].text


# ---- constraints


def with_misc(treebank: Treebank, misc: dict[int, str]) -> Treebank:
    return treebank.annotate(misc_update=[misc.get(word, "") for word in range(treebank.word_count)])


def test_misc_says_what_constraints_say(constrained: Any) -> None:
    own = scored(constrained)
    first, second = (tree.heads.tolist() for tree in possible_trees(constrained, blank_but({}))[:2])
    others = [h for h in (5, 4, 3, 1, 0) if h != second[2]][:2]
    one_of = sorted({second[3], 1})
    misc = {
        0: f"Head={first[1]}",
        4: f"NotHead={others[0]},{others[1]}",
        5: f"SpaceAfter=No|Head={','.join(map(str, one_of))}",
    }
    bank = with_misc(blank_but({}), misc)
    constraints: list[Constraints | None] = [None] * len(bank)
    constraints[0] = Constraints(required=[(first[1], 1)])
    no_head = [(h, 3) for h in range(6) if h != 3 and h not in one_of]
    constraints[1] = Constraints(forbidden=[*((h, 2) for h in others), *no_head])
    options = ParseOptions(misc_constraints=True, confidence=True)
    one = constrained.analyse(bank, options=options)
    two = constrained.analyse(bank, options=ParseOptions(confidence=True), constraints=constraints)
    assert one.treebank.heads.tolist() == two.treebank.heads.tolist()
    assert one.parses.probabilities.head.tolist() == two.parses.probabilities.head.tolist()
    heads = one.treebank.heads
    assert heads[0] == first[1]
    assert heads[4] not in others
    assert heads[5] in one_of
    trees = own.distributions(as_tagged(constrained, bank)[:2], constraints=constraints[:2])
    for s, start in ((0, 0), (1, 3)):
        for m in range(1, len(bank[s]) + 1):
            wanted = trees.marginals[s][heads[start + m - 1], m]
            assert one.parses.probabilities.head[start + m - 1] == pytest.approx(wanted, abs=1e-6)
    assert one.treebank.column("misc")[5].startswith(misc[5])


def test_a_label_of_misc_is_written(constrained: Any) -> None:
    label = (scored(constrained).labels or ("none",))[-1]
    bank = with_misc(blank_but({}), {0: f"Head=2|Deprel={label}"})
    found = constrained.analyse(bank, options=ParseOptions(misc_constraints=True))
    if scored(constrained).labels:
        assert (found.treebank.heads[0], found.treebank.column("deprel")[0]) == (2, label)
    else:
        assert "the parser has no labels" in found.notes[0].text
    unknown = with_misc(blank_but({}), {0: "Deprel=no:such"})
    found = constrained.analyse(unknown, options=ParseOptions(misc_constraints=True))
    assert "labels: found 'no:such' for word 1" in found.notes[0].text


@pytest.mark.parametrize(
    "misc, message",
    [
        (
            "Head=x",
            r"small.conllu \(s1\), MISC of word 1: found Head=x, expected other words of the sentence",
        ),
        ("Head=1", "found Head=1, expected other words"),
        ("Head=9", r"found Head=9, expected other words of the sentence \(0..3\)"),
        ("NotHead=2,", "found NotHead=2,"),
        ("NotHead=-1", "found NotHead=-1"),
        ("Deprel=", "found Deprel=, expected a label"),
    ],
)
def test_what_misc_cannot_mean_is_an_error_that_names_the_word(misc: str, message: str) -> None:
    bank = with_misc(blank_but({}), {0: misc})
    with pytest.raises(InputError, match=message):
        made("scorer-function").parse(bank, options=ParseOptions(misc_constraints=True))


def test_constraints_of_python_that_clash_are_an_error_that_names_the_sentence(constrained: Any) -> None:
    bank = blank_but({})
    clash: list[Constraints | None] = [None] * len(bank)
    clash[1] = Constraints(required=[(1, 2), (2, 1)])
    with pytest.raises(ConstraintError, match=r"\(s2\): required: words .* form a cycle"):
        constrained.parse(bank, constraints=clash)
    clash[1] = Constraints(labels={1: "no:such"})
    with pytest.raises(ConstraintError, match="labels: found 'no:such' for word 1"):
        constrained.parse(bank, constraints=clash)
    with pytest.raises(InputError, match=r"constraints: found 1, expected one for each of 8 sentences"):
        constrained.parse(bank, constraints=[None])


def test_subtrees_lengths_and_roots_hold_too(constrained: Any) -> None:
    bank = blank_but({})
    trees = possible_trees(constrained, bank, projective=True, single_root=True)
    top = trees[1].children(trees[1].roots[0])[0]
    below = {top}
    while more := {m for h in below for m in trees[1].children(h)} - below:
        below |= more
    span = min(below), max(below)
    longest = max(abs(h - m) for h, m in trees[3].arcs if h > 0)
    wanted: list[Constraints | None] = [None] * len(bank)
    wanted[1] = Constraints(subtrees=[span])
    wanted[2] = Constraints(roots=trees[2].roots)
    wanted[3] = Constraints(max_length=longest)
    parsed = constrained.parse(bank, options=ParseOptions(projective=True), constraints=wanted)
    inside = range(span[0], span[1] + 1)
    assert sum(int(parsed[1].heads[m]) not in inside for m in inside) == 1
    assert all(int(parsed[1].heads[m]) not in inside for m in range(1, 6) if m not in inside)
    assert parsed[2].tree.roots == trees[2].roots
    assert all(abs(h - m) <= longest for h, m in parsed[3].tree.arcs if h > 0)


def test_parsers_that_cannot_say_so_in_one_line(parser: Any) -> None:
    if parser.capabilities.constraints:
        return
    bank = small_treebank()
    some = [Constraints(forbidden=[(1, 2)]), *[None] * (len(bank) - 1)]
    with pytest.raises(InputError, match=r"^constraints: found some, which a .* parser does not support$"):
        parser.parse(bank, constraints=some)
    assert parser.parse(bank, constraints=[None] * len(bank)).data == parser.parse(bank).data


def test_threads_change_nothing(constrained: Any) -> None:
    options = ParseOptions(keep_heads=True, misc_constraints=True, confidence=True, alternatives=3)
    one, three = (constrained.parse(odd(), options=options, threads=t) for t in (1, 3))
    assert one.data == three.data


def test_nothing_to_parse_and_nothing_that_can_be_parsed(constrained: Any) -> None:
    every = {"keep_heads": True, "misc_constraints": True, "confidence": True, "alternatives": 2}
    empty = Treebank.from_string("")
    cycle = Treebank.from_sentences([odd()[2]])
    for more in ({}, {"k_best": 3}):
        options = ParseOptions(**every, **more)
        assert constrained.parse(empty, options=options).data == b""
        (sentence,) = constrained.parse(cycle, options=options)
        assert sentence.heads.tolist() == [-1, -1, 3, -1]
