"""The tables of docs/reproduction.md, made from the records and the published errors.

Errors are in per cent. A table is a list of Markdown lines.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks import published
from benchmarks.datasets import TABLES
from benchmarks.methods import METHODS
from benchmarks.significance import (
    DECIMALS,
    Comparison,
    compare,
    critical_wilcoxon,
    critical_wins,
)

OTHERS = ("GB", "RF", "ANN")
# Two of the 19 tables are copies of other tables. One has the same rows in another order and
# other column names. One has the same rows with other codes, and 21 of the rows twice.
COPIES = {"chess": "kr_vs_kp", "agaricus_lepiota": "mushroom"}


def markdown(
    header: Iterable[str], rows: Iterable[Iterable[object]], left: int = 1
) -> list[str]:
    """A table with the first `left` columns flush left and the other columns flush right."""
    header = list(header)
    return [
        f"| {' | '.join(header)} |",
        f"|{'---|' * left}{'--:|' * (len(header) - left)}",
        *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows),
    ]


def measured_by(table: pd.DataFrame, protocol: str, tune_limit: int) -> pd.DataFrame:
    """The records of one protocol."""
    return table[(table["protocol"] == protocol) & (table["tune_limit"] == tune_limit)]


def chosen_on_all_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The records of the paper's protocol for which no tuning sample was drawn."""
    paper = table[(table["protocol"] == "paper") & (table["tune_rows"] == table["train_rows"])]
    return paper.drop_duplicates(["data", "method", "fold"])


def mean_errors(records: pd.DataFrame, methods: Iterable[str] = tuple(METHODS)) -> pd.DataFrame:
    """Mean errors, data sets by methods, in the paper's order; NaN without a measurement.

    An error is the number of wrong rows of all folds over the number of their rows. It has two
    decimals as in the paper, so that errors that look equal are equal.
    """
    sums = records.groupby(["data", "method"])[["wrong", "test_rows"]].sum()
    errors = (100 * sums["wrong"] / sums["test_rows"]).round(DECIMALS).unstack()
    return errors.reindex(index=list(TABLES), columns=list(methods))


def spread(records: pd.DataFrame) -> pd.DataFrame:
    """Standard deviation over folds, data sets by methods; NaN for a single fold."""
    return records.pivot_table(
        index="data", columns="method", values="error", aggfunc="std", dropna=False
    )


def lowest_counts(errors: pd.DataFrame) -> pd.Series:
    """The number of data sets on which each method has the lowest error, alone or tied."""
    return errors.eq(errors.min(axis=1), axis=0).sum()


def errors_table(records: pd.DataFrame) -> list[str]:
    """Table IV of the paper: published and measured errors of all methods."""
    means, spreads = mean_errors(records), spread(records)
    rows = []
    for data, table in TABLES.items():
        cells = [data, table.rows, table.features]
        for method in METHODS:
            low, high = published.interval(data, method)
            error, deviation = means.loc[data, method], spreads.loc[data, method]
            text = f"{error:.2f}"
            text = f"**{text}**" if error == means.loc[data].min() else text
            text += "" if np.isnan(deviation) else f" ± {deviation:.2f}"
            text += "" if inside_interval(data, method, error) else " †"
            paper = published.ERRORS.loc[data, method]
            cells += [f"{paper:.2f} [{low:.1f}, {high:.1f}]", text]
        rows.append(cells)
    wins: list[object] = ["lowest", "", ""]
    for method in METHODS:
        wins += [lowest_counts(published.ERRORS)[method], lowest_counts(means)[method]]
    header = ["data", "rows", "features"]
    for method in METHODS:
        header += [f"{method} paper", f"{method} ours"]
    return markdown(header, [*rows, wins])


def reaches_bar(data: str, error: float) -> bool:
    return error <= round(published.bar(data, "NRE"), DECIMALS)


def inside_interval(data: str, method: str, error: float) -> bool:
    low, high = published.interval(data, method)
    return low <= error <= high


