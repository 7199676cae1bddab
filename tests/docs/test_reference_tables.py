"""The tables of the reference pages say what the code declares."""

from docs.reference_tables import PAGES, filled, named, tables


def test_every_table_is_as_declared() -> None:
    for path in PAGES:
        text = path.read_text()
        assert text == filled(text), f"{path.name} is behind: python tests/docs/reference_tables.py writes it"


def test_every_table_is_on_a_page() -> None:
    assert sorted(name for path in PAGES for name in named(path.read_text())) == sorted(tables())
