"""arcwise reads what conllu, udapi and pyconll read, and finds the same in it."""

from __future__ import annotations

import pytest

from arcwise import Treebank

TEXT = """\
# newdoc id = d1
# sent_id = a
# text = Vámonos al mar.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\tMood=Imp|Number=Plur\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\t_\tCase=Acc|Number[psor]=Plur\t1\tobj\t1:obj|5:nsubj:xsubj\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\tIN\t_\t5\tcase\t5:case\t_
4\tel\tel\tDET\t_\tDefinite=Def\t5\tdet\t5:det\t_
5\tmar\tmar\tNOUN\t_\tGender=Fem,Masc\t1\tobl\t1:obl:a\tSpaceAfter=No|Gloss=sea
6\t.\t.\tPUNCT\t_\t_\t1\tpunct\t1:punct\t_

# sent_id = b
# text = 她 reads, and he too
1\t她\t她\tPRON\t_\t_\t2\tnsubj\t2:nsubj\tTranslit=tā
2\treads\tread\tVERB\tVBZ\tMood=Ind\t0\troot\t0:root\tSpaceAfter=No
3\t,\t,\tPUNCT\t_\t_\t5\tpunct\t5.1:punct\t_
4\tand\tand\tCCONJ\t_\t_\t5\tcc\t5.1:cc\t_
5\the\the\tPRON\t_\t_\t2\tconj\t5.1:nsubj\t_
5.1\treads\tread\tVERB\t_\t_\t_\t_\t2:conj\tCopyOf=2
6\ttoo\ttoo\tADV\t_\t_\t5\torphan\t5.1:advmod\t_

"""
Word = tuple[str, str, str, int, str, dict[str, str], str]
"""Form, lemma, UPOS, head, label, features, and MISC without an order."""


@pytest.fixture(scope="module")
def ours() -> list[list[Word]]:
    treebank = Treebank.from_string(TEXT)
    return [
        [
            (
                fields[1],
                fields[2],
                fields[3],
                int(fields[6]),
                fields[7],
                _pairs(fields[5]),
                "".join(sorted(fields[9])),
            )
            for fields in sentence.rows
            if fields[0].isdecimal()
        ]
        for sentence in treebank
    ]


def _pairs(field: str) -> dict[str, str]:
    return {} if field == "_" else dict(part.split("=", 1) for part in field.split("|"))


def test_conllu_reads_the_same(ours: list[list[Word]]) -> None:
    conllu = pytest.importorskip("conllu", reason="needs conllu")
    sentences = conllu.parse(TEXT)
    theirs = [
        [
            (t["form"], t["lemma"], t["upos"], t["head"], t["deprel"], t["feats"] or {}, _joined(t["misc"]))
            for t in sentence
            if isinstance(t["id"], int)
        ]
        for sentence in sentences
    ]
    assert theirs == ours
    treebank = Treebank.from_string(TEXT)
    assert [s.metadata["sent_id"] for s in sentences] == [s.sent_id for s in treebank]
    assert [s.metadata["text"] for s in sentences] == [s.comments["text"] for s in treebank]
    assert "".join(s.serialize() for s in sentences) == treebank.text


def _joined(pairs: dict[str, str | None] | None) -> str:
    return "".join(sorted("|".join(f"{key}={value}" for key, value in (pairs or {}).items()) or "_"))


def test_udapi_reads_the_same(ours: list[list[Word]]) -> None:
    udapi = pytest.importorskip("udapi.core.document", reason="needs udapi")
    document = udapi.Document()
    document.from_conllu_string(TEXT)
    theirs = [
        [
            (n.form, n.lemma, n.upos, n.parent.ord, n.deprel, dict(n.feats), "".join(sorted(str(n.misc))))
            for n in bundle.get_tree().descendants
        ]
        for bundle in document.bundles
    ]
    assert theirs == ours
    graphs = [
        [sorted((str(d["parent"].ord), d["deprel"]) for d in n.deps) for n in bundle.get_tree().descendants]
        for bundle in document.bundles
    ]
    treebank = Treebank.from_string(TEXT)
    assert graphs == [
        [sorted(tuple(part.split(":", 1)) for part in deps.split("|")) for deps in sentence.deps]
        for sentence in treebank
    ]


def test_pyconll_reads_the_same(ours: list[list[Word]]) -> None:
    pyconll = pytest.importorskip("pyconll", reason="needs pyconll")
    sentences = pyconll.load_from_string(TEXT)
    theirs = [
        [
            (t.form, t.lemma, t.upos, int(t.head), t.deprel,
             {k: ",".join(sorted(v)) for k, v in t.feats.items()},
             "".join(sorted("|".join(f"{k}={','.join(v)}" for k, v in t.misc.items()) or "_")))
            for t in sentence
            if t.id.isdecimal()
        ]
        for sentence in sentences
    ]  # fmt: skip
    assert theirs == ours
    assert [s.id for s in sentences] == [s.sent_id for s in Treebank.from_string(TEXT)]
