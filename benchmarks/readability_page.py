"""Make docs/readability.md from docs/readability.csv: `make readability`, or
`python -m benchmarks.readability_page` if there is nothing to measure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import summary
from benchmarks.datasets import FRONTIER, TABLES
from benchmarks.pages import DOCS, write_page
from benchmarks.readability_methods import METHODS, OURS, PEERS, SIZES
from benchmarks.tables import markdown, yes

PATH = DOCS / "readability.csv"
KEY = ["data", "method", "split"]
COLUMNS = ("loss", "constant_loss", "rules", "fire", "words", "short_words", "train_rows")
PAGE = "page of 16"
BEATEN = ("tree of 16 leaves", "linear", "FIGS of 16", "RuleFit of 16")
WORDS_A_PAGE = 600
BAR = 6  # data sets
DESCRIPTIONS = {
    "free": "no limits: whatever the search takes",
    "page, own columns": "16 rules of two conditions on one column each",
    "page, whole points": "as a score card with whole points",
    "page, 5 levels": "as a score card on paper, each rule in five levels",
    "page, 3 digits": "numbers rounded to three digits",
    "page, 2 digits": "numbers rounded to two digits",
    "page, friendly": "numbers as round as 2 % of the gain allows",
    "page, monotone": "a direction for the three columns that follow the target closest",
}


def line(record: dict[str, Any]) -> dict[str, Any]:
    kept = {name: record.get(name) for name in COLUMNS}
    for name in ("loss", "constant_loss", "fire"):
        kept[name] = None if kept[name] is None else float(f"{kept[name]:.7g}")
    key = {"data": record["data"], "method": record["method"], "split": record["fold"]}
    return {**key, **kept, **summary.where(record["environment"])}


def read() -> pd.DataFrame:
    """The committed records; empty if there are none."""
    return pd.read_csv(PATH) if PATH.exists() else pd.DataFrame(columns=[*KEY, *COLUMNS])


def merge(records: Iterable[dict[str, Any]]) -> None:
    """Put records into the table. They replace older records of the same tasks."""
    summary.put(PATH, KEY, pd.DataFrame([line(record) for record in records]), read)


def losses(table: pd.DataFrame) -> pd.DataFrame:
    """Logarithms of losses; a frame of (data, split) by methods."""
    found = table.dropna(subset="loss")
    return np.log(found.pivot(index=["data", "split"], columns="method", values="loss"))


def by_data(logs: pd.DataFrame) -> pd.DataFrame:
    """Means of log losses over splits, which are geometric means of losses."""
    means = logs.groupby(level="data").mean()
    return means.reindex(sorted(means.index, key=lambda data: (is_numbers(data), data)))


def is_numbers(data: str) -> bool:
    return not (TABLES.get(data) or FRONTIER[data]).counts


def ratio(logs: pd.DataFrame, one: str, other: str) -> float:
    return float(np.exp((logs[one] - logs[other]).mean()))


def ratios(logs: pd.DataFrame, one: str, other: str) -> pd.Series:
    """The loss of one method over that of another on each data set, for the splits of both."""
    means = (logs[one] - logs[other]).groupby(level="data").mean().dropna()
    return np.exp(means.reindex(by_data(logs).index).dropna())


def kept_gain(table: pd.DataFrame, method: str) -> float:
    """The percentage of the free model's gain over a constant that a method keeps.

    It is the mean over data sets.
    """
    own = table.set_index(["data", "split"])
    one, free = (own[own["method"] == name] for name in (method, "free"))
    shares = (one["constant_loss"] - one["loss"]) / (free["constant_loss"] - free["loss"])
    return float(100 * shares.groupby(level="data").mean().mean())


def contracts_table(table: pd.DataFrame) -> list[str]:
    logs = losses(table)
    medians = table.groupby("method")[["rules", "fire", "short_words", "words"]].median()
    rows = []
    for name in (method.name for method in OURS if method.name in logs):
        rules, fire, short, words = medians.loc[name]
        rows.append(
            (
                f"**{name}**" if name == PAGE else name,
                DESCRIPTIONS.get(name, ""),
                f"{ratio(logs, name, 'free'):.3f}",
                f"{kept_gain(table, name):.0f} %",
                f"{rules:.0f}",
                f"{fire:.1f}",
                f"{short:,.0f}",
                f"{words:,.0f}",
            )
        )
    header = (
        "contract",
        "",
        "loss / free",
        "gain kept",
        "rules",
        "fire on a row",
        "words, conditions",
        "words, sentences",
    )
    return markdown(header, rows, 2)


def peers_table(table: pd.DataFrame) -> list[str]:
    logs = losses(table)
    medians = table.groupby("method")[["rules", "fire", "short_words"]].median()
    rows = []
    for name in (PAGE, *(method.name for method in PEERS if method.name in logs)):
        rules, fire, words = medians.loc[name]
        rows.append(
            (
                f"**{name}**" if name == PAGE else name,
                f"{ratio(logs, name, PAGE):.3f}",
                "" if name == PAGE else won(ratios(logs, PAGE, name)),
                f"{rules:.0f}",
                f"{fire:.1f}",
                f"{words:,.0f}",
            )
        )
    header = ("model", "loss / ours", "ours is ahead on", "rules", "fire on a row", "words")
    return markdown(header, rows)


def won(found: pd.Series) -> str:
    """A text with the number of data sets on which a ratio is below 1."""
    return f"{(found < 1).sum()} of {len(found)}"


def sets_table(table: pd.DataFrame) -> list[str]:
    logs = losses(table)
    means, ahead = np.exp(by_data(logs)), tables_ahead(logs)
    shown = [name for name in (PAGE, *(m.name for m in PEERS), "free") if name in means]
    rows = []
    for data, own in means.iterrows():
        best = own[[name for name in (PAGE, *BEATEN) if name in means]].min()
        cells = [f"**{v:.4g}**" if v == best else number(v) for v in own[shown]]
        rows.append((data, *cells, yes(data in ahead)))
    return markdown(("data", *shown, "ahead of the four"), rows)


def number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4g}"


def tables_ahead(logs: pd.DataFrame) -> list[str]:
    """The data sets on which PAGE has a lower loss than every method in BEATEN."""
    found = pd.DataFrame({other: ratios(logs, PAGE, other) for other in BEATEN})
    return found.index[(found < 1).all(axis=1)].tolist()  # a missing ratio is not below 1


def reach_table(table: pd.DataFrame) -> list[str]:
    """The number of rules with which contracts like PAGE reach the loss of EBM."""
    logs = losses(table)
    sized = {n: ratios(logs, f"page of {n}", "EBM") for n in SIZES}
    free = ratios(logs, "free", "EBM")
    rows = []
    for data, whole in free.items():
        behind = {n: float(found[data]) for n, found in sized.items()}
        reached = [n for n in SIZES if behind[n] <= 1]
        rows.append(
            (
                data,
                reached[0] if reached else f"more than {SIZES[-1]}",
                *(f"{behind[n]:.3f}" for n in SIZES),
                f"{whole:.3f}",
            )
        )
    header = ("data", "rules", *(f"{n} / EBM" for n in SIZES), "free / EBM")
    return markdown(header, rows)


def in_short(table: pd.DataFrame) -> list[str]:
    logs = losses(table)
    data_sets, ahead = by_data(logs).index, tables_ahead(logs)
    behind = [str(data) for data in data_sets if data not in ahead]
    page = table[table["method"] == PAGE]
    words = page["short_words"].median()
    verdict = "reached" if len(ahead) >= BAR and words <= WORDS_A_PAGE else "**not reached**"
    lost = f" We lose on {', '.join(behind)}." if behind else ""
    return [
        f"With at most 16 rules of at most two conditions on at most two columns, told in "
        f"{words:.0f} words (the median; at most {page['short_words'].max():.0f}), the loss "
        f"is lower than that of a tree, FIGS and RuleFit of as many leaves or rules and of "
        f"logistic or ridge regression on {len(ahead)} of {len(data_sets)} tables. The bar, "
        f"{BAR} of {len(data_sets)} in a text of one page ({WORDS_A_PAGE} words), is "
        f"{verdict}.{lost} Against the model without limits it costs "
        f"{100 * (ratio(logs, PAGE, 'free') - 1):.0f} % of the loss. EBM, with its "
        f"{table.loc[table['method'] == 'EBM', 'words'].median():,.0f} scores, is behind it "
        f"on {won(ratios(logs, PAGE, 'EBM'))} tables.",
    ]


def where(table: pd.DataFrame) -> list[str]:
    versions = sorted({one for line in table["versions"] for one in line.split()})
    return [
        f"- CPU: {'; '.join(sorted(set(table['cpu'])))}",
        f"- Commits: {', '.join(sorted(set(table['commit'])))}",
        f"- Versions: {', '.join(versions)}",
    ]


def render(table: pd.DataFrame) -> str:
    n_splits = table["split"].nunique()
    known = losses(table)
    lacking = [
        f"{name} on {', '.join(str(data) for data in absent)}"
        for name in known
        if len(absent := by_data(known).index[by_data(known)[name].isna()])
    ]
    lines = [
        "## In short",
        "",
        *in_short(table),
        "",
        "## What each contract costs",
        "",
        f"Geometric means of the loss over that of the free model, over nine tables and "
        f"{n_splits} split{'s' * (n_splits > 1)} of each. *Gain kept*: of what the free model "
        "gains over a constant, the mean over tables. Rules, rules that fire on a test row and "
        "words are medians over tables and splits. *page of n* has at most n rules of two "
        "literals with two terms.",
        "",
        *contracts_table(table),
        "",
        "## Beside readable peers",
        "",
        "Leaves, rules, coefficients or terms count as rules, and take part in a score as "
        "often as they fire. EBM is read from graphs; its scores are counted as words.",
        "",
        *peers_table(table),
        "",
        "## Each table",
        "",
        "Log loss or mean squared error on held-out rows, geometric means over splits; the "
        "best of ours and the four in bold.",
        "",
        *sets_table(table),
        "",
        "## How many rules it takes to reach EBM",
        "",
        "The smallest page, of those measured, whose loss is not above EBM's.",
        "",
        *reach_table(table),
        "",
    ]
    if lacking:
        lines += [f"Not measured, for want of time: {'; '.join(lacking)}.", ""]
    return "\n".join([*lines, "## Where", "", *where(table)])


def write() -> None:
    table = read()
    lacking = [name for name in METHODS if name not in set(table["method"])]
    if lacking:
        print(f"{PATH} is renewed. The page needs {', '.join(lacking)}.")
        return
    write_page("readability.md", render(table))


if __name__ == "__main__":
    write()
