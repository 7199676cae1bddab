"""Templates as text: read, printed, compiled; what is wrong is named."""

import pytest

from arcwise.errors import InputError
from arcwise.features.templates import Template, atoms_of, parse_templates, usable
from arcwise.graph.templates import ARC_TEMPLATES, LABEL_TEMPLATES, column_templates


@pytest.mark.parametrize("line", [*ARC_TEMPLATES, *LABEL_TEMPLATES, *column_templates("misc.Cluster")])
def test_a_template_printed_reads_the_same(line: str) -> None:
    template = Template.parse(line)
    assert Template.parse(str(template)) == template
    for atom in atoms_of([template]):
        assert atom in line


def test_compiled() -> None:
    template = Template.parse("h-1.upos m<.word between.count @ nothing distance")
    assert template.compiled(["word", "upos"], label=True) == [
        ([(0, -1, 1)], [(1, 0, 0)], 2, 0, 0, True),
        ([(0, -1, 1)], [(1, 0, 0)], 2, 0, 2, True),
    ]


def test_compiled_with_pairs_of_a_list() -> None:
    template = Template.parse("h.upos pairs.misc.Clusters")
    assert str(template) == "h.upos pairs.misc.Clusters @ direction"
    assert template.compiled(["upos"], label=False, lists=["feats", "misc.Clusters"]) == [
        ([(0, 0, 0)], [], 5, 1, 1, False)
    ]


def test_templates_without_their_column_are_left_out() -> None:
    templates = parse_templates(["h.upos m.upos", "h.lemma m.upos"])
    assert [str(t) for t in usable(templates, ["upos"])] == ["h.upos m.upos @ direction"]


@pytest.mark.parametrize(
    "line, message",
    [
        ("h.upos x.upos", "found 'x.upos', expected h.ATOM or m.ATOM"),
        ("h.upos @ length", "found 'length' after @, expected nothing, direction, distance"),
        ("between.set", "has no word"),
        ("h.upos between.set between.each", "found 'between.each'"),
        ("h.upos between.set pairs.feats", "found 'pairs.feats'"),
        ("h.upos pairs.upos", "found 'pairs.upos'"),
        ("", "has no word"),
    ],
)
def test_what_is_wrong_is_named(line: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        Template.parse(line)
    assert message in str(error.value)


def test_a_template_of_proposals_is_read_and_written() -> None:
    template = Template.parse("m.upos proposed.misc.Vote @ distance")
    assert (template.proposed, template.list_column) == ("misc.Vote", "misc.Vote")
    assert str(template) == "m.upos proposed.misc.Vote @ distance"
    for wrong in ("m.upos proposed.feats", "m.upos proposed.misc.Vote pairs.feats", "proposed.misc.Vote"):
        with pytest.raises(InputError):
            Template.parse(wrong)
