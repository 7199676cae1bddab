"""``/v1/parse``: declared types of request and response, and their conversion to tasks and from results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, create_model

from arcwise.errors import InputError, OptionError
from arcwise.inference import Constraints
from arcwise.learning.options import Declared, declared
from arcwise.parsing.parser import ParseOptions
from arcwise.schema import Expected, Flag, JsonObject, Text, Whole, check_json
from arcwise.treebanks import Treebank
from arcwise.treebanks.json_format import sentence_json
from arcwise.treebanks.json_model import JsonDocument, JsonSentence
from arcwise.treebanks.surface import stated_places
from arcwise.web.serve_forms import not_utf8
from arcwise.web.serve_input import Source, from_words
from arcwise.web.serve_limits import Limits, RequestRefused, WorkDeadline
from arcwise.web.serve_models import Models, ServedModel
from arcwise.web.serve_tasks import WORD_JSON, ParseTask

INPUTS = ("text", "words", "conllu", "document")
# Not device: that is the operator's choice.
OPTIONS = tuple(option.name for option in fields(ParseOptions) if option.name not in ("device",))
"""Options of a parse that a request may set."""
MAX_TREES = 1000
"""The largest ``k_best`` of a request."""
_PARSE_COMMENTS = ("# tree_prob =", "# tree_entropy =", "# parse_note =")
_JSON_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}

Arcs = Annotated[list[tuple[Whole, Whole]], Expected("pairs of whole numbers, as [[2, 1]]")]
Labels = Annotated[
    dict[Annotated[str, Field(pattern=r"^[0-9]{1,7}$")], Text],
    Expected('labels by the number of the word, as {"2": "root"}'),
]


class JsonConstraints(JsonObject, extra="forbid"):
    """Constraints on the tree of one sentence. Arcs are pairs of head and modifier; 0 is the root."""

    required: Arcs = Field([], description="Arcs that the tree must have.")
    forbidden: Arcs = Field([], description="Arcs that it must not have.")
    labels: Labels = Field({}, description="The label of the arc into a word, by the number of the word.")
    subtrees: Arcs = Field(
        [],
        description="Spans (first and last word) that must be one word and its descendants; projective "
        "trees only.",
    )
    max_length: Whole | None = Field(
        None, description="The longest arc between two words, in words.", json_schema_extra={"minimum": 1}
    )
    roots: list[Whole] | None = Field(None, description="The words that may be roots.")

    def constraints(self) -> Constraints:
        """The same as the library takes them."""
        values = self.model_dump(exclude_unset=True)
        if "labels" in values:
            values["labels"] = {int(word): label for word, label in values["labels"].items()}
        return Constraints(**values)


class ParseInput(JsonObject, extra="forbid"):
    """The fields of a request to ``/v1/parse`` other than parse options."""

    text: Text = Field("", description="Raw text.")
    words: list[Annotated[list[Text], Field(min_length=1)]] = Field(
        [], description="Sentences that are split into words already."
    )
    conllu: Text = Field("", description="Sentences in CoNLL-U.")
    # Checked by ``Treebank.from_json``, one sentence at a time.
    document: Annotated[Any, WithJsonSchema({"type": "object"})] = Field(
        None, description="Sentences as in the response."
    )
    model: Text | None = Field(None, description="One of /models.")
    constraints: list[JsonConstraints | None] | None = Field(
        None, description="For each sentence what its tree must obey, or null."
    )
    pictures: Flag = Field(False, description="Add a picture (SVG) to each sentence.")


RULES = ("ud", "learned")
"""Values of the option ``legal`` in a request."""


def _option_schema(option: Declared) -> dict[str, Any]:
    item: dict[str, Any] = {"type": _JSON_TYPES.get(option.base, "string")}
    if option.choices:
        item["enum"] = list(option.choices)
    if option.name == "legal":
        item["enum"] = list(RULES)
    if option.option is not None and option.option.low is not None:
        item["minimum"] = option.option.low
    if option.option is not None and option.option.high is not None:
        item["maximum"] = MAX_TREES if option.name == "k_best" else option.option.high
    return {"type": "array", "items": item} if option.many else item


def _option_field(option: Declared) -> tuple[Any, Any]:
    """An option of a parse as a field. ``ParseOptions`` checks the value, by the declaration that the schema
    is made from."""
    text = option.text
    if option.name == "confidence":
        text += " Default: true for a parser with distributions over trees, false for others."
    if option.name == "legal":
        text = text.replace("; or a TOML file", "")
    schema = {**_option_schema(option), "description": text}
    return Annotated[Any, WithJsonSchema(schema)], None


_option_fields: Any = {name: _option_field(declared(ParseOptions)[name]) for name in OPTIONS}
ParseRequest = create_model("ParseRequest", __base__=ParseInput, **_option_fields)


class AnswerSentence(JsonSentence):
    """A sentence of a response."""

    svg: Text | None = Field(None, description="The tree as a picture, if `pictures` asks for it.")


class ParseAnswer(JsonDocument):
    """The response of ``/v1/parse``."""

    model: Text | None = None
    sentences: list[AnswerSentence]  # type: ignore[assignment]  # only read


def read_request(body: bytes) -> ParseInput:
    """The body of a request to ``/v1/parse``. ``InputError`` for anything else."""
    try:
        # Not pydantic's JSON parser: it rejects half a surrogate pair, and cannot report where UTF-8 is
        # broken.
        values = json.loads(body.decode("utf-8"))
        if b"\\ud" in body.lower():
            # Halves of surrogate pairs, which only escapes can write, become "?" wherever they are.
            whole = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
            values = json.loads(whole)
    except UnicodeDecodeError as error:
        raise InputError(f"body: {not_utf8(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"body: is not valid JSON ({error})") from None
    return check_json(ParseRequest, values, "body")


def parse_task(models: Models, request: ParseInput, limits: Limits) -> ParseTask:
    """The parse task of a request. ``InputError`` if it is impossible, ``RequestRefused`` if it is
    too much."""
    model = models.find(request.model)
    options = _options(request, model)
    options.check(model.parser.kind, model.parser.capabilities)
    source = _source(request, limits)
    if source.form == "text":
        model.needs("tokenizer")
    return ParseTask(
        model,
        source,
        tag=model.pipeline is not None,
        options=options,
        constraints=_constraints(request),
        limits=limits,
        pictures=request.pictures,
        deadline=WorkDeadline(limits.max_seconds),
    )


def _source(request: ParseInput, limits: Limits) -> Source:
    inputs = [name for name in INPUTS if name in request.model_fields_set]
    if len(inputs) != 1:
        raise InputError(
            f"body: found {' and '.join(inputs) or 'none'} of {', '.join(INPUTS)}, expected one of them"
        )
    if inputs[0] == "words":
        # Before the words become CoNLL-U, which takes ten times the memory of the request.
        if WORD_JSON * (len(request.words) + sum(map(len, request.words))) > limits.max_answer:
            raise RequestRefused(
                413, f"words: the response would exceed {limits.max_answer} bytes; send less"
            )
        # from_words reads no-break spaces as spaces; this keeps words with spaces whole.
        words = [[word.replace(" ", "\xa0") for word in sentence] for sentence in request.words]
        return Source("conllu", from_words(words).text)
    if inputs[0] == "document":
        return Source("conllu", _document_text(request.document))
    return Source("text", request.text) if inputs[0] == "text" else Source("conllu", request.conllu)


def _document_text(document: Any) -> str:
    """CoNLL-U, without the comments that a parse rewrites."""
    lines = Treebank.from_json(document).text.split("\n")
    return "\n".join(line for line in lines if not line.startswith(_PARSE_COMMENTS))


def _options(request: ParseInput, model: ServedModel) -> ParseOptions:
    values = {name: getattr(request, name) for name in OPTIONS if name in request.model_fields_set}
    # A client may not name files of the server.
    if values.get("legal") not in (None, *RULES):
        raise OptionError("legal", f"found {values['legal']!r}, expected one of {', '.join(RULES)}")
    # The confidences of a beam cost more than the parse, and are computed only if asked for.
    parser = model.parser if model.pipeline is None else model.pipeline.parser
    can = parser.capabilities
    options = ParseOptions(**{"confidence": can.confidence and can.distributions, **values})
    if options.k_best > MAX_TREES:
        raise OptionError("k_best", f"found {options.k_best}, expected at most {MAX_TREES} in a request")
    return options


def _constraints(request: ParseInput) -> Sequence[Constraints | None] | None:
    if request.constraints is None:
        return None
    return [None if item is None else item.constraints() for item in request.constraints]


def answer_parts(model: ServedModel, treebank: Treebank, request: ParseInput) -> Iterator[str]:
    """The response of ``/v1/parse`` as pieces of JSON text, one for each sentence."""
    is_text = "text" in request.model_fields_set
    if not is_text and treebank.layout.row_kinds.any():
        _check_heads(treebank)
    # The places of words that were cut from a text are in their rows; otherwise the text is rebuilt from all.
    text, start = (request.text, 0) if is_text else (treebank.surface.text, treebank.surface.start)
    header = {"model": model.name, "text": text, "start": start}
    yield f"{_text(header)[:-1]}, " + '"sentences": ['
    for number, sentence in enumerate(treebank, 1):
        values = sentence_json(sentence, stated_places(sentence) if is_text else None)
        if request.pictures:
            from arcwise.visual import svg

            # Without style: one style sheet serves all pictures of the page.
            values["svg"] = svg(sentence, name=f"tree-{number}", with_style=False)
        yield (", " if number > 1 else "") + _text(values)
    yield "]}"


def _check_heads(treebank: Treebank) -> None:
    """Refuse what JSON cannot express before a part of the response is sent. Words were checked when they
    were read; multiword tokens and empty nodes may have anything in the column of heads."""
    for sentence in treebank:
        if len(sentence.rows) > len(sentence) and not all(_is_head(fields[6]) for fields in sentence.rows):
            sentence_json(sentence)  # raises, and says where


def _is_head(head: str) -> bool:
    return head == "_" or (head.isascii() and head.isdecimal())


def _text(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)
