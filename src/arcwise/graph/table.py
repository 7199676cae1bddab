"""Build the feature hash table of an arc-factored model from a configuration and a training treebank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, OptionError
from arcwise.features.atoms import atom_names, feature_atom, token_atoms
from arcwise.features.templates import WORD, Template, atoms_of, lists_of, parse_templates, usable
from arcwise.graph.config import GraphConfig
from arcwise.graph.templates import (
    FEATS_PAIRS,
    MCDONALD2005_TEMPLATES,
    column_templates,
    list_templates,
    squeezed_templates,
    with_prefixes,
)
from arcwise.inference.labels import codes_of
from arcwise.treebanks import Treebank
from arcwise.treebanks.columns import column_number

MAX_TAGS = 250


@dataclass(frozen=True)
class Alphabets:
    """The tags, labels, feature atoms (``word`` resolved) and templates of a model."""

    tags: tuple[str, ...]
    labels: tuple[str, ...]
    atoms: tuple[str, ...]
    word_atom: int
    arc_templates: tuple[str, ...]
    label_templates: tuple[str, ...]


def all_templates(config: GraphConfig) -> tuple[list[Template], list[Template]]:
    """The arc and label templates of a configuration, including those of additional columns."""
    added = [line for column in config.feature_columns for line in column_templates(feature_atom(column))]
    arc, label = parse_templates(config.arc_templates), parse_templates([*config.label_templates, *added])
    prefixes = config.word_prefixes
    if config.features == "mcdonald2005":
        lines, prefixes = parse_templates(MCDONALD2005_TEMPLATES), True
        arc, label = ([], lines) if config.labelled else (lines, [])
        label += parse_templates(added)
    if prefixes:
        arc = with_prefixes(arc, besides=label)
        label = with_prefixes(label, besides=arc)
    if config.squeezed:
        arc, label = squeezed_templates(arc), squeezed_templates(label)
    lists = [line for column in config.list_columns for line in list_templates(feature_atom(column))]
    arc += parse_templates(lists)
    # Among the label templates, which was better on the development data of three treebanks.
    label += parse_templates(FEATS_PAIRS if config.feats_pairs else ())
    return arc, label


def learn_alphabets(config: GraphConfig, treebank: Treebank) -> Alphabets:
    """Collect tags and labels of the training data; drop templates whose column is empty there."""
    arc, label = all_templates(config)
    names = atoms_of([*arc, *label])
    resolved = [config.word if name == WORD else name for name in names]
    columns = token_atoms(treebank, resolved).T
    kept = [name for name, values in zip(names, columns, strict=True) if values.any()]
    full = atom_names(lists_of([*arc, *label]), treebank)
    for option, present in (("feature_columns", kept), ("list_columns", full)):
        for column in getattr(config, option):
            if feature_atom(column) not in present:
                raise OptionError(option, f"found {column!r}, expected a column that {treebank.source} has")
    arc, label = ([t for t in lines if not t.list_column or t.list_column in full] for lines in (arc, label))
    tags = [tag for tag, _ in Counter(treebank.column(config.tag)).most_common(MAX_TAGS)]
    labels: list[str] = []
    if config.labelled:
        labels = sorted({label for label in treebank.column("deprel") if label != "_"})
        if not labels:
            raise InputError(f"{treebank.source}: has no labels (DEPREL); train with labelled = false")
    return Alphabets(
        tuple(sorted(tags)),
        tuple(labels),
        tuple(kept),
        kept.index(WORD) if WORD in kept else -1,
        tuple(str(t) for t in usable(arc, kept)),
        tuple(str(t) for t in usable(label, kept)),
    )


def word_counts(config: GraphConfig, treebank: Treebank) -> native.Vocabulary:
    """Count the words of the training data; without word dropout, words seen once count as unknown."""
    vocabulary = native.Vocabulary.of(np.ascontiguousarray(token_atoms(treebank, [config.word])[:, 0]))
    if config.effective_dropout > 0:
        return vocabulary
    # Without dropout, words seen once are the only examples of unknown words.
    repeated = vocabulary.counts > 1
    return native.Vocabulary(
        np.ascontiguousarray(vocabulary.hashes[repeated]), np.ascontiguousarray(vocabulary.counts[repeated])
    )


def make_table(
    config: GraphConfig, alphabets: Alphabets, hashes: npt.NDArray[np.uint64], counts: npt.NDArray[np.uint32]
) -> native.ArcTable:
    """The native table, before its arc classes are learned or set."""
    arc, label = parse_templates(alphabets.arc_templates), parse_templates(alphabets.label_templates)
    lists = lists_of([*arc, *label])
    compiled = [
        native_template
        for templates, is_label in ((arc, False), (label, True))
        for template in templates
        for native_template in template.compiled(alphabets.atoms, label=is_label, lists=lists)
    ]
    return native.ArcTable(
        atoms=[config.word if name == WORD else name for name in alphabets.atoms],
        lists=lists,
        word_atom=alphabets.word_atom,
        frequent=config.frequent,
        templates=compiled,
        tags=len(alphabets.tags),
        labels=len(alphabets.labels),
        clusters=config.effective_clusters,
        arc_bits=config.arc_bits,
        row_bits=config.row_bits,
        word_hashes=hashes,
        word_counts=counts,
    )


def arc_data(
    table: native.ArcTable,
    treebank: Treebank,
    alphabets: Alphabets,
    tag: str,
    heads: npt.NDArray[np.int32] | None = None,
    labels: Sequence[str] | None = None,
) -> native.ArcData:
    """Extract the atoms of a treebank; ``heads`` and ``labels`` replace those of the file."""
    codes = None if labels is None else codes_of(labels, alphabets.labels)
    return table.data(
        *treebank.fields,
        column_number(tag),
        list(alphabets.tags),
        list(alphabets.labels),
        heads,
        codes,
    )


def template_lines(config: GraphConfig) -> tuple[list[str], list[str]]:
    """The arc and label templates of a configuration, as text."""
    arc, label = all_templates(config)
    return [str(t) for t in arc], [str(t) for t in label]
