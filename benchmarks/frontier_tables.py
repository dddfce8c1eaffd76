"""The tables of docs/frontier.md, made from the records. A table is a list of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from benchmarks import frontier_numbers as numbers
from benchmarks.frontier_methods import METHODS
from benchmarks.frontier_numbers import DEFAULTS, KINDS, PEERS, YARDSTICK
from benchmarks.frontier_protocol import DATA, LEFT_OUT, MEASURED, N_SPLITS
from benchmarks.tables import markdown, probability, yes


def number(value: float, form: str = ".3f") -> str:
    """The text of a number; empty for NaN."""
    return "" if value is None or np.isnan(value) else format(value, form)


def bars_table(bars: list[numbers.Bar]) -> list[str]:
    """The goals, the measured numbers, and whether the goals are met."""
    rows = []
    for bar in bars:
        form = ".0f" if float(bar.ambition).is_integer() and bar.most in (0, np.inf) else ".3f"
        most = "" if np.isinf(bar.most) else f"≤ {bar.most:g}"
        missed = "" if bar.is_met else f" (by {bar.found - bar.most:{form}})"
        rows.append(
            (
                bar.what,
                f"**{bar.found:{form}}**",
                most,
                "" if np.isinf(bar.most) else yes(bar.is_met) + missed,
                f"≤ {bar.ambition:g}",
                yes(bar.is_ambition_met),
                bar.note,
            )
        )
    header = ("", "found", "bar", "met", "ambition", "met", "")
    return markdown(header, rows)


def methods_table(table: pd.DataFrame) -> list[str]:
    """One line for each method without a given size, the best first."""
    logs = numbers.log_losses(table)
    ranks = numbers.mean_ranks(logs, DEFAULTS)
    own = [name for name in DEFAULTS if name in logs]
    rows = []
    for name in sorted(own, key=lambda name: numbers.ratio(logs, name, YARDSTICK)):
        rows.append(
            (
                shown(name),
                numbers.coverage(logs, name),
                f"{numbers.ratio(logs, name, YARDSTICK):.3f}",
                number(numbers.median_ratio(logs, name, YARDSTICK)),
                *(number(ratio_of_kind(logs, name, kind)) for kind in KINDS),
                number(ranks.get(name, np.nan), ".2f"),
                len(numbers.worse_than_constant(table, name)),
                *sizes_and_seconds(table, name),
            )
        )
    header = (
        "method",
        "sets",
        f"loss / {YARDSTICK}",
        "median set",
        *KINDS,
        "mean rank",
        "worse than a constant",
        "parameters",
        "rules",
        "seconds to fit",
        "longest",
    )
    return markdown(header, rows)


def ratio_of_kind(logs: pd.DataFrame, name: str, kind: str, other: str = YARDSTICK) -> float:
    own = [data for data in logs.index.get_level_values("data") if numbers.kind(data) == kind]
    return numbers.ratio(logs.loc[sorted(set(own))], name, other) if own else float("nan")


def sizes_and_seconds(table: pd.DataFrame, name: str) -> tuple[str, ...]:
    """Medians of sizes and seconds over data sets, and the seconds of the slowest data set."""
    own = table[(table["method"] == name) & (table["status"] == MEASURED)]
    means = own.groupby("data")[["parameters", "rules", "fit_seconds"]].mean().astype(float)
    middle = means.median()
    seconds = means["fit_seconds"]
    return (
        number(middle["parameters"], ",.0f"),
        number(middle["rules"], ",.0f"),
        f"{middle['fit_seconds']:.3g}",
        f"{seconds.max():.3g} ({seconds.idxmax()})",
    )


def shown(name: str) -> str:
    return f"**{name}**" if METHODS[name].is_ours else name


def significance_table(logs: pd.DataFrame, ours: Iterable[str]) -> list[str]:
    """Tests of each of our models against each peer, over data sets."""
    rows = []
    for one in ours:
        for other in (name for name in PEERS if name in logs):
            c = numbers.compare(logs, one, other)
            rows.append(
                (
                    one,
                    other,
                    f"{numbers.ratio(logs, one, other):.3f}",
                    f"{c.wins} / {c.ties} / {c.losses}",
                    probability(c.wilcoxon_p),
                    "**yes**" if numbers.is_significantly_lower(c) else "no",
                )
            )
    header = ("", "peer", "ratio", "won / tied / lost", "Wilcoxon p", "significantly better")
    return markdown(header, rows, 2)


def sized_table(table: pd.DataFrame, n: int) -> list[str]:
    """Our model of one size and the peers of this size."""
    logs = numbers.log_losses(table)
    ours = f"ours {n}"
    own = [name for name in (ours, *numbers.of_size(n)) if name in logs]
    rows = []
    for name in sorted(own, key=lambda name: numbers.ratio(logs, name, YARDSTICK)):
        size = sizes_and_seconds(table, name)
        against = "" if name == ours else f"{numbers.ratio(logs, ours, name):.3f}"
        wins = ""
        if name != ours:
            c = numbers.compare(logs, ours, name)
            wins = f"{c.wins} / {c.ties} / {c.losses}"
        rows.append(
            (
                shown(name),
                numbers.coverage(logs, name),
                f"{numbers.ratio(logs, name, YARDSTICK):.3f}",
                *(number(ratio_of_kind(logs, name, kind)) for kind in KINDS),
                against,
                wins,
                *size[:3],
            )
        )
    header = (
        "method",
        "sets",
        f"loss / {YARDSTICK}",
        *KINDS,
        f"{ours} / method",
        "won / tied / lost",
        "parameters",
        "rules",
        "seconds to fit",
    )
    return markdown(header, rows)


def by_set_table(
    table: pd.DataFrame,
    methods: list[str],
    data_sets: list[str],
    column: str = "loss",
    form: Callable[[float], str] = "{:.4f}".format,
    lowest: bool = True,
) -> list[str]:
    """Means over splits, data sets by methods, the best in bold. Losses: geometric means."""
    logs = column == "loss"
    values = numbers.cells(table, column)
    means = numbers.by_data(np.log(values) if logs else values).reindex(columns=methods)
    means = np.exp(means) if logs else means
    rows = []
    for data in (data for data in data_sets if data in means.index):
        own = means.loc[data].dropna()
        best = (own.min() if lowest else own.max()) if len(own) else None
        cells = []
        for name in methods:
            value = means.loc[data, name]
            text = "" if np.isnan(value) else form(value)
            cells.append(f"**{text}**" if value == best else text)
        rows.append((data, *cells))
    return markdown(("data", *methods), rows)


def left_variance(table: pd.DataFrame) -> pd.DataFrame:
    """The records with the percentage of unexplained variance in place of the loss."""
    return table.assign(loss=100 * table["loss"] / table["variance"])


def data_table(table: pd.DataFrame) -> list[str]:
    """Rows, columns and classes of each data set, and the loss of a constant prediction."""
    first = table.drop_duplicates("data").set_index("data")
    constant = table.groupby("data")["constant_loss"].mean()
    rows = []
    for data in (data for data in DATA if data in first.index):
        known, own = numbers.known(data), first.loc[data]
        rows.append(
            (
                data,
                f"{known.rows:,}",
                known.features,
                len(known.counts) or "numbers",
                f"{own['train_rows']:,}",
                f"{own['test_rows']:,}",
                f"{constant[data]:.4g}",
            )
        )
    header = ("data", "rows", "columns", "classes", "training", "test", "loss of a constant")
    return markdown(header, rows)


def losses_table(logs: pd.DataFrame, ours: str, peers: list[str], behind: float) -> list[str]:
    """Data sets on which the best peer is ahead by more than `behind`, a share; worst first."""
    found = numbers.best_peers(logs, ours, peers)
    found = found[found["ratio"] > 1 + behind].sort_values("ratio", ascending=False)
    rows = [
        (data, numbers.kind(data), row["peer"], f"{100 * (row['ratio'] - 1):.0f} %")
        for data, row in found.iterrows()
    ]
    return markdown(("data", "target", "best peer", "our loss is higher by"), rows, 3)


def gaps_table(table: pd.DataFrame) -> list[str]:
    """The methods that were not measured on some data sets, and the reasons."""
    rows = []
    for name, method in METHODS.items():
        own = table[table["method"] == name].drop_duplicates(["data", "split"])
        whole = own.groupby("data").size()
        is_large, is_measured = own["status"] == LEFT_OUT, own["status"] == MEASURED
        for there, reason in (
            (set(own.loc[is_large, "data"]), "too large, not tried"),
            (
                set(own.loc[~is_large & ~is_measured, "data"]),
                f"over {method.limit} s, or would be with more rules or on another split",
            ),
            ({data for data in DATA if whole.get(data, 0) < N_SPLITS}, "no time left"),
        ):
            if there:
                data = ", ".join(data for data in DATA if data in there)
                rows.append((name, reason, len(there), data))
    return markdown(("method", "why", "sets", "which"), rows, 2)


def first_look(table: pd.DataFrame) -> str:
    """Ratios to the yardstick of all methods measured so far, as text for the terminal."""
    logs = numbers.log_losses(table)
    if YARDSTICK not in logs:
        return f"Nothing to compare with: {YARDSTICK} has not been measured."
    lines = [f"{'method':<26}{'sets':>5}{'loss / ' + YARDSTICK:>17}{'seconds to fit':>17}"]
    for name in logs:
        seconds = table.loc[table["method"] == name, "fit_seconds"].sum()
        lines.append(
            f"{name:<26}{numbers.coverage(logs, name):>5}"
            f"{numbers.ratio(logs, name, YARDSTICK):>17.3f}{seconds:>17.1f}"
        )
    return "\n".join(lines)


def sized_methods(n: int) -> list[str]:
    return [f"ours {n}", *numbers.of_size(n)]
