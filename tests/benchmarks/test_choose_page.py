"""The page that helps to choose has the numbers of the records."""

import numpy as np
import pytest

from benchmarks import choose_page, frontier_summary, readability_page
from benchmarks.pages import DOCS, MARKER


@pytest.fixture(scope="module")
def page():
    return (DOCS / "choose.md").read_text().split(MARKER)[1]


def test_the_page_is_in_step_with_the_records(page):
    """Renew it by `python -m benchmarks.choose_page`."""
    again = choose_page.render(frontier_summary.read(), readability_page.read())
    assert page.strip() == again.strip()


def test_losses_and_leads_are_those_of_the_records(page):
    table = frontier_summary.read()
    logs = np.log(table.pivot(index=["data", "split"], columns="method", values="loss"))
    line = next(line for line in page.splitlines() if line.startswith("| CatBoost |"))
    _, _, ratio, lead, *_ = (cell.strip() for cell in line.split("|"))
    assert ratio == "1.00"
    means = logs.groupby(level="data").mean()
    ahead = (means["CatBoost"] < means["ours average"]).sum()
    assert lead == f"{ahead} of {len(means)}"


def test_ebm_is_told_to_be_ahead_where_it_is(page):
    table = readability_page.read()
    losses = table.pivot(index="data", columns="method", values="loss").dropna(subset="EBM")
    ratio = np.exp(np.log(losses["page of 16"] / losses["EBM"]).mean())
    line = next(line for line in page.splitlines() if line.startswith("| 16 rules of two"))
    _, _, shown, ahead, *_ = (cell.strip() for cell in line.split("|"))
    assert float(shown) == pytest.approx(ratio, abs=0.006)
    assert ahead == f"{(losses['page of 16'] < losses['EBM']).sum()} of {len(losses)}"
