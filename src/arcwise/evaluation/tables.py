"""Evaluation results as tables for the terminal, in percent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from arcwise.evaluation.agreement import Agreement
from arcwise.evaluation.attachment import Attachment
from arcwise.evaluation.breakdowns import ArcGroup, Confusion, SentenceGroup
from arcwise.evaluation.compare import Comparison, DifferingSentence, ScoreDifference
from arcwise.evaluation.conll18 import Conll18
from arcwise.evaluation.evaluate import Evaluation

_CONFUSIONS_SHOWN = 20
_TEXT_SHOWN = 40
_NAME_SHOWN = 24
_TITLES = {
    "label": "By label",
    "length": "By arc length (words from modifier to head)",
    "crossing": "By crossing",
    "sentence": "By sentence length (words)",
}


def evaluation_tables(result: Evaluation) -> Group:
    """The output of ``arcwise evaluate``."""
    parts: list[RenderableType] = [
        _titled(f"Attachment ({result.options})", _attachment_table(result.attachment)),
        _titled("CoNLL 2018 (punctuation counted, label subtypes cut)", _conll18_table(result.conll18)),
    ]
    for name, rows in result.breakdowns.items():
        parts.append(_titled(f"{_TITLES[name]} ({result.options})", _breakdown_table(rows)))
    if result.confusions is not None:
        parts.append(_titled(f"Confused labels ({result.options})", _confusion_table(result.confusions)))
    return _stacked(parts)


def comparison_tables(result: Comparison) -> Group:
    """The output of ``arcwise compare``."""
    _, a, b = result.files
    parts: list[RenderableType] = [
        Text(f"A = {a.source}\nB = {b.source}\n{result.sentences} sentences, {result.words} words scored"),
        _titled(f"Differences ({result.options})", _difference_table(result.differences)),
        _titled(
            "Significance (two-sided p-values; the sign test is over sentences, McNemar's over words)",
            _test_table(result.differences),
        ),
        _significance(result),
    ]
    if result.worst:
        parts.append(_titled("Sentences that differ most (correct arcs)", _worst_table(result.worst)))
    return _stacked(parts)


def agreement_tables(agreement: Agreement, totals: Mapping[str, int]) -> Group:
    """The summary of ``arcwise diff``: differences by column, label disagreements, agreement coefficients."""
    counts = _table("column", "differences")
    for name, count in totals.items():
        counts.add_row(escape(name.upper() if name != "comments" else name), str(count))
    parts: list[RenderableType] = [counts] if totals else []
    if agreement.label_pairs:
        pairs = _table("A", "B", "words")
        for pair in agreement.label_pairs[:_CONFUSIONS_SHOWN]:
            pairs.add_row(escape(pair.a), escape(pair.b), str(pair.count))
        more = len(agreement.label_pairs) - _CONFUSIONS_SHOWN
        rest = [Text(f"… and {more} more pairs (to_json() has all)")] if more > 0 else []
        parts.append(_titled("Labels of the same word", Group(pairs, *rest)))
    shares = _table("", "same %", "of words", "Cohen's κ", "Krippendorff's α")
    for name, row in agreement.rows():
        coefficients = ("–" if value is None else f"{value:.3f}" for value in (row.kappa, row.alpha))
        shares.add_row(name, "–" if row.share is None else _percent(row.share), str(row.words), *coefficients)
    only = [
        f"{count} {unit} only in {side}"
        for unit, counts_of in (
            ("sentences", (agreement.sentences_only_a, agreement.sentences_only_b)),
            ("words", (agreement.words_only_a, agreement.words_only_b)),
        )
        for side, count in zip("AB", counts_of, strict=True)
        if count
    ]
    common = f"{agreement.sentences} sentences and {agreement.words} words in both"
    return _stacked([*parts, _titled(f"Agreement ({', '.join([common, *only])})", shares)])


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    return table


def _titled(title: str, table: RenderableType) -> RenderableType:
    return Group(Text(title, style="bold"), table)


def _stacked(parts: Sequence[RenderableType]) -> Group:
    """Join the parts with blank lines between them."""
    return Group(*[piece for part in parts for piece in (Text(), part)][1:])


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}"


def _attachment_table(scores: Attachment) -> Table:
    table = _table("", "%", "correct", "of")
    for name, share, right, of in (
        ("UAS (head)", scores.uas, scores.heads_right, scores.words),
        ("LAS (head and label)", scores.las, scores.arcs_right, scores.words),
        ("label accuracy", scores.label_accuracy, scores.labels_right, scores.words),
        ("root accuracy", scores.root_accuracy, scores.roots_right, scores.sentences),
        ("root F1", scores.root_f1, scores.common_roots, (scores.gold_roots + scores.system_roots) / 2),
        ("complete trees", scores.complete, scores.trees_right, scores.sentences),
        ("complete labelled", scores.complete_labelled, scores.labelled_trees_right, scores.sentences),
    ):
        table.add_row(name, _percent(share), str(right), f"{of:.10g}")
    return table


def _conll18_table(scores: Conll18) -> Table:
    table = _table(
        "",
        "precision",
        "recall",
        "F1",
        "aligned accuracy",
    )
    for name, s in scores.scores.items():
        table.add_row(name, *map(_percent, (s.precision, s.recall, s.f1, s.aligned_accuracy)))
    return table


def _breakdown_table(rows: Sequence[ArcGroup | SentenceGroup]) -> Table:
    if any(isinstance(row, SentenceGroup) for row in rows):
        table = _table("words", "sentences", "UAS", "LAS", "complete")
    else:
        table = _table("", "gold", "system", "head P", "head R", "precision", "recall", "F1")
    for row in rows:
        table.add_row(*_breakdown_cells(row))
    return table


def _breakdown_cells(row: ArcGroup | SentenceGroup) -> Iterator[str]:
    yield escape(row.name)
    if isinstance(row, SentenceGroup):
        yield str(row.scores.sentences)
        yield from map(_percent, (row.scores.uas, row.scores.las, row.scores.complete))
    else:
        yield from (str(row.gold), str(row.system))
        yield from map(_percent, (row.head_precision, row.head_recall, row.precision, row.recall, row.f1))


def _confusion_table(rows: Sequence[Confusion]) -> RenderableType:
    table = _table("gold", "system", "words")
    for row in rows[:_CONFUSIONS_SHOWN]:
        table.add_row(escape(row.gold), escape(row.system), str(row.count))
    more = len(rows) - _CONFUSIONS_SHOWN
    return table if more <= 0 else Group(table, Text(f"… and {more} more pairs (to_json() has all)"))


def _difference_table(rows: Sequence[ScoreDifference]) -> Table:
    table = _table("", "A", "B", "B - A", "95 % interval")
    for row in rows:
        low, high = row.interval.low, row.interval.high
        table.add_row(
            row.metric,
            _percent(row.a),
            _percent(row.b),
            f"{100 * row.difference:+.2f}",
            f"{100 * low:+.2f} … {100 * high:+.2f}",
        )
    return table


def _test_table(rows: Sequence[ScoreDifference]) -> Table:
    table = _table(
        "",
        "permutation",
        "sign test",
        "A better/B better",
        "McNemar",
        "A only/B only",
    )
    for row in rows:
        table.add_row(
            row.metric,
            _p_value(row.permutation_p),
            _p_value(row.sign.p),
            f"{row.sign.a}/{row.sign.b}",
            _p_value(row.mcnemar.p),
            f"{row.mcnemar.a}/{row.mcnemar.b}",
        )
    return table


def _p_value(p: float) -> str:
    return f"{p:.4f}" if p >= 1e-4 else "< 0.0001"


def _significance(result: Comparison) -> Text:
    las = next(row for row in result.differences if row.metric == "LAS")
    if las.permutation_p >= 0.05:
        return Text("The difference in LAS is not significant (permutation test, p ≥ 0.05).")
    better = "B" if las.difference > 0 else "A"
    return Text(f"{better} has a significantly higher LAS (permutation test, p < 0.05).")


def _worst_table(rows: Sequence[DifferingSentence]) -> Table:
    table = _table("sentence", "words", "A", "B")
    table.add_column("text", no_wrap=True)
    table.add_column("sent_id", no_wrap=True)
    for row in rows:
        text = row.text if len(row.text) <= _TEXT_SHOWN else row.text[: _TEXT_SHOWN - 1] + "…"
        name = row.sent_id or ""
        name = name if len(name) <= _NAME_SHOWN else "…" + name[1 - _NAME_SHOWN :]
        counts = map(str, (row.number, row.words, row.a_arcs, row.b_arcs))
        table.add_row(*counts, escape(text), escape(name))
    return table
