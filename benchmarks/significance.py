"""Tests of significance over data sets: the paper's rules, and exact ones beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

# Errors are compared with the decimals that the paper and our pages print: errors that look
# equal are ties, and so are differences of errors that look equal.
DECIMALS = 2


@dataclass(frozen=True)
class Comparison:
    """Our method against another, over data sets.

    Attributes
    ----------
    wins, ties, losses : int
        Data sets on which our error is lower, the same, higher.
    rank_sum_won, rank_sum_lost : float
        R+ and R- of the paper: sums of the ranks of the absolute differences. Each sum gets
        half of the ranks of zero differences.
    wilcoxon_p : float
        SciPy's exact two-sided signed-rank test of the differences that are not zero. The
        test assumes distinct ranks, so it is not quite exact if some ranks are tied.
    sign_p : float
        SciPy's exact two-sided binomial test of wins against losses.
    """

    wins: int
    ties: int
    losses: int
    rank_sum_won: float
    rank_sum_lost: float
    wilcoxon_p: float
    sign_p: float

    @property
    def n_counted(self) -> int:
        """The number of data sets in the paper's sign test.

        If the number of ties is odd, the test drops one tie.
        """
        return self.wins + self.losses + self.ties - self.ties % 2

    @property
    def t(self) -> float:
        """Wilcoxon's T, the smaller sum of ranks."""
        return min(self.rank_sum_won, self.rank_sum_lost)

    @property
    def paper_wins(self) -> int:
        """The number of wins in the paper's sign test: wins plus half of the counted ties."""
        return self.wins + self.ties // 2


def compare(ours: np.ndarray, theirs: np.ndarray, decimals: int = DECIMALS) -> Comparison:
    """Compare errors on the same data sets, (n_data_sets,) each."""
    differences = np.round(np.asarray(theirs) - np.asarray(ours), decimals)
    ranks = stats.rankdata(np.abs(differences))
    half_of_zeros = ranks[differences == 0].sum() / 2
    wins, losses = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    return Comparison(
        wins=wins,
        ties=int(np.sum(differences == 0)),
        losses=losses,
        rank_sum_won=float(ranks[differences > 0].sum() + half_of_zeros),
        rank_sum_lost=float(ranks[differences < 0].sum() + half_of_zeros),
        wilcoxon_p=exact_wilcoxon(differences[differences != 0]),
        sign_p=float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0,
    )


def exact_wilcoxon(differences: np.ndarray) -> float:
    if not differences.size:
        return 1.0
    return float(stats.wilcoxon(differences, method="exact").pvalue)


def critical_wilcoxon(n: int, level: float = 0.05) -> int:
    """The largest T that is significant (two-sided) for n differences without ties."""
    sums = np.array([1.0])  # number of sign patterns for each sum of positive ranks
    for rank in range(1, n + 1):
        longer = np.zeros(len(sums) + rank)
        longer[: len(sums)] += sums
        longer[rank:] += sums
        sums = longer
    tail = np.cumsum(sums) / 2.0**n
    return int(np.flatnonzero(2 * tail <= level)[-1])


def critical_wins(n: int, level: float = 0.05) -> int:
    """The smallest number of wins out of n that is significant in the two-sided sign test."""
    return next(wins for wins in range(n + 1) if 2 * upper_tail(wins, n) <= level)


def average_ranks(errors: np.ndarray, decimals: int = DECIMALS) -> np.ndarray:
    """Mean rank of each method over data sets. 1 is best; errors are (n_data, n_methods)."""
    return stats.rankdata(np.round(errors, decimals), axis=1).mean(axis=0)


def friedman_p(errors: np.ndarray, decimals: int = DECIMALS) -> float:
    """The p-value of Friedman's test of whether any method differs from the others."""
    return float(stats.friedmanchisquare(*np.round(errors, decimals).T).pvalue)


def critical_difference(n_methods: int, n_data: int, level: float = 0.05) -> float:
    """Nemenyi's critical difference: mean ranks that differ by less are not significant.

    See Demsar (2006).
    """
    q = stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


def upper_tail(wins: int, n: int) -> float:
    """The probability of at least `wins` wins out of `n` by chance."""
    return float(stats.binom.sf(wins - 1, n, 0.5))
