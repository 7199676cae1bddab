"""``/v1/parse``: what its JSON may hold, checked field by field, and the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from arcwise.errors import InputError, OptionError
from arcwise.inference import Constraints
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank
from arcwise.web.serve_forms import not_utf8
from arcwise.web.serve_input import Source, from_words
from arcwise.web.serve_limits import Limits, RequestRefused
from arcwise.web.serve_models import Models, ServedModel
from arcwise.web.serve_tasks import ParseTask

INPUTS = ("text", "words", "conllu", "document")
OPTIONS = tuple(own.name for own in fields(ParseOptions) if own.name not in ("device",))
"""Options of a parse that a request may set."""
OTHERS = ("model", "constraints", "pictures")
MOST_TREES = 1000
"""Of ``k_best`` in one request."""
MANY = 10
"""Trees of each sentence, or alternatives of each word, that the largest request may ask for."""
_OF_A_PARSE = ("# tree_prob =", "# tree_entropy =", "# parse_note =")
_CONSTRAINTS = tuple(own.name for own in fields(Constraints))


def read_json(body: bytes) -> Mapping[str, Any]:
    """The body as an object. ``InputError`` for anything else."""
    try:
        found = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"body: {not_utf8(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"body: is not valid JSON ({error})") from None
    if not isinstance(found, dict):
        raise InputError(f"body: found {_kind(found)}, expected an object")
    return found


def parse_task(models: Models, given: Mapping[str, Any], limits: Limits) -> ParseTask:
    """What a request to ``/v1/parse`` asks. ``InputError`` for what cannot be, ``RequestRefused`` for what is too much."""
    known = (*INPUTS, *OPTIONS, *OTHERS)
    for name in given:
        if name not in known:
            raise InputError(f"{name}: is not known, expected {', '.join(known)}")
    model = models.find(_text(given, "model") if given.get("model") is not None else None)
    _truth(given, "pictures")
    options = _options(given)
    options.check(model.parser.kind, model.parser.capabilities)
    source = _source(given)
    if source.form == "text":
        model.needs("tokenizer")
    most = max(options.k_best, options.alternatives)
    if most * source.size > MANY * limits.max_body:
        told = f"found {most} for each sentence or word of {source.size} bytes, expected less, or less text"
        raise RequestRefused(413, f"{'k_best' if options.k_best == most else 'alternatives'}: {told}")
    return ParseTask(
        model,
        source,
        tag=model.pipeline is not None,
        options=options,
        constraints=_constraints(given.get("constraints")),
        max_words=limits.max_words,
    )


def _source(given: Mapping[str, Any]) -> Source:
    found = [name for name in INPUTS if name in given]
    if len(found) != 1:
        raise InputError(
            f"body: found {' and '.join(found) or 'none'} of {', '.join(INPUTS)}, expected one of them"
        )
    if found[0] == "words":
        return Source("conllu", _words(given["words"]).text)
    if found[0] == "document":
        return Source("conllu", _document(given["document"]))
    return Source("text" if found[0] == "text" else "conllu", _text(given, found[0]))


def _document(given: Any) -> str:
    """As CoNLL-U, without the comments that a parse writes anew."""
    lines = Treebank.from_json(given).text.split("\n")
    return "\n".join(line for line in lines if not line.startswith(_OF_A_PARSE))


def _words(given: Any) -> Treebank:
    if not isinstance(given, list) or not all(isinstance(sentence, list) and sentence for sentence in given):
        raise InputError("words: expected a list of sentences, each a list of words")
    for sentence in given:
        for word in sentence:
            if not isinstance(word, str):
                raise InputError(f"words: found {_kind(word)}, expected text")
    return from_words([[word.replace(" ", "\xa0") for word in sentence] for sentence in given])


def _options(given: Mapping[str, Any]) -> ParseOptions:
    chosen = {name: given[name] for name in OPTIONS if name in given}
    if "keep" in chosen:
        if not isinstance(chosen["keep"], list) or not all(isinstance(own, str) for own in chosen["keep"]):
            raise InputError(f"keep: found {_kind(chosen['keep'])}, expected a list of names of columns")
        chosen["keep"] = tuple(chosen["keep"])
    for name in ("keep_heads", "misc_constraints", "confidence"):
        _truth(given, name)
    made = ParseOptions(**{"confidence": True, **chosen})
    if made.k_best > MOST_TREES:
        raise OptionError("k_best", f"found {made.k_best}, expected at most {MOST_TREES} in a request")
    return made


def _constraints(given: Any) -> Sequence[Constraints | None] | None:
    """One object a sentence, or null."""
    if given is None:
        return None
    if not isinstance(given, list):
        raise InputError(
            f"constraints: found {_kind(given)}, expected a list with an object or null for each sentence"
        )
    return [None if own is None else _constraint(own, f"constraints[{at}]") for at, own in enumerate(given)]


def _constraint(given: Any, where: str) -> Constraints:
    if not isinstance(given, dict):
        raise InputError(f"{where}: found {_kind(given)}, expected an object or null")
    for name in given:
        if name not in _CONSTRAINTS:
            raise InputError(f"{where}: found {name!r}, expected {', '.join(_CONSTRAINTS)}")
    chosen = dict(given)
    for name in ("required", "forbidden", "subtrees"):
        if name in chosen:
            chosen[name] = _pairs(chosen[name], f"{where}.{name}")
    if "labels" in chosen:
        chosen["labels"] = _labels(chosen["labels"], f"{where}.labels")
    for name in ("roots", "max_length"):
        if chosen.get(name) is not None and not _whole(chosen[name], many=name == "roots"):
            raise InputError(f"{where}.{name}: found {_kind(chosen[name])}, expected whole numbers")
    return Constraints(**chosen)


def _pairs(given: Any, where: str) -> list[tuple[int, int]]:
    if not isinstance(given, list) or not all(_whole(pair, many=True) and len(pair) == 2 for pair in given):
        raise InputError(f"{where}: expected pairs of whole numbers, as [[2, 1]]")
    return [(first, second) for first, second in given]


def _labels(given: Any, where: str) -> dict[int, str]:
    if not isinstance(given, dict) or not all(
        key.isascii() and key.isdecimal() and len(key) < 8 and isinstance(label, str)
        for key, label in given.items()
    ):
        raise InputError(f'{where}: expected labels by the number of the word, as {{"2": "root"}}')
    return {int(key): label for key, label in given.items()}


def _whole(value: Any, *, many: bool) -> bool:
    if many:
        return isinstance(value, list) and all(_whole(own, many=False) for own in value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def _text(given: Mapping[str, Any], name: str) -> str:
    if not isinstance(given[name], str):
        raise InputError(f"{name}: found {_kind(given[name])}, expected text")
    return str(given[name])


def _truth(given: Mapping[str, Any], name: str) -> None:
    if not isinstance(given.get(name, False), bool):
        raise InputError(f"{name}: found {_kind(given[name])}, expected true or false")


def _kind(value: Any) -> str:
    kinds = {
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), "null")


def parse_answer(model: ServedModel, treebank: Treebank, given: Mapping[str, Any]) -> dict[str, Any]:
    """What ``/v1/parse`` says."""
    answer: dict[str, Any] = {"model": model.name, **treebank.to_json()}
    if isinstance(given.get("text"), str):
        answer["text"] = given["text"]
    if given.get("pictures"):
        from arcwise.visual import svg

        for number, (sentence, told) in enumerate(zip(treebank, answer["sentences"], strict=True), 1):
            told["svg"] = svg(sentence, name=f"tree-{number}", with_style=False)
    return answer
