"""Tests of significance: the published ones to the digit, and exact ones by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.stats import rankdata

from benchmarks import published
from benchmarks.drawing import indistinct
from benchmarks.significance import (
    average_ranks,
    compare,
    critical_difference,
    critical_wilcoxon,
    critical_wins,
    exact_wilcoxon,
    friedman_p,
)

ERRORS = published.ERRORS


@pytest.mark.parametrize(
    ("other", "t", "rank_sums", "paper_wins", "wins_ties_losses"),
    [
        ("GB", 81, (109, 81), 10, (8, 5, 6)),
        ("RF", 13.5, (176.5, 13.5), 15, (13, 5, 1)),
        ("ANN", 34.5, (155.5, 34.5), 14, (12, 5, 2)),
    ],
)
def test_the_published_table_gives_the_published_statistics(
    other, t, rank_sums, paper_wins, wins_ties_losses
):
    found = compare(ERRORS["NRE"].to_numpy(), ERRORS[other].to_numpy())
    assert found.t == t
    assert (found.rank_sum_won, found.rank_sum_lost) == rank_sums
    assert found.paper_wins == paper_wins
    assert (found.wins, found.ties, found.losses) == wins_ties_losses


def test_the_papers_critical_values():
    assert critical_wilcoxon(19) == 46
    assert critical_wins(19) == 15  # the paper's 14 is the normal approximation


def test_nearly_all_published_errors_are_whole_counts():
    not_whole = [
        (data, method)
        for data in ERRORS.index
        for method in ERRORS
        if round(100 * published.wrong(data, method) / published.test_rows(data), 2)
        != ERRORS.loc[data, method]
    ]
    assert not_whole == [("kr_vs_kp", "NRE")]


def test_the_bar_is_the_error_plus_its_sampling_error():
    assert published.bar("phoneme", "NRE") == pytest.approx(8.14 + 1.88, abs=0.01)
    assert published.bar("clean2", "NRE") == 0
    low, high = published.interval("clean2", "NRE")
    assert low == 0
    assert 0.3 < high < 0.5


errors = npst.arrays(float, 9, elements=st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.5, 7.0]))


@given(errors, errors)
def test_comparisons_are_fair(ours, theirs):
    one, other = compare(ours, theirs), compare(theirs, ours)
    assert one.rank_sum_won + one.rank_sum_lost == 9 * 10 / 2
    assert (one.wins, one.losses, one.t) == (other.losses, other.wins, other.t)
    assert one.sign_p == other.sign_p
    assert one.wilcoxon_p == pytest.approx(other.wilcoxon_p)


@given(st.lists(st.integers(-60, 60).filter(bool), min_size=3, max_size=8, unique_by=abs))
def test_the_exact_p_value_counts_all_signs(differences):
    differences = np.array(differences, float)
    ranks = rankdata(np.abs(differences))
    sums = np.array(
        [
            ranks[np.array(signs)].sum()
            for signs in itertools.product([False, True], repeat=len(ranks))
        ]
    )
    won = ranks[differences > 0].sum()
    tail = min(np.mean(sums <= won), np.mean(sums >= won))
    assert exact_wilcoxon(differences) == pytest.approx(min(1, 2 * tail))


def test_critical_wilcoxon_is_the_last_significant_sum():
    for n in (6, 8, 10):
        sums = np.array(
            [
                sum(rank for rank, sign in enumerate(signs, 1) if sign)
                for signs in itertools.product([0, 1], repeat=n)
            ]
        )
        critical = critical_wilcoxon(n)
        assert 2 * np.mean(sums <= critical) <= 0.05 < 2 * np.mean(sums <= critical + 1)


def test_mean_ranks_share_ties_and_the_best_is_first():
    found = average_ranks(np.array([[1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 3.0, 3.0]]))
    np.testing.assert_array_equal(found, [1, 2.25, 3, 3.75])


def test_nemenyis_difference_is_demsars():
    # q_0.05 = 2.569 for four methods (Demsar 2006, table 5).
    assert critical_difference(4, 19) == pytest.approx(2.569 * np.sqrt(20 / 114), abs=1e-3)


def test_friedman_sees_a_constant_order():
    rng = np.random.RandomState(0)
    noise = rng.rand(19, 4)
    assert friedman_p(noise) > 0.05
    assert friedman_p(noise + np.arange(4)) < 1e-6


def test_bars_join_runs_of_close_ranks():
    assert indistinct([1.0, 1.9, 2.5, 3.9], 1.1) == [(1.0, 1.9), (1.9, 2.5)]
    assert indistinct([1.0, 1.2, 1.4, 1.6], 1.1) == [(1.0, 1.6)]
    assert indistinct([1.0, 2.2, 3.4], 1.1) == []
