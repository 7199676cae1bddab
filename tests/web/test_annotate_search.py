"""Search through the API: clusters of hits, hits left out of a mass edit, Grew requests."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from web.served import Served, row


def test_hits_are_counted_in_clusters_and_a_cluster_is_listed(served: Served) -> None:
    answer = served.post("/api/table", {"query": "[]", "properties": "upos,deprel"}).json()
    assert answer["columns"] == ["1.upos", "1.deprel"]
    counts = {tuple(cluster["values"]): cluster["count"] for cluster in answer["clusters"]}
    assert counts["VERB", "root"] == 2
    assert sum(counts.values()) == 12
    assert [cluster["count"] for cluster in answer["clusters"]] == sorted(counts.values(), reverse=True)
    one = {"query": "[]", "properties": "upos,deprel", "values": ["VERB", "root"]}
    hits = served.post("/api/search", one).json()
    assert [(hit["sentence"], hit["words"]) for hit in hits["hits"]] == [(0, {"1": "3"}), (1, {"1": "4"})]
    assert hits["total"] == 2
    assert served.post("/api/search", {"query": "[]", "values": ["VERB"]}).status == 400
    assert served.post("/api/table", {"query": "[]", "properties": "nonsense"}).status == 400


def test_single_hits_are_left_out_of_a_mass_edit(served: Served) -> None:
    edit = {"query": "upos=NOUN", "changes": "xpos=N"}
    preview = served.post("/api/mass-edit", edit).json()
    assert [(c["sentence"], c["hits"]) for c in preview["changes"]] == [
        (0, [{"1": "2"}, {"1": "5"}]),
        (2, [{"1": "1"}]),
    ]
    skip = [{"sentence": 0, "words": {"1": "5"}}, {"sentence": 2, "words": {"1": "1"}}]
    preview = served.post("/api/mass-edit", {**edit, "skip": skip}).json()
    assert [(c["sentence"], c["hits"]) for c in preview["changes"]] == [(0, [{"1": "2"}])]
    assert served.post("/api/mass-edit", {**edit, "skip": skip, "apply": True}).json()["edits"] == 1
    assert [row(served.sentence(0), word)["xpos"] for word in ("2", "5")] == ["N", "_"]
    assert row(served.sentence(2), "1")["xpos"] == "_"


def test_a_preview_is_listed_by_page_and_an_older_one_is_not_applied(served: Served) -> None:
    edit = {"query": "upos=NOUN", "changes": "xpos=N"}
    pages = [served.post("/api/mass-edit", {**edit, "from": n, "count": 1}).json() for n in range(3)]
    assert [[change["sentence"] for change in page["changes"]] for page in pages] == [[0], [2], []]
    assert {page["total"] for page in pages} == {2}
    assert {page["version"] for page in pages} == {0}
    served.set(1, "4", upos="NOUN")
    refused = served.post("/api/mass-edit", {**edit, "apply": True, "version": 0})
    assert refused.status == 400
    assert "the file has changed since the preview" in refused.json()["error"]
    assert row(served.sentence(0), "2")["xpos"] == "_"
    assert served.post("/api/mass-edit", {**edit, "apply": True, "version": 1}).json()["sentences"] == 3


def test_a_grew_request_is_translated(served: Served) -> None:
    answer = served.post("/api/search", {"query": "pattern { V [upos=VERB]; V -[nsubj]-> S }"}).json()
    assert answer["translation"] == "@V[upos=VERB] > nsubj @S"
    assert [hit["words"] for hit in answer["hits"]] == [{"V": "3", "S": "2"}, {"V": "4", "S": "1"}]
    again = served.post("/api/search", {"query": answer["translation"]}).json()
    assert (again["hits"], again["translation"]) == (answer["hits"], None)
    refused = served.post("/api/search", {"query": "pattern { V [] } with { V -> S }"})
    assert refused.status == 400
    assert "has no counterpart" in refused.json()["error"]
