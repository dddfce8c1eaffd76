"""Compare two models: what changed, rule by rule and row by row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from neuralrules._compare._rows import (
    Measured,
    RowChange,
    RowChanges,
    Side,
    measured,
    row_changes,
)
from neuralrules._compare._rules import (
    RuleChange,
    match_rules,
    rule_change,
    stand_in_changes,
    start_texts,
)
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import counted
from neuralrules._io._checks import import_pandas
from neuralrules._io._templates import framed_page, plain_page
from neuralrules._reading._notation import number, printable

SHOWN_PARTS = 4  # rules listed for one row; the effects of the other rules are summed
SHOWN_FLIPS = 6  # pairs of classes listed; rows between other classes are summed
HEADINGS = {
    "changed": "Changed rules, as in A (-) and as in B (+)",
    "only in A": "Only in A",
    "only in B": "Only in B",
}
START = "where rows start"
PAGE = "neuralrules._compare", "comparison.html"  # the package of the template, and its name


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What changed between two models, A and B, as text, as a table and as a page.

    Attributes
    ----------
    rules : tuple of RuleChange
        One entry for each pair of matched rules, and one for each rule without a match.
        ``first`` and ``second`` are the numbers of the rule in A and in B. ``kind`` is "same",
        "changed", "only in A" or "only in B". For a changed rule ``matched_by`` says what both
        versions have in common, and ``changes`` lists their differences in words. ``text`` is
        the whole rule; a changed rule is shown as it is in B.
    start : (str, str)
        What every row starts with in A and in B, before any rule adds to it.
    stand_ins : tuple of (str, str, str)
        Columns whose missing numbers the two models replace by different values. Each entry
        has the column's name, the value in A and the value in B.
    rows : RowChanges or None
        What changes on the given rows: how far the outputs are apart, which rows change class,
        and which rules change the rows that change most. None if no rows were given.
    measured : Measured or None
        How good both models are on the given rows. None if y was not given.
    """

    rules: tuple[RuleChange, ...]
    start: tuple[str, str]
    stand_ins: tuple[tuple[str, str, str], ...]
    rows: RowChanges | None
    measured: Measured | None
    _models: tuple[Fitted, Fitted]

    @property
    def is_same(self) -> bool:
        """Whether the models differ only by rounding and by the order of their rules."""
        same = all(rule.kind == "same" for rule in self.rules)
        one, other = (fitted.network.intercept for fitted in self._models)
        return same and not self.stand_ins and bool(np.allclose(one, other, rtol=1e-5))

    def count(self, kind: str) -> int:
        """The number of rules of a kind."""
        return sum(rule.kind == kind for rule in self.rules)

    def to_frame(self) -> Any:
        """All rules as a pandas frame, one line each.

        If rows were given, the column ``effect`` is the mean absolute difference between the
        contributions of the two matched rules over these rows. A rule without a match is
        compared with a contribution of 0.
        """
        pandas = import_pandas("to_frame")
        frame = pandas.DataFrame(self.rules, columns=RuleChange._fields)
        frame = frame.astype({"first": "Int64", "second": "Int64"})
        if self.rows is not None:
            frame["effect"] = self.rows.effects
        return frame

    def to_html(self, path: Any) -> Path:
        """Write the comparison as HTML; an old file stays until the new page is complete."""
        return plain_page(*PAGE, comparison_data(self), path)

    def __str__(self) -> str:
        return comparison_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """The page, for a notebook."""
        return framed_page(*PAGE, comparison_data(self), "Comparison of two models")


def comparison(
    first: Fitted,
    second: Fitted,
    engines: tuple[Engine, Engine],
    encoded: tuple[np.ndarray, np.ndarray] | None,
    rows: tuple[Rows, Rows] | None,
) -> Comparison:
    """Compare two models, which must answer the same question: see `check_comparable`.

    `encoded` is the same table, (n_rows, n_columns) float32, as each model encodes it. `rows`
    are the encoded tables with targets. Without a table, or without targets, they are None.
    """
    matches = match_rules(first, second)
    changes = measures = None
    if encoded is not None:
        one, other = map(Side, (first, second), encoded, engines)
        weights = None if rows is None else rows[0].weights.astype(np.float64)
        changes = row_changes(one, other, matches, weights)
        if rows is not None:
            measures = measured(one, other, rows, changes.flipped)
    return Comparison(
        rules=tuple(rule_change(first, second, match) for match in matches),
        start=start_texts(first, second),
        stand_ins=tuple(stand_in_changes(first, second)),
        rows=changes,
        measured=measures,
        _models=(first, second),
    )


