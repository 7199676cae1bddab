"""Pictures and pages: well-formed, complete, in the right direction."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import InputError, Sentence, Tree, Treebank
from arcwise.inference import Alternative
from arcwise.trees import crossing_arcs, draw
from arcwise.visual import html_page, svg
from arcwise.visual.svg import arc_levels, layout
from reference.random_trees import forests

NAMESPACE = {"s": "http://www.w3.org/2000/svg"}
LETTER = Sentence.from_words(
    ["A", "letter", "came", "today", "from", "<home>", "&"],
    tree=Tree.from_heads(
        [2, 3, 0, 3, 6, 2, 3], ["det", "nsubj", "root", "advmod", "case", "nmod:of", "punct"]
    ),
    upos=["DET", "NOUN", "VERB", "ADV", "ADP", "NOUN", "PUNCT"],
)


def parsed(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


def texts(root: ElementTree.Element, kind: str) -> list[str]:
    return [e.text or "" for e in root.iterfind(f".//s:text[@class='{kind}']", NAMESPACE)]


def test_every_word_tag_and_label_is_there() -> None:
    root = parsed(svg(LETTER))
    assert texts(root, "word") == LETTER.forms
    assert texts(root, "tag") == LETTER.upos
    assert sorted(texts(root, "label")) == sorted(LETTER.deprels)


def test_the_non_projective_arc_is_marked_and_explained() -> None:
    (arc,) = parsed(svg(LETTER)).iterfind(".//s:g[@class='arc crossing']", NAMESPACE)
    assert arc.findtext("s:title", namespaces=NAMESPACE) == "<home>: nmod:of of letter"


def test_the_picture_has_a_title_and_says_the_tree() -> None:
    root = parsed(svg(LETTER, name="one"))
    assert root.get("aria-labelledby") == "one-title one-desc"
    assert root.findtext("s:title", namespaces=NAMESPACE) == "A letter came today from <home> &"
    assert "came: the root" in (root.findtext("s:desc", namespaces=NAMESPACE) or "")
    assert "prefers-color-scheme: dark" in (root.findtext("s:style", namespaces=NAMESPACE) or "")


def test_probabilities_make_arcs_thinner() -> None:
    picture = svg(LETTER, probabilities=[1.0, 0.5, 1.0, 0.0, 1.0, 1.0, 1.0])
    for p in (0.0, 0.5, 1.0):
        assert f'stroke-width="{0.7 + 1.8 * p:.2f}" opacity="{0.35 + 0.65 * p:.2f}"' in picture
    assert "letter: nsubj of came (head 50%)" in picture


def test_partial_trees_and_several_roots() -> None:
    sentence = Sentence.from_words(["a", "b", "c"], tree=Tree.from_heads([0, -1, 0], ["root", "_", "root"]))
    root = parsed(svg(sentence))
    assert texts(root, "label") == ["root", "?", "root"]
    assert len(root.findall(".//s:g[@class='arc unknown']", NAMESPACE)) == 1


def test_right_to_left_words_run_from_the_right() -> None:
    def places(words: list[str]) -> list[float]:
        sentence = Sentence.from_words(words, tree=Tree.from_heads([2, 0, 2]))
        found = parsed(svg(sentence)).iterfind(".//s:text[@class='word']", NAMESPACE)
        return [float(e.get("x", "")) for e in found]

    assert places(["a", "b", "c"]) == sorted(places(["a", "b", "c"]))
    assert places(["א", "ב", "ג"]) == sorted(places(["א", "ב", "ג"]), reverse=True)


def test_multiword_tokens_stand_under_their_words() -> None:
    rows = ["1-2\tdon't", "1\tdo", "2\tn't"]
    heads = {"1-2": "_", "1": "0", "2": "1"}
    text = "".join(f"{r}\t_\t_\t_\t_\t{heads[r.split()[0]]}\t_\t_\t_\n" for r in rows) + "\n"
    assert texts(parsed(svg(Treebank.from_string(text)[0])), "token") == ["don't"]


@given(forests(most=10, unknown=False), st.booleans())
@settings(max_examples=150, deadline=None)
def test_arcs_never_lie_on_each_other(heads: list[int], right_to_left: bool) -> None:
    tree = Tree.from_heads(heads)
    words = (["שלום"] if right_to_left else ["word"]) * len(tree)
    places = layout(tree, words, ["TAG"] * len(tree), ["", *["some:label"] * len(tree)])
    verticals = [x for arc in places.arcs for x in (arc.head_x, arc.modifier_x)]
    verticals += [places.root_x[m] for m in tree.roots]
    assert len({round(x, 3) for x in verticals}) == len(verticals)
    for one in places.arcs:
        for other in places.arcs:
            if one is other or one.level != other.level:
                continue
            ends = sorted((one.head_x, one.modifier_x)), sorted((other.head_x, other.modifier_x))
            assert ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0]
    assert all(0 < x < places.width for x in verticals)


@given(forests(most=10, unknown=False))
@settings(max_examples=100, deadline=None)
def test_only_crossing_arcs_cross(heads: list[int]) -> None:
    """In the picture the lines of two arcs between words meet exactly if the arcs cross."""
    tree = Tree.from_heads(heads)
    arcs = {
        (a.head, a.modifier): a
        for a in layout(tree, ["w"] * len(tree), [""] * len(tree), [""] * (len(tree) + 1)).arcs
    }
    crossing = {frozenset(pair) for pair in crossing_arcs(tree, root_arcs=False)}
    for one, a in arcs.items():
        for other, b in arcs.items():
            if a.level > b.level:
                left, right = sorted((b.head_x, b.modifier_x))
                cut = any(left < x < right for x in (a.head_x, a.modifier_x))
                assert cut == (frozenset({one, other}) in crossing)
    assert set(arc_levels(tree)) == {m for _, m in arcs}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pictures = 0
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.pictures += tag == "svg"
        self.links += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_of_many_sentences_needs_nothing_else() -> None:
    hebrew = Sentence.from_words(["שלום"], tree=Tree.from_heads([0], ["root"]), comments={"sent_id": "<s2>"})
    page = html_page([LETTER, hebrew], title="Two")
    reader = _Page()
    reader.feed(page)
    assert (reader.open, reader.pictures, reader.links) == ([], 2, [])
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert '<figure dir="rtl">' in page
    assert "&lt;s2&gt;" in page
    assert page.count("<style>") == 1


@pytest.mark.parametrize("probabilities, message", [([0.5], "found 1, expected 7"), ([2.0] * 7, "found 2.0")])
def test_bad_probabilities(probabilities: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        svg(LETTER, probabilities=probabilities)


def test_no_character_breaks_the_picture() -> None:
    strange = Sentence.from_words(
        ["\x00\x0b\x1b", "\ufffe\uffff", "]]>", "\u202ea"], tree=Tree.from_heads([0, 1, 1, 1])
    )
    assert len(texts(parsed(svg(strange)), "word")) == 4


def test_a_tree_of_another_length() -> None:
    with pytest.raises(InputError, match="tree: found 1 words, expected 7"):
        svg(LETTER, tree=Tree.from_heads([0]))


def test_probabilities_and_alternatives_are_on_the_arcs() -> None:
    sentence = Sentence.from_words(["Birds", "sing"], tree=Tree.from_heads([2, 0], ["nsubj", "root"]))
    sentence = sentence.annotate(misc=["HeadProb=0.6", "HeadProb=0.99"])
    picture = svg(sentence, alternatives=[[(2, 0.6), (0, 0.4)], [(0, 0.99), (1, 0.01)]])
    assert texts(parsed(picture), "doubt") == ["head 60%"]
    assert "Birds: nsubj of sing (head 60%); or: the root 40%" in picture
    assert "or: Birds 1%" in picture
    with pytest.raises(InputError, match="alternatives: found 1, expected 2"):
        svg(sentence, alternatives=[[]])


def test_the_number_beside_a_label_is_that_of_head_and_label_together() -> None:
    """In SVG, in words, in the terminal; the line shows the head."""
    misc = ["HeadProb=0.46|DeprelProb=0.22", "HeadProb=0.99|DeprelProb=0.98"]
    tree = Tree.from_heads([2, 0], ["obl", "root"])
    sentence = Sentence.from_words(["There", "sing"], tree=tree).annotate(misc=misc)
    picture = svg(sentence)
    assert texts(parsed(picture), "doubt") == ["22%"]
    assert "There: obl of sing (22%, head 46%)" in picture
    assert f'opacity="{0.35 + 0.65 * 0.46:.2f}"' in picture
    own = svg(sentence, probabilities=[0.5, 1.0], label_probabilities=[0.3, 1.0])
    assert texts(parsed(own), "doubt") == ["30%"]
    drawn = draw(
        tree, ["There", "sing"], probabilities=[0.46, 0.99], label_probabilities=[0.22, 0.98]
    ).splitlines()
    assert drawn[0].endswith("obl   22%")
    only_heads = draw(tree, ["There", "sing"], probabilities=[0.46, 0.99]).splitlines()
    assert only_heads[0].endswith("obl   head 46%")
    with pytest.raises(InputError, match="label_probabilities: found 1, expected 2"):
        svg(sentence, label_probabilities=[0.5])
    with pytest.raises(InputError, match="label_probabilities: found 1, expected 2"):
        draw(tree, ["There", "sing"], label_probabilities=[0.5])


def test_without_labels_the_number_stands_alone() -> None:
    sentence = Sentence.from_words(["a", "b"], tree=Tree.from_heads([2, 0]))
    picture = parsed(svg(sentence, probabilities=[0.5, 1.0]))
    assert (texts(picture, "label"), texts(picture, "doubt")) == ([], ["50%"])


def test_alternatives_that_a_parser_wrote_into_the_file_are_shown() -> None:
    misc = ["Alternatives=2:obl:0.4000,2:obj:0.3500,1:x:0.2000,0:root:0.0500", "_", "_"]
    tree = Tree.from_heads([2, 0, 2], ["obl", "root", "punct"])
    sentence = Sentence.from_words(["There", "sing", "."], tree=tree).annotate(misc=misc)
    assert "There: obl of sing; or: obj of sing 35%, x of There 20%, the root 5%" in svg(sentence)
    others = [[Alternative(2, 0.9, (("obl", 0.5), ("obj", 0.4)))], [], []]
    assert "There: obl of sing; or: obj of sing 40%" in svg(sentence, alternatives=others)


def test_alternatives_in_misc_may_name_words_that_are_not_there() -> None:
    rows = "1\ta\t_\t_\t_\t_\t0\troot\t_\tAlternatives=9999:x:2,-1:y:0.9\n2\tb\t_\t_\t_\t_\t1\tobj\t_\t_\n\n"
    assert "9999" not in svg(Treebank.from_string(rows)[0])
