"""A small treebank with which nothing is wrong: multiword tokens, an empty node, DEPS, fixed, goeswith,
orphans, foreign words."""

from collections.abc import Sequence

from arcwise.treebanks import COLUMNS


def _row(text: str) -> str:
    return "\t".join(text.split())


def _sentence(comments: str, rows: str) -> str:
    return "".join(f"{line.strip()}\n" for line in comments.strip().splitlines()) + "".join(
        f"{_row(line)}\n" for line in rows.strip().splitlines()
    )


SENTENCES: Sequence[str] = [
    _sentence(
        """
        # newdoc
        # sent_id = a
        # text = The birds don't sing today.
        """,
        """
        1   The   the   DET   _ PronType=Art          2 det    2:det    _
        2   birds bird  NOUN  _ Number=Plur           5 nsubj  5:nsubj  _
        3-4 don't _     _     _ _                     _ _      _        _
        3   do    do    AUX   _ Mood=Ind|VerbForm=Fin 5 aux    5:aux    _
        4   n't   not   PART  _ Polarity=Neg          5 advmod 5:advmod _
        5   sing  sing  VERB  _ VerbForm=Inf          0 root   0:root   _
        6   today today ADV   _ _                     5 advmod 5:advmod SpaceAfter=No
        7   .     .     PUNCT _ _                     5 punct  5:punct  _
        """,
    ),
    _sentence(
        """
        # sent_id = b
        # text = In spite of rain, Ann bought apples and Bob to day pears.
        """,
        """
        1    In     in     ADP   _ ExtPos=ADP                        4  case     4:case            _
        2    spite  spite  NOUN  _ Number=Sing                       1  fixed    1:fixed           _
        3    of     of     ADP   _ _                                 1  fixed    1:fixed           _
        4    rain   rain   NOUN  _ Number=Sing                       7  obl      7:obl:in_spite_of SpaceAfter=No
        5    ,      ,      PUNCT _ _                                 4  punct    4:punct           _
        6    Ann    Ann    PROPN _ Number=Sing                       7  nsubj    7:nsubj           _
        7    bought buy    VERB  _ Mood=Ind|Tense=Past|VerbForm=Fin  0  root     0:root            _
        8    apples apple  NOUN  _ Number=Plur                       7  obj      7:obj             _
        9    and    and    CCONJ _ _                                 10 cc       10.1:cc           _
        10   Bob    Bob    PROPN _ Number=Sing                       7  conj     10.1:nsubj        _
        10.1 bought buy    VERB  _ Mood=Ind|Tense=Past|VerbForm=Fin  _  _        7:conj:and        CopyOf=7
        11   to     today  ADV   _ Typo=Yes                          10 orphan   10.1:advmod       _
        12   day    _      X     _ _                                 11 goeswith 11:goeswith       _
        13   pears  pear   NOUN  _ Number=Plur                       10 orphan   10.1:obj          SpaceAfter=No
        14   .      .      PUNCT _ _                                 7  punct    7:punct           _
        """,
    ),
    _sentence(
        """
        # sent_id = c
        # parallel_id = zoo/1/alt1
        # text = Rex is a big dog with one ear!
        """,
        """
        1 Rex  Rex  PROPN _ Number=Sing           5 nsubj  5:nsubj     _
        2 is   be   AUX   _ Mood=Ind|VerbForm=Fin 5 cop    5:cop       _
        3 a    a    DET   _ PronType=Art          5 det    5:det       _
        4 big  big  ADJ   _ Degree=Pos            5 amod   5:amod      _
        5 dog  dog  NOUN  _ Number=Sing           0 root   0:root      _
        6 with with ADP   _ _                     8 case   8:case      _
        7 one  one  NUM   _ NumType=Card          8 nummod 8:nummod    _
        8 ear  ear  NOUN  _ Number=Sing           5 nmod   5:nmod:with SpaceAfter=No
        9 !    !    PUNCT _ _                     5 punct  5:punct     SpaceAfter=No
        """,
    ),
    _sentence(
        """
        # sent_id = d
        # text = He said (it seems) dolce vita twice and that all of it rained.
        """,
        """
        1  He     he     PRON  _ PronType=Prs                      2  nsubj        2:nsubj        _
        2  said   say    VERB  _ Mood=Ind|Tense=Past|VerbForm=Fin  0  root         0:root         _
        3  (      (      PUNCT _ _                                 5  punct        5:punct        SpaceAfter=No
        4  it     it     PRON  _ PronType=Prs                      5  expl         5:expl         _
        5  seems  seem   VERB  _ Mood=Ind|VerbForm=Fin             2  parataxis    2:parataxis    SpaceAfter=No
        6  )      )      PUNCT _ _                                 5  punct        5:punct        _
        7  dolce  dolce  X     _ Foreign=Yes                       2  obj          2:obj          _
        8  vita   vita   X     _ Foreign=Yes                       7  flat:foreign 7:flat:foreign _
        9  twice  twice  ADV   _ _                                 2  advmod       2:advmod       _
        10 and    and    CCONJ _ _                                 15 cc           15:cc          _
        11 that   that   SCONJ _ _                                 15 mark         15:mark        _
        12 all    all    DET   _ PronType=Tot                      15 nsubj        15:nsubj       _
        13 of     of     ADP   _ _                                 14 case         14:case        _
        14 it     it     PRON  _ PronType=Prs                      12 nmod         12:nmod:of     _
        15 rained rain   VERB  _ Mood=Ind|Tense=Past|VerbForm=Fin  2  conj         2:conj:and     SpaceAfter=No
        16 .      .      PUNCT _ _                                 2  punct        2:punct        _
        """,
    ),
]

SOUND = "".join(f"{sentence}\n" for sentence in SENTENCES)


def with_field(text: str, sent_id: str, row: str, column: str, value: str) -> str:
    """The treebank with another value in one field."""
    sentences = text.split("\n\n")
    place = next(i for i, s in enumerate(sentences) if f"# sent_id = {sent_id}\n" in f"{s}\n")
    lines = sentences[place].split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith(f"{row}\t"))
    fields = lines[at].split("\t")
    fields[COLUMNS.index(column)] = value
    lines[at] = "\t".join(fields)
    sentences[place] = "\n".join(lines)
    return "\n\n".join(sentences)