def check_comparable(first: Fitted, second: Fitted) -> None:
    """Raise ValueError unless two models have the same columns, targets and output units."""
    names, others = first.encoder.names, second.encoder.names
    only = [f"{name!r} is only in the first" for name in names if name not in others]
    only += [f"{name!r} is only in the second" for name in others if name not in names]
    columns = f"other columns: {only[0]}" if only else "the same columns in another order"
    task, other = first.task, second.task
    kinds = ["classes" if one.are_classes else "numbers" for one in (task, other)]
    units, other_units = ((one.gives_probabilities, one.loss.link) for one in (task, other))
    if names != others:
        raise ValueError(
            f"The two models have {columns}. Compare models that were fitted on the same "
            "columns."
        )
    if task.are_classes != other.are_classes:
        raise ValueError(
            f"The first model predicts {kinds[0]}, the second one {kinds[1]}. Compare models "
            "of the same target."
        )
    if task.labels != other.labels:
        raise ValueError(
            f"The first model has the classes {task.labels}, the second one {other.labels}. "
            "Compare models of the same classes."
        )
    if task.n_outputs != other.n_outputs:
        raise ValueError(
            f"The first model predicts {task.n_outputs} numbers, the second one "
            f"{other.n_outputs}. Compare models of the same targets."
        )
    if units != other_units:
        raise ValueError(
            f"The models were fitted with loss={task.loss.name!r} and "
            f"loss={other.loss.name!r}, whose rules add up to different things. Compare models "
            "of the same loss."
        )


def comparison_data(
    compared: Comparison, first_row: int = 0, named: str = ""
) -> dict[str, Any]:
    """The contents of a comparison in words, for its text and its page.

    The first row has the number `first_row`. `named` says what A and B are.
    """
    rows, measures = compared.rows, compared.measured
    metrics = {} if measures is None else measures.metrics
    return {
        "title": "Two models compared: A and B",
        "named": named,
        "summary": summary_sentences(compared),
        "headings": HEADINGS,
        "groups": rule_groups(compared),
        "n_rows": None if rows is None else rows.n_rows,
        "differences": [] if rows is None else difference_sentences(rows, first_row),
        "flips": flip_lines(compared),
        "metrics": [(name, number(a, 4), number(b, 4)) for name, (a, b) in metrics.items()],
        "flipped": flipped_sentence(compared),
        "rows": [row_data(compared, row, first_row) for row in (rows.shown if rows else ())],
    }


def summary_sentences(compared: Comparison) -> list[str]:
    """Sentences on how many rules are the same and on what every row starts with."""
    has = [
        f"{name} has {counted(fitted.network.n_rules, 'rule')} and "
        f"{counted(fitted.network.n_literals, 'literal')}"
        for name, fitted in zip("AB", compared._models, strict=True)
    ]
    words = {"same": "the same", **{kind: kind for kind in HEADINGS}}
    counts = [f"{n} {words[kind]}" for kind in words if (n := compared.count(kind))]
    sentences = [f"{has[0]}, {has[1]}.", f"Rules: {', '.join(counts)}."]
    one, other = compared.start
    if one == other:
        sentences.append(f"In both, every row starts at {one}.")
    else:
        sentences.append(f"Every row starts at {one} in A, at {other} in B.")
    sentences += [
        f"A missing {name} counts as {before} in A, as {after} in B."
        for name, before, after in compared.stand_ins
    ]
    if compared.is_same:
        sentences.append(
            "The two models are the same, but for rounding and the order of rules."
        )
    return sentences


def rule_groups(compared: Comparison) -> list[tuple[str, list[RuleChange]]]:
    """The rules that differ, by kind; rules with the largest effect on the rows come first."""
    ordered = list(compared.rules)
    if compared.rows is not None:
        order = np.argsort(-compared.rows.effects, kind="stable").tolist()
        ordered = [compared.rules[place] for place in order]
    groups = [(kind, [rule for rule in ordered if rule.kind == kind]) for kind in HEADINGS]
    return [(kind, rules) for kind, rules in groups if rules]


def difference_sentences(rows: RowChanges, first_row: int) -> list[str]:
    """How far the outputs of the two models are apart."""
    sentences = []
    for one in rows.differences:
        shares = one.what.startswith("the probability")
        factor, unit = (100, " percentage points") if shares else (1, "")
        mean, largest = number(factor * one.mean, 2), number(factor * one.largest, 3)
        where = f", in row {one.row + first_row}" if one.largest else ""
        what = one.what[0].upper() + one.what[1:]
        differ = "differ" if "log odds" in what else "differs"
        average = f"{mean}{unit} on average"
        sentences.append(f"{what} {differ} by {average}, by {largest} at most{where}.")
    return sentences


def flip_lines(compared: Comparison) -> list[str]:
    """How many rows change class, and in which direction."""
    rows = compared.rows
    if rows is None or not compared._models[0].task.are_classes:
        return []
    total = len(rows.flipped)
    if not total:
        return ["No row changes class."]
    share = number(100 * total / rows.n_rows, 2)
    does = "row changes" if total == 1 else "rows change"
    lines = [f"{total:,} {does} class ({share} % of {rows.n_rows:,})."]
    lines += [
        f"{flip.n_rows:,} from {shown(flip.before)} to {shown(flip.after)}"
        for flip in rows.flips[:SHOWN_FLIPS]
    ]
    rest = sum(flip.n_rows for flip in rows.flips[SHOWN_FLIPS:])
    return [*lines, f"{rest:,} between other classes"] if rest else lines


