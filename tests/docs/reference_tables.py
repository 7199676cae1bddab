"""The tables of docs/reference that are made from declarations: ``python tests/docs/reference_tables.py``
writes them."""

import re
from pathlib import Path

from arcwise.distillation import DistillationConfig
from arcwise.graph import GraphConfig
from arcwise.graph.trainer_table import own_options, readers, trainer_markdown
from arcwise.learning.options import markdown
from arcwise.models.train_pipeline import PipelineConfig
from arcwise.neural import NeuralConfig
from arcwise.parsing import ParseOptions
from arcwise.text.tagger import TaggerConfig
from arcwise.text.tokenizer import TokenizerConfig
from arcwise.transition import TransitionConfig
from arcwise.treebanks.validation.rules import rules_markdown

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))
_TABLE = re.compile(r"(?<=<!-- table: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def tables() -> dict[str, str]:
    """Name → text of every table."""
    read_by = {name: readers(name) for name in own_options()}
    return {
        "trainers": trainer_markdown(),
        "rules": rules_markdown(),
        "GraphConfig": markdown(GraphConfig, read_by=read_by),
        **{
            kind.__name__: markdown(kind)
            for kind in (
                TransitionConfig,
                NeuralConfig,
                PipelineConfig,
                TokenizerConfig,
                TaggerConfig,
                ParseOptions,
                DistillationConfig,
            )
        },
    }


def filled(page: str) -> str:
    """The text of a page with its tables as they should be."""
    known = tables()
    return _TABLE.sub(lambda match: f"{match[1]}{match[2]}{known[match[1]]}\n", page)


def named(page: str) -> list[str]:
    """The tables that a page has."""
    return [match[1] for match in _TABLE.finditer(page)]


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text()))
