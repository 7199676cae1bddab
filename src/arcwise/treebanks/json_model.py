"""The JSON of documents, sentences and words as declared types: what is read is checked by them, and
``json_schema`` describes them.

Fields that repeat others for readers (``start``, ``end``, ``text``) are described and not checked, because
nothing reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic import WithJsonSchema as Described

from arcwise.schema import Expected, JsonObject, Probability, Text, Whole, refused

_INTEGER: dict[str, Any] = {"type": "integer", "minimum": 0}
_BREAKS = ("\t", "\n", "\r")


def _one_column(text: str) -> str:
    if not text.isprintable() and any(character in text for character in _BREAKS):
        raise refused("text without tabs and line breaks")
    return text


def _one_line(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise refused("text without line breaks")
    return text


def _number_as_text(value: Any) -> Any:
    return str(value) if type(value) is int else value


# Functions check the text, not patterns: pydantic's patterns refuse half a surrogate pair, which is read as
# "?".
Key = Annotated[Text, AfterValidator(_one_column)]
Column = Annotated[Key, Described({"type": "string", "pattern": r"^[^\t\n\r]*$"})]
Comment = Annotated[Text, AfterValidator(_one_line), Described({"type": "string", "pattern": r"^[^\n\r]*$"})]
Unread = Annotated[Any, Described({"type": "string"})]
Offset = Annotated[Any, Described(_INTEGER)]
AsText = BeforeValidator(_number_as_text)
WordId = Annotated[
    Text,
    Field(pattern=r"^[0-9]+$"),
    AsText,
    Expected("a whole number"),
    Described({"type": "integer", "minimum": 1}),
]
TokenId = Annotated[Text, Field(pattern=r"^[0-9]+-[0-9]+$"), AsText, Expected("'1-2'")]
EmptyNodeId = Annotated[Text, Field(pattern=r"^[0-9]+\.[0-9]+$"), AsText, Expected("'8.1'")]
HeadId = Annotated[Text, Field(pattern=r"^[0-9]+(\.[0-9]+)?$"), AsText, Expected("an ID, '0' for the root")]
Head = Annotated[Whole, Field(ge=0), Expected("the number of a word, or 0 for the root"), Described(_INTEGER)]


class JsonArc(JsonObject):
    """An arc of the enhanced graph."""

    head: HeadId = Field(description="An ID as text, since empty nodes may be heads.")
    label: Column


class JsonAlternative(JsonObject):
    """An alternative head and label of a word."""

    head: Head
    label: Column = "_"
    probability: Probability


Pairs = Annotated[
    Annotated[dict[Key, Column], Tag("<structure>")] | Annotated[Column, Tag("<text>")],
    Discriminator(lambda value: "<structure>" if isinstance(value, Mapping) else "<text>"),
    Field(description="Keys and values; text where the column holds anything else."),
]
Arcs = Annotated[
    Annotated[list[JsonArc], Tag("<structure>")] | Annotated[Column, Tag("<text>")],
    Discriminator(lambda value: "<structure>" if isinstance(value, list | tuple) else "<text>"),
    Field(description="The arcs of the enhanced graph; text where the column holds anything else."),
]


class JsonRow(JsonObject, extra="forbid"):
    """Common fields of words, multiword tokens and empty nodes: the columns of CoNLL-U, and what MISC says
    of the arc."""

    id: Any = None
    form: Column | None = None
    lemma: Column | None = None
    upos: Column | None = None
    xpos: Column | None = None
    feats: Pairs | None = None
    head: Head | None = Field(None, description="The ID of a word; 0 is the root.")
    label: Column | None = None
    deps: Arcs | None = None
    misc: Pairs | None = None
    start: Offset = Field(None, description="In characters; none inside a multiword token. Not read back.")
    end: Offset = Field(None, description="Not read back.")
    head_probability: Probability | None = None
    label_probability: Probability | None = Field(None, description="Of head and label together.")
    alternatives: list[JsonAlternative] | None = Field(
        None, description="The most probable pairs of head and label."
    )


class JsonWord(JsonRow):
    """A syntactic word."""

    id: WordId | None = Field(None, description="1, 2, …; by default the position among the words.")
    form: Column


class JsonToken(JsonRow):
    """A multiword token."""

    id: TokenId


class JsonEmptyNode(JsonRow):
    """An empty node of the enhanced graph."""

    id: EmptyNodeId


class JsonSentence(JsonObject):
    """A sentence with its tree."""

    sent_id: Unread = None
    text: Unread = None
    start: Offset = None
    end: Offset = None
    comments: list[Comment] | None = Field(
        None,
        description="All comments in their order, without '# '; one written differently keeps its '#'. "
        "If missing, sent_id, text and probability become comments.",
    )
    probability: Probability | None = Field(None, description="Of the whole tree, regardless of labels.")
    tokens: list[JsonToken] | None = Field(None, description="Multiword tokens.")
    words: list[JsonWord] = Field(min_length=1)
    empty_nodes: list[JsonEmptyNode] | None = None


class JsonDocument(JsonObject):
    """A text with its dependency trees. Fields that are unknown (_ in CoNLL-U) are left out."""

    model_config = ConfigDict(title="arcwise document")

    text: Unread = Field(None, description="The text of all sentences. Not read back.")
    start: Offset = Field(
        None, description="Where the text begins in the longer one that it was cut from. Not read back."
    )
    sentences: list[JsonSentence]
