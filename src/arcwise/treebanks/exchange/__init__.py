"""Convert treebanks and documents to and from other libraries (docs/reference/exchange.md).

The libraries are optional: each function imports its own when it is called.
"""

from arcwise.treebanks.exchange.sentence_tables import (
    from_arrow,
    from_dataset,
    from_polars,
    to_arrow,
    to_dataset,
    to_polars,
)
from arcwise.treebanks.exchange.spacy_docs import from_docbin, from_spacy, to_docbin, to_spacy
from arcwise.treebanks.exchange.word_tables import (
    from_conllu_library,
    from_pandas,
    to_conllu_library,
    to_pandas,
)

__all__ = [
    "from_arrow",
    "from_conllu_library",
    "from_dataset",
    "from_docbin",
    "from_pandas",
    "from_polars",
    "from_spacy",
    "to_arrow",
    "to_conllu_library",
    "to_dataset",
    "to_docbin",
    "to_pandas",
    "to_polars",
    "to_spacy",
]
