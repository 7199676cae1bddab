"""``DmvParser``: an induced grammar as a parser, for ``arcwise parse --model dmv.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from arcwise.errors import ModelError
from arcwise.induction.dmv import DMV, read_json
from arcwise.learning.model_file import ModelFile, Precision
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike


@dataclass(frozen=True)
class DmvParser:
    """A DMV grammar and the column whose tags it reads. Its trees are projective and have one root."""

    kind: ClassVar[str] = "dmv"
    grammar: DMV
    column: str = "upos"

    @classmethod
    def load(cls, path: PathLike) -> DmvParser:
        """The grammar of a JSON file that ``arcwise induce`` wrote."""
        data = read_json(path)
        return cls(DMV.from_json(data, source=str(path)), str(data.get("column", "upos")))

    @classmethod
    def from_model(cls, model: ModelFile) -> DmvParser:
        """A grammar is kept as JSON, never in a model file of arrays."""
        raise ModelError(f"{model.path}: found arrays, expected a JSON file as a grammar is kept")

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the grammar as JSON; probabilities are written in full, whatever the precision."""
        self.grammar.save(path, column=self.column)

    def parse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> Treebank:
        """The treebank with HEAD and DEPREL (``root`` and ``dep``) replaced by the best trees."""
        options.reject("dmv", "decode", "k_best", "confidence", "keep_heads", "beam")
        if options.projective is False or options.single_root is False:
            raise ModelError("a dmv grammar makes projective trees with one root, and no others")
        return self.grammar.parse_treebank(treebank, column=self.column, threads=threads)

    @property
    def info(self) -> Mapping[str, Any]:
        """What the model is."""
        return {
            "kind": self.kind,
            "column": self.column,
            "tags": list(self.grammar.tags),
            "parameters": self.grammar.features.count,
        }
