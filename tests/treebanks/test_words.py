"""Words and tokens as objects: they say what columns and trees say, and where the text has them."""

import gc
import pickle
import weakref
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcwise
from arcwise import Sentence, Treebank
from arcwise.treebanks import Word
from arcwise.treebanks.search import Query
from treebanks.generated import sentences
from treebanks.samples import ALL, PARTIAL, RICH

TEXT = "  They're here,  isn't it?\nJohn can't | go. 🙂 \n\nNew para.\\s  "


def slow_subtree(heads: list[int], top: int) -> list[int]:
    """The words whose way up the tree passes ``top``."""
    found = []
    for word in range(1, len(heads)):
        at = word
        while at not in (top, 0, -1):
            at = heads[at]
        found += [word] * (at == top)
    return found


def check_words(sentence: Sentence) -> None:
    """Every word against columns, rows and tree."""
    tree = sentence.tree
    heads = tree.heads.tolist()
    rows = {row[0]: row for row in sentence.rows}
    assert [word.id for word in sentence.words] == list(range(1, len(sentence) + 1))
    for word in sentence.words:
        row = rows[str(word.id)]
        assert (word.form, word.lemma, word.upos, word.xpos, word.label) == (*row[1:5], row[7])
        assert word.head_id == heads[word.id]
        assert (word.head.id if word.head else word.head_id) == heads[word.id]
        assert word.is_root == (heads[word.id] == 0)
        assert tuple(child.id for child in word.children) == tree.children(word.id)
        subtree = [w.id for w in word.subtree]
        assert subtree == slow_subtree(heads, word.id)
        assert (word.left_edge.id, word.right_edge.id) == (subtree[0], subtree[-1])
        assert dict(part.partition("=")[::2] for part in row[5].split("|") if row[5] != "_") == word.feats
        assert dict(part.partition("=")[::2] for part in row[9].split("|") if row[9] != "_") == word.misc
        assert word in word.token.words


def check_tokens(treebank: Treebank) -> None:
    """Tokens are in order, where the text has them, and have every word once."""
    surface = treebank.surface
    before = surface.start
    for sentence in treebank:
        assert [w.id for token in sentence.tokens for w in token.words] == list(range(1, len(sentence) + 1))
        assert sum(token.is_multiword for token in sentence.tokens) == sum(
            "-" in row[0] for row in sentence.rows
        )
        for token in sentence.tokens:
            assert before <= token.start <= token.end
            assert surface.text[token.start - surface.start : token.end - surface.start] == token.form
            before = token.end


@settings(max_examples=50, deadline=None)
@given(st.lists(sentences(), min_size=1, max_size=3))
def test_words_and_tokens_of_any_sentences(own: list[str]) -> None:
    treebank = Treebank.from_string("".join(own))
    for sentence in treebank:
        check_words(sentence)
    check_tokens(treebank)


def test_words_and_tokens_of_samples() -> None:
    treebank = Treebank.from_string(ALL)
    for sentence in treebank:
        check_words(sentence)
    check_tokens(treebank)
    assert treebank.surface.text == "Birds sing.\n\nVámonos al río y tú no. 猫 が 寝る"


@pytest.mark.treebanks
@pytest.mark.parametrize("name", ["English-EWT", "Arabic-PADT-rs", "Turkish-IMST", "Japanese-GSD"])
def test_real_treebanks(treebanks: Path, name: str) -> None:
    treebank = Treebank.read(treebanks / name / "dev.conllu.xz")[:200]
    check_tokens(treebank)
    for sentence in treebank:
        check_words(sentence)
        first, last = sentence.tokens[0], sentence.tokens[-1]
        assert treebank.surface.text[first.start : last.end] == sentence.text


