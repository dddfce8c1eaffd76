"""The page about simplified models says what was measured."""

import pandas as pd
import pytest

from benchmarks import simplification
from benchmarks.pages import DOCS


def records():
    lines = []
    for seed, (whole, chosen) in enumerate([(5.0, 5.5), (6.0, 6.1)]):
        base = {"name": "tiny", "seed": seed, "seconds": 2.0}
        sizes = {"whole": (whole, 1000, 50), "chosen": (chosen, 300 + 100 * seed, 20)}
        sizes |= {"GB": (4.0, 1200, None), "RF": (3.0, 36000, None)}
        lines += [
            {**base, "model": model, "error": error, "parameters": n, "rules": rules}
            for model, (error, n, rules) in sizes.items()
        ]
    return pd.DataFrame(lines)


def test_summary():
    (row,) = simplification.summary(records()).itertuples()
    assert row.cost == pytest.approx(0.3)
    assert row.cost_se == pytest.approx(0.2)
    assert row.fewer == pytest.approx(65)
    assert row.least == pytest.approx(60)
    assert row.GB_times == pytest.approx((4 + 3) / 2)
    assert row.RF_times == pytest.approx((120 + 90) / 2)


@pytest.mark.parametrize(
    ("fewer", "cost", "met"), [(60, 0.3, "yes"), (59, 0.3, "**no**"), (61, 0.31, "**no**")]
)
def test_the_bar_is_judged(fewer, cost, met):
    table = simplification.summary(records()).assign(fewer=fewer, cost=cost)
    (line,) = [
        line for line in simplification.render(table, 2, {}).split("\n") if "± 0.20" in line
    ]
    assert line.endswith(f"| {met} |")


def test_the_page_is_made_from_the_committed_records():
    committed = pd.read_csv(DOCS / "simplification.csv")
    page = (DOCS / "simplification.md").read_text()
    n_splits = committed["seed"].nunique()
    text = simplification.render(simplification.summary(committed), n_splits, {})
    for line in text.split("### Where")[0].split("\n"):
        assert line in page
