"""Reading, viewing, annotating, writing."""

from arcwise import Treebank

SMALL = "# sent_id = s1\n1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n\n"


def test_read_and_write_back() -> None:
    assert Treebank.from_string(SMALL).data == SMALL.encode()