def test_columns_with_structure() -> None:
    words = Treebank.from_string(RICH)[0].words
    assert words[0].feats == {"Mood": "Imp", "Number": "Plur"}
    assert words[5].deps == [("8", "cc"), ("8.1", "cc")]
    assert words[2].feats == {}
    assert words[0].misc == {"Note": "a"}
    assert Treebank.from_string("1\ta\t_\t_\t_\tsg|masc\t_\t_\t7\t_\n\n")[0].words[0].feats == {
        "sg": "",
        "masc": "",
    }
    assert Treebank.from_string("1\ta\t_\t_\t_\tsg|masc\t_\t_\t7\t_\n\n")[0].words[0].deps == []


def test_heads_that_are_not_known() -> None:
    cat, ga, sleeps = Treebank.from_string(PARTIAL)[0].words
    assert (cat.head, cat.head_id) == (sleeps, 3)
    assert (ga.head, ga.head_id, ga.is_root, ga.children) == (None, -1, False, [])
    assert repr(ga) == "<Word 2 が ADP>"


def test_heads_that_form_no_tree() -> None:
    rows = "1\ta\t_\t_\t_\t_\t2\tx\t_\t_\n2\tb\t_\t_\t_\t_\t1\tx\t_\t_\n\n"
    words = Treebank.from_string(rows, strict=False)[0].words
    assert [w.id for w in words[0].subtree] == [1, 2]


def test_slices_and_places() -> None:
    words = Treebank.from_string(RICH)[0].words
    assert [w.form for w in words[2:4]] == ["a", "el"]
    assert [w.form for w in words[::-1][:2]] == [".", "no"]
    assert words[2:5][-1] == words[4] == words[-5]
    assert repr(words[:3]) == "<Words Vamos nos a>"
    assert len(words[20:]) == 0
    with pytest.raises(IndexError, match="word 9 of 9"):
        words[9]
    assert len({words[0], words[0], words[1]}) == 2
    assert words[0] != words[0].token


def test_probabilities_of_a_treebank_are_those_of_misc() -> None:
    row = "{}\t{}\t_\t_\t_\t_\t{}\tx\t_\t{}\n"
    told = "HeadProb=0.7500|DeprelProb=0.5000|Alternatives=2:obj:0.5000,0:root:0.2500"
    text = row.format(1, "a", 2, told) + row.format(2, "b", 0, "HeadProb=high") + "\n"
    sure, unsure = Treebank.from_string(text)[0].words
    assert (sure.head_probability, sure.label_probability) == (0.75, 0.5)
    assert sure.alternatives == [(2, "obj", 0.5), (0, "root", 0.25)]
    assert (unsure.head_probability, unsure.label_probability, unsure.alternatives) == (None, None, [])
    assert sure.sentence.head_probabilities is None


def test_words_of_a_document() -> None:
    nlp = arcwise.load("en")
    doc = nlp(TEXT)
    assert doc.text == TEXT
    assert [TEXT[t.start : t.end] for t in doc.tokens] == [t.form for t in doc.tokens]
    check_tokens(doc.treebank)
    for sentence in doc:
        check_words(sentence)
        for at, word in enumerate(sentence.words):
            assert word.head_probability == sentence.head_probabilities[at]
            assert word.label_probability == sentence.label_probabilities[at]
            best = word.alternatives[0]
            assert len(word.alternatives) <= 3
            assert (best.head, best.label) == (
                word.head_id,
                word.label,
            ) or best.probability >= word.label_probability
    assert doc.tokens[0].words[1].form == "'re"
    assert doc[0:1] == doc.sentences[:1]
    assert nlp("").tokens == []


def test_alternatives_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = arcwise.load("en")
    sentence = nlp("Birds sing.")[0]
    calls = []
    whole = type(nlp).sentence_alternatives
    monkeypatch.setattr(
        type(nlp), "sentence_alternatives", lambda self, s, *, k: calls.append(k) or whole(self, s, k=k)
    )
    assert all(word.alternatives for word in sentence.words)
    assert calls == [3]


def test_words_travel() -> None:
    word = Treebank.from_string(RICH)[0].words[4]
    again = pickle.loads(pickle.dumps(word))
    assert isinstance(again, Word)
    assert (again.form, again.head.form, again.token.start) == ("río", "Vamos", 11)


