"""What the benchmarks do to treebanks so that peers can train on them and be scored fairly."""

from pathlib import Path

import pytest
from benchmarks.peer_parsers import (
    PeerParser,
    for_peers,
    points_of,
    root_label,
    roots_labelled,
    scores_of,
    single_roots,
)
from benchmarks.peers import spacy_parser, udpipe_parser
from benchmarks.peers.conllu_files import draw, join, sentences, split, words

from arcwise.evaluation.attachment import Attachment
from arcwise.treebanks import Treebank


def treebank(*given: list[tuple[int, str]]) -> Treebank:
    """Sentences of (head, label)."""
    lines = []
    for arcs in given:
        lines += [f"{i}\tw\t_\tX\t_\t_\t{head}\t{label}\t_\t_" for i, (head, label) in enumerate(arcs, 1)]
        lines.append("")
    return Treebank(("\n".join(lines) + "\n").encode())


DANISH = treebank(
    [(0, "ROOT"), (1, "subj")], [(0, "ROOT"), (0, "ROOT")], [(2, "ROOT"), (0, "vocative"), (2, "pnct")]
)


def test_the_label_of_roots_is_the_most_frequent() -> None:
    assert root_label(DANISH) == "ROOT"


def test_only_roots_are_named_anew() -> None:
    named = roots_labelled(DANISH, "root")
    assert [list(s.deprels) for s in named] == [["root", "subj"], ["root", "root"], ["ROOT", "root", "pnct"]]
    assert list(named.heads) == list(DANISH.heads)


def test_sentences_of_several_roots_are_left_out() -> None:
    assert [len(s) for s in single_roots(DANISH)] == [2, 3]


def test_peers_see_forms_upos_feats_and_trees() -> None:
    line = "1\tw\tlemma\tX\tXP\tCase=Nom\t0\tROOT\t_\t_\n\n"
    assert for_peers(Treebank(line.encode()), test=True).data.decode() == line.replace("lemma", "_").replace(
        "XP", "_"
    ).replace("ROOT", "root")
    assert [len(s) for s in for_peers(DANISH, test=True)] == [2, 2, 3]
    assert [len(s) for s in for_peers(DANISH, test=False)] == [2, 3]


def test_the_sentences_of_a_file_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes(DANISH.data)
    parts = sentences(path)
    assert join(parts).encode() == DANISH.data
    assert [[row[7] for row in words(part)] for part in parts] == [list(s.deprels) for s in DANISH]


def test_draws_grow_and_differ() -> None:
    parts = [str(number) for number in range(50)]
    assert draw(parts, 30, 3)[:10] == draw(parts, 10, 3)
    assert len(set(draw(parts, 30, 3))) == 30
    assert draw(parts, 10, 3) != draw(parts, 10, 4)


def test_one_sentence_of_five_is_chosen_by() -> None:
    parts = [str(number) for number in range(20)]
    train, dev = split(parts)
    assert sorted(train + dev) == sorted(parts)
    assert len(dev) == 4


def test_a_peer_is_scored_with_the_roots_named_as_the_treebank_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = tmp_path / "parsed.conllu"
    parsed.write_bytes(roots_labelled(DANISH, "root").data)
    monkeypatch.setattr("benchmarks.peer_parsers.read", lambda _, __: roots_labelled(DANISH, "ROOT"))
    assert scores_of(parsed, "any").las == 1


SPACY_LOG = """ℹ Initial learn rate: 0.001
E    #       LOSS TOK2VEC  LOSS PARSER  DEP_UAS  DEP_LAS  SENTS_F  SCORE
---  ------  ------------  -----------  -------  -------  -------  ------
  0       0          0.00       222.15    17.13     6.25   100.00    0.12
  9    2200       3684.59      7187.20    88.96    84.51   100.00    0.86
 12    2400       3918.40      6010.53    88.39    85.20   100.00    0.86
 14    2600       4149.83      5310.77    88.56    84.18   100.00    0.86
"""


