"""Make docs/reproduction.md from docs/reproduction.csv.

python -m benchmarks.reproduction_page
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import drawing, published, significance, summary, tables
from benchmarks.datasets import TABLES
from benchmarks.methods import METHODS
from benchmarks.pages import DOCS, write_page
from benchmarks.protocol import Protocol

RANKS = "figures/critical_difference.png"
LEVEL = 0.05
ENOUGH = 16  # data sets on which our errors must be as low as published
VARIANTS = {
    "NRE-start": "not trained: the tree itself",
    "NRE-plain": "as the paper is written: no shrinkage, dropout or schedule",
    "NRE-long": "1000 epochs instead of 200",
    "NRE-deep": "deep rules",
    "NRE-boosting": "rules of 10 boosted trees",
}


def verdict(holds: bool) -> str:
    return "**confirmed**" if holds else "**not confirmed**"


def claims(records: pd.DataFrame, errors: pd.DataFrame, full: pd.Series) -> list[str]:
    """What the paper claims, what we found, and whether that is the same."""
    found = tables.comparisons(errors)
    ratios = tables.size_ratios(records)
    n_low = sum(tables.reaches_bar(data, error) for data, error in full.items())
    n_sampled = sum(tables.reaches_bar(data, error) for data, error in errors["NRE"].items())
    rows = [
        (
            "NRE's errors are as low as published, up to the published figures' sampling error",
            f"on {n_low} of {len(TABLES)} data sets ({n_sampled} with the tuning sample)",
            verdict(n_low >= ENOUGH),
        )
    ]
    for other, significant in (("RF", True), ("ANN", True), ("GB", False)):
        c = found[other]
        better = c.wilcoxon_p < LEVEL and c.rank_sum_won > c.rank_sum_lost
        worse = c.wilcoxon_p < LEVEL and c.rank_sum_won < c.rank_sum_lost
        claim = (
            f"NRE is significantly better than {other}"
            if significant
            else f"NRE and {other} cannot be told apart"
        )
        direction = ", in favour of " + ("NRE" if better else other) if better or worse else ""
        rows.append(
            (
                claim,
                f"T = {c.t:g}, exact p {tables.probability(c.wilcoxon_p)}{direction}; "
                f"{c.wins} wins, {c.ties} ties, {c.losses} losses",
                verdict(better if significant else not (better or worse)),
            )
        )
    rows.append(
        (
            "NRE is the more compact model",
            f"in the median GB keeps {ratios['GB']:.0f} times, RF {ratios['RF']:.0f} times and "
            f"ANN {ratios['ANN']:.1f} times as many numbers",
            verdict(ratios["GB"] > 1 and ratios["RF"] > 1),
        )
    )
    rows.append(
        (
            "A neural rule grows into an oblique convex support; a deep one becomes non-convex",
            "see [the simulations](simulations.md)",
            "**confirmed**",
        )
    )
    return tables.markdown(("the paper's claim", "what we found", "verdict"), rows, 3)


def without_copies(errors: pd.DataFrame) -> pd.DataFrame:
    return errors.drop(index=list(tables.COPIES))


def error_sets(errors: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        "paper": published.ERRORS,
        "ours": errors,
        "ours, 17 tables": without_copies(errors),
    }


def baselines(errors: pd.DataFrame) -> str:
    """How many of our errors lie inside the intervals of the published ones."""
    counts = {
        method: sum(
            tables.inside_interval(data, method, errors.loc[data, method]) for data in TABLES
        )
        for method in METHODS
    }
    return ", ".join(f"{method} {count}" for method, count in counts.items())


def whole_counts() -> tuple[int, int]:
    """How many published figures are a whole number of errors over their test rows."""
    exact = [
        round(100 * published.wrong(data, method) / published.test_rows(data), 2)
        == round(published.ERRORS.loc[data, method], 2)
        for data in TABLES
        for method in METHODS
    ]
    return sum(exact), len(exact)


def what_did_not_add_up(titanic: pd.Series) -> list[str]:
    """Each with the number behind it."""
    exact, n_figures = whole_counts()
    wins = significance.critical_wins(len(TABLES))
    p_14 = 2 * significance.upper_tail(14, len(TABLES))
    odd = tables.comparisons(published.ERRORS)["GB"]
    dropped = (odd.ties - 1) * 3 / 2  # all five zero ranks are 3
    ann = published.ERRORS.loc[["ring", "spambase"]]
    return [
        f"- **Five folds or one hold-out?** The text says five-fold cross-validation. {exact} "
        f"of the {n_figures} figures are, to the printed digit, a whole number of errors over "
        "15 % of the rows (rounded up; 500 rows for wilt, 1000 for madelon), which means of "
        "five folds would not be. The one that is not, 0.20 for NRE on kr_vs_kp, would be 0.21 "
        "= 1/480.",
        "- **madelon** has 600 published test rows, but its figures are multiples of 0.1, so "
        "of 1000 rows or a divisor of 1000.",
        f"- **Zero ranks.** The text drops one of an odd number of ties. The printed T = "
        f"{odd.t:g} against GB needs all five zero ranks split in half; dropping one gives "
        f"{odd.rank_sum_lost - 7.5 + dropped:g}. The sign test does drop one.",
        f"- **The sign test's critical value.** 14 wins of 19 is the normal approximation. "
        f"Exactly, 14 wins have p = {p_14:.3f}; it takes {wins}. So the printed sign test of "
        "NRE against ANN (14 wins) is not significant, unless ties are left out "
        f"(12 wins to 2: p = {tables.comparisons(published.ERRORS)['ANN'].sign_p:.3f}).",
        "- **Bold print.** In the combined table GB is bold on ring and spambase, where ANN is "
        f"lower ({ann.loc['ring', 'ANN']:.2f} against {ann.loc['ring', 'GB']:.2f}, "
        f"{ann.loc['spambase', 'ANN']:.2f} against {ann.loc['spambase', 'GB']:.2f}). So GB's "
        "11 wins in its last line should be 9, and ANN's 4 should be 6.",
        "- **19 data sets are 17.** chess and kr_vs_kp hold the same 3196 rows, in another "
        "order and with other column names; agaricus_lepiota is mushroom with 21 rows twice. "
        "The tests count them as independent. (NRE's 0.20 and 0.42, and GB's 0.42 and 0.21, on "
        "the same table also show how much one hold-out varies.)",
        "- **clean2 leaks.** Its first column numbers the molecules, and all molecules below "
        "38.5 are of one class: a single split has no error.",
        "- **titanic** has 14 distinct rows of features, so that all methods fit the same 14 "
        "shares: here their errors are "
        f"{titanic.min():.1f} to {titanic.max():.1f} %. The published ones are "
        f"{published.ERRORS.loc['titanic'].min():.1f} to "
        f"{published.ERRORS.loc['titanic'].max():.1f} %. A hold-out of 331 rows varies by "
        f"about {196 * np.sqrt(0.2 * 0.8 / 331):.1f} points either way, so this may be chance, "
        "or another version of the table.",
        "- **Tied ranks.** Against RF, magic and hypothyroid both differ by 0.21 and have "
        "ranks 9 and 8; averaged, as the text says and as is done against GB, both have 8.5. T "
        "is the same.",
        "- **Counts of features** in the combined table include the target, except madelon's; "
        "kr_vs_kp has 3196 rows, not 3197.",
        "- **Compact support.** The paper calls the support of a neural rule compact. It is "
        "convex, but it is open, and unbounded whenever its half-spaces do not close: both "
        "rules in the simulations are unbounded.",
        "- **The split criterion is not new.** I = s_l²/n_l + s_r²/n_r − s_p²/n_p with "
        "s = n⁺ − n⁻ is twice the weighted decrease of the Gini index, which the paper sets it "
        "apart from; see [the method](method.md).",
    ]


def render(table: pd.DataFrame) -> str:
    """The page below its marker."""
    paper = tables.measured_by(table, "paper", Protocol().tune_rows)
    all_rows = tables.chosen_on_all_rows(table)
    holdout = tables.measured_by(table, "holdout", Protocol().tune_rows)
    errors = tables.mean_errors(paper)
    full = tables.mean_errors(all_rows)["NRE"]
    above = [
        data
        for data in TABLES
        if not (
            tables.reaches_bar(data, full[data])
            and tables.reaches_bar(data, errors.loc[data, "NRE"])
        )
    ]
    distinct = error_sets(errors)["ours, 17 tables"]
    lines = [
        "## In short",
        "",
        *claims(paper, errors, full),
        "",
        "## Test errors",
        "",
        "Per cent, mean ± standard deviation over folds; the lowest of ours is bold. Our "
        f"errors inside the 95 % interval of the published ones, of {len(TABLES)}: "
        f"{baselines(errors)}.",
        "",
        *tables.errors_table(paper),
        "",
        "## NRE beside its published errors",
        "",
        "*Bar* is the published error p plus its sampling error, p + 1.96 √(p(1 − p)/n); where "
        "p is 0 that allows no error at all. *Interval* is Wilson's 95 % interval of the same "
        "counts, which holds for small counts too. *Ours* is without the tuning sample, as in "
        "the paper: the depth is chosen on all training rows. *Sample* is the error with it, "
        "as in the table above.",
        "",
        *tables.bars_table(full, errors["NRE"]),
        "",
        "### What was tried where NRE is above the bar",
        "",
        "The same folds and seeds; the depth is chosen anew for each.",
        "",
        *tables.variants_table(paper, all_rows, above, VARIANTS),
        "",
        "## Single hold-outs",
        "",
        "What the paper really printed: one stratified hold-out of 15 %. Ours are repeated; "
        "the last column counts those at or below the published figure.",
        "",
        *tables.holdout_table(holdout),
        "",
        "## Significance",
        "",
        "*T* and *wins, ties split* follow the paper's rules (all zero ranks halved; one of an "
        "odd number of ties dropped, half of the others won). By them T ≤ "
        f"{significance.critical_wilcoxon(len(TABLES))} and, in the paper, 14 wins are "
        f"significant at 5 % ({significance.critical_wins(len(TABLES))} by the exact test). "
        "The p-values are SciPy's exact two-sided tests without zero differences. *17 tables* "
        "leaves out the two that are copies.",
        "",
        *tables.significance_table(error_sets(errors)),
        "",
        f"![Mean ranks of the four methods with Nemenyi's critical difference]({RANKS})",
        "",
        "Mean ranks over data sets, 1 is best; methods joined by a bar are not told apart by "
        f"Nemenyi's test at 5 %. Friedman's test: published p "
        f"{tables.probability(significance.friedman_p(published.ERRORS.to_numpy()))}, ours p "
        f"{tables.probability(significance.friedman_p(errors.to_numpy()))}, on the 17 distinct "
        f"tables p {tables.probability(significance.friedman_p(distinct.to_numpy()))}.",
        "",
        "## Differences and ranks",
        "",
    ]
    for other in tables.OTHERS:
        lines += [f"### NRE and {other}", "", *tables.differences_table(errors, other), ""]
    lines += [
        "## Size",
        "",
        "Means over folds. *Numbers* is what a model must keep: the parameters of a rule "
        "ensemble that are not zero; feature, threshold and leaf values of trees; the weights "
        "of a network. *× NRE* is how many times as many the other method keeps.",
        "",
        *tables.sizes_table(paper),
        "",
        "## Parameters chosen",
        "",
        *tables.parameters_table(paper),
        "",
        "## Seconds",
        "",
        "On one thread, next to another task on the second core and whatever else the machine "
        "did: good for orders of magnitude.",
        "",
        *tables.seconds_table(paper),
        "",
        "## What in the paper did not add up",
        "",
        *what_did_not_add_up(errors.loc["titanic"]),
        "",
        "## Where",
        "",
        *where(table),
    ]
    return "\n".join(lines)


def lacking(table: pd.DataFrame) -> str:
    """What the page needs and the records have not; empty when they have all."""
    paper = tables.measured_by(table, "paper", Protocol().tune_rows)
    needed = [(data, method) for data in TABLES for method in METHODS]
    there = set(zip(paper["data"], paper["method"], strict=True))
    absent = [f"{method} on {data}" for data, method in needed if (data, method) not in there]
    return ", ".join(absent[:3]) + (f" and {len(absent) - 3} more" if len(absent) > 3 else "")


def where(table: pd.DataFrame) -> list[str]:
    """CPUs, versions and commits of all records."""
    return [
        f"- {name}: {', '.join(sorted(table[column].unique()))}"
        for name, column in (("CPU", "cpu"), ("versions", "versions"), ("commit", "commit"))
    ]


def write() -> None:
    """Renew the page and its figure."""
    table = summary.read()
    errors = tables.mean_errors(tables.measured_by(table, "paper", Protocol().tune_rows))
    drawing.draw_ranks(
        DOCS / RANKS,
        {
            "published": dict(zip(METHODS, ranks_of(published.ERRORS), strict=True)),
            "ours": dict(zip(METHODS, ranks_of(errors), strict=True)),
        },
        significance.critical_difference(len(METHODS), len(TABLES)),
    )
    write_page("reproduction.md", render(table))


def ranks_of(errors: pd.DataFrame) -> np.ndarray:
    return significance.average_ranks(errors[list(METHODS)].to_numpy())


if __name__ == "__main__":
    write()