def bars_table(ours: pd.Series, sampled: pd.Series) -> list[str]:
    """Our error beside the published error and its sampling error, for each data set."""
    rows = []
    for data, error in ours.items():
        low, high = published.interval(data, "NRE")
        rows.append(
            (
                data,
                f"{published.wrong(data, 'NRE')} / {published.test_rows(data)}",
                f"{published.ERRORS.loc[data, 'NRE']:.2f}",
                f"{published.bar(data, 'NRE'):.2f}",
                f"{low:.2f} to {high:.2f}",
                f"{error:.2f}",
                yes(reaches_bar(data, error)),
                yes(error <= high),
                f"{sampled[data]:.2f}",
                yes(reaches_bar(data, sampled[data])),
            )
        )
    header = (
        "data",
        "wrong / rows",
        "paper",
        "bar",
        "interval",
        "ours",
        "≤ bar",
        "≤ interval",
        "sample",
        "≤ bar",
    )
    return markdown(header, rows)


def yes(holds: bool) -> str:
    return "yes" if holds else "**no**"


def holdout_table(records: pd.DataFrame) -> list[str]:
    """The published error of a single hold-out beside the errors of our many hold-outs."""
    rows = []
    for data in TABLES:
        own = records[(records["data"] == data) & (records["method"] == "NRE")]["error"]
        if own.empty:
            continue
        paper = published.ERRORS.loc[data, "NRE"]
        rows.append(
            (
                f"{data} ({len(own)} seeds)" if TABLES[data].test_rows else data,
                len(own),
                f"{own.min():.2f}",
                f"{own.median():.2f}",
                f"{own.max():.2f}",
                f"{paper:.2f}",
                # Our errors are rounded to the two decimals of the published error.
                f"{int((own.round(2) <= paper).sum())} of {len(own)}",
            )
        )
    header = ("data", "hold-outs", "lowest", "median", "highest", "paper", "ours as low")
    return markdown(header, rows)


def comparisons(errors: pd.DataFrame) -> dict[str, Comparison]:
    """Comparisons of NRE with each other method."""
    return {
        other: compare(errors["NRE"].to_numpy(), errors[other].to_numpy()) for other in OTHERS
    }


def significance_table(sets: dict[str, pd.DataFrame]) -> list[str]:
    """Wins, ties, losses and both tests, for each set of errors and each other method."""
    rows = []
    for source, errors in sets.items():
        for other, c in comparisons(errors).items():
            rows.append(
                (
                    f"NRE vs {other}",
                    source,
                    f"{c.wins} / {c.ties} / {c.losses}",
                    f"{c.rank_sum_won:g}",
                    f"{c.rank_sum_lost:g}",
                    f"**{c.t:g}** ({critical_wilcoxon(len(errors))})",
                    f"**{c.paper_wins}** ({critical_wins(c.n_counted)})",
                    probability(c.wilcoxon_p),
                    probability(c.sign_p),
                )
            )
    header = (
        "",
        "errors",
        "wins / ties / losses",
        "R⁺",
        "R⁻",
        "T (critical)",
        "wins, ties split (critical)",
        "Wilcoxon p",
        "sign p",
    )
    return markdown(header, sorted(rows, key=lambda row: OTHERS.index(row[0].split()[-1])), 2)


def probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def differences_table(errors: pd.DataFrame, other: str) -> list[str]:
    """Tables I to III of the paper: differences and their ranks, ours beside published."""

    def ranked(table: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
        difference = (table[other] - table["NRE"]).round(DECIMALS)
        return difference, pd.Series(stats.rankdata(difference.abs()), table.index)

    ours, our_rank = ranked(errors)
    theirs, their_rank = ranked(published.ERRORS)
    rows = [
        (
            data,
            f"{errors.loc[data, other]:.2f}",
            f"{errors.loc[data, 'NRE']:.2f}",
            f"{ours[data]:+.2f}",
            f"{our_rank[data]:g}",
            f"{theirs[data]:+.2f}",
            f"{their_rank[data]:g}",
        )
        for data in our_rank.sort_values(ascending=False, kind="stable").index
    ]
    header = (
        "data",
        other,
        "NRE",
        "difference",
        "rank",
        "paper's difference",
        "paper's rank",
    )
    return markdown(header, rows)


def n_parameters(records: pd.DataFrame) -> pd.Series:
    """The number of learned numbers, which is comparable across methods.

    A node of a tree has one number, a threshold or a value. A network has its weights, and a
    rule ensemble its parameters other than zero. The structure (which feature, which child,
    which weights are zero) and the scaling of features are counted for no method.
    """
    return records["nodes"].fillna(records["weights"]).fillna(records["nonzero"]).astype(float)


def sizes_table(records: pd.DataFrame) -> list[str]:
    """Mean size of the models, data sets by methods."""
    records = records.assign(parameters=n_parameters(records))
    means = records.groupby(["data", "method"])[
        ["rules", "literals", "trees", "nodes", "parameters"]
    ].mean()
    rows = []
    for data in TABLES:
        rule, forest, boosting = (means.loc[data, name] for name in ("NRE", "RF", "GB"))
        network = means.loc[data, "ANN"]
        rows.append(
            (
                data,
                f"{rule['rules']:.0f}",
                f"{rule['literals']:.0f}",
                f"{rule['parameters']:,.0f}",
                f"{boosting['nodes']:,.0f}",
                f"{boosting['parameters'] / rule['parameters']:.1f}",
                f"{forest['trees']:.0f}",
                f"{forest['nodes']:,.0f}",
                f"{forest['parameters'] / rule['parameters']:.1f}",
                f"{network['parameters']:,.0f}",
                f"{network['parameters'] / rule['parameters']:.1f}",
            )
        )
    header = (
        "data",
        "NRE rules",
        "literals",
        "parameters",
        "GB nodes",
        "× NRE",
        "RF trees",
        "RF nodes",
        "× NRE",
        "ANN weights",
        "× NRE",
    )
    return markdown(header, rows)


def size_ratios(records: pd.DataFrame) -> dict[str, float]:
    """The parameters of each other method over those of NRE: the median over data sets."""
    parameters = n_parameters(records)
    means = parameters.groupby([records["data"], records["method"]]).mean().unstack()
    return {other: float((means[other] / means["NRE"]).median()) for other in OTHERS}


def parameters_table(records: pd.DataFrame) -> list[str]:
    """A table of how often each candidate was chosen."""
    rows = []
    for method in METHODS.values():
        own = records[records["method"] == method.name]["parameter"].value_counts()
        counts = ", ".join(f"{c}: {own.get(c, 0)}" for c in method.candidates)
        rows.append((method.name, method.parameter, counts))
    return markdown(("method", "parameter", "chosen so often"), rows, 3)


def seconds_table(records: pd.DataFrame) -> list[str]:
    """Seconds on one thread: the median over data sets, and the slowest data set."""
    rows = []
    for name in METHODS:
        own = records[records["method"] == name]
        cells: list[object] = [name]
        for column in ("tune_seconds", "fit_seconds", "predict_seconds"):
            seconds = own.groupby("data")[column].mean()
            cells.append(f"{seconds.median():.3g}")
            cells.append(f"{seconds.max():.3g} ({seconds.idxmax()})")
        rows.append(cells)
    header = ["method"]
    for step in ("tune", "fit", "predict"):
        header += [f"{step}, median", f"{step}, longest"]
    return markdown(header, rows)


def variants_table(
    records: pd.DataFrame,
    all_rows: pd.DataFrame,
    data_sets: list[str],
    variants: dict[str, str],
) -> list[str]:
    """The results of other ways to train, on some data sets."""
    means = mean_errors(records, ["NRE", *variants])
    errors = {
        "default": means["NRE"],
        "parameter chosen on all rows": mean_errors(all_rows)["NRE"],
        **{text: means[name] for name, text in variants.items()},
        "*bar*": pd.Series({data: published.bar(data, "NRE") for data in data_sets}),
    }
    rows = [
        (text, *("" if np.isnan(own[data]) else f"{own[data]:.2f}" for data in data_sets))
        for text, own in errors.items()
    ]
    return markdown(("", *data_sets), rows)