def shown(label: Any) -> str:
    """A class or a prediction as text."""
    if isinstance(label, np.ndarray):
        return ", ".join(map(shown, label.tolist()))
    plain = label.item() if isinstance(label, np.generic) else label
    return number(plain, 4) if isinstance(plain, float) else printable(str(plain))


def flipped_sentence(compared: Comparison) -> str:
    """How good both models are on the rows that change class."""
    if compared.measured is None or not compared.measured.of_flipped:
        return ""
    found = compared.measured.of_flipped
    one, other = (number(100 * share, 3) for share in found["accuracy"])
    loss = compared._models[0].task.loss.metric
    text = f"Of the rows that change class, A is right on {one} % and B on {other} %"
    if loss in found:
        before, after = (number(value, 4) for value in found[loss])
        text += f"; their {loss} is {before} by A and {after} by B"
    return f"{text}."


def row_data(compared: Comparison, row: RowChange, first_row: int) -> dict[str, Any]:
    """What changes for a row, and the rules that change it."""
    outcome, before, after = row.outcome, shown(row.before), shown(row.after)
    heading = f"{before} → {after}"
    if outcome.task.are_classes:
        if row.chances is not None:
            one, other = (number(100 * chance, 3) for chance in row.chances)
            what = f"probability of {outcome.label} {one} % → {other} %"
        else:
            what = f"{outcome.what.removeprefix('the ')} by {number(row.change, 3)}"
        heading = f"{before if before == after else heading}, {what}"
    names = [*map(part_name, compared.rules), START]
    order = np.argsort(-np.abs(row.parts), kind="stable").tolist()
    order = [place for place in order if row.parts[place]]
    parts = [(signed(row.parts[place]), names[place]) for place in order[:SHOWN_PARTS]]
    others = order[SHOWN_PARTS:]
    if others:
        rest = f"{counted(len(others), 'other rule')} together"
        parts.append((signed(row.parts[others].sum()), rest))
    return {
        "number": row.row + first_row,
        "heading": heading,
        "sum": f"{signed(row.change)} to {outcome.what}",
        "parts": parts,
    }


def part_name(rule: RuleChange) -> str:
    """The name of a match of rules, in the list of what changed a row."""
    name = rule.name.removesuffix(f" of {rule.kind[-1]}")  # not "rule 1 of A, only in A"
    return name if rule.kind == "changed" else f"{name}, {rule.kind}"


def signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{number(abs(value), 3)}"


def comparison_text(compared: Comparison, first_row: int = 0) -> str:
    """A comparison as text."""
    data = comparison_data(compared, first_row)
    blocks = [data["summary"]]
    for kind, rules in data["groups"]:
        blocks.append([f"{HEADINGS[kind]}:", *chain.from_iterable(map(rule_lines, rules))])
    if data["n_rows"] is not None:
        lines = [f"  {line}" for line in [*data["differences"], *data["flips"][:1]]]
        lines += [f"    {line}" for line in data["flips"][1:]]
        blocks.append([f"On the {data['n_rows']:,} rows given:", *lines])
    if data["metrics"]:
        blocks.append(metric_lines(data["metrics"]))
    if data["flipped"]:
        blocks.append([data["flipped"]])
    if data["rows"]:
        blocks.append(["The rows that change most, and the rules that change them:"])
        blocks += [row_lines(row) for row in data["rows"]]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def rule_lines(rule: RuleChange) -> list[str]:
    """The lines of text about a rule that differs between the models."""
    if rule.kind != "changed":
        number_in = rule.first if rule.second is None else rule.second
        return [f"  rule {number_in}: {rule.text}"]
    pairs = [zip("-+", texts, strict=True) for texts in rule.changes]
    changes = [f"    {sign} {text}" for pair in pairs for sign, text in pair if text]
    return [f"  {rule.name} ({rule.matched_by})", *changes]


def metric_lines(metrics: list[tuple[str, str, str]]) -> list[str]:
    """The metrics of both models as a table of text."""
    lines = [("", "A", "B"), *metrics]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        f"  {name:<{widths[0]}}  {one:>{widths[1]}}  {other:>{widths[2]}}"
        for name, one, other in lines
    ]


def row_lines(row: dict[str, Any]) -> list[str]:
    """The lines of text about a row that changes."""
    width = max((len(size) for size, _ in row["parts"]), default=0)
    return [
        f"Row {row['number']}: {row['heading']}",
        f"  {row['sum']}:",
        *(f"    {size:>{width}}  {name}" for size, name in row["parts"]),
    ]