def test_the_steps_of_a_training_of_spacy_are_told_by_its_own_lines(tmp_path: Path) -> None:
    log = tmp_path / spacy_parser.LOG
    log.write_text(SPACY_LOG, encoding="utf-8")
    assert spacy_parser.steps(tmp_path) == {"steps": 2600, "best_step": 2400}
    log.write_text(SPACY_LOG.partition("  0 ")[0], encoding="utf-8")
    assert spacy_parser.steps(tmp_path) == {}


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"ended": True, "steps": 2600, "best_step": 1000}, "90 on a GPU"),
        ({"ended": False}, "90 on a GPU, stopped early"),
        (
            {"ended": False, "steps": 2600, "best_step": 2400},
            "90 on a GPU, stopped early at step 2,600, best at 2,400",
        ),
    ],
)
def test_a_training_that_the_clock_stopped_says_so(figures: dict[str, float], told: str) -> None:
    scores = Attachment(1, 1, 1, 0, 0, 0, 0, 0)
    assert PeerParser(scores, {"gpu": True, "wall_seconds": 90.0, **figures}, None, None).training == told


def test_the_picture_shows_what_the_tables_say() -> None:
    table = """<!-- peer_parsers-Danish-CDT -->
| parser | sees | UAS | LAS | training, CPU s | words/s | model MB |
| --- | --- | --- | --- | --- | --- | --- |
| greedy | forms, UPOS | 87.24 | 83.21 | 11 | 182,954 | 7.5 |
| spacy | forms, UPOS | 88.54 | 84.47 | 880 on a GPU | – | – |
<!-- /peer_parsers-Danish-CDT -->
<!-- peer_parsers-Turkish-IMST -->
| other | forms, UPOS | 1 | 2 | 3 | 4 | 5 |
"""
    assert points_of(table, "Danish-CDT") == {"greedy": (182_954, 83.21)}
    assert points_of(table, "English-EWT") == {}


def test_the_parts_of_udpipe_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokenizer is trained in a process of its own, the parser on what the tagger says."""

    def trained(_: object, __: object, options: tuple[str, str, str], path: Path) -> None:
        parts = (
            Path(said.removeprefix("from_model=file:")) for said in options if said.startswith("from_model")
        )
        path.write_text(
            "+".join(
                [
                    *(said for said in options if said != "none" and "file:" not in said),
                    *(part.read_text() for part in parts),
                ]
            )
        )

    monkeypatch.setattr(udpipe_parser, "_train_parts", trained)
    monkeypatch.setattr(udpipe_parser, "_learn_vectors", lambda *_: False)
    tokenizer, tagger, parser = (
        options["tr"]
        for options in (
            udpipe_parser.TOKENIZER_OPTIONS,
            udpipe_parser.TAGGER_OPTIONS,
            udpipe_parser.OPTIONS,
        )
    )
    udpipe_parser.train([], [], "tr", tmp_path, raw_text=True)
    assert (tmp_path / udpipe_parser.MODEL).read_text() == "+".join([tokenizer, tagger, parser, tagger])
    udpipe_parser.train([], [], "tr", tmp_path)
    assert (tmp_path / udpipe_parser.MODEL).read_text() == parser


def test_a_tokenizer_that_was_not_trained_ends_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(_: object, __: object, options: tuple[str, str, str], path: Path) -> None:
        if options[0] != "none":
            raise SystemExit(1)
        path.write_text("")

    monkeypatch.setattr(udpipe_parser, "_train_parts", trained)
    monkeypatch.setattr(udpipe_parser, "_learn_vectors", lambda *_: False)
    with pytest.raises(SystemExit, match="tokenizer was not trained"):
        udpipe_parser.train([], [], "tr", tmp_path, raw_text=True)
    assert not (tmp_path / udpipe_parser.MODEL).exists()