def test_views_keep_nothing_alive() -> None:
    treebank = Treebank.from_string(RICH)
    gone = weakref.ref(treebank)
    gc.disable()
    try:
        for word in treebank[0].words:
            assert word.subtree
            assert word.token.end
        del treebank, word
        assert gone() is None
    finally:
        gc.enable()


# ---- what users of spaCy expect


def sentence_of(heads: str, forms: str = "") -> Sentence:
    rows = [
        f"{i}\t{form}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n"
        for i, (head, form) in enumerate(zip(heads.split(), forms.split() or "abcdefgh", strict=False), 1)
    ]
    return Treebank(("".join(rows) + "\n").encode(), strict=False)[0]


def test_a_sentence_is_a_sequence_of_words() -> None:
    sentence = sentence_of("2 0 2 3", "The birds sing songs")
    assert [word.form for word in sentence] == sentence.forms
    assert (sentence[0].form, sentence[-1].form, sentence[1].id) == ("The", "songs", 2)
    assert [word.form for word in sentence[1:3]] == ["birds", "sing"]
    assert sentence[0] in sentence
    assert next(reversed(list(sentence))) == sentence[-1]
    with pytest.raises(IndexError, match="word 4 of 4"):
        sentence[4]


def test_deprel_is_the_name_of_relations_wherever_columns_are_named() -> None:
    deprels = ["nsubj", "root"]
    sentence = Sentence.from_words(["Birds", "sing"], deprel=deprels)
    assert sentence.deprels == deprels
    assert [(word.deprel, word.label) for word in sentence] == [("nsubj", "nsubj"), ("root", "root")]
    treebank = Treebank.from_sentences([sentence])
    assert treebank.column("deprel") == deprels
    assert treebank.annotate(deprel=["obj", "root"])[0].deprels == ["obj", "root"]
    assert Query.parse("deprel=nsubj").count(treebank) == (1, 1)


def test_lefts_rights_and_ancestors() -> None:
    sentence = sentence_of("2 4 2 0 4 5")
    assert [[w.id for w in word.lefts] for word in sentence] == [[], [1], [], [2], [], []]
    assert [[w.id for w in word.rights] for word in sentence] == [[], [3], [], [5], [6], []]
    assert [[w.id for w in word.ancestors] for word in sentence] == [[2, 4], [4], [2, 4], [], [4], [5, 4]]


def test_the_root_of_a_sentence() -> None:
    sentence = sentence_of("2 0 2")
    assert sentence.root == sentence[1]
    assert sentence_of("0 0").root is not None
    assert sentence_of("0 0").root.id == 1  # type: ignore[union-attr]
    assert sentence_of("_ _").root is None


def test_ancestors_end_in_a_cycle() -> None:
    sentence = sentence_of("2 3 2 _")
    assert [[w.id for w in word.ancestors] for word in sentence] == [[2, 3], [3], [2], []]


def test_words_have_the_offsets_of_their_tokens() -> None:
    document = arcwise.load("en-fast")("They don't go.")
    spans = [(word.form, document.text[word.start : word.end]) for word in document.words]
    assert spans == [("They", "They"), ("do", "don't"), ("n't", "don't"), ("go", "go"), (".", ".")]
    assert (len(document), len(document.words), len(document[0])) == (1, 5, 5)
    assert [word.deprel for word in document.words] == [word.label for word in document.words]


@pytest.mark.parametrize("name", ["upos", "forms", "tree", "heads", "words", "root", "rows", "text"])
def test_columns_cannot_be_assigned(name: str) -> None:
    sentence = arcwise.load("en-fast")("Birds sing.")[0]
    with pytest.raises(AttributeError, match=rf"{name} cannot be assigned; sentence.annotate"):
        setattr(sentence, name, ["X"])
    assert "Birds" in repr(sentence)
    sentence.seen = True  # type: ignore[attr-defined]  # notes of one's own are fine
    assert pickle.loads(pickle.dumps(sentence)).forms == sentence.forms
