"""The numbers behind docs/frontier.md: losses side by side, ratios, ranks and bars.

A cell is one data set and one split. A ratio of losses is a geometric mean over the cells in
which both methods were measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks import significance
from benchmarks.datasets import FRONTIER, TABLES
from benchmarks.frontier_methods import METHODS, SIZES, Method
from benchmarks.frontier_protocol import DATA, MEASURED, N_SPLITS
from benchmarks.tables import probability

YARDSTICK = "CatBoost"
DECIMALS = 9  # decimals of log losses that are compared: only equal losses are ties
LEVEL = 0.05
NEEDED = ("ours", "ours average", YARDSTICK, "LightGBM")
KINDS = ("two classes", "several classes", "numbers")
DEFAULTS = [name for name, method in METHODS.items() if method.n_rules is None]
PEERS = [n for n in DEFAULTS if not METHODS[n].is_ours and n != "constant"]


def known(data: str):
    return TABLES.get(data) or FRONTIER[data]


def kind(data: str) -> str:
    return KINDS[0 if len(known(data).counts) == 2 else 1 if known(data).counts else 2]


def of_size(n: int) -> list[str]:
    """The peers that were asked for `n` rules."""
    return [name for name, m in METHODS.items() if m.n_rules == n and not m.is_ours]


def cells(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of the records as a frame, cells by methods; NaN if there is no measurement."""
    own = table[table["status"] == MEASURED]
    there = set(own["method"])
    return (
        own.pivot(index=["data", "split"], columns="method", values=column)
        .astype(float)
        .reindex(columns=[name for name in METHODS if name in there])
    )


def log_losses(table: pd.DataFrame) -> pd.DataFrame:
    """Natural logarithms of the losses. A difference between two of them is a log ratio."""
    return np.log(cells(table, "loss"))


