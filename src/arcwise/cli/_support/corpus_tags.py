"""What ``induce`` and ``verify`` share: which words of a corpus are meant, and the rules that parses keep to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arcwise.induction import ArcShare, TagSentences
    from arcwise.treebanks import Treebank

TAG_COLUMNS = ("upos", "xpos")


@dataclass(frozen=True)
class Selection:
    """The sentences that a grammar is learned from; a certificate carries it."""

    column: str
    max_length: int
    sentences: int
    """The first so many; 0: all."""
    without_punctuation: bool = False

    @classmethod
    def of(cls, certificate: Any) -> Selection | None:
        """What a certificate says; None if it says nothing, or nothing that makes sense."""
        data = certificate.get("selection") if isinstance(certificate, dict) else None
        if not isinstance(data, dict) or not {"column", "max_length", "sentences"} <= data.keys():
            return None
        column, longest, count = data["column"], data["max_length"], data["sentences"]
        without = data.get("without_punctuation", False)
        sound = type(longest) is int and longest >= 1 and type(count) is int and count >= 0
        if column not in TAG_COLUMNS or not sound or type(without) is not bool:
            return None
        return cls(column, longest, count, without)

    def to_json(self) -> dict[str, Any]:
        """For the certificate."""
        return asdict(self)

    def tags(self, treebank: Treebank) -> TagSentences:
        """The sentences of a treebank that are meant."""
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
        return f"{first}sentences of at most {self.max_length} words{without}, tags from the column {self.column}"


def arc_share(share: float, rules: str | None) -> ArcShare | None:
    """The constraint of ``--constrain`` and ``--rules``."""
    from arcwise.errors import InputError
    from arcwise.induction.constraints import UNIVERSAL_RULES, ArcShare, parse_rules
    from arcwise.treebanks.files import read_bytes

    if not share:
        if rules is not None:
            raise InputError(
                f"--rules: found {rules} without --constrain, expected a share of arcs that follow them"
            )
        return None
    if rules is None:
        return ArcShare(UNIVERSAL_RULES, share)
    try:
        lines = read_bytes(rules).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{rules}: is no UTF-8 text ({error})") from error
    return ArcShare(parse_rules(lines, source=rules), share)
