"""What ``stats`` counts, against counts made by hand and against simple counting of rows."""

from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.treebanks.statistics import collect, mean, median, statistics, summary

SAMPLE = Path(str(files("arcwise") / "data" / "sample-gold.conllu"))

# two sentences: crossing arcs, a multiword token, an empty node; two roots and an unknown head
SMALL = """\
1-2\ta\t_\t_\t_\t_\t_\t_\t_\t_
1\ta\t_\tX\t_\t_\t3\tdep\t_\t_
2\tb\t_\tX\t_\t_\t0\troot\t_\t_
2.1\te\t_\t_\t_\t_\t_\t_\t_\t_
3\tb\t_\tY\t_\t_\t2\tdep\t_\t_

1\tc\t_\tY\t_\t_\t0\troot\t_\t_
2\td\t_\tY\t_\t_\t0\troot\t_\t_
3\td\t_\tY\t_\t_\t_\t_\t_\t_

"""


def test_counts_made_by_hand() -> None:
    found = collect([Treebank.from_string(SMALL)], source="small")
    assert (found.sentences, found.words, found.tokens) == (2, 6, 5)
    assert (found.multiword_tokens, found.empty_nodes, len(found.forms)) == (1, 1, 4)
    assert found.labels == Counter({"root": 3, "dep": 2, "_": 1})
    assert found.tags == Counter({"Y": 4, "X": 2})
    assert found.lengths == Counter({3: 2})
    assert found.depths == Counter({3: 1, 1: 1})
    assert found.gap_degrees == Counter({1: 1, 0: 1})
    assert (found.arcs, found.crossing_arcs, found.non_projective_arcs) == (5, 2, 1)
    assert found.crossing_arcs_percent == 40
    assert found.non_projective_arcs_percent == 20
    assert (found.non_projective_sentences, found.non_projective_sentences_percent) == (1, 50)
    assert (found.non_planar_sentences, found.ill_nested_sentences) == (0, 0)
    assert (found.multi_root_sentences, found.partial_sentences) == (1, 1)


def test_pieces_give_the_same_as_the_whole() -> None:
    whole = Treebank.read(SAMPLE)
    pieces = [Treebank.from_sentences([sentence]) for sentence in whole]
    assert collect(pieces, source="x") == collect([whole], source="x")


def test_as_dict_has_every_count() -> None:
    found = statistics(SAMPLE).as_dict()
    assert found["file"] == str(SAMPLE)
    assert found["labels"]["root"] == 6
    assert found["length"]["counts"] == {"7": 1, "8": 3, "11": 2}
    assert (found["forms"], found["multiword_tokens"], found["non_projective_sentences"]) == (48, 4, 1)


def test_length_bands_cover_everything() -> None:
    found = statistics(SAMPLE)
    assert found.length_percent(1, 10) + found.length_percent(11, None) == pytest.approx(100)


def test_nothing_to_count() -> None:
    empty: Counter[int] = Counter()
    assert (mean(empty), median(empty)) == (0, 0)
    assert summary(empty) == {"mean": 0, "median": 0, "max": 0, "counts": {}}
    assert collect([], source="x").crossing_arcs_percent == 0


@pytest.mark.treebanks
def test_sizes_of_a_real_treebank(treebanks: Path) -> None:
    """English-EWT dev has 2001 sentences of 25147 words; two roots occur in Danish-CDT (82 sentences in all
    parts)."""
    english = statistics(treebanks / "English-EWT" / "dev.conllu.xz")
    assert (english.sentences, english.words) == (2001, 25147)
    danish = [statistics(treebanks / "Danish-CDT" / f"{part}.conllu.xz") for part in ("train", "dev", "test")]
    assert sum(d.multi_root_sentences for d in danish) == 82