def by_data(logs: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits that were measured; a frame of data sets by methods."""
    means = logs.groupby(level="data").mean()
    return means.reindex([data for data in DATA if data in means.index])


def ratio(logs: pd.DataFrame, one: str, other: str) -> float:
    """The loss of one method over that of another: geometric mean over the cells of both."""
    if one not in logs or other not in logs:
        return float("nan")
    return float(np.exp((logs[one] - logs[other]).mean()))


def median_ratio(logs: pd.DataFrame, one: str, other: str) -> float:
    """The median ratio over data sets, which extreme losses on a few sets do not move."""
    means = by_data(logs)
    return float(np.exp((means[one] - means[other]).median()))


def coverage(logs: pd.DataFrame, method: str) -> int:
    """The number of data sets on which a method was measured in at least one split."""
    if method not in logs:
        return 0
    return int(logs[method].groupby(level="data").count().gt(0).sum())


def everywhere(logs: pd.DataFrame, methods: list[str]) -> list[str]:
    """The methods that have a loss in every cell."""
    return [name for name in methods if name in logs and logs[name].notna().all()]


def compare(logs: pd.DataFrame, one: str, other: str) -> significance.Comparison:
    """Compare two methods over data sets. Losses are averaged over the splits of both."""
    means = by_data(logs[[one, other]].dropna())
    return significance.compare(
        means[one].to_numpy(), means[other].to_numpy(), decimals=DECIMALS
    )


def is_significantly_lower(comparison: significance.Comparison) -> bool:
    return comparison.wilcoxon_p < LEVEL and comparison.rank_sum_won > comparison.rank_sum_lost


def mean_ranks(logs: pd.DataFrame, methods: list[str]) -> dict[str, float]:
    """Mean ranks over data sets, of the methods that have a loss in every cell; 1 is best."""
    own = everywhere(logs, methods)
    ranks = significance.average_ranks(by_data(logs)[own].to_numpy(), decimals=DECIMALS)
    return dict(zip(own, ranks.tolist(), strict=True))


def worse_than_constant(table: pd.DataFrame, method: str) -> list[str]:
    """Data sets on which a method's mean log loss is above that of a constant prediction."""
    own = table[(table["method"] == method) & (table["status"] == MEASURED)]
    logs = np.log(own["loss"] / own["constant_loss"]).groupby(own["data"]).mean()
    return [data for data in DATA if logs.get(data, -1.0) > 0]


def best_peers(logs: pd.DataFrame, ours: str, peers: list[str]) -> pd.DataFrame:
    """The best peer on each data set, and our loss over its loss: columns peer and ratio."""
    there = [name for name in peers if name in logs]
    # Methods are compared only on splits that both have.
    behind = by_data(-logs[there].sub(logs[ours], axis=0)).dropna(how="all")
    return pd.DataFrame({"peer": behind.idxmax(axis=1), "ratio": np.exp(behind.max(axis=1))})


def rule_limit(method: Method, data: str) -> int:
    """The number of rules that a model may have: its given size, or the default's limit."""
    n_classes = len(known(data).counts)
    return method.n_rules or (64 * n_classes if n_classes > 2 else 128)


@dataclass(frozen=True)
class Bar:
    """A goal of the benchmark, and the measured number.

    Attributes
    ----------
    what : str
        Name of the number.
    found : float
        The measured ratio or count. Lower is better.
    most, ambition : float
        The largest number that meets the goal, and the largest one that meets the ambition.
    note : str
    """

    what: str
    found: float
    most: float
    ambition: float
    note: str = ""

    @property
    def is_met(self) -> bool:
        return self.found <= self.most

    @property
    def is_ambition_met(self) -> bool:
        return self.found <= self.ambition


def in_words(logs: pd.DataFrame, one: str, other: str) -> str:
    """A note beside a ratio: the median, sets won and lost, and the Wilcoxon test."""
    found = compare(logs, one, other)
    return (
        f"median {median_ratio(logs, one, other):.3f}; {found.wins} sets won, {found.losses} "
        f"lost, Wilcoxon p {probability(found.wilcoxon_p)}"
    )


def bars(table: pd.DataFrame) -> list[Bar]:
    """The goals of the issue, with the measured numbers."""
    logs = log_losses(table)
    default, average = "ours", "ours average"
    peers = [name for name in PEERS if name in logs]
    not_beaten = [
        name for name in peers if not is_significantly_lower(compare(logs, average, name))
    ]
    found = [
        Bar(
            f"loss of {average} over {YARDSTICK}'s",
            ratio(logs, average, YARDSTICK),
            0.95,
            0.90,
            in_words(logs, average, YARDSTICK),
        ),
        Bar(
            f"peers that {average} is not significantly better than",
            len(not_beaten),
            float("inf"),
            0,
            ", ".join(not_beaten),
        ),
        Bar(
            "loss of ours over LightGBM's",
            ratio(logs, default, "LightGBM"),
            1.00,
            0.95,
            in_words(logs, default, "LightGBM"),
        ),
        size_bar(table, default),
    ]
    found += [sized_bar(logs, n) for n in SIZES]
    worse = worse_than_constant(table, default)
    seconds = np.log(cells(table, "fit_seconds"))
    total = cells(table, "fit_seconds")[[average, YARDSTICK]].dropna().sum()
    return [
        *found,
        Bar("sets on which ours is worse than a constant", len(worse), 0, 0, ", ".join(worse)),
        Bar(
            f"seconds to fit {average} over {YARDSTICK}'s",
            ratio(seconds, average, YARDSTICK),
            3.0,
            3.0,
            f"{total[average] / total[YARDSTICK]:.2f} for the sums over all cells",
        ),
    ]


def size_bar(table: pd.DataFrame, name: str) -> Bar:
    """The goal for the number of fits that have too many rules or too many literals."""
    own = table[(table["method"] == name) & (table["status"] == MEASURED)]
    most = own["data"].map(lambda data: rule_limit(METHODS[name], data))
    too_large = (own["rules"] > most) | (own["most_literals"] > 3)
    return Bar(
        "fits of ours with more than 128 rules (64 a class for more classes) or 3 literals",
        int(too_large.sum()),
        0,
        0,
        f"at most {own['rules'].max()} rules and {own['most_literals'].max()} literals",
    )


def sized_bar(logs: pd.DataFrame, n: int) -> Bar:
    """The goal for our model of a given size, against the strongest peer of this size."""
    ours = f"ours {n}"
    ratios = {name: ratio(logs, ours, name) for name in enough(logs, of_size(n))}
    strongest = max(ratios, key=lambda name: ratios[name])
    return Bar(
        f"loss of {ours} over that of the best peer of that size",
        ratios[strongest],
        0.90,
        0.80,
        f"{strongest}; {in_words(logs, ours, strongest)}",
    )


def enough(logs: pd.DataFrame, methods: list[str]) -> list[str]:
    """Methods that were measured on at least half of the data sets."""
    n_data = logs.index.get_level_values("data").nunique()
    return [name for name in methods if 2 * coverage(logs, name) >= n_data]


def lacking(table: pd.DataFrame) -> str:
    """A text that says which needed methods lack records, and in how many cells; else empty.

    The other methods are optional. The page says where they were not measured.
    """
    counts = table.groupby("method").size() if len(table) else pd.Series(dtype=int)
    n_cells = len(DATA) * N_SPLITS
    absent = {name: n_cells - int(counts.get(name, 0)) for name in NEEDED}
    return ", ".join(f"{name} in {n} cells" for name, n in absent.items() if n)
