"""Grew requests as queries: what each of them finds, by hand."""

from __future__ import annotations

import pytest

from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.treebanks.search import Query, looks_like_grew, translate_grew

TREEBANK = Treebank.from_string(
    "\n".join(
        [
            "# sent_id = a",
            "# genre = news",
            "1 She she PRON _ Number=Sing 2 nsubj 2:nsubj|4:nsubj _",
            "2 wants want VERB VBZ Mood=Ind|Number=Sing 0 root 0:root _",
            "3 to to PART _ _ 4 mark 4:mark _",
            "4 sing sing VERB VB VerbForm=Inf 2 xcomp 2:xcomp _",
            "5 songs song NOUN _ Number=Plur 4 obj 4:obj SpaceAfter=No",
            "6 . . PUNCT _ _ 2 punct 2:punct _",
            "",
            "# sent_id = b",
            "1 Birds bird NOUN _ Number=Plur 3 nsubj:pass 3:nsubj:pass Gloss=fowl",
            "2 were be AUX _ Mood=Ind 3 aux:pass 3:aux:pass _",
            "3 heard hear VERB VBN _ 0 root 0:root _",
            "",
            "",
        ]
    )
    .replace(" ", "\t")
    .replace("#\tsent_id\t=\t", "# sent_id = ")
    .replace("#\tgenre\t=\t", "# genre = ")
)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("N [upos=VERB]", [(0, 2), (0, 4), (1, 3)]),
        ('N [upos="VERB", Mood=Ind|Imp]', [(0, 2)]),
        ("N [upos=VERB, !Mood]", [(0, 4), (1, 3)]),
        ("N [upos=VERB, VerbForm]", [(0, 4)]),
        ("N [Number<>Sing]", [(0, 5), (1, 1)]),  # words without a number are not found
        ("N [upos<>VERB, upos<>PUNCT, upos<>PART, upos<>PRON, upos<>AUX]", [(0, 5), (1, 1)]),
        ('N [lemma=re"s.*"]', [(0, 1), (0, 4), (0, 5)]),
        ('N [form=re"BIRDS"i]', [(1, 1)]),
        ("N [Gloss=fowl]", [(1, 1)]),
        ('N [form="."]', [(0, 6)]),
        ("pattern { N -[nsubj]-> M }", [(0, 2, 1)]),
        ("pattern { N -[1=nsubj]-> M }", [(0, 2, 1), (1, 3, 1)]),
        ("pattern { N -[1=nsubj, 2=pass]-> M }", [(1, 3, 1)]),
        ("pattern { N -[xcomp|obj]-> M; }", [(0, 2, 4), (0, 4, 5)]),
        ('pattern { e: N -[re"x?comp|obj"]-> M }', [(0, 2, 4), (0, 4, 5)]),
        ("pattern { N [upos=AUX]; M -[^aux]-> N }", [(1, 3, 2)]),
        ("pattern { M -> N; N [upos=AUX] }", [(1, 3, 2)]),
        ("pattern { N -[nsubj, enhanced=yes]-> M }", [(0, 2, 1), (0, 4, 1)]),
        ("pattern { N [upos=PART]; M [upos=VERB]; N < M }", [(0, 3, 4)]),
        ("pattern { N [upos=PRON]; M [upos=VERB]; N << M }", [(0, 1, 2), (0, 1, 4)]),
        ("pattern { N [upos=NOUN]; M [upos=VERB]; N > M }", [(0, 5, 4)]),
        ("pattern { V [upos=VERB] } without { V -[obj]-> O }", [(0, 2), (1, 3)]),
        ("pattern { V [upos=VERB] } without { V -> O; O [upos=PART|AUX] }", [(0, 2)]),
        ("pattern { V [upos=VERB] } without { * -> V }", [(0, 2), (1, 3)]),
        ("pattern { V -> S; V.Number = S.Number }", [(0, 2, 1)]),
        ('pattern { V [upos=VERB]; V.lemma = "hear" }', [(1, 3)]),
        ("pattern { V [upos=VERB] } global { genre = news }", [(0, 2), (0, 4)]),
        ("global { is_not_projective }", []),
        ('global { sent_id = re"b" }', [(1,)]),
    ],
)
def test_a_request_finds_the_same_words(request_: str, expected: list[tuple[int, ...]]) -> None:
    assert looks_like_grew(request_)
    hits = Query.parse(translate_grew(request_)).hits(TREEBANK)
    assert [(hit.sentence, *hit.words.values()) for hit in hits] == expected


@pytest.mark.parametrize(
    "request_",
    [
        "pattern { N [upos=VERB] } with { N -[obj]-> M }",
        "pattern { N [upos=VERB] } without { N -[obj]-> M; M -> K }",
        "pattern { N -[obj]-> M; id(N) > 3 }",
        "pattern { N [upos=lex/verbs] ",
        "pattern { }",
        "rule r { pattern { N [] } commands { del_node N } }",
    ],
)
def test_what_has_no_counterpart_is_refused(request_: str) -> None:
    with pytest.raises(InputError, match="grew: "):
        translate_grew(request_)


@pytest.mark.parametrize("query", ["upos=VERB > nsubj", "[upos=VERB !> obj]", "@v[upos=VERB] -> nsubj []"])
def test_a_query_is_not_taken_for_a_request(query: str) -> None:
    assert not looks_like_grew(query)
