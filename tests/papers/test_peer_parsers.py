"""What the benchmarks do to treebanks so that peers can train on them and be scored fairly."""

from benchmarks.peer_parsers import root_label, roots_labelled, single_roots

from arcwise.treebanks import Treebank


def treebank(*sentences: list[tuple[int, str]]) -> Treebank:
    """Sentences of (head, label)."""
    lines = []
    for words in sentences:
        lines += [f"{i}\tw\t_\tX\t_\t_\t{head}\t{label}\t_\t_" for i, (head, label) in enumerate(words, 1)]
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
