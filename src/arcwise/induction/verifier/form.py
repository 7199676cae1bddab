"""Validation of certificates: types and ranges that the rest of the verifier relies on.

The format is described in ``arcwise.induction.global_search.certificate``. A certificate is untrusted JSON:
anyone may have written it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from arcwise.induction.verifier.claim import CertificateError, Constraint

KIND = "arcwise grammar induction certificate"
BLOCKS_KIND = "arcwise grammar induction certificate by blocks"
THETA_KIND = "arcwise grammar induction certificate over parameters"
VERSIONS = {KIND: (1, 2), BLOCKS_KIND: (1, 2), THETA_KIND: (1,)}
"""Version 1 of a certificate over counts has prices only, no messages."""
MOST_ENUMERATED = 20
_LARGEST = 2**61
"""Limit of integers: sums of two still fit into 64 bits."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """A well-formed certificate about one corpus; ``sentences`` are tag numbers."""

    tags: tuple[str, ...]
    sentences: list[tuple[int, ...]]
    constraint: Constraint | None
    heads: list[list[int]]
    lower: float
    upper: int
    enumerate_up_to: int
    coordinates: list[int]
    multipliers: list[Any]
    """Validated when they are used: there may be very many."""
    nodes: list[Any]
    """Validated when they are visited."""


@dataclass(frozen=True, eq=False)
class BlocksCertificate:
    """A certificate by blocks of sentences; ``blocks`` are not validated yet, None for unsearched ones."""

    block_size: int
    heads: list[list[int]]
    lower: float
    upper: int
    blocks: list[Any]


@dataclass(frozen=True, eq=False)
class ThetaCertificate:
    """A certificate over boxes of parameters; tangents and nodes are validated when they are used."""

    tags: tuple[str, ...]
    sentences: list[tuple[int, ...]]
    constraint: Constraint | None
    heads: list[list[int]]
    lower: float
    upper: int
    tangents: list[Any]
    nodes: list[Any]


def is_int(value: object, low: int = -_LARGEST, high: int = _LARGEST) -> bool:
    """Whether a JSON value is an integer (not a boolean) from low to high."""
    return type(value) is int and low <= value <= high


def is_blocks(certificate: object) -> bool:
    """Whether it claims to be a certificate by blocks."""
    return isinstance(certificate, dict) and certificate.get("kind") == BLOCKS_KIND


def is_over_parameters(certificate: object) -> bool:
    """Whether it claims to be a certificate over boxes of parameters."""
    return isinstance(certificate, dict) and certificate.get("kind") == THETA_KIND


def read(certificate: Any, sentences: Sequence[Sequence[str]]) -> Certificate:
    """Validate a certificate about these sentences."""
    _check_head(certificate, KIND)
    tags = _tags(certificate)
    numbers = _corpus(_value(certificate, "sentences", list, "lists of tag numbers"), tags, sentences)
    words = sum(map(len, numbers))
    up_to = _value(certificate, "enumerate_up_to", int, f"a number from 0 to {MOST_ENUMERATED}")
    if not is_int(up_to, 0, MOST_ENUMERATED):
        raise CertificateError(
            f"enumerate_up_to: found {_shown(up_to)}, expected a number from 0 to {MOST_ENUMERATED}"
        )
    t = len(tags)
    last = t + 2 * t * (t + 1) + 2 * t
    coordinates = _value(certificate, "coordinates", list, "numbers of coordinates")
    if not all(is_int(c, 0, last) for c in coordinates) or len(set(coordinates)) < len(coordinates):
        raise CertificateError(f"coordinates: expected different numbers from 0 to {last}")
    return Certificate(
        tuple(tags),
        numbers,
        _constraint(certificate, tuple(tags), words),
        _heads(certificate, numbers),
        _lower(certificate),
        _upper(certificate),
        up_to,
        coordinates,
        _value(certificate, "multipliers", list, "lists of numbers"),
        _nodes(certificate),
    )


def read_theta(certificate: Any, sentences: Sequence[Sequence[str]]) -> ThetaCertificate:
    """Validate a certificate over parameters, but not its tangents and nodes."""
    _check_head(certificate, THETA_KIND)
    tags = _tags(certificate)
    numbers = _corpus(_value(certificate, "sentences", list, "lists of tag numbers"), tags, sentences)
    return ThetaCertificate(
        tuple(tags),
        numbers,
        _constraint(certificate, tuple(tags), sum(map(len, numbers))),
        _heads(certificate, numbers),
        _lower(certificate),
        _upper(certificate),
        _value(certificate, "tangents", list, "tangent cuts"),
        _nodes(certificate),
    )


def read_blocks(certificate: Any, sentences: Sequence[Sequence[str]]) -> BlocksCertificate:
    """Validate a certificate by blocks, but not its blocks."""
    _check_head(certificate, BLOCKS_KIND)
    size = _value(certificate, "block_size", int, "a number of sentences")
    if not is_int(size, 1):
        raise CertificateError(f"block_size: found {_shown(size)}, expected at least 1")
    blocks = _value(certificate, "blocks", list, "a certificate for each block of sentences")
    expected = -(-len(sentences) // size)
    if len(blocks) != expected:
        raise CertificateError(f"blocks: found {len(blocks)}, expected {expected}")
    heads = _heads(certificate, [tuple(range(len(s))) for s in sentences])
    return BlocksCertificate(size, heads, _lower(certificate), _upper(certificate), blocks)


def _check_head(certificate: Any, kind: str) -> None:
    if not isinstance(certificate, dict) or certificate.get("kind") != kind:
        actual = certificate.get("kind") if isinstance(certificate, dict) else type(certificate).__name__
        raise CertificateError(f"kind: found {_shown(actual)}, expected {kind!r}")
    version = certificate.get("version")
    if not is_int(version) or version not in VERSIONS[kind]:
        expected = " or ".join(map(str, VERSIONS[kind]))
        raise CertificateError(f"version: found {_shown(version)}, expected {expected}")


def _value(certificate: dict[str, Any], name: str, kind: type, expected: str) -> Any:
    value = certificate.get(name)
    if type(value) is not kind:
        raise CertificateError(f"{name}: missing, or of the wrong type; expected {expected}")
    return value


def _tags(certificate: dict[str, Any]) -> list[str]:
    tags: list[str] = _value(certificate, "tags", list, "a list of different tags")
    if not tags or not all(isinstance(t, str) for t in tags) or len(set(tags)) < len(tags):
        raise CertificateError("tags: expected a list of different tags")
    return tags


def _nodes(certificate: dict[str, Any]) -> list[Any]:
    nodes: list[Any] = _value(certificate, "nodes", list, "the tree of boxes")
    if not nodes:
        raise CertificateError("nodes: found none, expected the tree of boxes")
    return nodes


def _corpus(claimed: list[Any], tags: list[str], sentences: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    if len(claimed) != len(sentences):
        raise CertificateError(
            f"sentences: the certificate is about {len(claimed)} sentences, the corpus has {len(sentences)}"
        )
    number = {t: i for i, t in enumerate(tags)}
    corpus = []
    for i, (certified, sentence) in enumerate(zip(claimed, sentences, strict=True), 1):
        numbers = [number.get(t, -1) for t in sentence]
        same = type(certified) is list and certified == numbers
        if not same or not certified or not all(is_int(t, 0) for t in certified):
            raise CertificateError(
                f"sentences: sentence {i} of the corpus is not that of the certificate ({' '.join(sentence)})"
            )
        corpus.append(tuple(numbers))
    if not corpus:
        raise CertificateError("sentences: found none, expected at least one")
    return corpus


def _constraint(certificate: dict[str, Any], tags: tuple[str, ...], words: int) -> Constraint | None:
    if "constraint" not in certificate:
        raise CertificateError("constraint: missing, expected null or marked features")
    constraint = certificate["constraint"]
    if constraint is None:
        return None
    if not isinstance(constraint, dict) or constraint.keys() != {"marked", "least"}:
        raise CertificateError("constraint: expected null, or marked features and their minimum number")
    marked, least, t = constraint["marked"], constraint["least"], len(tags)
    if type(marked) is not list or not all(is_int(f, 0, t + 2 * t * t - 1) for f in marked):
        raise CertificateError(f"constraint: expected marked features from 0 to {t + 2 * t * t - 1}")
    if len(set(marked)) < len(marked) or not is_int(least, 0, words):
        raise CertificateError(f"constraint: expected different features, and at least 0 to {words} of them")
    return Constraint(tags, tuple(sorted(marked)), least, words)


def _heads(certificate: dict[str, Any], sentences: Sequence[Sequence[object]]) -> list[list[int]]:
    parses: list[list[int]] = _value(certificate, "heads", list, "a list of heads for each sentence")
    if len(parses) != len(sentences):
        raise CertificateError(f"heads: found {len(parses)} parses, expected {len(sentences)}")
    for i, (heads, words) in enumerate(zip(parses, sentences, strict=True), 1):
        n = len(words)
        if type(heads) is not list or len(heads) != n or not all(is_int(h, 0, n) for h in heads):
            raise CertificateError(f"heads: the parse of sentence {i} is not a list of {n} heads")
    return parses


def _lower(certificate: dict[str, Any]) -> float:
    lower: Any = certificate.get("lower")
    if not (is_int(lower) or type(lower) is float):
        raise CertificateError("lower: missing, or of the wrong type; expected a log-likelihood")
    return float(lower)


def _upper(certificate: dict[str, Any]) -> int:
    upper = _value(certificate, "upper", int, "a log-likelihood in units of 1/2**30")
    if not is_int(upper):
        raise CertificateError("upper: is too large to compute with exactly")
    return int(upper)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "…")
    return str(value) if value is None or is_int(value) else f"a {type(value).__name__}"
