"""Shared by ``induce`` and ``verify``: the selected sentences of a corpus, and the rules that constrain
parses."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arcwise.induction import ArcShare, TagSentences
    from arcwise.treebanks import Treebank

TAG_COLUMNS = ("upos", "xpos")


@dataclass(frozen=True)
class Selection:
    """The sentences that a grammar is learned from; part of a certificate."""

    column: str
    max_length: int
    sentences: int
    """Use only the first N; 0 for all."""
    without_punctuation: bool = False

    @classmethod
    def of(cls, certificate: Any) -> Selection | None:
        """The selection of a certificate; None if it is missing or invalid."""
        data = certificate.get("selection") if isinstance(certificate, dict) else None
        if not isinstance(data, dict) or not {"column", "max_length", "sentences"} <= data.keys():
            return None
        column, longest, count = data["column"], data["max_length"], data["sentences"]
        without = data.get("without_punctuation", False)
        valid = type(longest) is int and longest >= 1 and type(count) is int and count >= 0
        if column not in TAG_COLUMNS or not valid or type(without) is not bool:
            return None
        return cls(column, longest, count, without)

    def to_json(self) -> dict[str, Any]:
        """For the certificate."""
        return asdict(self)

    def tags(self, treebank: Treebank) -> TagSentences:
        """The tags of the selected sentences."""
        from arcwise.induction import TagSentences

        return TagSentences.from_treebank(
            treebank,
            column=self.column,
            max_length=self.max_length,
            without_punctuation=self.without_punctuation,
        ).first(self.sentences)

    def __str__(self) -> str:
        first = f"the first {self.sentences} " if self.sentences else ""
        without = ", without punctuation" if self.without_punctuation else ""
        which = f"{first}sentences of at most {self.max_length} words{without}"
        return f"{which}, tags from the column {self.column}"


def arc_share(share: float, rules: str | None) -> ArcShare | None:
    """The constraint of ``--constrain`` and ``--rules``."""
    from arcwise.errors import InputError
    from arcwise.induction.constraints import UNIVERSAL_RULES, ArcShare, parse_rules
    from arcwise.treebanks.files import read_bytes

    if not share:
        if rules is not None:
            raise InputError("--rules: needs --constrain, the fraction of arcs that must follow the rules")
        return None
    if rules is None:
        return ArcShare(UNIVERSAL_RULES, share)
    try:
        lines = read_bytes(rules).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{rules}: is not UTF-8 text ({error})") from error
    return ArcShare(parse_rules(lines, source=rules), share)
